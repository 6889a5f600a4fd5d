"""What a record carries for a framework (SPEC F1): found nowhere else, and gone with what was forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lifelong import AssistantMessage, Memory, ToolResult, UserMessage
from lifelong.errors import InputError
from lifelong.serve.jsonable import jsonable

ADAPTERS = {
    "openai_agents": ("agents", "openai-agents"),
    "claude_agent": ("claude_agent_sdk", "claude"),
    "anthropic_memory": ("anthropic", "anthropic"),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_framework_is_imported_only_with_its_adapter(adapter: str) -> None:
    """F1: and where it is missing, the error names the extra."""
    package, extra = ADAPTERS[adapter]
    code = f"""
import sys, lifelong, lifelong.adapters, lifelong.memory
assert not {{"agents", "claude_agent_sdk", "anthropic"}} & set(sys.modules)
sys.modules[{package!r}] = None
try:
    import lifelong.adapters.{adapter}
except ImportError as error:
    assert "pip install 'lifelong[{extra}]'" in str(error), error
else:
    raise SystemExit("it was imported")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_original_is_neither_searched_nor_shown(tmp_path: Path) -> None:
    """F1: it is no text of the record; S4: its secrets go, its ids and files stay; what is not JSON is refused."""
    kept = {
        "id": "sk-" + "a1B2c3D4" * 6,
        "signature": "c2ln" * 40,
        "image_url": "data:image/png;base64," + "aB3d" * 50,
    }
    secret = {**kept, "content": "The password is hunter2!Secret"}
    with Memory.open(tmp_path) as memory:
        memory.add(UserMessage("Here is the key.", original=json.dumps(secret)))
        (stored,) = memory.sessions.history(memory.agent())
        assert json.loads(stored.record.original) == {**kept, "content": "The password is [secret: password]"}
        assert {hit.text for hit in memory.search("signature")} <= {"Here is the key."}
        assert memory.admin.scan() == []
        assert "original" not in json.dumps(jsonable(stored))
        with pytest.raises(InputError, match="must be JSON"):
            memory.add(UserMessage("x", original="{"))
        memory.add(AssistantMessage("", provenance="system", original="{}"))
        (outline,) = memory.sessions.outlines(memory.sessions.list(memory.agent()))
        assert outline.messages == 1


def test_what_is_forgotten_leaves_every_original(open_memory: Callable[..., Memory]) -> None:
    """S6: a part that goes leaves the rest of a message; another record's message loses what it repeats, and no
    more. What is replayed without the original does not come back."""
    memory = open_memory()
    talk = (
        "The standup is at nine in the big room and Priya chairs it. The minutes are in the wiki. "
        "Tom brings coffee on Mondays, and the window stays open. Our printer upstairs jams every week. "
        "The caretaker comes on Thursdays and waters the plants. Somebody left an umbrella in the hall again."
    )
    said = f"{talk} I'm allergic to pistachios."
    memory.add(UserMessage(said, original=json.dumps({"id": "m1", "content": said})))
    both = {"id": "m2", "parts": ["Call Doctor Quillfeather at nine.", "ok", "The sky is grey."], "last": said}
    memory.add([ToolResult("ok", original=json.dumps(both)), AssistantMessage(both["parts"][0], original="null")])
    memory.end_session()
    memory.organize()
    (fact,) = [hit for hit in memory.list("fact") if "pistachios" in hit.text]
    assert memory.forget(fact.id).cut == ("r1",)
    memory.forget("r3")
    first, second = (json.loads(one.record.original) for one in memory.sessions.history(memory.agent()))
    assert first == {"id": "m1", "content": f"{talk} [forgotten]"}
    assert second == {
        "id": "m2",
        "parts": ["[forgotten]", "ok", "The sky is grey."],
        "last": f"{talk} [forgotten]",
    }
    once = datetime(2026, 2, 1, tzinfo=UTC)
    (gone,) = memory.add(UserMessage("The lamp is blue.", original='{"lamp": 1}', at=once))
    memory.forget(gone)
    again = memory.add(UserMessage("The lamp is blue.", at=once))
    assert (list(again), [f"r{one.ref}" for one in again.forgotten]) == ([], [gone])
    assert "The lamp is blue." not in {hit.text for hit in memory.list()}
