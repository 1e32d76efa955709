"""Ways to decode the same task, to be measured beside one another on a real model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from copydraft.drafting.drafter import CopyDrafter, Drafter, NoDrafter
from copydraft.drafting.policy import Policy, Survival
from copydraft.evaluation.baselines.oracle import Oracle
from copydraft.serving.tasks import Task


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
