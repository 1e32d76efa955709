"""A request's progress as `$/progress`: what it waits for, then the tokens so far."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from copydraft.protocol import Delta, Event, Loading, Notice, Prefill, Queued, RequestStats

if TYPE_CHECKING:
    from copydraft_lsp.server import CopydraftServer

_INTERVAL_S = 0.1
_numbers = itertools.count(1)


class Progress:
    """One progress bar of the client's; nothing happens where it shows none."""

    def __init__(self, server: CopydraftServer, cancel: Callable[[], object]) -> None:
        self._server = server
        self._cancel = cancel
        self._token: types.ProgressToken | None = None
        self._shown_at = 0.0
        self._ended = False

    def begin(self, title: str, token: types.ProgressToken | None) -> None:
        """Show `title` under the request's own token, else under one that the client is asked for.

        The request does not wait for the client's answer.
        """
        if token is not None:
            self._begin(title, token)
            return
        window = self._server.client_capabilities.window
        if not window or not window.work_done_progress:
            return
        token = f"copydraft-{next(_numbers)}"

        def created(answer: Future[Any]) -> None:
            if not answer.cancelled() and answer.exception() is None and not self._ended:
                self._begin(title, token)

        self._server.protocol.send_request(
            types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(token)
        ).add_done_callback(created)

    def show(self, event: Event) -> None:
        """Tell of `event`, ten times a second at most."""
        message, percentage = _said(event)
        if self._token is None or not message:
            return
        if (now := time.monotonic()) - self._shown_at >= _INTERVAL_S:
            self._shown_at = now
            self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str) -> None:
        """The bar goes; further calls do nothing."""
        if self._token is not None and not self._ended:
            self._send(types.WorkDoneProgressEnd(message=message))
            self._server.cancel_by_progress.pop(self._token, None)
        self._ended = True

    def _begin(self, title: str, token: types.ProgressToken) -> None:
        self._token = token
        self._server.cancel_by_progress[token] = self._cancel
        # Without a percentage here, clients take none later.
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=True, percentage=0))

    def _send(self, value: Any) -> None:
        assert self._token is not None
        self._server.progress(types.ProgressParams(self._token, value))


def summary(stats: RequestStats) -> str:
    """One line on a finished request: `42 tokens, 31.0 tokens/s, 90 % copied`."""
    share = stats.copied_tokens / stats.output_tokens if stats.output_tokens else 0.0
    return f"{stats.output_tokens} tokens, {stats.tokens_per_s:.1f} tokens/s, {share:.0%} copied"


def _said(event: Event) -> tuple[str, int | None]:
    match event:
        case Queued(ahead=ahead) if ahead > 0:
            return f"waiting for {ahead} other request{'s' * (ahead != 1)}", None
        case Loading(model=model, share=share):
            return f"loading {model}", round(100 * share)
        case Prefill(done=done, total=total) if total:
            return f"reading {done} of {total} tokens", round(100 * done / total)
        case Notice(message=message):
            return message, None
        case Delta(tokens=tokens):
            return f"{tokens} tokens", None
    return "", None
