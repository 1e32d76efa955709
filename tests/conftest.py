"""What all tests share: a home of their own, and tiny models written once a session."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from copydraft import paths
from copydraft.models import catalog
from tests.fixtures import templates, tiny_models

AnsweringModel = Callable[..., Path]

_USERS_VARIABLES = ("COPYDRAFT_", "HIP_", "ROCR_", "HSA_")

_BUILD_THE_EXTENSION = {"installed", "packaged"}

# A job that a shell runs in the background ignores Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The hub's client reads these when it is imported, which nothing above does: later is too late.
for _name in [name for name in os.environ if name.startswith(("HF_", "HUGGING_FACE_"))]:
    del os.environ[_name]
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="copydraft-hub-")
atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist's own reads what this one sets
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests one process has to run, one after the other: those of a file, which share
    fixtures, and all that build the extension, as they do so in one place.
    """
    for item in items:
        assert isinstance(item, pytest.Function)
        if item.get_closest_marker("xdist_group"):
            continue
        builds = not _BUILD_THE_EXTENSION.isdisjoint(item.fixturenames)
        item.add_marker(pytest.mark.xdist_group("extension" if builds else item.path.name))


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, XDG directories and an environment that hold nothing of the user's."""
    home = tmp_path / "home"
    for name in [name for name in os.environ if name.startswith(_USERS_VARIABLES)]:
        monkeypatch.delenv(name)
    for variable, place in {
        "HOME": ".",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
        "XDG_RUNTIME_DIR": "run",
    }.items():
        (home / place).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(variable, str(home / place))
    return home


@pytest.fixture(scope="session")
def tiny_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def dense_model(tiny_dir: Path) -> Path:
    return tiny_models.write_dense(tiny_dir / "dense.gguf")


@pytest.fixture(scope="session")
def tagged_model(tiny_dir: Path) -> Path:
    """The same; it writes the arguments of tool calls as they are, between tags."""
    return tiny_models.write_dense(tiny_dir / "tagged.gguf", template=templates.TAGS)


@pytest.fixture(scope="session")
def sliding_window_model(tiny_dir: Path) -> Path:
    return tiny_models.write_sliding_window(tiny_dir / "sliding-window.gguf")


@pytest.fixture(scope="session")
def hybrid_model(tiny_dir: Path) -> Path:
    return tiny_models.write_hybrid(tiny_dir / "hybrid.gguf")


@pytest.fixture(scope="session")
def short_conv_model(tiny_dir: Path) -> Path:
    return tiny_models.write_short_conv(tiny_dir / "short-conv.gguf")


@pytest.fixture
def answering_model(tmp_path: Path) -> AnsweringModel:
    """Call it with the answer (and `after=`, the end of the prompt): the path of such a model."""
    made: list[Path] = []

    def make(answer: str, **options: str) -> Path:
        path = tmp_path / f"answering-{len(made)}.gguf"
        made.append(tiny_models.write_answering(path, answer, **options))
        return path

    return make


# Where this user's real models are, looked up before any test gets a home of its own.
_REAL_MODELS = paths.models_dir()


@pytest.fixture
def real_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Call it with a name of the catalog: the path of that model, downloaded if it is not here.

    Tests that use it are marked `model`.
    """

    def find(name: str) -> Path:
        # Heavy (the hub's client), and only these tests need it.
        from copydraft.models.pull import pull  # noqa: PLC0415

        with monkeypatch.context() as patch:
            patch.setattr(paths, "models_dir", lambda: _REAL_MODELS)
            return pull(catalog.find(name), lambda progress: None)

    return find
