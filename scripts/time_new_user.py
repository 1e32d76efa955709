"""A new user's way in VS Code, timed: from `code --install-extension` to the first accepted edit.

    ./scripts/new-user [--model NAME] [--shots FOLDER]

A browser does what the walkthrough asks for, in a home where nothing is: the environment is made,
llama.cpp is built and the model is downloaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from package_extension import package
from tests.e2e.vscode import host, install
from tests.e2e.vscode.code_server import code_server, user

INSTRUCTION = "Add type hints to all functions."
LIMIT_S = 1800


def steps(home: Path, vsix: Path, model: str, shots: Path) -> list[tuple[str, float]]:
    """Steps and when they were reached, in seconds from the start.

    Raises:
        subprocess.CalledProcessError: a step was not reached; `shots` has a picture of it.
    """
    installed = install.install()
    (home / "workspace").mkdir()
    reached: list[tuple[str, float]] = []
    began = time.time()
    with code_server(installed, home, vsix, host.isolated(home), settings={}) as url:
        environment = {
            "SHOTS": str(shots),
            "LIMIT_MS": str(LIMIT_S * 1000),
            "INSTRUCTION": INSTRUCTION,
        }
        with user(installed, home, "new_user.mjs", url, model, **environment) as process:
            for line in process.stdout or ():
                step = json.loads(line)
                reached.append((step["step"], step["at"] / 1000 - began))
                print(f"{reached[-1][1]:7.1f} s  {step['step']}", file=sys.stderr, flush=True)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(prog="new-user", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--shots", type=Path, help="a folder for a screenshot of each step")
    arguments = parser.parse_args()
    # Programs of VS Code still write as they end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        home = Path(place) / "user"
        home.mkdir()
        shots = arguments.shots or Path(place) / "shots"
        shots.mkdir(parents=True, exist_ok=True)
        vsix = package(Path(place) / "dist")[1]
        reached = steps(home, vsix, arguments.model, shots)
    print("| step | reached after |\n| --- | --- |")
    for step, seconds in reached:
        print(f"| {step} | {seconds:.0f} s |")


if __name__ == "__main__":
    main()
