"""The packaged extension, as `./scripts/package` builds it: what a user installs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import package_extension
from copydraft import __version__
from tests.e2e.vscode import install


@pytest.fixture(scope="session")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the extension."""
    if lacking := install.missing():
        pytest.skip(lacking)
    return package_extension.package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="session")
def vsix(packaged: tuple[Path, Path]) -> zipfile.ZipFile:
    return zipfile.ZipFile(packaged[1])


def names(vsix: zipfile.ZipFile) -> set[str]:
    return {name.removeprefix("extension/") for name in vsix.namelist()}


def manifest(vsix: zipfile.ZipFile) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vsix.read("extension/package.json"))
    return found


pytestmark = pytest.mark.timeout(900)  # the first time, VS Code is installed


def test_it_is_smaller_than_a_megabyte(packaged: tuple[Path, Path]) -> None:
    assert packaged[1].stat().st_size < 1_000_000


def test_it_holds_the_bundle_and_nothing_of_its_source(vsix: zipfile.ZipFile) -> None:
    held = names(vsix)
    assert "dist/extension.js" in held
    assert {name for name in held if name.endswith((".map", ".ts", ".pyc", ".mjs"))} == set()
    assert {name.partition("/")[0] for name in held if "/" in name} == {"dist", "media"}
    assert b"sourceMappingURL" not in vsix.read("extension/dist/extension.js")


def test_it_carries_what_its_environment_is_made_from(
    vsix: zipfile.ZipFile, packaged: tuple[Path, Path]
) -> None:
    wheel = packaged[0].name
    assert wheel == f"copydraft-{__version__}-py3-none-any.whl"
    assert vsix.read(f"extension/dist/setup/{wheel}") == packaged[0].read_bytes()
    setup = {name.removeprefix("dist/setup/") for name in names(vsix) if "dist/setup" in name}
    assert {
        wheel,
        "payload.txt",
        "requirements.txt",
        "requirements-build.txt",
        "requirements-engine.txt",
        "scripts/run",
        "scripts/prove_build.py",
        "scripts/bootstrap/environment.py",
    } <= setup


def test_its_payload_is_told_apart_from_another(vsix: zipfile.ZipFile) -> None:
    """An update renews the environment exactly where one of these files has changed."""
    wheel, digest = vsix.read("extension/dist/setup/payload.txt").decode().splitlines()
    files = {
        name: vsix.read(f"extension/{name}")
        for name in names(vsix)
        if name.startswith("dist/setup/") and not name.endswith(("/", "payload.txt"))
    }
    content = b"\0".join(files[name] for name in sorted(files, key=lambda name: Path(name).parts))
    assert digest == hashlib.sha256(content).hexdigest()
    assert f"dist/setup/{wheel}" in files


def test_it_has_the_version_of_the_daemon(vsix: zipfile.ZipFile) -> None:
    assert manifest(vsix)["version"] == __version__


def test_everything_that_the_manifest_names_is_there(vsix: zipfile.ZipFile) -> None:
    about, held = manifest(vsix), names(vsix)
    [walkthrough] = about["contributes"]["walkthroughs"]
    named = [about["icon"], about["main"].removeprefix("./")]
    named += [step["media"]["markdown"] for step in walkthrough["steps"]]
    assert set(named) <= held


def test_every_command_of_the_walkthrough_is_one_of_the_extension(vsix: zipfile.ZipFile) -> None:
    about = manifest(vsix)["contributes"]
    commands = {one["command"] for one in about["commands"]}
    text = json.dumps(about["walkthroughs"])
    called = {part.split(")")[0] for part in text.split("(command:")[1:]}
    assert len(called) == 5
    assert called <= commands


def test_the_wheel_has_the_statistics_page(packaged: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packaged[0]) as wheel:
        web = {name for name in wheel.namelist() if "/web/" in name}
    files = ("charts.js", "statistics.css", "statistics.html", "statistics.js")
    assert web == {f"copydraft/web/{name}" for name in files}


def test_the_environment_of_the_extension_is_one_that_the_bootstrap_makes(
    vsix: zipfile.ZipFile, tmp_path: Path
) -> None:
    """Its scripts find copydraft in the wheel, there being no checkout around them."""
    vsix.extractall(tmp_path)
    setup = tmp_path / "extension/dist/setup"
    code = (
        f"import sys; sys.path.insert(0, {str(setup / 'scripts')!r}); "
        "import bootstrap.environment, copydraft.devices; "
        "print(copydraft.devices.__file__, bootstrap.environment.ROOT, sep='\\n')"
    )
    # -S: the copydraft of the environment that runs the tests must not be found.
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    [devices, root] = done.stdout.splitlines()
    assert devices == f"{setup}/copydraft-{__version__}-py3-none-any.whl/copydraft/devices.py"
    assert root == str(setup)
