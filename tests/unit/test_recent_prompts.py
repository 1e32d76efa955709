"""Which recent edits an edit's prompt shows, and how."""

from __future__ import annotations

from copydraft.prompts.recent import show_edits
from copydraft.workspace.edits import RecentEdit

REGION = "value = load_config(path)\n"


def edit(old: str, new: str, path: str = "config.py") -> RecentEdit:
    return RecentEdit(path, 3, old, new, 1.0)


RENAMED = edit("def load_config(path):\n", "def read_config(path):\n")


def test_an_edit_that_took_away_a_word_of_the_region_is_shown_as_a_diff() -> None:
    assert show_edits([RENAMED], REGION, "mend this") == (
        "Edits made before:\n"
        "```diff\n"
        "--- config.py\n"
        "-def load_config(path):\n"
        "+def read_config(path):\n"
        "```\n"
    )


def test_an_edit_that_changed_the_definition_of_a_word_of_the_region_is_shown() -> None:
    changed = edit("def load_config(path):\n", "def load_config(path, strict):\n")
    assert "+def load_config(path, strict):" in show_edits([changed], REGION, "mend this")


def test_an_edit_of_what_the_instruction_names_is_shown() -> None:
    assert "+def read_config" in show_edits([RENAMED], "x = 1\n", "call load_config here")


def test_what_has_nothing_to_do_with_the_region_is_not_shown() -> None:
    others = [
        edit("timeout = 3\n", "timeout = 5\n"),
        edit("", "def load_config(path):\n"),
        edit("value = load_config(path)\n", "value = load_config(path)  # the file's\n"),
    ]
    assert show_edits(others, REGION, "mend this") == ""
    assert show_edits([], REGION, "mend this") == ""


def test_the_latest_three_are_shown_the_oldest_of_them_first_and_none_twice() -> None:
    edits = [edit(f"load_config({n})\n", f"other({n})\n", f"{n}.py") for n in (5, 5, 4, 3, 2)]
    shown = show_edits(edits, REGION, "mend this")
    assert [line for line in shown.splitlines() if line.startswith("---")] == [
        "--- 3.py",
        "--- 4.py",
        "--- 5.py",
    ]


def test_no_more_is_shown_than_is_quickly_read() -> None:
    long = edit("load_config()\n" * 100, "")
    assert show_edits([RENAMED, long, RENAMED], REGION, "mend this").count("---") == 1


def test_backticks_in_an_edit_do_not_end_its_fence() -> None:
    shown = show_edits([edit("load_config\n", "```\n")], REGION, "mend this")
    assert shown.startswith("Edits made before:\n````diff\n")
    assert shown.endswith("+```\n````\n")


def test_a_long_edit_does_not_hide_those_before_it() -> None:
    long = edit("", "".join(f"line_{number} = {number}\n" for number in range(200)))
    assert show_edits([long, RENAMED], REGION, "mend this") == show_edits(
        [RENAMED], REGION, "mend this"
    )
