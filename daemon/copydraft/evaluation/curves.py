"""Cost curves: what a pass costs by its width, relative to one token, index 0 for width 1."""

from __future__ import annotations

from pathlib import Path

import msgspec

from copydraft.engine.cost import Calibration
from copydraft.errors import BadRequest, FileProblem

_FLAT_SLOPE = 0.012

# Two CPU cores, a 1.5B model at 4 bits, llama.cpp of llama-cpp-python 0.3.36, context 1500.
_CPU = {1: 1.0, 2: 1.59, 4: 2.01, 8: 3.76, 16: 5.43, 32: 9.93, 48: 14.0, 64: 13.5}


class _Measured(msgspec.Struct):
    """The part of a `Calibration` in JSON that says the cost."""

    ms: dict[int, float]


def curve(name: str, widest: int) -> list[float]:
    """The curve of that name (`flat`: a card, `cpu`) or in the file of that name.

    Raises:
        FileProblem: the file cannot be read.
        BadRequest: it is not a measured curve.
    """
    if name == "flat":
        return [1 + _FLAT_SLOPE * drafted for drafted in range(widest)]
    ms = _CPU if name == "cpu" else _read(Path(name))
    return Calibration(ms, tie_threshold=0.0).table(widest)


def _read(path: Path) -> dict[int, float]:
    try:
        ms = msgspec.json.decode(path.read_bytes(), type=_Measured).ms
    except OSError as error:
        raise FileProblem(
            f"cannot read the cost curve {path}: {error.strerror}",
            "name `flat`, `cpu` or a measured file",
        ) from error
    except msgspec.DecodeError as error:
        raise BadRequest(
            f"{path} is not a cost curve: {error}", 'it should read {"ms": {"1": 85.0, "8": 240.0}}'
        ) from error
    if 1 not in ms or min(ms) < 1 or min(ms.values()) <= 0:
        raise BadRequest(
            f"{path} is not a cost curve", "it needs the time of width 1, and times above 0"
        )
    return ms
