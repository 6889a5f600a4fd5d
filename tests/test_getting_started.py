"""The first page that a person reads: all of it runs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "getting-started.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_first_page_runs_as_it_is(tmp_path: Path) -> None:
    """K2: commands and examples of the same home, one after the other; `init` has switched everything on."""
    environment = {
        **os.environ,
        "LIFELONG_HOME": "my-home",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = imports = ""
    for language, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        commands = "\n".join(line[2:] for line in block.splitlines() if line.startswith("$ "))
        imports += "".join(re.findall(r"^from .+\n", block, re.MULTILINE))
        program = (
            [sys.executable, "-c", imports + block] if language == "python" else ["sh", "-eu", "-c", commands]
        )
        ran = subprocess.run(
            program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert ran.returncode == 0, f"{block}\n{ran.stderr}"
        printed += ran.stdout
    assert "allergic to nuts" in printed
    assert re.search(r"lives in Lisbon now\. \[r\d+\]", printed)
    assert re.search(r"lives in Porto\. \[r\d+, until .*\]", printed), "the ended fact is in the document, marked"
    assert (tmp_path / "my-home/users/default/MEMORY.md").is_file()
