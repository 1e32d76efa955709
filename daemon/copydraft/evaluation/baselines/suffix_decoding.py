"""SuffixDecoding: the likeliest continuation by counts, of the match that promises most tokens.

Oliaro, Jia, Campos and Qiao 2024 (arXiv 2411.04975), as in ArcticInference
(`SuffixDecodingCache.speculate`, chains): suffix trees of depth 64, one over prompt and output
and one over the outputs of all requests. For every match length m that the text's end has in a
tree, the path of the most frequent next tokens is followed for at most `factor` × m tokens while
its probability is at least 0.1; of all paths the one with the largest sum of probabilities is
drafted, the longest match of equal ones, the request's own tree before the shared one.

A node's count is the number of places where its string occurs, and the places of a match of
length m + 1 are among those of length m. So no tree is built: places are filtered, with the same
drafts. Equally frequent tokens are taken in any order there, the latest first here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from copydraft.tokens import NO_DRAFT, Draft

DEPTH = 64
_STOP = -1  # stands behind every sequence, and is no token


class Path(NamedTuple):
    """A continuation; `score` is the number of its tokens that are expected to be right."""

    score: float
    tokens: list[int]


class SuffixTree:
    """Counts of all strings of up to `DEPTH` tokens in several sequences, the last one open."""

    def __init__(self) -> None:
        self._text = [_STOP]
        self._behind: defaultdict[int, list[int]] = defaultdict(list)
        """By token: the places right behind it."""

    def extend(self, tokens: Sequence[int]) -> None:
        self._text.pop()
        for token in tokens:
            self._text.append(token)
            self._behind[token].append(len(self._text))
        self._text.append(_STOP)

    def close(self) -> None:
        """End the open sequence."""
        self._text.append(_STOP)

    def speculate(self, context: Sequence[int], most: int, factor: float, least: float) -> Path:
        """The best path behind the end of `context`, which has at most DEPTH tokens."""
        best = Path(0.0, [])
        places = self._behind.get(context[-1], [])
        length = 1
        while places and length < len(context):
            # Matches of several lengths with the same places have the same path.
            room = 0
            same = True
            while same and length < len(context):
                room = max(room, min(most, int(length * factor + 1e-6), DEPTH - length))
                length += 1
                before = context[-length]
                longer = [place for place in places if self._text[place - length] == before]
                same = len(longer) == len(places)
            path = self._path(places, room, least)
            if path.score >= best.score:
                best = path
            places = longer
        return best

    def _path(self, places: list[int], room: int, least: float) -> Path:
        text = self._text
        tokens: list[int] = []
        probability, score = 1.0, 0.0
        while len(tokens) < room:
            if len(places) == 1:
                rest = text[places[0] : places[0] + room - len(tokens)]
                if _STOP in rest:
                    rest = rest[: rest.index(_STOP)]
                return Path(score + probability * len(rest), tokens + rest)
            counts = Counter(text[place] for place in reversed(places))
            del counts[_STOP]
            if not counts:
                break
            token = max(counts, key=counts.__getitem__)
            probability *= counts[token] / len(places)
            if probability < least:
                break
            tokens.append(token)
            score += probability
            places = [place + 1 for place in places if text[place] == token]
        return Path(score, tokens)


class SuffixDecoding:
    """One request; `shared` is the tree of all requests' outputs, which this one's joins."""

    def __init__(
        self, prompt: Sequence[int], shared: SuffixTree, *, factor: float = 1.0, least: float = 0.1
    ) -> None:
        self._text = list(prompt)
        self._own = SuffixTree()
        self._own.extend(prompt)
        self._shared = shared
        self._factor = factor
        self._least = least
        shared.close()

    def propose(self, limit: int) -> Draft:
        context = self._text[-DEPTH:]
        most = min(limit, DEPTH)
        own = self._own.speculate(context, most, self._factor, self._least)
        shared = self._shared.speculate(context, most, self._factor, self._least)
        path, corpus = (shared, "global") if shared.score > own.score else (own, "session")
        return Draft(path.tokens, corpus, "") if path.tokens else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        self._text.extend(tokens)
        self._own.extend(tokens)
        self._shared.extend(tokens)
