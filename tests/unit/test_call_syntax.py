"""The syntax of tool calls, read from chat templates of the kinds that models come with."""

from __future__ import annotations

import pytest

from copydraft.emission.tool_call import CallSyntax
from copydraft.prompts.template import ChatTemplate, Message
from copydraft.prompts.tools import EDIT_TOOL, call_syntax
from tests.fixtures.templates import LLAMA, MISTRAL, QWEN, SPECIALS, TAGS, TEXT, TOOLS, TURN

ARGUMENTS = ('{"path": "', '", "old": "', '", "new": "')


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        (
            QWEN,
            '<tool_call>\n{"name": "edit_file", "arguments": ',
            '"}}\n</tool_call>',
        ),
        (LLAMA, '{"name": "edit_file", "parameters": ', '"}}'),
        (
            MISTRAL,
            '[TOOL_CALLS] [{"name": "edit_file", "arguments": ',
            '"}, "id": "a1b2c3d4e"}]',
        ),
        (TEXT, "<call>function<sep>edit_file\n```json\n", '"}\n```'),
    ],
    ids=["Qwen and Hermes", "Llama", "Mistral", "DeepSeek"],
)
def test_calls_with_json_are_read_from_the_template(source: str, before: str, after: str) -> None:
    path, old, new = ARGUMENTS
    assert call_syntax(ChatTemplate(source), SPECIALS) == CallSyntax(
        before + path, old, new, after, True
    )


def test_calls_between_tags_are_read_from_the_template() -> None:
    assert call_syntax(ChatTemplate(TAGS), SPECIALS) == CallSyntax(
        "<tool_call>\n<function=edit_file>\n<parameter=path>\n",
        "\n</parameter>\n<parameter=old>\n",
        "\n</parameter>\n<parameter=new>\n",
        "\n</parameter>\n</function>\n</tool_call>",
        False,
    )


def test_an_empty_thinking_block_that_only_the_prompt_has_is_no_part_of_the_call() -> None:
    source = QWEN.replace(TURN, TURN.replace("assistant\n", "assistant\n<think>\n\n</think>\n\n"))
    syntax = call_syntax(ChatTemplate(source), SPECIALS)
    assert syntax is not None
    assert syntax.before_path.startswith("<tool_call>\n{")


def test_an_empty_thinking_block_that_only_the_answer_has_is_no_part_of_the_call() -> None:
    source = TAGS.replace("enable_thinking is false", "false")
    syntax = call_syntax(ChatTemplate(source), SPECIALS)
    assert syntax is not None
    assert syntax.before_path.startswith("<tool_call>\n<function")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}",
        TOOLS
        + "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}",
        TOOLS + "{{ raise_exception('no tools') }}",
        # Neither JSON nor as they are: Python's own spelling.
        TOOLS + "{% for message in messages %}{{ message.tool_calls }}{% endfor %}",
    ],
)
def test_a_template_without_tools_has_no_syntax(source: str) -> None:
    assert call_syntax(ChatTemplate(source), SPECIALS) is None


def test_the_template_shows_the_tool_to_the_model() -> None:
    pieces = ChatTemplate(QWEN).pieces([Message("user", "Hello")], SPECIALS, [EDIT_TOOL])
    assert '"name": "edit_file"' in pieces[0].text
    assert pieces[-1].text.endswith("<|im_start|>assistant\n")
