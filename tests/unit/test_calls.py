"""Calls of tools in answers, written after the manner of each family of models."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.emission.calls import HERMES, Call, CallShape, read_calls, text_before_calls
from copydraft.prompts.template import ChatTemplate
from copydraft.prompts.tools import call_shape
from tests.fixtures.templates import LLAMA, MISTRAL, QWEN, SPECIALS, TAGS, TEXT

SCHEMAS: dict[str, dict[str, Any]] = {
    "run": {"type": "object", "properties": {"command": {"type": "string"}}},
    "wait": {"type": "object", "properties": {"seconds": {"type": "number"}, "why": {}}},
    "list": {"type": "object", "properties": {}},
}
FAMILIES = {"Qwen": QWEN, "Llama": LLAMA, "Mistral": MISTRAL, "tags": TAGS, "DeepSeek": TEXT}
GLM = (
    "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}"
    "{{ '<|' + message.role + '|>' + message.content }}{% for call in message.tool_calls or [] %}"
    "{{ '\n<tool_call>' + call.function.name + '\n' }}"
    "{% for key, value in call.function.arguments | items %}"
    "{{ '<arg_key>' + key + '</arg_key>\n<arg_value>' + value + '</arg_value>\n' }}"
    "{% endfor %}{{ '</tool_call>' }}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


template_of = cache(ChatTemplate)


@cache
def shape_of(source: str) -> CallShape:
    shape = call_shape(template_of(source), SPECIALS)
    assert shape is not None
    return shape


def written(source: str, *calls: tuple[str, dict[str, Any]], said: str = "") -> str:
    """The model's turn as its template prints it, without the token that ends it."""

    def shown(given: dict[str, Any]) -> dict[str, Any] | str:
        as_text = shape_of(source).text_arguments
        return json.dumps(given, ensure_ascii=False) if as_text else given

    tool_calls = [
        {
            "type": "function",
            "id": "a1b2c3d4e",
            "function": {"name": name, "arguments": shown(given)},
        }
        for name, given in calls
    ]
    user = {"role": "user", "content": "Go on."}
    turn = {"role": "assistant", "content": said, "tool_calls": tool_calls}
    template = template_of(source)
    whole = template.sample([user, turn], [], add_generation_prompt=False)
    start = template.sample([user], [], add_generation_prompt=True)
    body = whole[len(start) :] if whole.startswith(start) else whole[whole.index("assistant") + 9 :]
    ends = [at for end in ("<|im_end|>", "<|eot|>", "</s>", "<end>") if (at := body.find(end)) >= 0]
    return body[: min(ends, default=len(body))]


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        (QWEN, CallShape('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>")),
        (LLAMA, CallShape('{"name": "', '", "parameters": ', "}")),
        (
            MISTRAL,
            CallShape('[TOOL_CALLS] [{"name": "', '", "arguments": ', ', "id": "a1b2c3d4e"}]'),
        ),
        (
            TEXT,
            CallShape("<call>function<sep>", "\n```json\n", "\n```", text_arguments=True),
        ),
    ],
    ids=["Qwen", "Llama", "Mistral", "DeepSeek"],
)
def test_the_shape_of_calls_is_read_from_the_template(source: str, shape: CallShape) -> None:
    assert shape_of(source) == shape


@pytest.mark.parametrize(
    ("source", "before_name", "after_name", "tags", "after"),
    [
        (
            TAGS,
            "<tool_call>\n<function=",
            ">\n<parameter=",
            (">\n", "\n</parameter>\n<parameter="),
            "\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            GLM,
            "\n<tool_call>",
            "\n<arg_key>",
            ("</arg_key>\n<arg_value>", "</arg_value>\n<arg_key>"),
            "</arg_value>\n</tool_call>",
        ),
    ],
    ids=["Qwen3-Coder", "GLM"],
)
def test_the_shape_of_calls_between_tags_is_read_from_the_template(
    source: str, before_name: str, after_name: str, tags: tuple[str, str], after: str
) -> None:
    shape = shape_of(source)
    assert (shape.before_name, shape.after_name, shape.tags, shape.after) == (
        before_name,
        after_name,
        tags,
        after,
    )


@pytest.mark.parametrize("source", [*FAMILIES.values(), GLM], ids=[*FAMILIES, "GLM"])
def test_a_call_is_read_as_the_template_prints_it(source: str) -> None:
    answer = written(source, ("run", {"command": 'echo "a\n  b" > c'}))
    assert read_calls(answer, shape_of(source), SCHEMAS) == (
        "",
        [Call("run", '{"command": "echo \\"a\\n  b\\" > c"}')],
    )


def test_text_before_calls_and_all_of_several_calls_are_kept() -> None:
    calls = [("run", {"command": "ls"}), ("run", {"command": "pwd"})]
    answer = written(QWEN, *calls, said="I look.")
    assert read_calls(answer, HERMES, SCHEMAS) == (
        "I look.",
        [Call("run", '{"command": "ls"}'), Call("run", '{"command": "pwd"}')],
    )


def test_several_calls_in_one_list_are_read() -> None:
    answer = (
        '[TOOL_CALLS] [{"name": "run", "arguments": {"command": "a"}, "id": "a1b2c3d4e"}, '
        '{"name": "list", "arguments": {}, "id": "a1b2c3d4f"}]'
    )
    assert read_calls(answer, shape_of(MISTRAL), SCHEMAS) == (
        "",
        [Call("run", '{"command": "a"}'), Call("list", "{}")],
    )


def test_values_between_tags_have_the_types_of_their_schema() -> None:
    answer = (
        "<tool_call>\n<function=wait>\n<parameter=seconds>\n2.5\n</parameter>\n"
        "<parameter=why>\n[1]\n</parameter>\n</function>\n</tool_call>"
    )
    _, calls = read_calls(answer, shape_of(TAGS), SCHEMAS)
    assert calls == [Call("wait", '{"seconds": 2.5, "why": "[1]"}')]


def test_a_call_between_tags_may_have_no_arguments() -> None:
    answer = "<tool_call>\n<function=list>\n</function>\n</tool_call>"
    assert read_calls(answer, shape_of(TAGS), SCHEMAS) == ("", [Call("list", "{}")])


@pytest.mark.parametrize(
    "answer",
    [
        # Qwen3-Coder forgets the outer tag now and then.
        "<function=run>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        # Tags on one line.
        "<tool_call><function=run><parameter=command>ls</parameter></function></tool_call>",
        # The answer ends before the outer tags are closed.
        "<tool_call>\n<function=run>\n<parameter=command>\nls\n</parameter>\n</function>",
        "<tool_call>\n<function=run>\n<parameter=command>\nls\n</parameter>",
    ],
)
def test_tags_need_not_be_exact(answer: str) -> None:
    _, calls = read_calls(answer, shape_of(TAGS), SCHEMAS)
    assert calls == [Call("run", '{"command": "ls"}')]


@pytest.mark.parametrize(
    "answer",
    [
        '<tool_call>{"name":"run","arguments":{"command":"ls"}}</tool_call>',
        '<tool_call>\n{"arguments": {"command": "ls"}, "name": "run"}\n</tool_call>',
        '<tool_call>\n{"name": "run", "arguments": {"command": "ls"}}',
        '<tool_call>\n{"name": "run", "arguments": "{\\"command\\": \\"ls\\"}"}\n</tool_call>',
        '{"name": "run", "arguments": {"command": "ls"}}\n',
        '```json\n{"name": "run", "arguments": {"command": "ls"}}\n```',
        '[{"type": "function", "function": {"name": "run", "parameters": {"command": "ls"}}}]',
    ],
)
def test_json_need_not_be_exact(answer: str) -> None:
    assert read_calls(answer, HERMES, SCHEMAS) == ("", [Call("run", '{"command": "ls"}')])


@pytest.mark.parametrize(
    "answer",
    [
        "No call at all.",
        '{"name": "unknown", "arguments": {}}',
        '{"command": "ls"}',
        '{"name": "run", "arguments": {"command": "ls"}} is what I would call.',
        'A call is <tool_call>\n{"name": "run", "arguments": {"comm',
        "About <tool_call> and its end </tool_call>.",
        "```json\n[1, 2]\n```",
        "",
    ],
)
def test_what_is_no_call_stays_text(answer: str) -> None:
    assert read_calls(answer, HERMES, SCHEMAS) == (answer, [])


def test_a_call_in_a_fence_may_follow_words() -> None:
    # Qwen2.5-Coder does so.
    answer = 'I run it:\n\n```json\n{"name": "run", "arguments": {"command": "ls"}}\n```'
    assert read_calls(answer, HERMES, SCHEMAS) == (
        "I run it:",
        [Call("run", '{"command": "ls"}')],
    )


@pytest.mark.parametrize("source", [*FAMILIES.values(), GLM], ids=[*FAMILIES, "GLM"])
def test_a_call_is_printed_as_the_template_does(source: str) -> None:
    arguments = {"command": 'echo "a\n  b"', "where": "é"}
    printed = shape_of(source).printed("run", arguments)
    assert written(source, ("run", arguments)).rstrip() == printed


def test_where_the_name_comes_first_only_json_is_read_as_a_call() -> None:
    shape = CallShape("", "\\n", "\\n")
    answer = '{"name": "run", "arguments": {"command": "ls"}}'
    assert read_calls(answer, shape, SCHEMAS) == ("", [Call("run", '{"command": "ls"}')])
    assert read_calls("run it", shape, SCHEMAS) == ("run it", [])
    assert text_before_calls("run it", shape) == len("run it")


def test_a_call_that_was_cut_off_between_tags_stays_text() -> None:
    answer = "<tool_call>\n<function=run>\n<parameter=command>\nls"
    assert read_calls(answer, shape_of(TAGS), SCHEMAS) == (answer, [])


@pytest.mark.parametrize(
    ("answer", "sure"),
    [
        ("I look. ", "I look."),
        ("I look. <tool", "I look."),
        ("I look. <toolbox", "I look. <toolbox"),
        ("I look.\n<tool_call>\n{", "I look."),
        ('{"name', ""),
        ("```json\n", ""),
        ("```python\nx = 1", "```python\nx = 1"),
        ("[a link](b)", "[a link](b)"),
    ],
)
def test_text_that_may_become_a_call_is_not_sure(answer: str, sure: str) -> None:
    assert answer[: text_before_calls(answer, HERMES)] == sure


PARTS = st.sampled_from(
    [
        *("I look.", " ", "\n", "<", "<tool_call>", "<tool", '{"name": "run", "arguments": {}}'),
        *("</tool_call>", "<function=", "run>", "```json\n", "[", "x", "</function>", "}"),
    ]
)


@given(st.lists(PARTS, max_size=9).map("".join), st.sampled_from([*FAMILIES.values(), GLM]))
def test_what_was_sure_at_any_time_begins_the_text_in_the_end(answer: str, source: str) -> None:
    shape = shape_of(source)
    text, _ = read_calls(answer, shape, SCHEMAS)
    known = 0
    for size in range(len(answer) + 1):
        sure = text_before_calls(answer[:size], shape)
        assert text.startswith(answer[:sure])
        known = text_before_calls(answer[:size], shape, known)
        assert known == sure


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=20), min_size=1),
    st.sampled_from(["Qwen", "Llama", "Mistral", "DeepSeek"]),
)
def test_any_arguments_come_back_from_json(arguments: dict[str, str], family: str) -> None:
    source = FAMILIES[family]
    _, calls = read_calls(written(source, ("run", arguments)), shape_of(source), SCHEMAS)
    assert [json.loads(call.arguments) for call in calls] == [arguments]
