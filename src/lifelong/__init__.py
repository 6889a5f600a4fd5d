"""lifelong: durable long-term memory for AI agents.

    records ─▶ history ─▶ marks ─▶ inbox ─▶ memory-agent ─▶ changesets ─▶ documents ─┐
      │        collect/            organize/ (rules | llm)                           │
      ├──────▶ turn summaries ─▶ MEMORY.md ─▶ compaction ─▶ LONGMEMORY.md ───────────┤
      │        journal/                                                              ▼
      └──────────────────────────────────────────────────────▶ items ─▶ index ─▶ search, context
                                                                         recall/

`collect` stores every record before it acknowledges it, and marks the sessions that hold something new. `organize`
makes documents of what is marked, in the background; `journal` keeps files that people read, and keeps them small.
`recall` finds all of it. `serve` is how to reach it: commands, a page, HTTP, MCP, hooks.

Eight files, read in this order, tell the whole:

1  types.py                   what travels: records, agents, sessions, documents, items, hits
2  memory.py                  Memory and Store: what can be done, one method each (`namespaces.py`: the rest)
3  wiring.py                  what a memory is made of, and how its settings choose it
4  collect/recorder.py        a record comes in: stored, findable and marked in one transaction
5  organize/dispatch.py       what is marked becomes a transcript in an inbox, exactly once
6  organize/memory_agent.py   a transcript becomes a changeset of documents, all of it or nothing
7  journal/service.py         turns become lines of MEMORY.md, and old lines become few
8  recall/search.py           a question in, hits out

They stand on `storage/base.py` (rows), `models/` (who thinks, who embeds), `vectors/` (what is near), and on what
every stage shares: `validation`, `redaction`, `errors`, `periodic`, `tools`. `settings` reads the settings, `home`
is the folder, `background` runs the threads, `aio` has the same calls awaited, `testing` the doubles.
"""

TYPE_CHECKING = False  # as in `typing`, which a hook need not wait for
if TYPE_CHECKING:
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
    from lifelong.memory import Memory, Store
    from lifelong.models.embedders.base import Embedder
    from lifelong.organize.facts import Fact
    from lifelong.organize.health import Health, Receipt
    from lifelong.organize.organizer import Organizer
    from lifelong.tools import Tool
    from lifelong.types import (
        Agent,
        AssistantMessage,
        Document,
        Hit,
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
        nothing_known,
    )

_MODULE_OF = {
    "App": "collect.descriptors",
    "Agent": "types",
    "AssistantMessage": "types",
    "AsyncMemory": "aio",
    "Cron": "collect.descriptors",
    "Descriptor": "collect.descriptors",
    "Document": "types",
    "Embedder": "models.embedders.base",
    "Fact": "organize.facts",
    "Health": "organize.health",
    "Hit": "types",
    "LifecycleResult": "types",
    "LifelongError": "errors",
    "Memory": "memory",
    "MemoryAgent": "collect.descriptors",
    "Note": "types",
    "Organizer": "organize.organizer",
    "Permanent": "collect.descriptors",
    "Receipt": "organize.health",
    "Record": "types",
    "Session": "types",
    "Store": "memory",
    "StoredRecord": "types",
    "Subagent": "collect.descriptors",
    "System": "collect.descriptors",
    "SystemMessage": "types",
    "Task": "collect.descriptors",
    "Tool": "tools",
    "ToolCall": "types",
    "ToolResult": "types",
    "Turn": "types",
    "User": "collect.descriptors",
    "UserMessage": "types",
    "nothing_known": "types",
}

__all__ = [
    "Agent",
    "App",
    "AssistantMessage",
    "AsyncMemory",
    "Cron",
    "Descriptor",
    "Document",
    "Embedder",
    "Fact",
    "Health",
    "Hit",
    "LifecycleResult",
    "LifelongError",
    "Memory",
    "MemoryAgent",
    "Note",
    "Organizer",
    "Permanent",
    "Receipt",
    "Record",
    "Session",
    "Store",
    "StoredRecord",
    "Subagent",
    "System",
    "SystemMessage",
    "Task",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "User",
    "UserMessage",
    "nothing_known",
]

if not TYPE_CHECKING:  # which knows the names from above

    def __getattr__(name: str) -> object:
        """Return a public name, imported when it is first asked for: `lifelong --help` asks for none."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        found = getattr(importlib.import_module(f"lifelong.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return __all__

    del TYPE_CHECKING
