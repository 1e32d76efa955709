"""What outlives a request: how its kind is best drafted, and what its workspace was answered."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Sequence

import msgspec

from copydraft.drafting.policy import Experience
from copydraft.drafting.profile import Profile, profile_of
from copydraft.serving.service import ProfileStore
from copydraft.tokens import Document

_log = logging.getLogger(__name__)

_ANSWERS = 32
"""Answers kept for a workspace; on the development edits, more brought nothing."""

_WORKSPACES = 16


class Experiences:
    """By kind of request, from the store and back to it."""

    def __init__(self, store: ProfileStore) -> None:
        self._store = store
        self._kinds: dict[str, Experience] = {}
        self._read: dict[str, bytes | None] = {}

    def of(self, kind: str, costs: Sequence[float]) -> Experience:
        """What is known of a kind where passes cost `costs`, by width."""
        known = self._kinds.get(kind)
        if known is None or known.costs != costs:
            # Drafts may be wider or narrower than before: what was learned goes on.
            profile = known.profile() if known else self._saved(kind)
            known = self._kinds[kind] = Experience(profile, costs)
        return known

    def save(self) -> None:
        """Keep what was learned, and read it again when it is next asked for; returns at once.

        What `copydraft profile` has put there meanwhile stays.
        """
        for kind, experience in self._kinds.items():
            profile = msgspec.json.encode(experience.profile())
            self._store.save_profile(kind, profile, was=self._read[kind])
        self._kinds.clear()

    def _saved(self, kind: str) -> Profile:
        data = self._read[kind] = self._store.load_profiles().get(kind)
        measured: dict[str, Profile] = {}
        try:
            if data is not None:
                measured[kind] = msgspec.json.decode(data, type=Profile)
        except msgspec.DecodeError as error:
            _log.warning("the profile of %s cannot be read (%s): the default is used", kind, error)
        return profile_of(kind, measured)


class EarlierAnswers:
    """Answers of a workspace, as documents to draft from; tokens of the model that is loaded."""

    def __init__(self, most: int = _ANSWERS) -> None:
        """Keeps `most` answers of each workspace."""
        self._most = most
        self._workspaces: OrderedDict[str, deque[Document]] = OrderedDict()

    def of(self, workspace: str) -> list[Document]:
        """The latest last; none for requests that belong to no workspace."""
        return list(self._workspaces.get(workspace, ()))

    def add(self, workspace: str, path: str, tokens: Sequence[int]) -> None:
        if not workspace or not tokens:
            return
        answers = self._workspaces.setdefault(workspace, deque(maxlen=self._most))
        answers.append(Document("session", path, "answer", tuple(tokens)))
        self._workspaces.move_to_end(workspace)
        if len(self._workspaces) > _WORKSPACES:
            self._workspaces.popitem(last=False)

    def clear(self) -> None:
        self._workspaces.clear()
