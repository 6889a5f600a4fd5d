"""lifelong installs beside other packages (F1, F2): resolved by uv, as somebody would install both."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import absent
from tests.test_docs import ROOT

pytestmark = pytest.mark.soak

UV = Path(sys.executable).with_name("uv")
PROJECT = ROOT / "pyproject.toml"
BESIDE = ("crewai", "langchain-mcp-adapters", "strands-agents", "google-adk", "openai-agents", "pydantic-ai")
EXTRAS = ("all", "crewai", "encryption")  # the last two are not part of `all`


def resolve(folder: Path, *sources: str | Path) -> dict[str, str]:
    """Return the versions that uv chooses."""
    command = [UV, "pip", "compile", "--no-header", "--no-annotate", "--python-version", "3.11", *sources]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode and "dns error" in ran.stderr:
        absent("the package index cannot be reached")
    assert ran.returncode == 0, ran.stderr
    return dict(re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==(\S+)", ran.stdout, re.MULTILINE))


@pytest.mark.parametrize("other", BESIDE)
def test_the_server_installs_beside_each_framework(other: str, tmp_path: Path) -> None:
    """F1, F2: beside the framework as it is installed alone, not beside some old release of it."""
    wanted = tmp_path / "wanted.in"
    wanted.write_text(other)
    alone = resolve(tmp_path, wanted)
    together = resolve(tmp_path, "--extra", "serve", PROJECT, wanted)
    assert together[other] == alone[other]
    assert together["mcp"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_server_installs_beside_each_extra(extra: str, tmp_path: Path) -> None:
    """F1: all of them together, and those that cannot be installed with the others."""
    assert resolve(tmp_path, "--extra", "serve", "--extra", extra, PROJECT)["mcp"]
