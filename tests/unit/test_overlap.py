"""Lines around the region that the model wrote again."""

from __future__ import annotations

from copydraft.prompts.overlap import overlap

ABOVE = ["class A:", "    def f(self):", "        return 1", ""]
REGION = ["    def g(self):", "        return 2"]
BELOW = ["", "    def h(self):", "        return 3"]


def test_an_answer_of_the_region_alone_is_kept_whole() -> None:
    new = ["    def g(self, x):", "        return x"]
    assert overlap(new, REGION, ABOVE, BELOW) == (0, 0)


def test_a_whole_file_is_cut_to_the_region() -> None:
    new = [*ABOVE, "    def g(self):", "        return 22", *BELOW]
    assert overlap(new, REGION, ABOVE, BELOW) == (4, 3)


def test_a_closing_brace_that_the_selection_left_out_is_not_written_twice() -> None:
    region = ["function f() {", "  a();"]
    new = ["function f() {", "  b();", "}"]
    assert overlap(new, region, [], ["}", "", "g();"]) == (0, 1)


def test_a_brace_of_the_answers_own_is_kept() -> None:
    region = ["  a();"]
    new = ["  if (x) {", "    a();", "  }"]
    assert overlap(new, region, ["{"], ["  }", "}"]) == (0, 0)


def test_a_single_line_like_the_next_is_kept_where_no_bracket_tells() -> None:
    assert overlap(["a = 1", "c = 3"], ["a = 1"], [], ["c = 3", "d = 4"]) == (0, 0)


def test_lines_that_the_region_itself_ends_in_are_kept() -> None:
    block = ["run()", "check()"]
    assert overlap(["prepare()", *block], block, [], [*block, "end()"]) == (0, 0)


def test_blank_lines_alone_are_kept() -> None:
    assert overlap(["a", "", ""], ["a"], [], ["", "", "b"]) == (0, 0)


def test_tags_that_an_answer_wraps_around_the_region_keep_their_ends() -> None:
    new = ["<section>", "<div>", "<p>a</p>", "</div>", "</section>"]
    assert overlap(new, ["<p>a</p>"], [], ["</div>", "</section>", "<footer/>"]) == (0, 0)


def test_blocks_that_an_answer_wraps_around_the_region_keep_their_ends() -> None:
    new = ["for a in *; do", "  if x; then", "run", "  fi", "done"]
    assert overlap(new, ["run"], [], ["  fi", "done", "", "end"]) == (0, 0)


def test_closing_braces_of_the_neighbours_are_not_written_twice() -> None:
    region = ["    a();"]
    assert overlap(["    b();", "  }", "});"], region, ["f(() => {"], ["  }", "});"]) == (0, 2)
