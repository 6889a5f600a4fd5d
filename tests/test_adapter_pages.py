"""The pages of the adapters are true (F1): each example runs twice in processes of their own, and remembers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.model_servers import Reply
from tests.scripted_gemini import gemini, said
from tests.scripted_openai import KNOWS, KNOWS_NOT, about_nuts, scripted
from tests.test_docs import ROOT, blocks

PAGES = ROOT / "docs/adapters"
MAX_LINES = 30  # of an example
MAX_OWN_LINES = 3  # of them that are there for lifelong alone

NUTS = "I'm allergic to nuts, please remember that."
DINNER = "What shall I cook for dinner?"

REMEMBERS = ("langchain", "langgraph", "pydantic_ai", "adk")
"""The pages whose example takes a question, and answers it with what an earlier process was told."""

MODULES = {
    "langchain": ("langchain", "langgraph"),
    "langgraph": ("langgraph", "langgraph"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "adk": ("google.adk", "adk"),
    "openai_agents": ("agents", "openai-agents"),
    "claude_agent": ("claude_agent_sdk", "claude"),
    "anthropic_memory": ("anthropic", "anthropic"),
    "crewai": ("crewai", "crewai"),
}
"""Each adapter, with the module that it needs and the extra that installs it."""


ROW = re.compile(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) .*\| (\d) \|$", re.MULTILINE)


def example(name: str) -> str:
    """The whole example of a page: its first block."""
    return blocks(PAGES / f"{name}.md", "python", "py")[0]


def own_lines(code: str) -> int:
    """Count the lines that would not be there without lifelong: those that use something of it and nothing of the
    framework. An argument in a call of the framework is not a line."""
    own: set[str] = set()
    foreign: set[str] = set()
    count = 0
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            is_own = isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "lifelong"
            (own if is_own else foreign).update(one.asname or one.name for one in node.names)
            count += is_own
            continue
        parts: Sequence[ast.AST] = ()
        if isinstance(node, ast.With | ast.AsyncWith):
            parts = node.items
        elif isinstance(node, ast.Assign | ast.Expr | ast.Return):
            parts = [node]
        names = [one for part in parts for one in ast.walk(part) if isinstance(one, ast.Name)]
        bound = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        used = {one.id for one in names} - bound
        if used & foreign:
            foreign |= bound
        elif used & own:
            own |= bound
            count += 1
    return count


def answer(asked: dict[str, Any]) -> Reply:
    """Answer a request to OpenAI or to Gemini."""
    knows = "allergic to nuts" in said(asked)
    return about_nuts(asked) if "messages" in asked else gemini({"text": KNOWS if knows else KNOWS_NOT})


@pytest.mark.parametrize("name", REMEMBERS)
def test_the_example_remembers_in_the_next_process(name: str, tmp_path: Path) -> None:
    """F1: with at most three lines of the user's own."""
    with scripted(answer) as server:
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": server.base_url("openai"),
            "LANGSMITH_TRACING": "false",
            "GOOGLE_API_KEY": "x",
            "GOOGLE_GEMINI_BASE_URL": server.url,
        }
        printed = []
        for question in (NUTS, DINNER):
            ran = subprocess.run(
                [sys.executable, "-c", example(name), question],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert ran.returncode == 0, ran.stderr
            printed.append(ran.stdout.strip())
    assert printed[1] == KNOWS


def test_the_table_says_how_many_lines_each_example_needs() -> None:
    """F1: the figures of docs/adapters/README.md are counted here."""
    table = (PAGES / "README.md").read_text(encoding="utf-8")
    said = {name: int(lines) for name, lines in ROW.findall(table)}
    assert set(said) == {path.stem for path in PAGES.glob("*.md")} - {"README"}
    for name, lines in said.items():
        code = example(name)
        assert own_lines(code) == lines <= MAX_OWN_LINES, name
        assert len(code.splitlines()) <= MAX_LINES, name


@pytest.mark.parametrize("name", MODULES)
def test_a_missing_framework_is_said_with_the_extra_that_installs_it(name: str) -> None:
    """F1: importing lifelong or its adapters needs none of them."""
    module, extra = MODULES[name]
    others = {one for one, _ in MODULES.values()} - {module}
    program = f"""
import sys
sys.modules[{module!r}] = None
import lifelong, lifelong.adapters
assert not set({sorted(others)!r}) & set(sys.modules)
import lifelong.adapters.{name}
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ImportError: This adapter needs" in ran.stderr
    assert f"pip install 'lifelong[{extra}]'" in ran.stderr
