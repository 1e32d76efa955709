"""llama.cpp's own server as a peer: same model, threads, context and prompt tokens as ours.

One server runs for each type of its drafting, and all of them wait in memory while others are
measured. They are started anew for every repeat, or their tables would know the answers. The times
are the server's own, of decoding alone: a first request reads the prompt, and of the second the
server counts the prompt's last token and what it then writes, as our arms are timed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx
import msgspec

from copydraft import devices
from copydraft.engine.batch import MAX_BATCH
from copydraft.errors import EngineProblem, FileProblem, OutOfMemory
from copydraft.models.gguf import memory_needed, read_metadata

_START_S = 600.0
"""A large model may come from a slow disk."""

_ANSWER_S = 3600.0
"""A long prompt on a slow machine; a server that hangs is told of in the end."""

_PLAIN = "plain"
_HINT = "its build must be of the same llama.cpp: CONTRIBUTING.md says how"


class Setup(NamedTuple):
    """The settings that a server shares with our engine."""

    binary: Path
    model: Path
    context: int
    threads: int
    gpu_layers: int
    """0 keeps all on the CPU; below 0, all layers go to the card."""

    def arguments(self, kind: str, port: int) -> list[str]:
        """The command that starts a server which drafts by `kind`."""
        on_card = self.gpu_layers != 0
        options = {
            "--model": self.model,
            "--host": "127.0.0.1",
            "--port": port,
            "--ctx-size": self.context,
            "--threads": self.threads,
            "--threads-batch": self.threads,
            "--batch-size": MAX_BATCH,
            "--ubatch-size": MAX_BATCH,
            "--parallel": 1,
            "--gpu-layers": 999 if self.gpu_layers < 0 else self.gpu_layers,
            # As engine/llama.py has it: slower than without on a CPU.
            "--flash-attn": "auto" if on_card else "off",
            # The context is as long as asked for, and no state is copied away between requests.
            "--fit": "off",
            "--cache-ram": 0,
        }
        if kind != _PLAIN:
            options["--spec-type"] = kind
        pairs = [str(part) for option in options.items() for part in option]
        return [str(self.binary), *pairs, "--swa-full", "--offline", "--no-ui"]


class Completion(NamedTuple):
    """What a server wrote, and the seconds that decoding took."""

    tokens: list[int]
    """Without the end token."""
    seconds: float
    drafted: int
    accepted: int
    ended: bool
    """By an end token."""


class _Timings(msgspec.Struct):
    prompt_n: int
    """Prompt tokens that were not in memory: the last, and more where memory cannot go back."""
    prompt_ms: float
    predicted_ms: float
    draft_n: int = 0
    draft_n_accepted: int = 0


class _Answer(msgspec.Struct):
    tokens: list[int]
    stop_type: str
    timings: _Timings


def read_answer(body: bytes) -> Completion:
    """The answer of `/completion`.

    Raises:
        EngineProblem: it is not in the form that this version of the server gives.
    """
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError as error:
        raise EngineProblem(f"llama-server's answer cannot be read: {error}", _HINT) from error
    timings = answer.timings
    return Completion(
        tokens=answer.tokens,
        # The first token written comes of the prompt's last, whose pass our arms are timed with.
        seconds=(timings.prompt_ms / max(1, timings.prompt_n) + timings.predicted_ms) / 1000,
        drafted=timings.draft_n,
        accepted=timings.draft_n_accepted,
        ended=answer.stop_type == "eos",
    )


class LlamaServer:
    """A running server."""

    def __init__(self, setup: Setup, kind: str) -> None:
        """Start it and wait until the model is loaded.

        Raises:
            FileProblem: the program cannot be started.
            EngineProblem: it ended, or its model is not loaded in time; with its last words.
        """
        port = _free_port()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        try:
            self._process = subprocess.Popen(
                setup.arguments(kind, port),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                # The server takes any option from the environment.
                env={k: v for k, v in os.environ.items() if not k.startswith("LLAMA_")},
            )
        except OSError as error:
            self._log.close()
            raise FileProblem(
                f"cannot start {setup.binary}: {error.strerror}", "name a built llama-server"
            ) from error
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=_ANSWER_S, trust_env=False
        )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    @property
    def process_id(self) -> int:
        return self._process.pid

    def complete(self, prompt: Sequence[int], max_tokens: int) -> Completion:
        """The likeliest tokens after `prompt`, of which what is in memory is not read again.

        Raises:
            EngineProblem: the server failed.
        """
        asked: dict[str, Any] = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "temperature": 0.0,
            "samplers": ["top_k"],
            "top_k": 1,
            "cache_prompt": True,
            "return_tokens": True,
        }
        try:
            response = self._client.post("/completion", json=asked)
        except httpx.HTTPError as error:
            raise EngineProblem(f"llama-server went away: {self._last_words()}", _HINT) from error
        if response.status_code != httpx.codes.OK:
            raise EngineProblem(f"llama-server refused a prompt: {response.text}", _HINT)
        return read_answer(response.content)

    def close(self) -> None:
        self._client.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_S
        while not self._is_ready():
            if self._process.poll() is not None:
                raise EngineProblem(f"llama-server ended: {self._last_words()}", _HINT)
            if time.monotonic() > deadline:
                raise EngineProblem(f"llama-server does not load: {self._last_words()}", _HINT)
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            return self._client.get("/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.poll()}"


class Servers:
    """The servers of one repeat, each started when it is first asked for."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._repeat = 0
        self._running: dict[str, LlamaServer] = {}

    def of(self, kind: str, repeat: int) -> LlamaServer:
        """The server that drafts by `kind`.

        Raises:
            FileProblem, EngineProblem: as for `LlamaServer`.
        """
        if repeat != self._repeat:
            self.close()
            self._repeat = repeat
        if kind not in self._running:
            self._running[kind] = LlamaServer(self._setup, kind)
        return self._running[kind]

    def close(self) -> None:
        while self._running:
            self._running.popitem()[1].close()


def check_memory(setup: Setup, count: int) -> None:
    """Say that so many servers do not fit beside one another before hours are spent.

    Raises:
        OutOfMemory: with what is needed and what is free.
    """
    if setup.gpu_layers != 0:
        return  # the card's memory is not ours to count
    needed = count * memory_needed(read_metadata(setup.model), setup.context)
    free = devices.available_memory()
    if needed > free:
        raise OutOfMemory(
            f"{count} servers need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free",
            "measure them in turn: name fewer in --arms, the same --out keeps all",
        )


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
