"""Traces are read from records, or made of edit tasks with a model's tokenizer."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from copydraft.engine.llama import Model
from copydraft.errors import BadRequest, FileProblem
from copydraft.evaluation.edit_task import EditTask
from copydraft.evaluation.traces import Vocabulary, read
from copydraft.tokens import Document
from copydraft.traces import Trace

RECORD = (
    b'{"kind": "edit", "model": "m", "prompt": [1, 2], "output": [3, 4], "top8": [[4, 5]],'
    b' "margin": [1.5], "documents": [{"corpus": "session", "path": "a.py", "field": "region",'
    b' "tokens": [3, 9]}]}'
)
TASK = EditTask(
    repo="team/project",
    commit="0123456789ab",
    path="a.py",
    instruction="return the sum",
    start=1,
    end=2,
    before="    return a\n",
    after="    return a + b\n",
    file="def f(a, b):\n    return a\n",
)


def written(tmp_path: Path, *lines: bytes) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def text_of(tokens: list[int], model: Path) -> str:
    vocabulary = Model(model, vocab_only=True)
    return b"".join(map(vocabulary.piece, tokens)).decode()


def test_a_recorded_trace_needs_no_tokenizer(tmp_path: Path) -> None:
    (trace,) = read(written(tmp_path, RECORD), None)
    assert (trace.kind, trace.prompt, trace.output) == ("edit", [1, 2], [3, 4])
    assert trace.top8 == [[4, 5]]


def test_token_ids_that_no_vocabulary_has_are_refused(tmp_path: Path) -> None:
    for number in (b"-1", b"9223372036854775808"):
        with pytest.raises(BadRequest, match="neither a trace nor an edit task"):
            read(written(tmp_path, RECORD.replace(b"[1, 2]", b"[1, %s]" % number)), None)


def test_a_gzipped_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "traces.jsonl.gz"
    packed.write_bytes(gzip.compress(RECORD + b"\n"))
    assert read(packed, None) == read(written(tmp_path, RECORD), None)


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(RECORD)[:-9]])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, data: bytes) -> None:
    packed = tmp_path / "traces.jsonl.gz"
    packed.write_bytes(data)
    with pytest.raises(FileProblem, match="cannot read"):
        read(packed, None)


def test_drafters_get_the_documents_and_then_the_prompt(tmp_path: Path) -> None:
    (trace,) = read(written(tmp_path, RECORD), None)
    assert trace.sources() == [
        Document("region", "a.py", "region", [3, 9]),
        Document("session", "", "prompt", [1, 2]),
    ]


def test_a_trace_survives_being_written_and_read(tmp_path: Path) -> None:
    trace = Trace(kind="explain", prompt=[1], output=[2, 3], repo="team/project")
    assert read(written(tmp_path, msgspec.json.encode(trace)), None) == [trace]


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    assert len(read(written(tmp_path, RECORD, b"", RECORD), None)) == 2


def test_a_task_is_answered_with_the_committed_text(tmp_path: Path, dense_model: Path) -> None:
    (trace,) = read(written(tmp_path, msgspec.json.encode(TASK)), dense_model)
    assert text_of(trace.output, dense_model) == "\n    return a + b\n```"


def test_an_answer_ends_with_the_models_end_token(tmp_path: Path, dense_model: Path) -> None:
    (trace,) = read(written(tmp_path, msgspec.json.encode(TASK)), dense_model)
    assert trace.output[-1] in Model(dense_model, vocab_only=True).end_tokens


def test_a_task_is_asked_as_the_daemon_asks(tmp_path: Path, dense_model: Path) -> None:
    (trace,) = read(written(tmp_path, msgspec.json.encode(TASK)), dense_model)
    prompt = text_of(trace.prompt, dense_model)
    assert "def f(a, b):\n    return a\n" in prompt
    assert "return the sum" in prompt
    assert "return a + b" not in prompt


def test_the_region_is_a_document_and_the_answer_is_not(tmp_path: Path, dense_model: Path) -> None:
    (trace,) = read(written(tmp_path, msgspec.json.encode(TASK)), dense_model)
    assert [source.corpus for source in trace.documents] == ["region"]
    assert text_of(trace.documents[0].tokens, dense_model) == "\n    return a\n```"
    assert trace.repo == "team/project"


def test_a_task_can_be_asked_in_every_format(dense_model: Path) -> None:
    trace = Vocabulary(dense_model).trace(TASK, "search-replace")
    region = trace.documents[0].tokens
    assert ">>>>>>> REPLACE" in text_of(region, dense_model)
    assert text_of(trace.output, dense_model).startswith(
        "\n    return a\n=======\n    return a + b\n>>>>>>> REPLACE"
    )


def test_a_raw_trace_has_the_region_as_it_stands_in_the_file(dense_model: Path) -> None:
    vocabulary = Vocabulary(dense_model)
    trace = vocabulary.trace(TASK, "search-replace")
    raw = vocabulary.raw(trace, TASK)
    assert text_of(raw.documents[0].tokens, dense_model) == "    return a\n"
    assert (raw.prompt, raw.output) == (trace.prompt, trace.output)


def test_a_vocabulary_without_weights_reads_text_as_the_model_does(dense_model: Path) -> None:
    text = "def f(a):\n    return 'ü'\n"
    assert Model(dense_model, vocab_only=True).encode(text) == Model(dense_model).encode(text)


def test_tasks_without_a_tokenizer_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="tokenizer") as caught:
        read(written(tmp_path, msgspec.json.encode(TASK)), None)
    assert "--gguf" in caught.value.hint


@pytest.mark.parametrize(
    "line",
    [b"no json", b"[]", b'{"kind": "edit"}', b'{"kind": "edit", "prompt": [], "output": []}'],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(BadRequest, match="line 2"):
        read(written(tmp_path, RECORD, line), None)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="empty"):
        read(written(tmp_path, b""), None)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match=r"missing\.jsonl"):
        read(tmp_path / "missing.jsonl", None)
