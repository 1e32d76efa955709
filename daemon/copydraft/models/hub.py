"""Files on Hugging Face (or a mirror of it: HF_ENDPOINT), resumed at any byte."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

# The HTTP library of huggingface_hub, whose errors it lets through.
import httpx2
from huggingface_hub import get_hf_file_metadata, get_session, get_token, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from copydraft.models.transfer import SourceFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from copydraft.models.catalog import HubFile
    from copydraft.models.transfer import PartialFile

# Short, since another source may do: a firewall that swallows packets must not look like a hang.
_ANSWER_SECONDS = 5.0
_STALL_SECONDS = 20.0
_TRIES = 3
_RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class Location:
    """Where a file is, and what it will be."""

    url: str
    size: int
    sha256: str


def locate(source: HubFile, sha256: str | None) -> Location:
    """Where the file is, with its size and sum as published there.

    Raises:
        SourceFailed: it cannot be reached, the file is not there, or its sum is not `sha256`.
    """
    url = hf_hub_url(source.repo, source.file, endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        found = get_hf_file_metadata(url, timeout=_ANSWER_SECONDS)
    except GatedRepoError:
        raise SourceFailed(f"{source.repo} asks for a login and consent; set HF_TOKEN") from None
    except (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError):
        raise SourceFailed(f"there is no {source.repo}/{source.file}") from None
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == httpx2.codes.NOT_FOUND:
            raise SourceFailed(f"there is no {source.repo}/{source.file}") from None
        raise SourceFailed(f"it answers {status}") from error
    except OfflineModeIsEnabled:
        raise SourceFailed("HF_HUB_OFFLINE is set") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SourceFailed(f"no connection ({_reason(error)})") from error
    if found.size is None or found.etag is None or not re.fullmatch("[0-9a-f]{64}", found.etag):
        raise SourceFailed(f"it gives no SHA-256 for {source.repo}/{source.file}")
    if sha256 is not None and found.etag != sha256:
        raise SourceFailed(f"{source.repo}/{source.file} is another file now (SHA-256 differs)")
    return Location(url, found.size, found.etag)


def fetch(location: Location, partial: PartialFile, advance: Callable[[int], None]) -> None:
    """Append what is missing; `advance` gets the bytes that are here so far.

    Raises:
        SourceFailed: the connection broke again and again without a byte coming through.
        DiskProblem: the disk is full.
    """
    failures = 0
    while partial.missing:
        before = partial.length
        try:
            _stream(location.url, partial, advance)
            reason = "it stopped sending"
        except httpx2.HTTPError as error:
            reason = _reason(error)
        failures = 0 if partial.length > before else failures + 1
        if failures == _TRIES:
            raise SourceFailed(f"broke off after {partial.length} bytes ({reason})")
        if partial.missing:
            time.sleep(_RETRY_SECONDS)


def _stream(url: str, partial: PartialFile, advance: Callable[[int], None]) -> None:
    headers = {"Range": f"bytes={partial.length}-"}
    if token := get_token():
        headers["Authorization"] = f"Bearer {token}"
    with get_session().stream("GET", url, headers=headers, timeout=_STALL_SECONDS) as response:
        if response.status_code == httpx2.codes.OK:
            partial.restart()  # no ranges here: it starts from the first byte
        elif response.status_code != httpx2.codes.PARTIAL_CONTENT:
            raise SourceFailed(f"it answers {response.status_code}")
        for chunk in response.iter_bytes():
            partial.write(chunk)
            advance(partial.length)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
