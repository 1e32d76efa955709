"""The model's own chat template: messages to the text that it was trained on.

A template is Jinja text out of a model file that anyone may have written: it runs in a sandbox,
with bounded steps and output.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import jinja2.ext
from jinja2 import Template, nodes
from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from copydraft.errors import ModelProblem
from copydraft.prompts.pieces import Marks, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jinja2.parser import Parser


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


class Call(NamedTuple):
    """A tool's call that the model made earlier."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    """JSON, or its text: as the model's template wants it (`emission.calls.CallShape`)."""


class Message(NamedTuple):
    """One turn of a conversation; `role` is "system", "user", "assistant" or "tool"."""

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    """Of the assistant."""
    call_id: str = ""
    name: str = ""
    """Of the tool; its message is the result of the call with `call_id`."""


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

        `tools` are JSON schemas, as a template that knows tools shows them to the model. Where the
        template refuses or drops a message, system messages go in front of the first user message,
        and messages in a row become one. `special_texts` is the tokenizer's.

        Raises:
            ModelProblem: the template fails, or drops another message.
        """
        template = self._template or self._sandbox.compile_counted(
            _CHATML if "<|im_start|>" in special_texts else _PLAIN
        )
        try:
            pieces = self._render(template, messages, tools, special_texts)
        except ModelProblem:
            simpler = _simpler(messages)
            if simpler == list(messages):
                raise
            pieces = self._render(template, simpler, tools, special_texts)
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
        special_texts: frozenset[str],
    ) -> list[Piece]:
        marks = Marks(special_texts)
        marked = [_marked(message, marks) for message in messages]
        guarded = [marks.guarded(tool) for tool in tools]
        return marks.cut(self._text(template, marked, guarded, add_generation_prompt=True))

    def _text(
        self,
        template: Template,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool,
    ) -> str:
        self._sandbox.steps = 0
        room = _MOST_MARKUP + sum(len(json.dumps(each)) for each in (*messages, *tools))
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


def _marked(message: Message, marks: Marks) -> dict[str, Any]:
    """A message as templates know it."""
    # Beside calls, some templates leave out what else was said.
    shown: dict[str, Any] = {
        "role": message.role,
        "content": marks.content(message.content, may_drop=bool(message.calls)),
    }
    if message.calls:
        shown["tool_calls"] = [
            {
                "type": "function",
                "id": marks.guarded(call.id),
                "function": marks.guarded({"name": call.name, "arguments": call.arguments}),
            }
            for call in message.calls
        ]
    if message.role == "tool":
        shown |= marks.guarded({"tool_call_id": message.call_id, "name": message.name})
    return shown


def _simpler(messages: Sequence[Message]) -> list[Message]:
    """The same for templates that know no system message, or want question and answer in turns."""
    told = "\n\n".join(each.content for each in messages if each.role == "system")
    others = [message for message in messages if message.role != "system"]
    if told:
        place = next((i for i, each in enumerate(others) if each.role == "user"), 0)
        others.insert(place, Message("user", told))
    simpler: list[Message] = []
    for message in others:
        last = simpler[-1] if simpler else None
        if last and last.role == message.role and message.role in ("user", "assistant"):
            both = "\n\n".join(part for part in (last.content, message.content) if part)
            simpler[-1] = last._replace(content=both, calls=last.calls + message.calls)
        else:
            simpler.append(message)
    return simpler


def _without_thinking(opening: str) -> str:
    """Close a thinking block that the template opens for the model."""
    if match := _OPEN_THINKING.search(opening):
        return f"{opening[: match.start()]}<{match[1]}>\n\n</{match[1]}>\n\n"
    return opening
