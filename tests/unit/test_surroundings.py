"""What stands around replayed requests: workspaces and libraries, as the daemon would have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from copydraft.engine.bulk import OneByOne
from copydraft.evaluation import session_requests
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.inputs import Surrounded
from copydraft.evaluation.session_requests import Request
from copydraft.evaluation.sessions import Session
from copydraft.evaluation.surroundings import Printer, own_documents
from copydraft.evaluation.traces import Vocabulary
from copydraft.index.printings import JSON
from copydraft.index.segment import Segment, Source, build
from copydraft.index.tokenizing import PLAIN

OLD = "def one():\n    return 1\n"


def task(path: str, after: str = "def one():\n    return 2\n") -> EditTask:
    return EditTask(
        repo="team/project",
        commit="0123456789ab",
        path=path,
        instruction="return two",
        start=0,
        end=2,
        before=OLD,
        after=after,
        file=OLD,
    )


def session(*turns: EditTask) -> Session:
    files = {"a.py": "old", "b.py": "old", "other.py": "other"}
    return Session(repo="team/project", commit="0123456789ab", turns=list(turns), files=files)


def requests(model: Path, *sessions: Session, libraries: tuple[Segment, ...] = ()) -> list[Request]:
    texts = {"old": OLD, "other": "xyz = 42\n"}
    printer = Printer(OneByOne(model), PLAIN)
    return list(
        session_requests.requests(texts, sessions, Vocabulary(model), "fence", printer, libraries)
    )


def drafted(model: Path, request: Request, text: str) -> dict[str, str]:
    """What follows `text`, by the corpus that it is found in."""
    tokenizer = Vocabulary(model)._tokenizer
    search = request.search()
    return {
        match.document.corpus: b"".join(map(tokenizer.piece, search.following(match, 100))).decode()
        for match in search.longest_matches(tokenizer.encode(text), 8)
    }


def library(path: str) -> Segment:
    return build([(Source("global", path, "file", 0), np.array([1, 2, 3], np.uint32))])


def test_the_files_of_the_workspace_are_drafted_from(dense_model: Path) -> None:
    [request] = requests(dense_model, session(task("a.py")))
    assert drafted(dense_model, request, "xyz = ") == {"workspace": "42\n"}


def test_the_edited_document_is_left_out(dense_model: Path) -> None:
    [request] = requests(dense_model, session(task("a.py")))
    paths = {m.document.path for m in request.search().longest_matches([*range(300)], 100)}
    assert "a.py" not in paths


def test_an_earlier_turn_stands_for_its_file(dense_model: Path) -> None:
    _, second = requests(dense_model, session(task("a.py"), task("b.py")))
    assert drafted(dense_model, second, "    return ") == {"buffer": "2\n"}


def test_every_session_begins_with_its_own_files(dense_model: Path) -> None:
    *_, last = requests(dense_model, session(task("a.py")), session(task("b.py")))
    assert drafted(dense_model, last, "    return ") == {"workspace": "1\n"}


def test_a_copy_of_the_repository_among_the_libraries_is_left_out(dense_model: Path) -> None:
    copies = library("/lib/project/a.py"), library("/lib/other/a.py")
    [request] = requests(dense_model, session(task("a.py")), libraries=copies)
    found = request.search(workspace=False).longest_matches([1, 2], 8)
    assert [match.document.path for match in found] == ["/lib/other/a.py"]


@pytest.mark.parametrize(
    ("repo", "own"),
    [
        ("psf/requests", {"/lib/requests/api.py", "/lib/pip/_vendor/requests/api.py"}),
        ("simonw/sqlite-utils", {"/lib/sqlite_utils/db.py", "/lib/sqlite_utils-3.38.dist-info/x"}),
        ("pallets/click", set()),
    ],
)
def test_copies_are_known_by_the_name_of_the_repository(repo: str, own: set[str]) -> None:
    paths = [
        "/lib/requests/api.py",
        "/lib/pip/_vendor/requests/api.py",
        "/lib/sqlite_utils/db.py",
        "/lib/sqlite_utils-3.38.dist-info/x",
        "/lib/asyncio/base.py",
    ]
    assert own_documents([library(path) for path in paths], repo) == own


def test_the_source_files_of_libraries_are_indexed(tmp_path: Path, dense_model: Path) -> None:
    root = tmp_path / "lib"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.py").write_text("x = 1\n")
    (root / "notes.txt").write_text("not code\n")
    [segment] = Printer(OneByOne(dense_model), PLAIN).libraries([root], 10_000)
    assert [placed.source.path for placed in segment.documents] == ["lib/inner/a.py"]


def test_libraries_are_read_until_there_are_enough_tokens(
    tmp_path: Path, dense_model: Path
) -> None:
    for number in range(300):  # more than are tokenised at once
        (tmp_path / f"{number}.py").write_text("x = 1\n")
    printer = Printer(OneByOne(dense_model), PLAIN)
    assert sum(len(segment.documents) for segment in printer.libraries([tmp_path], 10)) == 256
    assert sum(len(each.documents) for each in printer.libraries([tmp_path], 100_000)) == 300


@pytest.mark.parametrize(
    ("model", "printed"), [("dense_model", '(\\"b\\")\\n'), ("tagged_model", '("b")\n')]
)
def test_text_is_printed_as_the_model_calls_tools(
    model: str, printed: str, request: pytest.FixtureRequest
) -> None:
    gguf: Path = request.getfixturevalue(model)
    texts = {"old": OLD, "other": 'xyz("b")\n'}
    [asked] = Surrounded(gguf, texts, [session(task("a.py"))], []).requests("tool-call")
    assert drafted(gguf, asked, "xyz")["workspace"].startswith(printed)


def test_documents_are_printed_as_the_answer_would_have_them(dense_model: Path) -> None:
    tokenizer = Vocabulary(dense_model)._tokenizer
    segment = Printer(OneByOne(dense_model), JSON).segment("workspace", {"a.py": 'say("a")\n'})
    tokens = [int(token) for token in segment.tokens(segment.documents[0])]
    assert b"".join(map(tokenizer.piece, tokens)).decode() == 'say(\\"a\\")\\n'
