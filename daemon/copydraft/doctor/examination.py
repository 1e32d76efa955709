"""All checks of the doctor, in order."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from copydraft.doctor import build, cards, machine, service
from copydraft.doctor.finding import Check, Finding
from copydraft.errors import CopydraftError

CHECKS: dict[str, Check] = {
    "python": machine.check_python,
    "compiler": machine.check_compiler,
    "settings": service.check_settings,
    "llama.cpp": build.check_engine,
    "cards": cards.check_cards,
    "model": service.check_model,
    "index": service.check_index,
    "socket": service.check_socket,
    "daemon": service.check_daemon,
    "agents": service.check_api,
    "disk": machine.check_disk,
}


def examine(checks: Mapping[str, Check] | None = None) -> list[Finding]:
    """Run all checks, what others build on first; the fault that stops several is told once."""
    findings: list[Finding] = []
    faults = set()
    for name, check in (CHECKS if checks is None else checks).items():
        try:
            findings.extend(check())
        except CopydraftError as error:
            if (error.message, error.hint) not in faults:
                findings.append(Finding(name, "problem", error.message, error.hint))
            faults.add((error.message, error.hint))
        except (OSError, subprocess.SubprocessError) as error:
            findings.append(Finding(name, "problem", f"it could not be checked: {error}"))
    return findings
