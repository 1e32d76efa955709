"""From which source, and how many tokens: the most text for the time of a pass.

A pass over the last token and k drafted ones costs c(k + 1) and writes 1 + the accepted prefix.
With s(i) the chance that token i is right if those before it were, k drafted tokens bring
E(k) = s(1) + s(1) s(2) + … expected tokens (Leviathan, Kalman, Matias 2023, with an acceptance
that depends on the place). What is to be high is text per time over a whole answer, not in one
pass, so each pass pays for its time at the rate λ that is usual (Dinkelbach 1967: the ratio of two
sums is greatest where the sum of g(k) = E(k) + 1 - λ c(k + 1) is). A pass that wins more than the
usual rate drafts longer than the best ratio of its own would allow, an unsure one less.

A pass that is right to its end, the model's own token included, is followed by another one of the
same copy, which wins as much again: with r(k), the chance of that, the copy wins
g(k) (1 + r(k) + r(k)² + …) = g(k) / (1 - r(k)). So where a wide pass costs more for each token than
a narrow one, a sure copy is cut into the cheap widths.
"""

from __future__ import annotations

from collections.abc import Sequence

from copydraft.drafting.candidate import Candidate, common_length
from copydraft.drafting.profile import Profile
from copydraft.drafting.survival import Survival

_FADING = 0.995
"""Weight of a pass in the usual rate, against the next one: about the last two hundred count."""

_CAUTION = 0.8
"""The rate that a pass pays, of the usual one: on the development edits, between most text per
pass and most text per time."""

_LEAST_END = 0.01
"""Chance at least that a copy ends in a pass, however sure it is: what follows is not endless."""

_HOPELESS = 0.01
"""Chance below which a longer draft is not looked at."""


class Experience:
    """What was learned of one kind of request on one machine; it outlives the requests.

    `costs` are of passes by width (index 0: a pass of width 1, cost 1).
    """

    def __init__(self, profile: Profile, costs: Sequence[float]) -> None:
        self.costs = costs
        self.survival = Survival(profile.weights)
        self.cap = self._least_cap = profile.cap
        # What the profile's passes would have cost here, as if the cost grew evenly with width.
        of_drafted = (costs[-1] - costs[0]) / max(1, len(costs) - 1)
        self._tokens = 1 / (1 - _FADING)
        self._passes = profile.passes * self._tokens
        self._drafted = profile.drafted * self._tokens
        self._cost = self._passes + of_drafted * self._drafted

    @property
    def rate(self) -> float:
        """Tokens written for the time of a pass of width 1, lately; plain decoding has 1."""
        return max(1.0, self._tokens / self._cost)

    def profile(self) -> Profile:
        """Where the next process may begin."""
        return Profile(
            weights=self.survival.weights,
            passes=min(1.0, self._passes / self._tokens),
            drafted=self._drafted / self._tokens,
            cap=self._least_cap,
        )

    def passed(self, tokens: int, drafted: int, accepted: int) -> None:
        """A pass wrote `tokens`; of `drafted` ones it accepted some.

        A draft as long as the cap that was right to its end raises the cap, a wrong one lowers it,
        never below the profile's.
        """
        self._tokens = _FADING * self._tokens + tokens
        self._passes = _FADING * self._passes + 1
        self._drafted = _FADING * self._drafted + drafted
        self._cost = _FADING * self._cost + self.costs[drafted]
        if accepted < drafted:
            self.cap = max(self._least_cap, self.cap // 2)
        elif drafted >= self.cap:
            self.cap *= 2


class Policy:
    """Chooses for one request, by the costs of its experience."""

    def __init__(self, experience: Experience) -> None:
        self._after_first = experience.costs[1:]
        self._experience = experience
        self._offered: Sequence[Candidate] = ()
        self._drafted = 0

    def longest(self, limit: int) -> int:
        """How many tokens of a candidate are worth looking at."""
        return min(limit, self._experience.cap, len(self._after_first))

    def choose(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The candidate that brings most, cut to its best length; None where plain is better."""
        # Plain decoding writes a token for 1: less is never worth while.
        price = max(1.0, _CAUTION * self._experience.rate)
        best, best_value = None, 1.0 - price
        for candidate in candidates:
            reached, expected = 1.0, 1.0
            chances = self._experience.survival.chances(candidate)
            steps = zip(chances, self._after_first, strict=False)
            for length, (chance, cost) in enumerate(steps, start=1):
                reached *= chance
                expected += reached
                gain = expected - price * cost
                if gain > 0.0:
                    # The model's own token behind the draft has to go on with the copy too.
                    ends = 1.0 - reached * chance
                    gain /= ends if ends > _LEAST_END else _LEAST_END
                if gain > best_value:
                    best_value, best = gain, (candidate, length)
                if reached < _HOPELESS:
                    break
        self._offered = candidates
        self._drafted = best[1] if best else 0
        return best[0]._replace(tokens=best[0].tokens[: best[1]]) if best else None

    def learn(self, written: Sequence[int], accepted: int) -> None:
        """A pass wrote `written`, of which the first `accepted` were drafted."""
        for candidate in self._offered:
            right = common_length(candidate.tokens, written)
            self._experience.survival.learn(
                candidate, right, min(len(written), len(candidate.tokens))
            )
        self._experience.passed(len(written), self._drafted, accepted)
        self._offered, self._drafted = (), 0
