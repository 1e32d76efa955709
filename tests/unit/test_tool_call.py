"""Tool calls: printed, followed, and read back as edits of the region."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.emission.format import Part, Printed
from copydraft.emission.tool_call import CallSyntax, ToolCallFormat
from copydraft.errors import AnswerRefused

HERMES = CallSyntax(
    '<tool_call>\n{"name": "edit_file", "arguments": {"path": "',
    '", "old": "',
    '", "new": "',
    '"}}\n</tool_call>',
    True,
)
MISTRAL = CallSyntax(
    '[TOOL_CALLS] [{"name": "edit_file", "arguments": {"path": "',
    '", "old": "',
    '", "new": "',
    '"}, "id": "a1b2c3d4e"}]',
    True,
)
TAGS = CallSyntax(
    "<tool_call>\n<function=edit_file>\n<parameter=path>\n",
    "\n</parameter>\n<parameter=old>\n",
    "\n</parameter>\n<parameter=new>\n",
    "\n</parameter>\n</function>\n</tool_call>",
    False,
)
FORM = ToolCallFormat("f.py", HERMES)
TAGGED = ToolCallFormat("f.py", TAGS)
REGION = 'def f(x):\n    return "x"\n\n\nprint(f(1))\n'
BEGIN = '<tool_call>\n{"name": "edit_file", "arguments": {"path": "f.py", '
CALL = BEGIN + r'"old": "    return \"x\"", "new": "    return \"y\""}}' + "\n</tool_call>"
SECOND = BEGIN + '"old": "print(f(1))", "new": "print(f(2))"}}\n</tool_call>'


def changed(
    answer: str, region: str = REGION, *, form: ToolCallFormat = FORM, ended: bool = True
) -> str:
    return "".join(part.text for part in form.parse(answer, region, ended=ended))


def test_every_answer_begins_with_the_call_up_to_the_path() -> None:
    assert FORM.opening == '<tool_call>\n{"name": "edit_file", "arguments": {"path":'
    assert TAGGED.opening == "<tool_call>\n<function=edit_file>\n<parameter=path>\n"


def test_an_edit_is_one_call_with_json_strings() -> None:
    assert FORM.emit('a\n\t"b"\n', 'a\n\t"ü"\n') == (
        r"<tool_call>"
        "\n"
        r'{"name": "edit_file", "arguments": {"path": "f.py", '
        r'"old": "a\n\t\"b\"\n", "new": "a\n\t\"ü\"\n"}}'
        "\n</tool_call>"
    )


def test_an_edit_between_tags_is_as_it_is() -> None:
    assert TAGGED.emit('"a"\n', '"b"\n') == (
        "<tool_call>\n<function=edit_file>\n<parameter=path>\nf.py\n</parameter>\n"
        '<parameter=old>\n"a"\n\n</parameter>\n<parameter=new>\n"b"\n\n</parameter>\n'
        "</function>\n</tool_call>"
    )


def test_a_document_is_printed_into_each_argument_with_its_borders() -> None:
    assert FORM.printed("g.py", 'a\n"b"') == [
        Printed("path", '<tool_call>\n{"name": "edit_file", "arguments": {"path":', ' "g.py"'),
        Printed("old", '", "old":', r' "a\n\"b\""'),
        Printed("new", '", "new":', r' "a\n\"b\""'),
    ]


def test_a_document_between_tags_is_printed_with_its_borders() -> None:
    path, old, new = TAGGED.printed("g.py", "a\n")
    assert path == ("path", TAGS.before_path, "g.py\n</parameter>")
    assert old == ("old", "\n</parameter>\n<parameter=old>\n", "a\n\n</parameter>")
    assert new == ("new", "\n</parameter>\n<parameter=new>\n", "a\n\n</parameter>")


def test_a_call_changes_its_text() -> None:
    assert changed(CALL) == REGION.replace('"x"', '"y"')


@pytest.mark.parametrize(
    "arguments",
    [
        '"old": ["def f(x):", "    return"], "new": ["def f(y):", "    return"]',
        '"edits": [{"old": "x", "new": "y"}, {"old": "1", "new": "2"}]',
        '"old": 1, "new": "2"',
    ],
)
def test_texts_that_are_not_one_string_each_are_refused_whole(arguments: str) -> None:
    with pytest.raises(AnswerRefused, match="not as one text"):
        changed(BEGIN + arguments + "}}\n</tool_call>")


def test_a_line_end_that_only_the_new_text_has_is_not_doubled() -> None:
    call = CALL.replace(r"return \"y\"", r"return \"y\"\n")
    assert changed(call) == REGION.replace('"x"', '"y"')


def test_several_calls_are_made() -> None:
    assert changed(f"{CALL}\n{SECOND}") == ('def f(x):\n    return "y"\n\n\nprint(f(2))\n')


def test_calls_between_tags_are_made() -> None:
    begin = "<tool_call>\n<function=edit_file>\n<parameter=path>\nf.py"
    call = begin + TAGS.before_old + '"x"' + TAGS.before_new + '"y"' + TAGS.after
    second = begin + TAGS.before_old + "f(1)" + TAGS.before_new + "f(2)" + TAGS.after
    assert changed(f"{call}\n{second}", form=TAGGED) == (
        'def f(x):\n    return "y"\n\n\nprint(f(2))\n'
    )


def test_every_escape_is_a_part_of_its_own() -> None:
    answer = BEGIN + r'"old": "a", "new": "b\u00e9\n"}}'
    at = answer.index("b\\u00e9")
    assert FORM.parse(answer, "a\n", ended=True) == [
        Part("b", at, at + 1),
        Part("é", at + 1, at + 7),
        Part("\n", at + 7, at + 9),
    ]


def test_two_escapes_may_be_one_character() -> None:
    answer = BEGIN + r'"old": "a", "new": "\ud83d\ude00"}}'
    assert changed(answer, "a\n") == "😀\n"


def test_half_a_character_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="half a character"):
        changed(BEGIN + r'"old": "a", "new": "\ud83d"}}', "a\n")


def test_line_ends_and_tabs_as_they_are_have_one_meaning() -> None:
    assert changed(BEGIN + '"old": "a\n\tb", "new": "a\n\tc"}}', "a\n\tb\n") == "a\n\tc\n"


def test_arguments_may_come_in_any_order_and_spacing() -> None:
    answer = '<tool_call>{"arguments":{"new":"b","old":"a","path":"x"},"name":"edit_file"}'
    assert changed(answer, "a\n") == "b\n"


def test_a_last_line_end_that_the_new_text_lost_is_put_back() -> None:
    assert changed(BEGIN + r'"old": "a\n", "new": "b"}}', "a\nc\n") == "b\nc\n"


def test_braces_in_prose_behind_the_calls_are_no_call() -> None:
    assert changed(f"{CALL}\nNow {{x}} is y, and {{}} is {{}}.") == REGION.replace('"x"', '"y"')


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("I cannot do that.", "without a tool call"),
        ('{"name": "edit_file"}', "without a tool call"),
        (CALL + BEGIN[:-9], "tool call is broken"),
        (BEGIN + '"old": "f"}}', "lacks the argument 'new'"),
        (BEGIN + '"old": "print(f(1))", "new": "print("hi")"}}', "tool call is broken"),
        (BEGIN + r'"old": "f\d", "new": "x"}}', "tool call is broken"),
        (BEGIN + '"old": "print(f(1))", "new": "print(f(2))"', "tool call is broken"),
        (BEGIN + '"old": "zzz", "new": "x"}}', "not there: 'zzz'"),
        (BEGIN + '"old": "", "new": "x"}}', "does not say which lines"),
        (BEGIN + '"old": "f", "new": "g"}}', "occur 2 times: 'f'"),
    ],
)
def test_a_call_that_is_no_edit_is_refused(answer: str, message: str) -> None:
    with pytest.raises(AnswerRefused, match=message):
        changed(answer)


@pytest.mark.parametrize(
    "size", [1, len(BEGIN), len(CALL) - 14, len(CALL) + 4, len(f"{CALL}\n{SECOND}") - 15]
)
def test_calls_cut_off_are_refused(size: int) -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        changed(f"{CALL}\n{SECOND}"[:size], ended=False)


def test_calls_between_tags_that_are_cut_off_are_refused() -> None:
    answer = TAGGED.emit("a\n", "b\n")
    with pytest.raises(AnswerRefused, match="cut off"):
        changed(answer[:-60], "a\n", form=TAGGED, ended=False)


def test_a_whole_call_at_the_limit_is_taken() -> None:
    assert changed(CALL, ended=False) == REGION.replace('"x"', '"y"')


@pytest.mark.parametrize("form", [FORM, TAGGED, ToolCallFormat("f.py", MISTRAL)])
def test_an_answer_is_complete_when_prose_follows_the_last_call(form: ToolCallFormat) -> None:
    reader = form.reader()
    call = form.emit("a = '}'\n", "b = '{'\n")
    assert not reader.feed(call)
    assert not reader.feed(f"\n{call}")
    assert reader.feed(
        "\n\nThis changes what a is named, which is what was asked for, is it not?" * 2
    )


def test_control_tokens_of_the_syntax_are_not_looked_for_in_the_answer() -> None:
    syntax = TAGS._replace(before_path=f"<|call|>{TAGS.before_path}", after=f"{TAGS.after}<|end|>")
    form = ToolCallFormat("f.py", syntax, frozenset({"<|call|>", "<|end|>"}))
    shown = TAGGED.emit("a\n", "b\n")
    assert changed(f"<|call|>{shown}", "a\n", form=form) == "b\n"


@given(st.text(st.characters(codec="utf-8")).filter(bool), st.data())
def test_any_string_is_followed_to_the_end_of_its_call(text: str, data: st.DataObject) -> None:
    call = FORM.emit(text, text)
    at = data.draw(st.integers(0, len(call)))
    reader = FORM.reader()
    assert not reader.feed(call[:at])
    assert not reader.feed(call[at:])
    assert reader.feed("x" * 200)
