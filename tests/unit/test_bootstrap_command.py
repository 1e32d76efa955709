"""What the scripts share."""

from __future__ import annotations

from pathlib import Path

from bootstrap.command import python_scripts


def test_only_commands_in_python_are_checked(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/usr/bin/env python3\n")
    (tmp_path / "lock").write_text("#!/usr/bin/env bash\n# pins python packages\n")
    (tmp_path / "module.py").write_text("")
    (tmp_path / "bootstrap").mkdir()
    assert python_scripts(tmp_path) == ["run"]
