"""Ways to decode the same task, to be measured beside one another on a real model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from copydraft.drafting.drafter import CopyDrafter, Drafter, NoDrafter
from copydraft.drafting.policy import Policy, Survival
from copydraft.serving.tasks import Task
from copydraft.tokens import NO_DRAFT, Draft


class Oracle:
    """Knows the answer: the best that any drafter can do within the widest pass.

    It drafts the length that costs least per token, or the whole rest where that is shorter.
    """

    def __init__(self, answer: Sequence[int], costs: Sequence[float]) -> None:
        self._left = list(answer)
        rates = [width / cost for width, cost in enumerate(costs, start=1)]
        self._length = rates.index(max(rates))

    def propose(self, limit: int) -> Draft:
        length = min(self._length, limit, len(self._left) - 1)
        return Draft(self._left[:length], "oracle", "") if length > 0 else NO_DRAFT

    def written(self, tokens: Sequence[int], accepted: int) -> None:  # noqa: ARG002  # the protocol's
        self._left = self._left[len(tokens) :] if self._left[: len(tokens)] == tokens else []


@dataclass(frozen=True)
class Arm:
    """A drafter by name, and whether near ties are decoded alone."""

    drafter: str
    draft: bool = True
    strict: bool = False


ARMS = {
    "plain": Arm("none", draft=False),
    "copydraft": Arm("copydraft"),
    "strict": Arm("copydraft", strict=True),
    "oracle": Arm("oracle"),
}


def make_drafter(
    arm: Arm, task: Task, costs: list[float], survival: Survival, answer: Sequence[int]
) -> Drafter:
    """The arm's drafter; `answer` is what plain decoding wrote, for those that may know it."""
    if arm.drafter == "oracle":
        return Oracle(answer, costs)
    if arm.drafter == "copydraft":
        return CopyDrafter(task.documents, Policy(costs, survival))
    return NoDrafter()
