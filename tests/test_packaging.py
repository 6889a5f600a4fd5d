"""What is published: a source archive with what a wheel is built from, and a wheel with the package."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import absent

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "lifelong"
NEEDED = (
    "prompts/*.md",
    "serve/page/templates/*.html",
    "serve/page/static/*.css",
    "serve/page/static/*.js",
    "serve/samples/*.json",
    "py.typed",
)


def build(folder: Path, target: str, to: Path) -> Path:
    """Build the project in a folder with the backend that pyproject.toml names, offline."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(to)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    [built] = (file for file in to.iterdir() if file.suffix == {"sdist": ".gz", "wheel": ".whl"}[target])
    return built


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    if find_spec("hatchling") is None:
        absent("hatchling is not installed")
    to = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", to)) as archive:
        archive.extractall(to, filter="data")
    [unpacked] = (entry for entry in to.iterdir() if entry.is_dir())
    return unpacked


def test_the_source_archive_holds_the_package_and_no_data_of_benchmarks_or_tests(source: Path) -> None:
    assert {entry.name for entry in source.iterdir()} == {
        *("src", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore")
    }
    assert [entry.name for entry in (source / "src").iterdir()] == ["lifelong"]


def test_a_wheel_that_is_built_from_the_source_archive_holds_every_file_of_the_package(
    source: Path, tmp_path: Path
) -> None:
    files = zipfile.ZipFile(build(source, "wheel", tmp_path)).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in files} == {"lifelong"}
    packed = {name.removeprefix("lifelong/") for name in files if name.startswith("lifelong/")}
    own = (file for file in PACKAGE.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    assert packed == {file.relative_to(PACKAGE).as_posix() for file in own}
    for pattern in NEEDED:
        assert any(Path(name).match(pattern) for name in packed), pattern
