"""The first pages that a person reads: all of it runs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(page: str, folder: Path) -> str:
    """Run the examples and commands of a page, except those that serve or build. Return what they print."""
    environment = {
        **os.environ,
        "LIFELONG_HOME": "my-home",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = imports = ""
    for language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        lines = re.findall(r"^\$ (?!make|lifelong serve)(.+)", block, re.MULTILINE)
        imports += "".join(re.findall(r"^from .+\n", block, re.MULTILINE))
        program = (
            [sys.executable, "-c", imports + block] if language == "python" else ["sh", "-euc", "\n".join(lines)]
        )
        ran = subprocess.run(
            program, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert ran.returncode == 0, f"{block}\n{ran.stderr}"
        printed += ran.stdout
    return printed


def test_the_first_page_runs_as_it_is(tmp_path: Path) -> None:
    """K2: commands and examples of the same home, one after the other; `init` has switched everything on."""
    printed = run_page("docs/getting-started.md", tmp_path)
    assert "allergic to nuts" in printed
    assert re.search(r"I live in Lisbon now\. \[[^\]]*r\d+\]", printed)
    assert re.search(r"I live in Porto\.[^\[\]]* \[.*r\d+, until .*\]", printed), (
        "the ended fact is in the document, marked"
    )
    assert (tmp_path / "my-home/users/mara/MEMORY.md").is_file()


def test_the_readme_runs_as_it_is(tmp_path: Path) -> None:
    printed = run_page("README.md", tmp_path)
    assert "was ~/memory/people/mara I live in Porto." in printed
    assert re.search(r"I'm allergic to nuts", printed.partition("was ")[2]), "the command line finds it"
