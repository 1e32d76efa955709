"""`copydraft api` over a real daemon without a model: switched on and off, and its key."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from copydraft import config, control, paths, protocol, terminal_api
from copydraft.api import api_key, lifecycle
from copydraft.doctor.service import check_api
from copydraft.errors import BadRequest, NetworkProblem
from copydraft.index.store import StateStore
from copydraft.protocol import Status
from tests.fixtures.daemons import edit
from tests.fixtures.fake_client import run
from tests.fixtures.fake_service import stats

pytestmark = pytest.mark.usefixtures("fake_command")

MODEL = "qwen2.5-coder-1.5b"


@pytest.fixture
def port() -> int:
    return free_port()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def told(*arguments: str | int) -> dict[str, Any]:
    result = run("api", *(str(each) for each in arguments), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def status() -> Status:
    return control.ask(lambda client: client.status(), start=False)


def answers(port: int, key: str) -> int:
    """The HTTP status that an agent gets."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(
        f"http://127.0.0.1:{port}/v1/models", headers=headers, trust_env=False
    ).status_code


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """The daemon is at work."""
    control.ask(lambda client: client.status(), start=True)
    body = protocol.encode(edit("hold"))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(paths.socket_path()))
        head = f"POST /v1/edit HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        peer.sendall(head.encode() + body)
        while status().active == 0:
            pass
        yield


# --- on ---------------------------------------------------------------------------------------


def test_switched_on_it_is_served_with_the_key_by_a_daemon_that_was_not_there(port: int) -> None:
    report = told("on", "--port", port)
    key = api_key.read()
    assert report == {
        "on": True,
        "url": f"http://127.0.0.1:{port}/v1",
        "key": key,
        "model": MODEL,
        "listening": True,
        "problem": "",
        "chats": 0,
    }
    assert answers(port, key) == 200
    assert config.load().api_port == port


def test_a_pipe_gets_all_but_the_key(port: int) -> None:
    assert run("api", "on", "--port", port).stdout == (
        f"agents are served at http://127.0.0.1:{port}/v1\n"
        "\n"
        f"OPENAI_API_BASE=http://127.0.0.1:{port}/v1\n"
        "OPENAI_API_KEY=(`copydraft api key` prints it)\n"
        f"model: {MODEL}\n"
    )


def test_a_terminal_gets_the_key_too(port: int) -> None:
    config.store("api_port", port)
    key = api_key.ensure()
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-m", "copydraft", "api"], stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 4096).decode().replace("\r\n", "\n")
    os.close(ours)
    assert shown == (
        f"agents are to be served at http://127.0.0.1:{port}/v1: "
        "`copydraft daemon start` starts the daemon\n"
        "\n"
        f"OPENAI_API_BASE=http://127.0.0.1:{port}/v1\n"
        f"OPENAI_API_KEY={key}\n"
        f"model: {MODEL}\n"
    )


def test_an_idle_daemon_is_replaced_by_one_that_listens(port: int) -> None:
    before = control.ask(lambda client: client.status(), start=True).pid
    told("on", "--port", port)
    assert status().pid != before
    assert status().api.url == f"http://127.0.0.1:{port}/v1"


def test_what_is_on_already_stays_as_it_is(port: int) -> None:
    report = told("on", "--port", port)
    before = status().pid
    assert told("on") == report
    assert status().pid == before


def test_another_port_keeps_the_key(port: int) -> None:
    key = told("on", "--port", port)["key"]
    other = free_port()
    assert told("on", "--port", other)["key"] == key
    assert answers(other, key) == 200
    with pytest.raises(httpx.ConnectError):
        answers(port, key)


def test_a_new_key_puts_the_old_one_out_of_use(port: int) -> None:
    old = told("on", "--port", port)["key"]
    new = told("on", "--new-key")["key"]
    assert (answers(port, new), answers(port, old)) == (200, 401)


def test_a_new_key_mends_one_that_others_may_read(port: int) -> None:
    api_key.ensure()
    paths.api_key_file().chmod(0o644)
    refused = run("api", "on", "--port", port)
    assert refused.exit_code == 8
    assert "others may read the key" in refused.stderr
    assert told("on", "--port", port, "--new-key")["listening"] is True


def test_a_port_that_another_program_has_is_left_with_its_name(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        result = run("api", "on", "--port", port)
    assert result.exit_code == NetworkProblem.exit_status
    assert result.stderr.startswith(f"copydraft: port {port} is taken by process {os.getpid()} (")
    assert "copydraft api on --port N" in result.stderr
    assert config.load().api_port == 0
    assert not lifecycle.is_held(paths.lock_path())


class Stranger(BaseHTTPRequestHandler):
    """An HTTP server that is not the daemon."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_what_answers_at_the_port_has_to_be_the_daemon() -> None:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.handle_request).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        with pytest.raises(NetworkProblem) as refused:
            terminal_api._check(url, "key", server.server_port)
    assert refused.value.message.startswith(f"{url} is answered by process {os.getpid()} (")
    assert refused.value.message.endswith("), with HTTP 404")


def test_a_port_where_nobody_answers_is_told(port: int) -> None:
    with pytest.raises(NetworkProblem, match="does not answer") as refused:
        terminal_api._check(f"http://127.0.0.1:{port}/v1", "key", port)
    assert refused.value.hint == "see `copydraft daemon logs`"


def test_the_environment_goes_before_the_setting(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPYDRAFT_API_PORT", "1234")
    result = run("api", "on", "--port", port)
    assert result.exit_code == BadRequest.exit_status
    assert "COPYDRAFT_API_PORT in the environment goes before the setting" in result.stderr


def test_a_daemon_at_work_is_left_alone(port: int) -> None:
    with busy():
        before = status().pid
        result = run("api", "on", "--port", port)
        assert result.exit_code == 0
        assert result.stderr == (
            "the daemon is at work: run `copydraft daemon restart` once that is done\n"
        )
        assert result.stdout.startswith(
            f"agents are to be served at http://127.0.0.1:{port}/v1 "
            "after `copydraft daemon restart`\n"
        )
        assert (status().pid, status().active) == (before, 1)


# --- looked at, off, key ----------------------------------------------------------------------


def test_at_first_it_is_off() -> None:
    assert run("api").stdout == "agents are not served; `copydraft api on` serves them\n"
    assert told() == {
        "on": False,
        "url": "",
        "key": "",
        "model": MODEL,
        "listening": False,
        "problem": "",
        "chats": None,
    }
    assert not lifecycle.is_held(paths.lock_path())


def test_the_chats_that_were_answered_are_counted(port: int) -> None:
    with contextlib.closing(StateStore(paths.state_database())) as store:
        for kind in ("chat", "chat", "edit"):
            store.record(stats(kind=kind))
    told("on", "--port", port)
    assert told()["chats"] == 2
    assert "\nchats answered: 2\n" in run("api").stdout


def test_a_daemon_that_could_not_listen_says_why(port: int) -> None:
    config.store("api_port", port)
    with socket.create_server(("127.0.0.1", port)):
        control.ask(lambda client: client.status(), start=True)
        assert run("api").stdout.startswith(f"agents are not served: port {port} is taken by ")
        assert told()["listening"] is False


def test_switched_off_the_port_is_closed_and_the_key_kept(port: int) -> None:
    key = told("on", "--port", port)["key"]
    assert told("off")["on"] is False
    with pytest.raises(httpx.ConnectError):
        answers(port, key)
    assert config.load().api_port == 0
    assert told("on", "--port", port)["key"] == key


def test_switched_off_where_it_was_off_a_daemon_stays() -> None:
    before = control.ask(lambda client: client.status(), start=True).pid
    told("off")
    assert status().pid == before


def test_the_key_is_printed_alone() -> None:
    assert run("api", "key").exit_code == BadRequest.exit_status
    key = api_key.ensure()
    assert run("api", "key").stdout == f"{key}\n"
    assert told("key") == {"key": key}


# --- the doctor -------------------------------------------------------------------------------


def test_the_doctor_tells_where_agents_are_served(port: int) -> None:
    told("on", "--port", port)
    [finding] = check_api()
    assert (finding.state, finding.message) == ("ok", f"served at http://127.0.0.1:{port}/v1")


def test_the_doctor_sees_a_daemon_that_began_before_the_setting(port: int) -> None:
    control.ask(lambda client: client.status(), start=True)
    config.store("api_port", port)
    [finding] = check_api()
    assert (finding.state, finding.remedy) == ("warning", "`copydraft daemon restart`")


def test_the_doctor_says_why_nothing_listens(port: int) -> None:
    config.store("api_port", port)
    with socket.create_server(("127.0.0.1", port)):
        control.ask(lambda client: client.status(), start=True)
    [finding] = check_api()
    assert finding.state == "problem"
    assert finding.message.startswith(f"port {port} is taken by process ")
