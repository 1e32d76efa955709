"""The scanner finds the text that people wrote in a workspace, and nothing else."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft.errors import FileProblem
from copydraft.workspace.scanner import LARGEST_BYTES, FoundFile, Scanner


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def write(root: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(root: Path, **options: bool) -> set[str]:
    return {file.path for file in Scanner(root, **options).scan()}  # type: ignore[arg-type]


def test_a_file_is_told_with_its_size_and_times(root: Path) -> None:
    write(root, "src/a.py")
    status = (root / "src/a.py").stat()
    assert list(Scanner(root).scan()) == [
        FoundFile("src/a.py", 6, status.st_mtime_ns, status.st_ctime_ns)
    ]


def test_a_path_with_dots_or_links_names_the_same_root(root: Path, tmp_path: Path) -> None:
    write(root, "a.py")
    (tmp_path / "link").symlink_to(root)
    assert found(tmp_path / "link") == {"a.py"}
    assert Scanner(root / "x" / "..").root == root


# --- git ---


def test_ignored_files_and_directories_are_left_out(root: Path) -> None:
    write(root, "a.py", "a.log", "build/b.py", "src/build/c.py")
    write(root, ".gitignore", text="*.log\nbuild/\n")
    assert found(root) == {".gitignore", "a.py"}


def test_a_deeper_gitignore_decides_over_a_higher_one(root: Path) -> None:
    write(root, "a.log", "keep/a.log", "keep/b.py")
    write(root, ".gitignore", text="*.log\n")
    write(root, "keep/.gitignore", text="!a.log\n/b.py\n")
    assert found(root) == {".gitignore", "keep/.gitignore", "keep/a.log"}


def test_a_pattern_with_a_slash_counts_from_its_own_directory(root: Path) -> None:
    write(root, "sub/out/a.py", "out/b.py", "sub/deep/out/c.py")
    write(root, "sub/.gitignore", text="/out\n")
    assert found(root) == {"sub/.gitignore", "out/b.py", "sub/deep/out/c.py"}


def test_the_exclude_file_of_the_repository_counts(root: Path) -> None:
    write(root, "a.py", "notes.txt")
    write(root, ".git/info/exclude", text="notes.txt\n")
    assert found(root) == {"a.py"}


def test_rules_above_a_workspace_inside_a_repository_count(root: Path) -> None:
    write(root, "sub/a.py", "sub/gen/b.py", "sub/c.log", "sub/d.tmp")
    write(root, ".gitignore", text="/sub/gen\n*.log\n")
    write(root, ".git/info/exclude", text="*.tmp\n")
    assert found(root / "sub") == {"a.py"}


def test_the_exclude_file_counts_in_a_worktree(root: Path) -> None:
    write(root, "tree/a.py", "tree/notes.txt")
    write(root, "tree/.git", text="gitdir: ../main/.git/worktrees/tree\n")
    write(root, "main/.git/worktrees/tree/commondir", text="../..\n")
    write(root, "main/.git/info/exclude", text="notes.txt\n")
    assert found(root / "tree") == {"a.py"}


def test_patterns_that_make_no_sense_are_passed_over(root: Path) -> None:
    write(root, "a.py", "b.log")
    (root / ".gitignore").write_bytes(b"!\n\\\n[\n\xff\n*.log\n")
    assert found(root) == {".gitignore", "a.py"}


def test_git_itself_agrees(root: Path) -> None:
    write(root, "a.py", "a.log", "x/a.log", "x/y/keep.log", "x/y/z.py", "doc/a b.md", "tmp/q.py")
    write(root, ".gitignore", text="*.log\n!keep.log\n# no\n\n/tmp/**\n!/tmp/q.py\n")
    write(root, "x/.gitignore", text="y/*\n!y/keep.log\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert found(root) == set(listed.splitlines())


# --- what is never indexed ---


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", "prod.env", "server.pem", "server.KEY", "id_rsa", "id_ed25519.pub"),
        *(".netrc", "aws_credentials.json", "secrets.yaml", ".ssh/config", "a/.aws/config"),
        *("terraform.tfvars.json", "prod.auto.tfvars.json", ".terraformrc", "kubeconfig"),
        *("admin.kubeconfig", ".kube/config", ".docker/config.json", ".dockercfg"),
        *("client_secret_12-ab.apps.googleusercontent.com.json", "app-firebase-adminsdk-1.json"),
        *("my-service-account.json", "service_account.json", "credentials.yml", "Credentials.toml"),
        *(
            "credentials.tfrc.json",
            ".smbcredentials",
            "secret.yaml",
            "db-secret.yml",
            "secret.json",
        ),
        *(".secrets.toml", ".yarnrc.yml", "auth.json", ".s3cfg", ".boto", ".my.cnf", "pgpass.conf"),
        *("AuthKey_1.p8", "krb5.keytab", "wg0.conf", "home.ovpn", ".vault_pass", ".bash_history"),
    ],
)
def test_secrets_are_left_out_though_git_has_them(root: Path, name: str) -> None:
    write(root, name, "a.py")
    write(root, ".gitignore", text=f"!{name}\n")
    assert found(root) == {".gitignore", "a.py"}
    assert name.rpartition("/")[2] not in {f.path for f in Scanner(root, library=True).scan()}


@pytest.mark.parametrize(
    "name",
    ["secret.py", "credentials.py", "secret_santa.md", "auth.py", "config.json", "my.cnf.md"],
)
def test_code_about_secrets_is_no_secret(root: Path, name: str) -> None:
    write(root, name)
    assert found(root) == {name}


@pytest.mark.parametrize(
    "name", ["a.png", "a.so", "a.min.js", "package-lock.json", ".git/config", "node_modules/a.js"]
)
def test_what_no_one_wrote_here_is_left_out(root: Path, name: str) -> None:
    write(root, name, "a.py")
    assert found(root) == {"a.py"}


def test_a_name_without_a_dot_has_no_suffix(root: Path) -> None:
    write(root, "a", "so", "lib.a")
    assert found(root) == {"a", "so"}


def test_python_environments_are_left_out_whatever_their_name(root: Path) -> None:
    write(root, "a.py", "env310/pyvenv.cfg", "env310/lib/b.py", "venv/c.py")
    assert found(root) == {"a.py"}


def test_very_large_and_empty_files_are_left_out(root: Path) -> None:
    write(root, "a.py", "empty.py")
    (root / "empty.py").write_text("")
    with (root / "large.csv").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    with (root / "huge.txt").open("wb") as file:
        file.truncate(1 << 30)  # a hole: no disk is filled
    assert found(root) == {"a.py"}


def test_links_are_not_followed_out_of_the_workspace_nor_in_circles(
    root: Path, tmp_path: Path
) -> None:
    write(root, "a.py", "sub/b.py")
    write(tmp_path, "outside/secret.py")
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    assert found(root) == {"a.py", "sub/b.py"}


def test_pipes_and_names_that_are_not_unicode_are_left_out(root: Path) -> None:
    write(root, "a.py")
    os.mkfifo(root / "pipe.py")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.py")).write_text("x")
    assert found(root) == {"a.py"}


def test_a_directory_that_may_not_be_looked_into_is_passed_over(
    root: Path, shut: Callable[[str], None]
) -> None:
    write(root, "a.py", "closed/b.py")
    shut("closed")
    assert found(root) == {"a.py"}


def test_too_few_file_handles_end_the_scan_rather_than_hide_files(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listdir(path: Path) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "listdir", listdir)
    with pytest.raises(FileProblem, match="Too many open files"):
        found(root)


def test_a_root_that_is_gone_has_no_files(root: Path) -> None:
    root.rmdir()
    assert found(root) == set()


# --- libraries ---


def test_a_library_is_read_whatever_git_says_and_by_suffix(root: Path) -> None:
    write(root, "lib/site-packages/a.py", "lib/site-packages/b.txt", "lib/.gitignore")
    write(root, ".gitignore", text="lib\n")
    scanner = Scanner(root / "lib", suffixes=(".py", ".pyi"), library=True)
    assert {file.path for file in scanner.scan()} == {"site-packages/a.py"}


def test_what_a_directory_of_the_users_ignores_is_left_out_wherever_it_stands(root: Path) -> None:
    write(root, ".gitignore", text="*\n")  # as in environments
    write(root, "mine/a.py", "mine/b.log", "mine/gen/c.py", "mine/site-packages/d.py")
    write(root, "mine/.gitignore", text="*.log\ngen/\n")
    scanner = Scanner(root / "mine", library=True)
    assert {file.path for file in scanner.scan()} == {".gitignore", "a.py", "site-packages/d.py"}


def test_what_the_repository_of_an_added_directory_ignores_is_left_out(root: Path) -> None:
    write(root, ".git/HEAD", "mine/a.py", "mine/b.log")
    write(root, ".gitignore", text="*.log\n")
    assert {file.path for file in Scanner(root / "mine", library=True).scan()} == {"a.py"}


@pytest.mark.parametrize("rules", ["vendor/\n", "vendor/*\n!vendor/c\n"])
def test_a_directory_that_its_repository_ignores_can_be_added(root: Path, rules: str) -> None:
    write(root, ".git/HEAD", "vendor/mine/a.py", "vendor/mine/b.log")
    write(root, ".gitignore", text=f"*.log\n{rules}")
    write(root, "vendor/.gitignore", text="*\n")  # as in environments
    added = root / "vendor" / "mine"
    assert {file.path for file in Scanner(added, library=True).scan()} == {"a.py", "b.log"}


# --- some paths only ---


def looked(root: Path, *names: str) -> set[str]:
    return {file.path for file in Scanner(root).look([root / name for name in names])}


def test_packages_and_tests_beside_a_standard_library_are_no_part_of_it(root: Path) -> None:
    write(root, "os.py", "json/decoder.py", "site-packages/a.py", "test/test_os.py")
    write(root, "env/lib/python3.11/site-packages/b.py", "env/test/c.py")
    assert {file.path for file in Scanner(root, library=True).scan()} == {
        "os.py",
        "json/decoder.py",
        "env/lib/python3.11/site-packages/b.py",
        "env/test/c.py",
    }


def test_changed_paths_are_judged_as_a_scan_would(root: Path) -> None:
    write(root, "a.py", "sub/b.py", "sub/c.log", "sub/gen/d.py", ".env", "venv/e.py")
    write(root, "sub/.gitignore", text="gen\n*.log\n")
    assert looked(root, "a.py", "gone.py") == {"a.py"}
    assert looked(root, "sub") == {"sub/.gitignore", "sub/b.py"}
    assert looked(root, "sub/b.py", "sub/c.log", "sub/gen/d.py") == {"sub/b.py"}
    assert looked(root, ".env", "venv/e.py", "venv", "../outside.py") == set()
    assert looked(root, ".") == found(root)


def test_a_changed_path_may_be_as_deep_as_a_disk_allows(root: Path) -> None:
    name = "d/" * 1200
    subprocess.run(["mkdir", "-p", root / name], check=True)
    write(root, "d/.gitignore", text="*.log\n")
    for file in ("a.py", "b.log"):
        (root / name / file).write_text("x = 1\n")
    try:
        assert looked(root, f"{name}a.py", f"{name}b.log") == {f"{name}a.py"}
    finally:
        subprocess.run(["rm", "-r", root / "d"], check=True)  # pytest would recurse


def test_the_rules_of_a_directory_are_read_once_for_all_paths(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"sub/deep/{number}.py" for number in range(20)]
    write(root, *names)
    read: list[str] = []
    stat = Path.stat

    def noted(path: Path, **options: bool) -> os.stat_result:
        if path.name == ".gitignore":
            read.append(path.relative_to(root).as_posix())
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", noted)
    assert looked(root, *names) == set(names)
    assert read == [".gitignore", "sub/.gitignore", "sub/deep/.gitignore"]


def test_changed_paths_behind_a_link_are_left_out(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/a.py")
    (root / "out").symlink_to(tmp_path / "outside")
    assert looked(root, "out/a.py", "out") == set()


def test_files_are_left_out_by_their_path_whether_they_are_there_or_not(root: Path) -> None:
    write(root, "sub/a.py", "venv/pyvenv.cfg", "node_modules/a/a.js")
    write(root, ".gitignore", text="gen/\n*.log\n")
    write(root, "sub/.gitignore", text="!kept.log\n")
    scanner = Scanner(root)
    for name in ("a.log", "gen/a.py", "sub/gen/deep/a.py", "venv/a.py", "node_modules/a/b.js"):
        assert scanner.leaves_out(name), name
        write(root, name)
        assert scanner.leaves_out(name), name
    for name in ("sub/a.py", "new/a.py", "sub/kept.log", "untitled:1"):
        assert not scanner.leaves_out(name), name
