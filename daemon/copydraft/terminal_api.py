"""The API for coding agents in the terminal: switched on and off, and what an agent has to know."""

from __future__ import annotations

import sys

import click
import httpx
import msgspec

from copydraft import config, control
from copydraft.api import api_key, openai_models, peer
from copydraft.api.loopback import HOST, LoopbackPort
from copydraft.errors import BadRequest, DaemonUnavailable, NetworkProblem
from copydraft.printable import printable
from copydraft.protocol import Status

DEFAULT_PORT = 8137

_ANSWER_LIMIT_S = 10.0
_RESTART = "the daemon is at work: run `copydraft daemon restart` once that is done"


class ApiReport(msgspec.Struct, frozen=True):
    """What `copydraft api --json` prints."""

    on: bool
    url: str
    """Of agents, as their base URL; empty where it is off."""
    key: str
    model: str
    """The one that answers where an agent names none."""
    listening: bool
    problem: str = ""
    """Why nothing listens although it should."""
    chats: int | None = None
    """Answered since the statistics were begun; None where no daemon runs."""


def show(*, as_json: bool) -> None:
    _print(_report(), as_json=as_json)


def switch_on(port: int | None, *, new_key: bool, as_json: bool) -> None:
    """Store the setting, make the key, and have the daemon listen.

    Raises:
        BadRequest: the setting cannot be changed in the file.
        DiskProblem: the key or the setting cannot be written, or others may read the key.
        NetworkProblem: the port is taken, or what answers there is not the daemon.
    """
    number = port or config.load().api_port or DEFAULT_PORT
    url = _url(number)
    running = _status()
    if running is None or running.api.url != url:
        LoopbackPort(number).socket.close()
    key = api_key.renew() if new_key else api_key.ensure()
    _store(number)
    stale = running is not None and (running.api.url != url or new_key)
    if stale and not _end_idle():
        click.echo(_RESTART, err=True)
    else:
        started = control.ask(lambda client: client.status(), start=True)
        if started.api.problem:
            raise NetworkProblem(started.api.problem)
        _check(url, key, number)
    _print(_report(), as_json=as_json)


def switch_off(*, as_json: bool) -> None:
    """Store the setting; a daemon that listens is ended, which the next request starts again.

    Raises:
        BadRequest, DiskProblem: as for `switch_on`.
    """
    _store(0)
    running = _status()
    listens = running is not None and (running.api.url or running.api.problem)
    if listens and not _end_idle():
        click.echo(_RESTART, err=True)
    _print(_report(), as_json=as_json)


def print_key(*, as_json: bool) -> None:
    """Raises BadRequest where there is none yet; DiskProblem as for `api_key.read`."""
    key = api_key.read()
    if not key:
        raise BadRequest("there is no key yet", "`copydraft api on` makes it")
    click.echo(msgspec.json.encode({"key": key}) if as_json else key)


def _store(number: int) -> None:
    config.store("api_port", number)
    if config.load().api_port != number:
        raise BadRequest(
            "COPYDRAFT_API_PORT in the environment goes before the setting",
            f"unset it, or set it to {number}",
        )


def _url(number: int) -> str:
    return f"http://{HOST}:{number}/v1"


def _status() -> Status | None:
    try:
        return control.ask(lambda client: client.status(), start=False)
    except DaemonUnavailable:
        return None


def _end_idle() -> bool:
    """End the daemon, which then has the settings as they are; False if it is at work."""
    try:
        return control.ask(lambda client: client.stop_if_idle(), start=False)
    except DaemonUnavailable:
        return True  # it has ended by itself


def _check(url: str, key: str, number: int) -> None:
    """Ask as an agent would.

    Raises:
        NetworkProblem: nobody answers, or somebody else.
    """
    headers = {"Authorization": f"Bearer {key}"}
    try:
        with httpx.Client(trust_env=False, headers=headers, timeout=_ANSWER_LIMIT_S) as http:
            response = http.get(f"{url}/models")
    except httpx.TransportError as error:
        raise NetworkProblem(
            f"{url} does not answer: {error}", "see `copydraft daemon logs`"
        ) from error
    if response.status_code != httpx.codes.OK:
        raise NetworkProblem(
            f"{url} is answered by {peer.listener_at(number) or 'another program'}, "
            f"with HTTP {response.status_code}",
            "end that program, or choose another port: `copydraft api on --port N`",
        )


def _report() -> ApiReport:
    settings = config.load()
    running = _status()
    on = settings.api_port > 0
    return ApiReport(
        on=on,
        url=_url(settings.api_port) if on else "",
        key=api_key.read() if on else "",
        model=openai_models.default_name(settings),
        listening=running is not None and bool(running.api.url),
        problem=running.api.problem if running else "",
        chats=_chats() if running else None,
    )


def _chats() -> int:
    report = control.ask(lambda client: client.stats(), start=False)
    return sum(usage.requests for usage in report.by_kind if usage.name == "chat")


def _print(report: ApiReport, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(report))
        return
    if not report.on:
        click.echo("agents are not served; `copydraft api on` serves them")
        return
    click.echo(f"agents are {_state(report)}")
    if report.chats:
        click.echo(f"chats answered: {report.chats:,}")
    # In a pipe or a log, others may read it.
    key = report.key if sys.stdout.isatty() else "(`copydraft api key` prints it)"
    click.echo(f"\nOPENAI_API_BASE={report.url}")
    click.echo(f"OPENAI_API_KEY={key}")
    click.echo(f"model: {printable(report.model)}")


def _state(report: ApiReport) -> str:
    if report.problem:
        return f"not served: {printable(report.problem)}"
    if report.listening:
        return f"served at {report.url}"
    if report.chats is None:
        return f"to be served at {report.url}: `copydraft daemon start` starts the daemon"
    return f"to be served at {report.url} after `copydraft daemon restart`"
