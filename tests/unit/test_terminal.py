"""Progress, diffs and answers, as a terminal and as a pipe get them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from copydraft import terminal
from copydraft.ask import AnswerView
from copydraft.printable import printable
from copydraft.protocol import Delta, Loading, Notice, Prefill, Queued, Span

DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n kept\n-old\r\n+new\ttab\n"


def console(*, is_terminal: bool, kind: str = "xterm") -> tuple[Console, io.StringIO]:
    """A console of eighty columns, and what it writes; `kind` is what TERM says."""
    file = io.StringIO()
    made = Console(
        file=file,
        force_terminal=is_terminal,
        width=80,
        height=24,
        color_system="standard" if is_terminal else None,
        highlight=False,
        _environ={"TERM": kind},
    )
    return made, file


def test_a_diff_in_a_pipe_is_byte_for_byte() -> None:
    made, file = console(is_terminal=False)
    terminal.print_diff(DIFF, made)
    assert file.getvalue() == DIFF


def test_a_diff_on_a_terminal_has_colours() -> None:
    made, file = console(is_terminal=True)
    terminal.print_diff(DIFF, made)
    lines = file.getvalue().splitlines()
    assert lines[0] == "\x1b[1m--- a.py\x1b[0m"
    assert lines[2] == "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m"
    assert lines[3] == " kept"
    assert lines[4] == "\x1b[31m-old␍\x1b[0m"


def test_escape_sequences_of_a_file_do_not_reach_the_terminal() -> None:
    made, file = console(is_terminal=True)
    terminal.print_diff("+\x1b]0;title\x07\n", made)
    assert file.getvalue() == "\x1b[32m+␛]0;title␇\x1b[0m\n"


@pytest.mark.parametrize(
    ("character", "shown"), [("\x7f", "␡"), ("\x80", "\\x80"), ("\x9b", "\\x9b"), ("\x9f", "\\x9f")]
)
def test_the_second_set_of_control_characters_does_not_reach_the_terminal(
    character: str, shown: str
) -> None:
    made, file = console(is_terminal=True)
    terminal.print_diff(f" a{character}31m\n", made)
    assert file.getvalue() == f" a{shown}31m\n"


def test_letters_beyond_the_control_characters_are_as_they_were() -> None:
    assert printable("\t~\u00a0é字\n") == "\t~\u00a0é字\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_name_of_a_model_cannot_steer_the_terminal(is_terminal: bool) -> None:
    made, file = console(is_terminal=is_terminal)
    with terminal.progress(made) as progress:
        progress.show(Loading(model="m\x1b]0;title\x07", share=0.25))
        progress.show(Notice(message="n\x9b31m"))
    assert "loading m␛]0;title␇: 25%" in file.getvalue()
    assert "n\\x9b31m" in file.getvalue()


def test_no_diff_prints_nothing_on_a_terminal() -> None:
    made, file = console(is_terminal=True)
    terminal.print_diff("", made)
    assert file.getvalue() == ""


def test_live_progress_shows_each_stage_and_then_leaves_the_line_empty() -> None:
    made, file = console(is_terminal=True)
    with terminal.LiveProgress(made) as progress:
        for event, shown in (
            (Queued(ahead=2), "queued: 2 requests ahead"),
            (Loading(model="m", share=0.25), "loading m: 25%"),
            (Prefill(done=512, total=1200, reused=0), "reading the prompt: 512 of 1,200 tokens"),
            (
                Delta(
                    text="kept\nnew",
                    spans=[Span(start=0, end=6, corpus="region"), Span(start=6, end=8)],
                    tokens=3,
                ),
                "writing: 3 tokens, 75% copied",
            ),
        ):
            progress.show(event)
            assert shown in file.getvalue()
    assert file.getvalue().endswith("\x1b[1A\x1b[2K")


def test_a_terminal_that_draws_no_line_anew_gets_plain_ones() -> None:
    made, file = console(is_terminal=True, kind="dumb")
    with terminal.progress(made) as progress:
        progress.show(Queued(ahead=1))
        progress.show(Loading(model="m", share=0.0))
    with terminal.answer_stream(made) as stream:
        stream.write("It is **b**")
        assert file.getvalue() == "queued: 1 request ahead\nloading m: 0%\nIt is **b**"
        stream.write(" \x1b[2J")
    assert file.getvalue().endswith("It is **b** ␛[2J\n")


def test_while_a_model_thinks_about_an_explanation_its_progress_is_shown() -> None:
    made, file = console(is_terminal=True)
    with AnswerView(made, made) as view:
        view.show(Delta(text="", spans=[], tokens=7))
        assert "writing: 7 tokens" in file.getvalue()
        view.show(Delta(text="It adds.", spans=[], tokens=9))
    assert "It adds." in file.getvalue()


def test_a_notice_stays_on_the_terminal() -> None:
    made, file = console(is_terminal=True)
    with terminal.progress(made) as progress:
        progress.show(Notice(message="the card is [not] used"))
    assert "the card is [not] used\x1b[0m\n" in file.getvalue()


def test_the_tail_of_the_answer_is_its_last_lines() -> None:
    writing = terminal.Writing()
    for number in range(20):
        writing.add(Delta(text=f"{number}\n", spans=[Span(start=0, end=3)], tokens=number + 1))
    assert writing.tail.plain == "15\n16\n17\n18\n19\n"


def test_markdown_on_a_terminal_is_rendered() -> None:
    made, file = console(is_terminal=True)
    with terminal.answer_stream(made) as stream:
        for piece in ("The **bo", "ld** word.\n", "\n- item"):
            stream.write(piece)
    assert "\x1b[1mbold\x1b[0m" in file.getvalue()
    assert "• \x1b[0mitem" in file.getvalue()


def test_markdown_in_a_pipe_is_as_it_was_written() -> None:
    made, file = console(is_terminal=False)
    with terminal.answer_stream(made) as stream:
        for piece in ("The **bo", "ld** word.\n", "", "\n- item"):
            stream.write(piece)
    assert file.getvalue() == "The **bold** word.\n\n- item\n"


def test_what_was_copied_is_dim_on_a_terminal() -> None:
    made, file = console(is_terminal=True)
    spans = [Span(start=0, end=4, corpus="session", path="a.py"), Span(start=4, end=7)]
    terminal.print_copied("x = new", spans, made)
    assert file.getvalue() == "\x1b[2mx = \x1b[0m\x1b[1mnew\x1b[0m\n"


def test_what_was_copied_looks_like_the_rest_in_a_pipe() -> None:
    made, file = console(is_terminal=False)
    terminal.print_copied("x = [new]", [Span(start=0, end=9, corpus="session")], made)
    assert file.getvalue() == "x = [new]\n"


def test_blocks_end_at_blank_lines_outside_of_fences() -> None:
    text = "one\n\n````md\n```\n\n```\n\n````\n\ntwo\n\nthree"
    assert terminal.split_blocks(text) == (text.removesuffix("three"), "three")
    assert terminal.split_blocks("```\ncode\n\nmore") == ("", "```\ncode\n\nmore")
    assert terminal.split_blocks("text\n\n```\ncode\n\nmore") == ("text\n\n", "```\ncode\n\nmore")


@given(st.text(alphabet="a`~ \n", max_size=60))
def test_splitting_into_blocks_loses_nothing(text: str) -> None:
    assert "".join(terminal.split_blocks(text)) == text
