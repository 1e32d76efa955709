"""The statistics page's listener: what opens it, what it gives, and all that it refuses."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from copydraft.api import peer, web
from copydraft.client import Client
from copydraft.protocol import ExplainRequest
from tests.fixtures.daemons import Running, edit, running, until


class Browser:
    """HTTP to one listener; keeps cookies as a browser does."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.origin = f"http://{parts.netloc}"
        self.path = f"{parts.path}?{parts.query}"
        # No connection outlives its request: the daemon's end must not find one open.
        self.http = httpx.AsyncClient(
            base_url=self.origin,
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def get(self, path: str, **headers: str) -> httpx.Response:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.get(path, headers=names)


@pytest.fixture
async def browser(client: Client) -> Browser:
    """One that was given an address and has not opened it yet."""
    return Browser((await client.open_web()).url)


@pytest.fixture
async def opened(browser: Browser) -> Browser:
    """One that has opened the page."""
    assert (await browser.get(browser.path)).status_code == 200
    return browser


# --- what it gives ---


async def test_the_address_opens_the_page_on_the_loopback_device(browser: Browser) -> None:
    assert browser.origin.startswith("http://127.0.0.1:")
    response = await browser.get(browser.path)
    assert response.status_code == 200
    assert "<title>copydraft: statistics</title>" in response.text


async def test_the_cookie_is_for_this_page_alone_and_out_of_reach_of_scripts(
    browser: Browser,
) -> None:
    given = (await browser.get(browser.path)).headers["set-cookie"]
    name, _, rest = given.partition("=")
    assert name == f"copydraft-{urlsplit(browser.origin).port}"
    assert rest.split("; ")[1:] == ["Path=/", "HttpOnly", "SameSite=Strict"]


async def test_the_page_may_load_nothing_but_what_it_reads(browser: Browser) -> None:
    response = await browser.get(browser.path)
    nonce = response.text.split("nonce-")[1].split("'")[0]
    assert (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    ) in response.text
    assert response.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert "{{" not in response.text
    assert "http://" not in response.text.replace("http://www.w3.org/2000/svg", "")


async def test_each_page_has_a_nonce_of_its_own(opened: Browser) -> None:
    pages = [(await opened.get("/")).text for _ in range(2)]
    assert pages[0] != pages[1]


async def test_the_page_reads_status_statistics_and_the_last_answer(opened: Browser) -> None:
    assert (await opened.get("/v1/status")).json()["model"]["name"] == "fake"
    assert (await opened.get("/v1/stats?days=7&kind=edit")).json()["days"] == 7
    assert (await opened.get("/v1/last")).json() is None


async def test_the_page_loads_again_for_the_browser_that_has_opened_it(opened: Browser) -> None:
    assert (await opened.get(opened.path)).status_code == 200
    assert (await opened.get("/")).status_code == 200


async def test_localhost_is_the_same_place(browser: Browser) -> None:
    host = browser.origin.removeprefix("http://").replace("127.0.0.1", "localhost")
    assert (await browser.get(browser.path, Host=host)).status_code == 200


async def test_asking_again_gives_another_address_of_the_same_listener(client: Client) -> None:
    first, second = [urlsplit((await client.open_web()).url) for _ in range(2)]
    assert first.netloc == second.netloc
    assert first.query != second.query


# --- what it refuses ---


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=guessed", "/v1/status", "/v1/last"])
async def test_without_the_token_nothing_is_given(browser: Browser, path: str) -> None:
    response = await browser.get(path)
    assert response.status_code == 403
    assert "copydraft stats --web" in response.text
    assert "set-cookie" not in response.headers


async def test_a_token_opens_the_page_once(browser: Browser) -> None:
    assert (await browser.get(browser.path)).status_code == 200
    browser.http.cookies.clear()
    assert (await browser.get(browser.path)).status_code == 403


async def test_a_browser_that_has_its_cookie_spends_the_token_too(
    client: Client, opened: Browser
) -> None:
    again = Browser((await client.open_web()).url)
    assert (await opened.get(again.path)).status_code == 200
    assert (await again.get(again.path)).status_code == 403


async def test_a_token_that_was_not_used_in_time_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "TOKEN_S", -1.0)
    browser = Browser((await client.open_web()).url)
    assert (await browser.get(browser.path)).status_code == 403


async def test_a_token_opens_the_page_and_no_data(browser: Browser) -> None:
    query = browser.path.partition("?")[2]
    assert (await browser.get(f"/v1/status?{query}")).status_code == 403
    assert (await browser.get(browser.path)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
async def test_another_host_is_refused(opened: Browser, host: str) -> None:
    assert (await opened.get("/v1/status", Host=host)).status_code in (400, 421)


async def test_who_comes_by_a_forwarded_port_of_another_number_is_told_which_to_use(
    browser: Browser,
) -> None:
    host = browser.origin.removeprefix("http://")
    port = host.partition(":")[2]
    assert (await browser.get(browser.path, Host="localhost:9000")).text == (
        f"This page is at {host} and has no other address, so that no other site can read it.\n"
        f"By ssh, forward a port of the same number: ssh -L {port}:{host} …\n"
    )
    assert (await browser.get(browser.path)).status_code == 200


async def test_a_token_is_worth_nothing_to_another_user(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lists the processes sees the address that a browser is started with."""
    monkeypatch.setattr(peer, "user_of", lambda *_: os.getuid() + 1)
    response = await browser.get(browser.path)
    assert response.status_code == 403
    assert "set-cookie" not in response.headers
    monkeypatch.undo()
    assert (await browser.get(browser.path)).status_code == 200


@pytest.mark.parametrize("user", [0, None])
async def test_root_and_a_user_whom_the_system_does_not_tell_are_let_in(
    user: int | None, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What forwards a port runs as root where it forwards for all."""
    monkeypatch.setattr(peer, "user_of", lambda *_: user)
    assert (await browser.get(browser.path)).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_another_origin_is_refused(opened: Browser, origin: str) -> None:
    assert (await opened.get("/v1/status", Origin=origin)).status_code == 403


async def test_the_pages_own_origin_is_not_refused(opened: Browser) -> None:
    assert (await opened.get("/v1/status", Origin=opened.origin)).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_data_is_not_given_to_pages_of_other_sites(opened: Browser, site: str) -> None:
    """A page of another port sends our cookie, and no origin with what it loads as a script."""
    assert (await opened.get("/v1/last", Sec_Fetch_Site=site)).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
async def test_nothing_can_be_changed(opened: Browser, method: str) -> None:
    for path in ("/", "/v1/stats", "/v1/stop", "/v1/web", "/v1/edit"):
        response = await opened.http.request(method, path)
        assert response.status_code == 405
        assert response.headers["allow"] == "GET"


@pytest.mark.parametrize(
    "path", ["/v1/edit", "/v1/stop", "/v1/web", "/v1/documents", "/statistics.js"]
)
async def test_no_other_route_of_the_daemon_is_there(opened: Browser, path: str) -> None:
    assert (await opened.get(path)).status_code in (403, 404)


async def test_there_is_no_listener_until_somebody_asks(daemon: Running) -> None:
    assert daemon.daemon._site._listener is None


async def test_the_listener_ends_with_the_daemon() -> None:
    async with running(), await Client.connect(start=False) as client:
        browser = Browser((await client.open_web()).url)
        assert (await browser.get(browser.path)).status_code == 200
    with pytest.raises(httpx.ConnectError):
        await browser.get("/")


async def test_the_listener_closes_when_nobody_looks_and_opens_anew(
    daemon: Running, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "IDLE_S", 0.05)
    browser = Browser((await client.open_web()).url)
    await until(lambda: daemon.daemon._site._listener is None)
    monkeypatch.setattr(web, "IDLE_S", 60.0)
    again = Browser((await client.open_web()).url)
    assert (await again.get(browser.path)).status_code == 403
    assert (await again.get(again.path)).status_code == 200


async def test_only_what_is_let_in_keeps_the_listener(daemon: Running, client: Client) -> None:
    browser = Browser((await client.open_web()).url)
    listener = daemon.daemon._site._listener
    assert listener is not None
    asked = listener._last
    assert (await browser.get("/")).status_code == 403
    assert (await browser.get(browser.path, Host="evil.example")).status_code == 421
    assert listener._last == asked
    assert (await browser.get(browser.path)).status_code == 200
    assert listener._last > asked


async def test_an_open_page_does_not_keep_the_daemon() -> None:
    """Its requests do not count as those of a client."""
    async with running(idle_exit_minutes=0.005) as here, await Client.connect(start=False) as asker:
        browser = Browser((await asker.open_web()).url)
        # One connection that lasts: asyncio leaks those that it accepts while it closes a server.
        browser.http = httpx.AsyncClient(base_url=browser.origin, trust_env=False)
        await browser.get(browser.path)
        while not here.serving.done():
            try:
                await browser.get("/v1/status")
            except httpx.TransportError:
                break
            await asyncio.sleep(0.02)
        assert await here.serving is True
        await browser.http.aclose()


# --- the last answer ---


async def test_the_last_answer_is_kept_with_its_statistics(client: Client, opened: Browser) -> None:
    async for _ in client.edit(edit("echo a b")):
        pass
    last = (await opened.get("/v1/last")).json()
    assert (last["kind"], last["path"], last["text"], last["spans"]) == ("edit", "a.py", "a b", [])
    assert last["stats"]["copied_tokens"] == 15


async def test_a_later_answer_takes_its_place(client: Client, opened: Browser) -> None:
    async for _ in client.edit(edit("echo a")):
        pass
    async for _ in client.explain(ExplainRequest(region=edit("").region, question="echo why")):
        pass
    last = (await opened.get("/v1/last")).json()
    assert (last["kind"], last["text"]) == ("explain", "why")


async def test_a_refused_answer_leaves_the_one_before(client: Client, opened: Browser) -> None:
    async for _ in client.edit(edit("echo a")):
        pass
    with pytest.raises(Exception, match="the answer is empty"):
        async for _ in client.edit(edit("refuse")):
            pass
    assert (await opened.get("/v1/last")).json()["text"] == "a"


async def test_an_answer_is_shown_while_it_is_being_written(
    client: Client, opened: Browser
) -> None:
    events = client.edit(edit("hold"))
    [_, _] = [await anext(events), await anext(events)]
    last = (await opened.get("/v1/last")).json()
    assert (last["text"], last["stats"], last["tokens"]) == ("holding", None, 1)
    assert last["spans"] == [{"start": 0, "end": 7, "corpus": "", "path": ""}]
    await events.aclose()


@pytest.mark.parametrize("forget", ["clear_stats", "unload"])
async def test_the_last_answer_goes_with_the_statistics_and_with_the_model(
    client: Client, opened: Browser, forget: str
) -> None:
    async for _ in client.edit(edit("echo a")):
        pass
    await getattr(client, forget)()
    assert (await opened.get("/v1/last")).json() is None


async def test_the_last_answer_is_never_on_disk(
    client: Client, opened: Browser, isolated_home: Path
) -> None:
    async for _ in client.edit(edit("echo a-secret-word")):
        pass
    assert "a-secret-word" in json.dumps((await opened.get("/v1/last")).json())
    written = b"".join(path.read_bytes() for path in isolated_home.rglob("*") if path.is_file())
    assert b"a-secret-word" not in written
