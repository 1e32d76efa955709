"""What git ignores is ignored here, and nothing else: git itself is the judge."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copydraft.workspace.scanner import Scanner

NAMES = ("a", "b", "ab", "a-b", "c.py", "[", "é", "A b")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with files two directories deep, of the same names at each depth."""
    root = tmp_path / "workspace"
    for first in ("a", "b", "c.py"):
        for second in ("a", "b", "ab"):
            (root / first / second).mkdir(parents=True)
    for directory in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        for name in NAMES:
            if not (directory / name).is_dir():
                (directory / name).write_text("text\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def untracked(root: Path) -> set[str]:
    """What git would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    return {name.decode() for name in listed.stdout.split(b"\0") if name}


def found(root: Path) -> set[str]:
    return {file.path for file in Scanner(root).scan()}


def write_rules(root: Path, top: bytes, deeper: bytes = b"") -> None:
    for directory, rules in ((root, top), (root / "a", deeper)):
        (directory / ".gitignore").unlink(missing_ok=True)
        if rules:
            (directory / ".gitignore").write_bytes(rules)


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        # All but some files: directories have to be named, too.
        (b"*\n!*/\n!*.py\n", {"c.py/c.py", "a/c.py", "a/b/c.py"}),
        (b"*\n!/a\n!/a/b\n!/a/b/*\n", {"a/b/a", "a/b/c.py"}),
    ],
)
def test_only_what_is_named_is_kept(root: Path, rules: bytes, kept: set[str]) -> None:
    write_rules(root, rules)
    assert found(root) == untracked(root)
    assert kept <= found(root)
    assert "b/ab/A b" not in found(root)


def test_directories_below_a_directory_are_ignored_but_not_its_files(root: Path) -> None:
    write_rules(root, b"a/**/\n")
    assert found(root) == untracked(root)
    assert {"a/c.py", "b/a/a"} <= found(root)
    assert "a/a/c.py" not in found(root)


def test_one_directory_or_more_stand_before_a_slash_with_a_backslash(root: Path) -> None:
    write_rules(root, b"**\\/c.py\n")
    assert found(root) == untracked(root)
    assert "c.py/a/a" in found(root)
    assert "b/a/c.py" not in found(root)


def test_stars_behind_a_slash_with_a_backslash_stand_for_directories(root: Path) -> None:
    write_rules(root, b"b\\/**\n")
    assert found(root) == untracked(root)
    assert "a/c.py" in found(root)
    assert "b/a/c.py" not in found(root)


def test_a_byte_order_mark_is_no_part_of_the_first_pattern(root: Path) -> None:
    write_rules(root, b"\xef\xbb\xbfc.py\n")
    assert found(root) == untracked(root)
    assert "b/c.py" not in found(root)


def test_classes_of_characters_are_known(root: Path) -> None:
    write_rules(root, b"[[:upper:]]*\n")
    assert found(root) == untracked(root)
    assert "A b" not in found(root)


def test_a_link_in_the_place_of_the_rules_is_none(root: Path) -> None:
    (root / "rules").write_text("*.py\n")
    (root / ".gitignore").symlink_to("rules")
    assert found(root) == untracked(root) - {".gitignore"}
    assert "a/c.py" in found(root)


@pytest.mark.parametrize("rules", [b"*a" * 60 + b"*b\n", b"/" + b"**/*a" * 60 + b"/b*c\n"])
def test_no_pattern_takes_forever(root: Path, rules: bytes) -> None:
    write_rules(root, rules)
    deep = root.joinpath("a" * 200, *["a"] * 40)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("text\n")
    assert (deep / ("a" * 200)).relative_to(root).as_posix() in found(root)


def test_nothing_is_taken_from_where_more_is_ignored_than_can_be_read(root: Path) -> None:
    write_rules(root, b"", deeper=b"c.py\n" + b"# long\n" * 200_000)
    kept = found(root)
    assert "a/c.py" not in kept | untracked(root)
    assert "b/c.py" in kept


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [(b"/" + b"**/*a" * 200_000, False), (b"!" + b"*a" * 500_000, True), (b"a" * 1_000_000, True)],
)
def test_no_pattern_that_is_longer_than_any_path_takes_minutes_to_read(
    root: Path, pattern: bytes, kept: bool
) -> None:
    write_rules(root, pattern + b"\n")
    assert ("b/c.py" in found(root)) == kept


@pytest.fixture
def rules_of_the_user(isolated_home: Path) -> Path:
    rules = isolated_home / "my rules"
    rules.write_text("c.py\n")
    return rules


def test_the_rules_that_the_user_has_for_all_repositories_count(
    root: Path, isolated_home: Path, rules_of_the_user: Path
) -> None:
    (isolated_home / ".gitconfig").write_text('[core]\n\texcludesFile = "~/my rules"\n')
    assert found(root) == untracked(root)
    assert "b/c.py" not in found(root)


def test_the_rules_that_a_repository_names_count_below_its_own(
    root: Path, rules_of_the_user: Path
) -> None:
    git = ["git", "config", "core.excludesFile", str(rules_of_the_user)]
    subprocess.run(git, cwd=root, check=True)
    (root / ".git" / "info" / "exclude").write_text("!/b/c.py\n")
    assert found(root) == untracked(root)
    assert "b/c.py" in found(root)
    assert "a/c.py" not in found(root)


def test_git_has_a_place_for_the_users_rules_where_none_is_named(
    root: Path, isolated_home: Path
) -> None:
    rules = isolated_home / ".config" / "git" / "ignore"
    rules.parent.mkdir()
    rules.write_text("c.py\n")
    assert found(root) == untracked(root)
    assert "b/c.py" not in found(root)


@pytest.mark.parametrize("library", [False, True], ids=["workspace", "directory for all"])
def test_a_repository_that_lies_inside_has_rules_of_its_own(
    root: Path, rules_of_the_user: Path, library: bool
) -> None:
    (root / ".git").rename(root / "b" / ".git")
    (root / "b" / ".git" / "info" / "exclude").write_text("/a/\n")
    git = ["git", "config", "core.excludesFile", str(rules_of_the_user)]
    subprocess.run(git, cwd=root / "b", check=True)
    inside = {
        path.removeprefix("b/")
        for path in (file.path for file in Scanner(root, library=library).scan())
        if path.startswith("b/")
    }
    assert inside == untracked(root / "b")
    assert "b/a" in inside
    assert not {"a/b", "b/c.py"} & inside


def test_git_is_not_asked_for_every_document(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    run = subprocess.run

    def noted(*command: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return run(*command, **options)

    monkeypatch.setattr(subprocess, "run", noted)
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    for name in NAMES:
        Scanner(root).leaves_out(name)
    assert len(asked) == 1


def test_without_git_the_users_rules_are_read_from_their_usual_place(
    root: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = isolated_home / ".config" / "git" / "ignore"
    rules.parent.mkdir()
    rules.write_text("c.py\n")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "b/c.py" not in found(root)
    assert "b/a/a" in found(root)


LINES = st.one_of(
    st.lists(
        st.sampled_from(
            [
                *("a", "b", "ab", "c", ".py", "A", " ", "-", "é", "*", "*", "**", "?", "/", "/"),
                *("/**", "**/", "\\", "!", "[", "]", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]"),
                *("[[:alpha:]]", "[[:upper:][:punct:]]", "[[:no:]]", "[\\]-a]", "#", "\r", "\t"),
            ]
        ),
        max_size=6,
    ).map("".join),
    st.sampled_from(["*", "!*/", "!*.py", "/*", "!/a", "a/**", "!a/", "a/b", "**/ab/**", ""]),
)
RULES = st.lists(LINES, max_size=5).map(lambda lines: "\n".join(lines).encode())


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(top=RULES, deeper=RULES)
def test_git_agrees_whatever_the_rules_are(root: Path, top: bytes, deeper: bytes) -> None:
    write_rules(root, top, deeper)
    assert found(root) == untracked(root)
