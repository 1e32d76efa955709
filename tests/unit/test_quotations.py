"""Which tokens stand before an old text and the new one, by the shape of calls and of blocks."""

from __future__ import annotations

from typing import Any

from copydraft.emission import quotations
from copydraft.emission.calls import HERMES, CallShape, Tags
from tests.fixtures.word_tokenizer import WordTokenizer

TAGS = CallShape(
    "<tool_call>\n<function=",
    ">\n<parameter=",
    "\n</parameter>\n</function>",
    Tags(">\n", "\n</parameter>\n<parameter="),
)
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def schema(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def told(shape: CallShape, *schemas: dict[str, Any]) -> list[tuple[str, str]]:
    """The openings as text."""
    tokenizer = WordTokenizer()
    found = quotations.in_calls(shape, {str(i): s for i, s in enumerate(schemas)}, tokenizer)
    return [(tokenizer.text(list(old)), tokenizer.text(list(new))) for old, new in found]


def test_a_text_may_be_the_one_before_it_rewritten() -> None:
    edit = schema(path=TEXT, old_string=TEXT, new_string=TEXT)
    assert told(HERMES, edit) == [
        ('old_string":', 'new_string":'),
        ('path":', 'old_string":'),
    ]


def test_arguments_that_are_no_texts_stand_between_none() -> None:
    assert told(HERMES, schema(old=TEXT, line=NUMBER, new=TEXT)) == [('old":', 'new":')]


def test_edits_in_a_list_are_found() -> None:
    many = schema(path=TEXT, edits={"type": "array", "items": schema(old=TEXT, new=TEXT)})
    assert told(HERMES, many) == [('old":', 'new":')]


def test_two_tools_with_the_same_arguments_tell_them_once() -> None:
    assert told(HERMES, schema(a=TEXT, b=TEXT), schema(a=TEXT, b=TEXT)) == [('a":', 'b":')]


def test_tools_without_texts_quote_nothing() -> None:
    assert told(HERMES, {}, schema(line=NUMBER), {"properties": None}, schema(a=True)) == []


def test_between_tags_the_line_end_behind_the_key_is_left_to_the_value() -> None:
    assert told(TAGS, schema(old=TEXT, new=TEXT)) == [("old>", "new>")]


def test_a_search_block_quotes_what_stands_behind_its_divider() -> None:
    tokenizer = WordTokenizer()
    [(old, new)] = quotations.in_blocks(tokenizer)
    assert (tokenizer.text(list(old)), tokenizer.text(list(new))) == ("<<<<<<< SEARCH", "=======")


class Joining(WordTokenizer):
    """A line end belongs to the signs before it, and a word begins with its blank."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        del special
        joined = {"=======\n": 1, "\n": 2, " x": 3, "x": 4}
        pieces, tokens = list(joined), []
        while text:
            piece = next(piece for piece in pieces if text.startswith(piece))
            tokens.append(joined[piece])
            text = text.removeprefix(piece)
        return tokens

    def piece(self, token: int) -> bytes:
        return [b"", b"=======\n", b"\n", b" x", b"x"][token]


def test_a_token_that_goes_on_behind_the_opening_belongs_to_it() -> None:
    assert quotations._tokens("\n", "=======", "\nx", Joining()) == (1,)


def test_openings_without_a_token_of_their_own_are_left_out() -> None:
    class OneToken(WordTokenizer):
        def encode(self, text: str, *, special: bool = False) -> list[int]:
            return [1]

        def piece(self, token: int) -> bytes:
            return b"\n<<<<<<< SEARCH\nx"

    assert quotations.in_blocks(OneToken()) == []
