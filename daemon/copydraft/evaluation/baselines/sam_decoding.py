"""SAM-Decoding: copy from the first place of the longest match, found by a suffix automaton.

Hu et al. 2024 (arXiv 2411.10666, github.com/hyx1999/SAM-Decoding): an automaton over prompt and
output, and one over earlier texts (here the outputs of earlier requests); the latter's match
counts 5 tokens less. After a match of m tokens, min(40, 1 + 4 m) tokens are drafted from its
first occurrence. Their auxiliary drafter for short matches (Token Recycling or EAGLE-2) needs
the model, so short matches are drafted from as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.tokens import NO_DRAFT, Draft

_MOST = 40
_FACTOR = 4
_BIAS = 5
_ROOT = 0
_STOP = -1  # stands behind every output, and is no token


class SuffixAutomaton:
    """All substrings of a growing text, each state with the end of its first occurrence.

    Blumer et al. 1985; amortised constant time for each token added or matched.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        self._end = [0]
        self._last = _ROOT
        self.restart()

    def restart(self) -> None:
        """Forget what is matched."""
        self._state = _ROOT
        self.matched = 0

    @property
    def end(self) -> int:
        """The place behind the first occurrence of the match."""
        return self._end[self._state]

    def match(self, token: int) -> None:
        """Move on to the longest end of what was given that occurs in the text."""
        state = self._state
        while state != _ROOT and token not in self._next[state]:
            state = self._link[state]
            self.matched = self._length[state]
        if token in self._next[state]:
            self._state = self._next[state][token]
            self.matched += 1
        else:
            self._state, self.matched = _ROOT, 0

    def add(self, token: int) -> None:
        self.text.append(token)
        state = self._new_state(len(self.text), {})
        at = self._last
        while at != -1 and token not in self._next[at]:
            self._next[at][token] = state
            at = self._link[at]
        if at == -1:
            self._link[state] = _ROOT
        else:
            self._link[state] = self._suffix_of(at, token)
        self._last = state
        # A state that was split stands for longer strings now.
        while self._state != _ROOT and self._length[self._link[self._state]] >= self.matched:
            self._state = self._link[self._state]

    def _suffix_of(self, at: int, token: int) -> int:
        """The state of the strings of `at` with `token` behind, split off if it has longer ones."""
        state = self._next[at][token]
        if self._length[at] + 1 == self._length[state]:
            return state
        shorter = self._new_state(self._length[at] + 1, dict(self._next[state]))
        self._end[shorter] = self._end[state]
        self._link[shorter] = self._link[state]
        self._link[state] = shorter
        while at != -1 and self._next[at].get(token) == state:
            self._next[at][token] = shorter
            at = self._link[at]
        return shorter

    def _new_state(self, length: int, following: dict[int, int]) -> int:
        self._next.append(following)
        self._link.append(_ROOT)
        self._length.append(length)
        self._end.append(len(self.text))
        return len(self._next) - 1


class EarlierOutputs:
    """The outputs of the requests so far; the one being written joins them when the next begins."""

    def __init__(self) -> None:
        self.automaton = SuffixAutomaton()
        self.current: list[int] = []

    def begin(self) -> None:
        for token in (*self.current, _STOP):
            self.automaton.add(token)
        self.current = []
        self.automaton.restart()


class SamDecoding:
    """One request."""

    def __init__(self, prompt: Sequence[int], earlier: EarlierOutputs) -> None:
        earlier.begin()
        self._earlier = earlier
        self._own = SuffixAutomaton()
        self._read(prompt)

    def propose(self, limit: int) -> Draft:
        own, earlier = self._own, self._earlier.automaton
        ours = own.matched >= earlier.matched - _BIAS
        source = own if ours else earlier
        if source.matched == 0:
            return NO_DRAFT
        length = min(_MOST, 1 + _FACTOR * source.matched, limit)
        tokens = source.text[source.end : source.end + length]
        if _STOP in tokens:
            tokens = tokens[: tokens.index(_STOP)]
        return Draft(tokens, "session" if ours else "global", "") if tokens else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        self._earlier.current.extend(tokens)
        self._read(tokens)

    def _read(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._earlier.automaton.match(token)
            self._own.match(token)
            self._own.add(token)
