"""What happens between `./scripts/run` and copydraft, with nothing but Python's own library.

1. `interpreter` finds a Python that is new enough and starts over in it if need be.
2. `engine` reads what machine this is (`cpu`, `radeon`) and chooses how to build llama.cpp for it.
3. `environment` compares that and the pinned requirements with the stamp in `.venv`; most starts
   end here, after some milliseconds.
4. Otherwise it makes `.venv` and installs the pinned packages; `wheel` takes llama-cpp-python from
   the cache or builds it (`process` runs the tools, `progress` shows how far they are).
5. `proof` decodes with a tiny model in a child process, so that a bad build is found at once.
"""

import sys
from pathlib import Path

from . import interpreter

# Here and not in the scripts: it has to come before any module with newer syntax is read.
interpreter.require()

# `copydraft.devices` is read before copydraft is installed: from the checkout, or from the wheel
# where there is none.
_ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(next(_ROOT.glob("copydraft-*.whl"), _ROOT / "daemon")))
