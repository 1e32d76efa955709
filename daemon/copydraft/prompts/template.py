"""The model's own chat template, and prompts as tokens.

A template is Jinja text out of a model file that anyone may have written: it runs in a sandbox,
with bounded steps and output. Text of the user's never becomes a control token.
"""

from __future__ import annotations

import datetime
import json
import re
import secrets
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jinja2.ext
from jinja2 import Template, nodes
from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from copydraft.errors import ModelProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jinja2.parser import Parser

    from copydraft.tokens import Tokenizer

_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant{{ '\n' }}"
)
_PLAIN = (
    "{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% else %}### {{ 'Response' if message.role == 'assistant' else 'Instruction' }}:\n"
    "{{ message.content }}\n\n{% endif %}{% endfor %}### Response:{{ '\n' }}"
)

_MOST_STEPS = 100_000
_MOST_MARKUP = 1_000_000
_OPEN_THINKING = re.compile(r"<((?:\w+:)?think\w*)>\s*\Z")


class Message(NamedTuple):
    """One turn of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


class Piece(NamedTuple):
    """Part of a prompt; only in the template's own markup do spellings mean control tokens."""

    text: str
    markup: bool


class ChatTemplate:
    """Turns messages into the text that the model was trained on.

    Without a template in the model file (`source` empty) it is ChatML where the vocabulary has
    its markers, else plain headings for instruction and response.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", add_bos: bool = False) -> None:
        """`bos` and `eos` are spellings; `add_bos`: the model wants `bos` first in any case.

        Raises:
            ModelProblem: the template is not Jinja.
        """
        self._sandbox = _Sandbox()
        self._template = self._sandbox.compile_counted(source) if source else None
        self._variables = {"bos_token": bos, "eos_token": eos}
        self._first = bos if add_bos else ""

    def pieces(
        self,
        messages: Sequence[Message],
        special_texts: frozenset[str],
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> list[Piece]:
        """The prompt that asks for the next assistant turn, thinking switched off; ends in markup.

        `tools` are JSON schemas, as a template that knows tools shows them to the model. A system
        message that the template refuses or drops goes in front of the first user message.
        `special_texts` is the tokenizer's.

        Raises:
            ModelProblem: the template fails, or drops another message.
        """
        template = self._template or self._sandbox.compile_counted(
            _CHATML if "<|im_start|>" in special_texts else _PLAIN
        )
        if messages[0].role != "system":
            pieces = self._render(template, messages, tools)
        else:
            try:
                pieces = self._render(template, messages, tools)
            except ModelProblem:
                pieces = self._render(template, _without_system(messages), tools)
        if self._first and not pieces[0].text.startswith(self._first):
            pieces.insert(0, Piece(self._first, markup=True))
        pieces[-1] = Piece(_without_thinking(pieces[-1].text), markup=True)
        return pieces

    def sample(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool,
    ) -> str:
        """Messages of any shape, as the model's own template prints them; "" if it has none.

        Raises:
            ModelProblem: the template fails.
        """
        if self._template is None:
            return ""
        return self._text(
            self._template, messages, tools, add_generation_prompt=add_generation_prompt
        )

    def _render(
        self,
        template: Template,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
    ) -> list[Piece]:
        marks = _Marks()
        marked = [
            {"role": message.role, "content": marks.wrap(index, message.content)}
            for index, message in enumerate(messages)
        ]
        return marks.cut(self._text(template, marked, tools, add_generation_prompt=True))

    def _text(
        self,
        template: Template,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool,
    ) -> str:
        self._sandbox.steps = 0
        room = _MOST_MARKUP + sum(len(message["content"]) for message in messages)
        rendered = ""
        try:
            for part in template.generate(
                messages=messages,
                add_generation_prompt=add_generation_prompt,
                enable_thinking=False,
                thinking=False,
                tools=list(tools) or None,
                **self._variables,
            ):
                rendered += part
                if len(rendered) > room:
                    _refuse("it writes without end")
        # A template may fail in any way that Python can: all are faults of the model file.
        except Exception as error:
            raise ModelProblem(
                f"the model's chat template fails: {error}", "use another file of this model"
            ) from error
        return rendered


def encode_chat(
    messages: Sequence[Message], template: ChatTemplate, tokenizer: Tokenizer
) -> list[int]:
    """The tokens of the prompt that asks for the next assistant turn.

    Raises:
        ModelProblem: the template fails, or drops a message.
    """
    return encode_pieces(template.pieces(messages, tokenizer.special_texts), tokenizer)


def encode_pieces(pieces: Sequence[Piece], tokenizer: Tokenizer) -> list[int]:
    """Tokens of the joined text, as of one text, save where the user's part spells a control token.

    There, and only there, the text is cut, and the spelling is encoded as ordinary text.
    """
    text = "".join(piece.text for piece in pieces)
    tokens: list[int] = []
    at = 0
    for start, end in _user_spellings(pieces, text, tokenizer.special_texts):
        tokens += tokenizer.encode(text[at:start], special=True)
        tokens += tokenizer.encode(text[start:end])
        at = end
    return tokens + tokenizer.encode(text[at:], special=True)


def encode_answer(prompt: Sequence[Piece], answer: str, tokenizer: Tokenizer) -> list[int]:
    """Tokens of `answer` as the model would print it after `prompt`, which ends in markup.

    The first tokens of a text depend on what stands before it.
    """
    opening = tokenizer.encode(prompt[-1].text, special=True)
    tokens = encode_pieces([prompt[-1], Piece(answer, markup=False)], tokenizer)
    if tokens[: len(opening)] == opening:
        return tokens[len(opening) :]
    return encode_pieces([Piece(answer, markup=False)], tokenizer)


class _Marks:
    """Marks that nobody can guess around the contents of messages, to find them again."""

    def __init__(self) -> None:
        self._key = secrets.token_hex(8)
        self._wrapped = 0

    def wrap(self, index: int, content: str) -> str:
        # Templates often strip contents: blank ends stay outside, where they can be stripped.
        core = content.strip()
        if not core:
            return content
        self._wrapped += 1
        start = content.index(core)
        key = f"{self._key}x{index}x"
        return f"{content[:start]}{key}{core}{key}{content[start + len(core) :]}"

    def cut(self, rendered: str) -> list[Piece]:
        pieces = []
        seen = set()
        at = 0
        for match in re.finditer(rf"{self._key}x(\d+)x(.*?){self._key}x\1x", rendered, re.DOTALL):
            pieces += [Piece(rendered[at : match.start()], markup=True), Piece(match[2], False)]
            seen.add(match[1])
            at = match.end()
        if len(seen) < self._wrapped:
            raise ModelProblem(
                "the model's chat template drops part of the request", "use another file of it"
            )
        return [*pieces, Piece(rendered[at:], markup=True)]


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja as `transformers` sets it up for chat templates; loops and calls are counted."""

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, _Generation]
        )
        self.steps = 0
        self.filters["tojson"] = _to_json
        self.filters["counted"] = self._counted
        self.globals["raise_exception"] = _refuse
        self.globals["strftime_now"] = _strftime_now

    def compile_counted(self, source: str) -> Template:
        try:
            tree = self.parse(source)
            for loop in tree.find_all(nodes.For):
                loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None)
            return Template.from_code(self, self.compile(tree), self.make_globals(None))
        except TemplateSyntaxError as error:
            raise ModelProblem(
                f"the model's chat template is damaged: {error}", "use another file of this model"
            ) from error

    def call(self, *args: Any, **kwargs: Any) -> Any:
        self._step()
        return super().call(*args, **kwargs)

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._step()
            yield item

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            _refuse("it runs without end")


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks text for training; here it means nothing."""

    tags = {"generation"}  # noqa: RUF012  (Jinja's own attribute, declared as a plain set)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes for HTML, which models were not trained on."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _strftime_now(style: str) -> str:
    return datetime.datetime.now().astimezone().strftime(style)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    system, user, *rest = messages
    return [Message(user.role, f"{system.content}\n\n{user.content}"), *rest]


def _without_thinking(opening: str) -> str:
    """Close a thinking block that the template opens for the model."""
    if match := _OPEN_THINKING.search(opening):
        return f"{opening[: match.start()]}<{match[1]}>\n\n</{match[1]}>\n\n"
    return opening


def _user_spellings(
    pieces: Sequence[Piece], text: str, special_texts: frozenset[str]
) -> list[tuple[int, int]]:
    """Where a control token is spelled by the user's text, or by it together with markup."""
    found = sorted((s for s in special_texts if s and s in text), key=len, reverse=True)
    if not found:
        return []
    ends = list(accumulate(len(piece.text) for piece in pieces))
    markup = [
        (end - len(piece.text), end)
        for piece, end in zip(pieces, ends, strict=True)
        if piece.markup
    ]
    return [
        match.span()
        for match in re.finditer("|".join(map(re.escape, found)), text)
        if not any(start <= match.start() and match.end() <= end for start, end in markup)
    ]
