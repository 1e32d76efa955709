"""The model's own chat template, and prompts as tokens.

A template is Jinja text out of a model file that anyone may have written: it runs in a sandbox,
with bounded steps and output. Text of the user's never becomes a control token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from copydraft.tokens import Tokenizer


class Message(NamedTuple):
    """One turn of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


class ChatTemplate:
    """Turns messages into the text that the model was trained on.

    Without a template in the model file (`source` empty) it is ChatML where the vocabulary has
    its markers, else plain headings for instruction and response.
    """

    def __init__(
        self, source: str, *, bos: str = "", eos: str = "", add_bos: bool = False
    ) -> None:
        """`bos` and `eos` are spellings; `add_bos`: the model wants `bos` first in any case.

        Raises:
            ModelProblem: the template is not Jinja.
        """
        raise NotImplementedError


def encode_chat(
    messages: Sequence[Message], template: ChatTemplate, tokenizer: Tokenizer
) -> list[int]:
    """The prompt that asks for the next assistant turn.

    Raises:
        ModelProblem: the template fails, or drops a message.
    """
    raise NotImplementedError
