"""lifelong: durable long-term memory for AI agents.

    turns ─▶ history ─▶ marks ─▶ inbox ─▶ organizer ─▶ changesets ─▶ documents ─┐
      │      collect/            organize/ (rules | llm)                     │
      ├────▶ turn summaries ─▶ MEMORY.md ─▶ compaction ─▶ LONGMEMORY.md ─────┤
      │      journal/                                                        ▼
      └───────────────────────────────────────────────▶ items ─▶ index ─▶ recall/

`collect` stores every turn before it acknowledges it, and marks the sessions that hold something new. `organize`
makes documents of what is marked, in the background; `journal` keeps pages that people read, and keeps them small.
`recall` finds all of it. `serve` is how to reach it: commands, a page, HTTP, MCP, hooks.

Eight files, read in this order, tell the whole:

1  types.py                    what travels: records, agents, sessions, documents, items, hits
2  memory.py                   what can be done with a memory, one method each (`reading.py`: what it can be asked)
3  wiring.py                    what a memory is made of, and how its settings choose it
4  collect/recorder.py            a turn comes in: stored, findable and marked in one transaction
5  organize/dispatch.py        what is marked becomes a transcript in an inbox, exactly once
6  organize/memory_agent.py   a transcript becomes a changeset of documents, all of it or nothing
7  journal/service.py       turns become lines of MEMORY.md, and old lines few words
8  recall/search.py            a question in, hits out

They stand on `storage/base.py` (rows), `models/` (who thinks, who embeds), `vectors/` (what is near), and on what
every stage shares: `gate` (what may come in), `secrecy`, `errors`, `background`, `tooling`, `remembered`. `config`
and `sections` read the settings, `home` is the folder, `aio` the same calls awaited, `testing` the doubles.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from lifelong.aio import AsyncMemory
    from lifelong.collect.descriptors import (
        App,
        Cron,
        Descriptor,
        MemoryAgent,
        Permanent,
        Subagent,
        System,
        Task,
        User,
    )
    from lifelong.errors import LifelongError
    from lifelong.memory import Memory
    from lifelong.types import (
        Agent,
        AssistantMessage,
        LifecycleResult,
        Note,
        Record,
        Session,
        StoredRecord,
        SystemMessage,
        ToolCall,
        ToolResult,
        Turn,
        UserMessage,
    )

__all__ = [
    "Agent",
    "App",
    "AssistantMessage",
    "AsyncMemory",
    "Cron",
    "Descriptor",
    "LifecycleResult",
    "LifelongError",
    "Memory",
    "MemoryAgent",
    "Note",
    "Permanent",
    "Record",
    "Session",
    "StoredRecord",
    "Subagent",
    "System",
    "SystemMessage",
    "Task",
    "ToolCall",
    "ToolResult",
    "Turn",
    "User",
    "UserMessage",
]

if not typing.TYPE_CHECKING:  # which knows the names from above

    def __getattr__(name: str) -> object:
        """A public name, imported when it is first asked for: `lifelong --help` asks for none."""
        if name in __all__:
            for module in ("types", "errors", "collect.descriptors", "memory", "aio"):
                if found := vars(importlib.import_module(f"lifelong.{module}")).get(name):
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
