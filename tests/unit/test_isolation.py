"""Tests see nothing of the user's: a run of pytest in an environment full of settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROBE = """
import os
from pathlib import Path

from huggingface_hub import constants, get_token


def test_nothing_of_the_users_is_seen():
    assert not constants.HF_HUB_OFFLINE
    assert not Path(constants.HF_HOME).is_relative_to(os.environ["USERS_HOME"])
    assert get_token() is None
    prefixes = ("COPYDRAFT_", "HIP_", "ROCR_", "HSA_")
    assert [name for name in os.environ if name.startswith(prefixes)] == []
"""


def test_a_users_variables_do_not_reach_the_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import isolated_home\n")
    (tmp_path / "test_probe.py").write_text(PROBE)
    users = {
        "USERS_HOME": str(tmp_path / "user"),
        "HF_HOME": str(tmp_path / "user" / "hub"),
        "HF_HUB_OFFLINE": "1",
        "HF_TOKEN": "hf_secret",
        "HIP_VISIBLE_DEVICES": "1",
        "ROCR_VISIBLE_DEVICES": "0",
        "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
        "COPYDRAFT_MODEL": "mine",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "daemon")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, **users},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout
