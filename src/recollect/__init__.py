"""recollect: durable long-term memory for AI agents.

    turns ─▶ history ─▶ marks ─▶ inbox ─▶ brain ─▶ changesets ─▶ documents ─┐
      │      collect/            organize/ (rules | llm)                     │
      ├────▶ turn summaries ─▶ MEMORY.md ─▶ compaction ─▶ LONGMEMORY.md ─────┤
      │      journal/                                                        ▼
      └───────────────────────────────────────────────▶ items ─▶ index ─▶ recall/

`collect` stores every turn before it acknowledges it, and marks the sessions that hold something new. `organize`
makes documents of what is marked, in the background; `journal` keeps pages that people read, and keeps them small.
`recall` finds all of it. `serve` is how to reach it: commands, a page, HTTP, MCP, hooks. Start reading at
`memory.py`, then follow the flow: `collect/`, `organize/`, `journal/`, `recall/`.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from recollect.aio import AsyncMemory
    from recollect.collect.descriptors import (
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
    from recollect.errors import RecollectError
    from recollect.memory import Memory
    from recollect.types import (
        Advance,
        Agent,
        AssistantMessage,
        Note,
        Record,
        Recorded,
        Session,
        SystemMessage,
        ToolCall,
        ToolResult,
        Turn,
        UserMessage,
    )

__all__ = [
    "Advance",
    "Agent",
    "App",
    "AssistantMessage",
    "AsyncMemory",
    "Cron",
    "Descriptor",
    "Memory",
    "MemoryAgent",
    "Note",
    "Permanent",
    "RecollectError",
    "Record",
    "Recorded",
    "Session",
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
        """A public name, imported when it is first asked for: `recollect --help` asks for none."""
        if name in __all__:
            for module in ("types", "errors", "collect.descriptors", "memory", "aio"):
                if found := vars(importlib.import_module(f"recollect.{module}")).get(name):
                    globals()[name] = found
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return __all__
