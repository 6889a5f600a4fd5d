"""The tutorial (SPEC F1, F5): two assistants with the raw clients, run as they are against a scripted model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.model_servers import ModelServer, say

PAGE = Path(__file__).parent.parent / "docs/tutorial.md"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_an_assistant_of_forty_lines_remembers(provider: str, tmp_path: Path) -> None:
    """F1: with `memory.add` and `memory.context` alone, in two processes."""
    examples = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (example,) = [one for one in examples if f"from {provider} import" in one]
    assert len(example.splitlines()) <= 40
    assert set(re.findall(r"memory\.(\w+)\(", example)) == {"context", "add", "start", "end_session"}
    with ModelServer([say("Noted."), say("Gladly."), say("Bread.")]) as server:
        environment = {
            **os.environ,
            f"{provider.upper()}_API_KEY": "test",
            f"{provider.upper()}_BASE_URL": server.base_url(provider),
        }
        for told, answers in (
            ("I'm allergic to nuts.\nThank you!\n", "Noted.\nGladly.\n"),
            ("What can I bake?\n", "Bread.\n"),
        ):
            ran = subprocess.run(
                [sys.executable, "-c", example],
                input=told,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.stdout == answers, ran.stderr
    first, second, third = ([m for m in one["messages"] if m["role"] != "system"] for one in server.requests)
    assert first == [{"role": "user", "content": "I'm allergic to nuts."}]
    assert [message["content"] for message in second[:2]] == ["I'm allergic to nuts.", "Noted."]
    (asked,) = third
    assert re.search(r"<lifelong-context .*allergic to nuts.*What can I bake\?$", asked["content"], re.DOTALL)
