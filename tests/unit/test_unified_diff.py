"""Unified diffs: printed, followed, and read back as edits of the region."""

from __future__ import annotations

import pytest

from copydraft.emission.format import Printed
from copydraft.emission.unified_diff import UnifiedDiffFormat
from copydraft.errors import AnswerRefused

FORM = UnifiedDiffFormat.for_document("src/f.py")
REGION = "def f(x):\n    return x\n\n\nprint(f(1))\n"
HEAD = "```diff\n--- a/src/f.py\n+++ b/src/f.py\n"


def changed(answer: str, region: str = REGION, *, ended: bool = True) -> str:
    return "".join(part.text for part in FORM.parse(answer, region, ended=ended))


def test_every_answer_begins_with_the_header_and_leaves_the_path_to_the_model() -> None:
    assert FORM.opening == "```diff\n---"


def test_an_edit_is_printed_as_diff_prints_it() -> None:
    assert FORM.emit("a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nf\n") == (
        f"{HEAD}@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n```"
    )


def test_a_text_that_stays_is_all_context() -> None:
    assert FORM.emit("a\n\nb\n", "a\n\nb\n") == f"{HEAD}@@ -1,3 +1,3 @@\n a\n \n b\n```"


def test_a_document_is_printed_as_context_and_as_new_lines() -> None:
    assert FORM.printed("/src/g.py", "a\n\nb") == [
        Printed("path", "---", " a/src/g.py\n+++ b/src/g.py\n"),
        Printed("old", "@@ -1 +1 @@", "\n a\n \n b\n"),
        Printed("new", "@@ -1 +1 @@", "\n+a\n+\n+b\n"),
    ]


@pytest.mark.parametrize(
    "hunk",
    [
        "@@ -1,2 +1,2 @@\n def f(x):\n-    return x\n+    return y\n",
        "@@ -90,7 +12,1 @@ def f(x):\n def f(x):\n-    return x\n+    return y\n",
        "@@\n-    return x\n+    return y\n",
        "@@ ... @@\n-    return x\n+    return y\n\n\n",
        "@@ -1 +1 @@\n def f(x):\n-    return x\n+    return y\n\n\n print(f(1))\n",
    ],
    ids=["right numbers", "wrong numbers", "no numbers", "blank lines behind", "bare blank lines"],
)
def test_a_hunk_is_placed_by_its_lines_alone(hunk: str) -> None:
    assert changed(f"{HEAD}{hunk}```") == REGION.replace("return x", "return y")


def test_several_hunks_are_made() -> None:
    hunks = "@@\n-    return x\n+    return y\n@@\n-print(f(1))\n+print(f(2))\n"
    assert changed(f"{HEAD}{hunks}```") == "def f(x):\n    return y\n\n\nprint(f(2))\n"


def test_lines_that_look_like_headers_are_lines() -> None:
    region = "-- a/x\n++ b/x\n@@ -1 +1 @@\n"
    answer = FORM.emit(region, "-- a/y\n++ b/x\n@@ -1 +1 @@\n")
    assert "\n--- a/x\n" in answer
    assert changed(answer, region) == "-- a/y\n++ b/x\n@@ -1 +1 @@\n"


def test_the_note_about_a_missing_line_end_is_no_line() -> None:
    answer = f"{HEAD}@@\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n```"
    assert changed(answer, "a\nb") == "a\nc\n"


@pytest.mark.parametrize("closing", ["", "```"])
def test_a_last_line_without_its_end_is_a_whole_line(closing: str) -> None:
    answer = f"{HEAD}@@ -2 +2 @@\n-    return x\n+    return y{closing}"
    assert changed(answer) == REGION.replace("return x", "return y")


def test_half_a_line_takes_nothing_away() -> None:
    with pytest.raises(AnswerRefused, match="not there"):
        changed(f"{HEAD}@@ -5 @@\n-pri")


def test_fences_in_the_lines_do_not_close_the_answer() -> None:
    region = "Run:\n\n```sh\nmake\n```\n"
    form = UnifiedDiffFormat.for_document("a.py")
    answer = form.emit(region, region.replace("make", "make all"))
    assert "".join(part.text for part in form.parse(answer, region, ended=True)) == (
        "Run:\n\n```sh\nmake all\n```\n"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (f"{HEAD}```", "no line that begins with @@"),
        (f"{HEAD}@@\n-    return z\n+    return y\n```", "not there: 'return z'"),
        (f"{HEAD}@@\n+import os\n```", "does not say which lines"),
        (f"{HEAD}@@\n def f(x):\nreturn y\n```", "has no sign: 'return y'"),
    ],
)
def test_a_diff_that_does_not_apply_is_refused(answer: str, message: str) -> None:
    with pytest.raises(AnswerRefused, match=message):
        changed(answer)


def test_a_diff_cut_off_is_refused() -> None:
    with pytest.raises(AnswerRefused, match="cut off"):
        changed(f"{HEAD}@@\n-    return x\n+    ret", ended=False)


def test_every_hunk_may_have_a_fence_of_its_own() -> None:
    first = f"{HEAD}@@\n-    return x\n+    return y\n```"
    second = f"{HEAD}@@\n-print(f(1))\n+print(f(2))\n```"
    assert changed(f"{first}\n\n{second}") == "def f(x):\n    return y\n\n\nprint(f(2))\n"


def test_the_answer_is_complete_when_something_else_follows_its_fence() -> None:
    reader = FORM.reader()
    assert not reader.feed(f"{HEAD}@@\n ```\n-    return x\n+    return y\n```\n")
    assert reader.feed("Done")
