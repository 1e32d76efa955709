"""Minimal edits and unified diffs."""

from __future__ import annotations

import random
import subprocess
from itertools import pairwise
from shutil import which
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydraft.textedits import (
    TextEdit,
    align,
    apply,
    line_end,
    minimal_edits,
    split_lines,
    unified_diff,
)

if TYPE_CHECKING:
    from pathlib import Path

lines = st.sampled_from(["a", "b", "", "  a", "ab", "é😀", "\u2028", "\f"])
line_ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])
texts = st.tuples(st.lists(st.tuples(lines, line_ends)), lines).map(
    lambda parts: "".join(line + end for line, end in parts[0]) + parts[1]
)


def test_only_newline_and_carriage_return_end_a_line() -> None:
    assert split_lines("a\nb\r\nc\rd\fe\u2028f\x85g\vh") == [
        "a\n",
        "b\r\n",
        "c\r",
        "d\fe\u2028f\x85g\vh",
    ]


def test_an_empty_text_has_no_lines() -> None:
    assert split_lines("") == []


@given(st.text(alphabet="\r\nab\f"))
def test_lines_join_to_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


@pytest.mark.parametrize(
    ("line", "end"), [("a\n", "\n"), ("a\r\n", "\r\n"), ("\r", "\r"), ("a", ""), ("", "")]
)
def test_the_end_of_a_line(line: str, end: str) -> None:
    assert line_end(line) == end


def test_a_changed_word_is_one_edit_of_that_word() -> None:
    old = "one\ntwo three\nfour\n"
    assert minimal_edits(old, "one\ntwo 3\nfour\n") == [TextEdit(8, 13, "3")]


def test_changes_far_apart_are_edits_of_their_own() -> None:
    old = "a\nb\nc\nd\ne\n"
    assert minimal_edits(old, "A\nb\nc\nd\n") == [TextEdit(0, 1, "A"), TextEdit(8, 10, "")]


def test_an_edit_never_parts_a_carriage_return_from_its_newline() -> None:
    assert minimal_edits("a\r\nb", "a\nb") == [TextEdit(1, 3, "\n")]
    assert minimal_edits("a\rb", "a\r\nb") == [TextEdit(1, 2, "\r\n")]


def test_equal_texts_need_no_edit() -> None:
    assert minimal_edits("a\r\nb", "a\r\nb") == []


@given(texts, texts)
def test_applying_the_edits_gives_the_new_text(old: str, new: str) -> None:
    assert apply(old, minimal_edits(old, new)) == new


@given(texts, texts)
def test_edits_are_sorted_apart_and_never_without_effect(old: str, new: str) -> None:
    edits = minimal_edits(old, new)
    assert all(old[edit.start : edit.end] != edit.text for edit in edits)
    assert all(a.end < b.start for a, b in pairwise(edits))


@given(st.lists(lines), st.lists(lines))
def test_aligned_lines_are_equal_and_rise(old: list[str], new: list[str]) -> None:
    pairs = align(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))


def test_a_function_put_between_two_alike_leaves_both_whole() -> None:
    old = ["def a():", "    pass", "", "def b():", "    pass"]
    new = ["def a():", "    pass", "", "def c():", "    pass", "", "def b():", "    pass"]
    assert align(old, new) == [(0, 0), (1, 1), (2, 2), (3, 6), (4, 7)]


def test_every_other_line_of_five_thousand_changed_is_still_quick() -> None:
    old = [f"line {n}" for n in range(5000)]
    new = [line if n % 2 else f"other {n}" for n, line in enumerate(old)]
    assert len(align(old, new)) == 2500


def test_long_runs_of_one_line_are_aligned() -> None:
    assert len(align(["x"] * 5000, ["y"] + ["x"] * 5000)) == 5000


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a\n", "a\n", "f") == ""


def test_a_diff_shows_three_lines_around_a_change() -> None:
    old = "".join(f"{n}\n" for n in range(1, 10))
    assert unified_diff(old, old.replace("5", "five"), "dir/f.txt") == (
        "--- a/dir/f.txt\n+++ b/dir/f.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_a_diff_marks_a_missing_final_newline_on_either_side() -> None:
    assert unified_diff("a\nb", "a\nb\n", "f") == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    )


def test_a_diff_keeps_carriage_returns_in_its_lines() -> None:
    assert unified_diff("a\r\nb\r\n", "a\r\nc\r\n", "f") == (
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"
    )


CASES = [
    ("", "a\n"),
    ("a\n", ""),
    ("a", "b"),
    ("a\r\nb\r\n", "a\r\nb\nc"),
    ("a\rb\rc", "a\rB\rc\n"),
    ("".join(f"{n}\n" for n in range(40)), "".join(f"{n}\n" for n in range(40) if n % 9)),
]


@pytest.mark.parametrize(("old", "new"), CASES)
def test_git_applies_a_diff_to_the_byte(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=unified_diff(old, new, "f").encode(),
        cwd=tmp_path,
        check=True,
    )
    assert (tmp_path / "f").read_bytes() == new.encode()


@pytest.mark.parametrize(
    "tool",
    [
        "git apply",
        pytest.param("patch -s -p1", marks=pytest.mark.skipif(not which("patch"), reason="none")),
    ],
)
@pytest.mark.parametrize(
    "path", ["./f", "d//e/../f", "with spaces 😀", "new\nline", "t\tab", 'q"uo\\te', "\x1b[2J", "é"]
)
def test_a_diff_names_its_file_as_git_and_patch_read_it(
    path: str, tool: str, tmp_path: Path
) -> None:
    file = tmp_path / path
    (tmp_path / "d" / "e").mkdir(parents=True)
    file.write_text("old\n")
    diff = unified_diff("old\n", "new\n", path)
    subprocess.run(tool.split(), input=diff.encode(), cwd=tmp_path, check=True)
    assert file.read_text() == "new\n"


def test_git_applies_diffs_of_random_edits(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(20):
        old = [chance.choice("abcdefgh") + "\n" for _ in range(chance.randrange(1, 60))]
        new = [line for line in old if chance.random() > 0.2] + ["end\n"]
        new.insert(chance.randrange(len(new)), "put in\n")
        (tmp_path / "f").write_text("".join(old))
        diff = unified_diff("".join(old), "".join(new), "f")
        subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=tmp_path, check=True)
        assert (tmp_path / "f").read_text() == "".join(new)
