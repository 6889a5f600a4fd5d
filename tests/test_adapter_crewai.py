"""CrewAI's memory (F1), with CrewAI in an environment of its own: it asks for older packages than the other
frameworks that are tested here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import absent
from tests.model_servers import Reply, say
from tests.scripted_openai import KNOWS, KNOWS_NOT, scripted
from tests.test_adapter_pages import example
from tests.test_docs import ROOT

pytestmark = pytest.mark.soak

UV = Path(sys.executable).with_name("uv")
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TESTING": "true"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has lifelong, with its extra for CrewAI."""
    folder = tmp_path_factory.mktemp("crewai") / "venv"
    found = folder / "bin/python"
    for command in (
        [str(UV), "venv", "-q", "--python", sys.executable, str(folder)],
        [str(UV), "pip", "install", "-q", "--python", str(found), "-e", f"{ROOT}[crewai]", "pytest"],
    ):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode and "dns error" in ran.stderr:
            absent("the package index cannot be reached")
        assert ran.returncode == 0, ran.stderr
    return found


def test_the_storage_does_what_crewai_asks(python: Path, tmp_path: Path) -> None:
    """F1: what `crewai_storage.py` checks."""
    checks = ROOT / "tests/crewai_storage.py"
    options = ["-q", "--noconftest", "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    command = [str(python), "-m", "pytest", *options, "--basetemp", str(tmp_path / "tests"), str(checks)]
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-8_000:]
    assert "6 passed" in ran.stdout


def answer(asked: dict[str, Any]) -> Reply:
    """Answer as the cook, and as the model that says what of a task is worth keeping."""
    said = json.dumps(asked["messages"])
    schema = asked.get("response_format", {}).get("json_schema", {}).get("name")
    if schema == "ExtractedMemories":
        return say(json.dumps({"memories": ["The user is allergic to nuts."] if "I'm allergic" in said else []}))
    if schema == "MemoryAnalysis":
        metadata = {"entities": [], "dates": [], "topics": ["food"]}
        fields = {"suggested_scope": "/health", "categories": ["allergy"], "importance": 0.9}
        return say(json.dumps({**fields, "extracted_metadata": metadata}))
    return say(KNOWS if "The user is allergic to nuts" in said else KNOWS_NOT)


def test_the_example_remembers_in_the_next_process(python: Path, tmp_path: Path) -> None:
    """F1: with three lines of the user's own."""
    printed = []
    with scripted(answer) as server:
        endpoint = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": server.base_url("openai")}
        for task in ("The user says: I'm allergic to nuts.", "What shall the user cook for dinner?"):
            ran = subprocess.run(
                [python, "-c", example("crewai"), task],
                cwd=tmp_path,
                env={**os.environ, **QUIET, **endpoint},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            assert ran.returncode == 0, ran.stderr
            printed.append(ran.stdout.strip().splitlines()[-1])
    assert printed == [KNOWS_NOT, KNOWS]
