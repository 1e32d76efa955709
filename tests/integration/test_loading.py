"""A model is looked at before it is loaded: what does not fit is said at once."""

from __future__ import annotations

import os
from pathlib import Path

import llama_cpp
import pytest

from copydraft import devices
from copydraft.config import Config
from copydraft.engine import llama
from copydraft.engine.cost import Calibration
from copydraft.engine.engine import SNAPSHOTS, Engine
from copydraft.errors import Cancelled, OutOfMemory
from copydraft.models.gguf import memory_needed, read_metadata
from copydraft.serving import loading

MB = 1024 * 1024


class Costs:
    def __init__(self) -> None:
        self.saved: dict[str, dict[int, float]] = {}

    def load_cost(self, key: str) -> dict[int, float] | None:
        return self.saved.get(key)

    def save_cost(self, key: str, ms_by_width: dict[int, float]) -> None:
        self.saved[key] = ms_by_width


def load(path: Path, config: Config, costs: Costs, told: list[str]) -> loading.Loaded:
    return loading.load(path, config, costs, lambda share: True, told.append)


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "available_memory", lambda: MB)
    monkeypatch.setattr(loading, "Engine", None)
    with pytest.raises(OutOfMemory, match=r"0\.0 GB are free"):
        load(dense_model, Config(), Costs(), [])


def test_a_model_that_does_not_fit_on_the_card_says_how_many_layers_do(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "can_offload", lambda: True)
    monkeypatch.setattr(devices, "card_free_memory", lambda: MB)
    monkeypatch.setattr(loading, "Engine", None)
    with pytest.raises(OutOfMemory) as caught:
        load(dense_model, Config(), Costs(), [])
    assert "`gpu_layers` to at most 0" in caught.value.hint


def test_kept_prompts_take_no_more_than_the_model_leaves(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = memory_needed(read_metadata(dense_model), 512, rollback=SNAPSHOTS)
    monkeypatch.setattr(devices, "available_memory", lambda: needed + 3 * MB)
    asked: list[int] = []

    def build_nothing(*_: object, prefix_bytes: int, **__: object) -> None:
        asked.append(prefix_bytes)
        raise Cancelled("enough is known")

    monkeypatch.setattr(loading, "Engine", build_nothing)
    with pytest.raises(Cancelled):
        load(dense_model, Config(context=512, gpu_layers=0), Costs(), [])
    assert asked == [3 * MB]


def test_weights_that_no_memory_was_left_for_are_no_fault_of_the_file(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is free may be gone, or not be for us, when llama.cpp asks for it."""
    remarks = (
        b"ggml_aligned_malloc: insufficient memory (attempted to allocate 596.53 MB)\n",
        b"alloc_tensor_range: failed to allocate CPU_REPACK buffer of size 625508352\n",
        b"llama_model_load: error loading model: unable to allocate CPU_REPACK buffer\n",
    )

    def load_nothing(*_: object) -> None:
        for remark in remarks:
            llama._log_callback(4, remark, None)

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", load_nothing)
    with pytest.raises(OutOfMemory, match=r"596\.53 MB") as caught:
        load(dense_model, Config(), Costs(), [])
    assert caught.value.hint == (
        "end other programs, choose a smaller model, or set fewer `gpu_layers`"
    )


@pytest.mark.parametrize(("model", "escaped"), [("dense_model", True), ("tagged_model", False)])
def test_how_the_model_writes_tool_calls_is_known(
    model: str, escaped: bool, request: pytest.FixtureRequest
) -> None:
    loaded = load(request.getfixturevalue(model), Config(context=512), Costs(), [])
    loaded.engine.close()
    assert loaded.escapes_calls is escaped


@pytest.mark.parametrize(("wanted", "size"), [(1, 256), (100, 256), (300, 512)])
def test_a_pass_may_be_as_wide_as_a_small_context(
    dense_model: Path, wanted: int, size: int
) -> None:
    engine = Engine(dense_model, context=wanted, threads=1, gpu_layers=0)
    widest = llama_cpp.llama_n_batch(engine._context._context)
    found = engine.context_size
    engine.close()
    assert (found, widest) == (size, size)  # a wider one would end the process


def test_measuring_is_told_and_done_once(
    dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs, told = Costs(), list[str]()
    measured = Calibration({1: 1.0, 2: 1.5}, 0.1)
    monkeypatch.setattr(Engine, "calibrate", lambda *_: measured)
    for _ in range(2):
        load(dense_model, Config(threads=1), costs, told).engine.close()
    assert told == ["measuring what wide passes cost with this model, once"]
    assert list(costs.saved.values()) == [{0: 0.1, 1: 1.0, 2: 1.5}]


def test_loading_stops_while_it_measures(dense_model: Path) -> None:
    answers = iter([True] * 3)

    def progress(share: float) -> bool:
        return share < 1.0 or next(answers, False)

    with pytest.raises(Cancelled):
        loading.load(dense_model, Config(threads=1), Costs(), progress, lambda _: None)


def test_twenty_loads_leave_no_memory_behind(dense_model: Path) -> None:
    costs = Costs()
    costs.load_cost = lambda key: {0: 0.1, 1: 1.0}  # type: ignore[method-assign]

    def resident_after(loads: int) -> int:
        for _ in range(loads):
            load(dense_model, Config(threads=1, context=2048), costs, []).engine.close()
        return devices.resident_bytes(os.getpid())

    settled = resident_after(5)
    assert resident_after(20) < settled + 8 * MB
