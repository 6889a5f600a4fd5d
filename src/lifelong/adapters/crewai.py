"""CrewAI: `crew_memory` is a memory for crews, agents and flows that keeps its records in the memory of a user.

CrewAI embeds a text, and asks its storage with the vector alone. So the storage brings the embedder along, and
remembers which text each vector was made of: the search is lifelong's own, by words and by meaning.

Each scope is a document below `~/crewai`, and each record one below its scope.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, Self, TypeVar

from lifelong.adapters.values import Group, Values, body_of, content
from lifelong.errors import InputError
from lifelong.memory import Memory
from lifelong.organize.draft import Draft
from lifelong.redaction import redact_json
from lifelong.types import Document, Hit
from lifelong.validation import plain_json

try:
    from crewai import Memory as CrewMemory
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError as error:
    raise ImportError("This adapter needs CrewAI. Install it: pip install 'lifelong[crewai]'") from error

EVERYTHING = "/"  # the scope in which all that the memory knows is found, whoever told it
STANDING = "lifelong"  # the id of the record with what always matters about the user
STANDING_TOKENS = 600
MAX_EMBEDDED_TEXTS = 2_000  # that were embedded lately, and whose vectors may be asked with
MAX_RECORD_CHARS = 50_000
NO_ANALYSIS = 2**31  # characters of a query from which CrewAI asks a model what to search for

P = ParamSpec("P")
T = TypeVar("T")
Vector = list[float]
Fits = Callable[[MemoryRecord], bool]


def crew_memory(memory: Memory, **options: Any) -> CrewMemory:
    """Return a memory of CrewAI that keeps its records in the memory of a user.

        Crew(agents=[…], tasks=[…], memory=crew_memory(memory))

    `options` are those of CrewAI's `Memory`, such as `llm`, the model that extracts what is worth keeping."""
    storage = LifelongStorage(memory)
    given = {"query_analysis_threshold": NO_ANALYSIS, **options}
    return CrewMemory(storage=storage, embedder=storage.embed, **given)


def _awaited(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a method for an event loop, that does the same in a thread."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


class LifelongStorage:
    """A `StorageBackend` of CrewAI on the documents of a user. It must be used with its own embedder:

    Memory(storage=storage, embedder=storage.embed)
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._values = Values(memory, "crewai", "CrewAI")
        self._embedder = memory._parts.shared.word_embedder
        self._texts: OrderedDict[tuple[float, ...], str] = OrderedDict()
        self._lock = Lock()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Return itself: copies of a crew share one memory."""
        return self

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, by the bundled embedder, and remember which text each was made of."""
        vectors: list[Vector] = self._embedder.embed(texts).tolist()
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                self._texts[tuple(vector)] = text
                self._texts.move_to_end(tuple(vector))
            while len(self._texts) > MAX_EMBEDDED_TEXTS:
                self._texts.popitem(last=False)
        return vectors

    # Reading

    def search(
        self,
        query_embedding: Vector,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records about the text whose vector this is, nearest first; in the scope "/", also what else
        the memory knows about it, and what always matters about the user."""
        with self._lock:
            query = self._texts.get(tuple(query_embedding), "")
        if not query:
            raise InputError(
                "The vector was not made by lifelong. Use crew_memory(memory), or give CrewAI's Memory both: "
                "Memory(storage=storage, embedder=storage.embed)."
            )

        def fits(record: MemoryRecord) -> bool:
            return _fits(record, categories, metadata_filter)

        groups = self._groups(scope_prefix)
        hits = self._values.search(query, groups, lambda one: fits(_record(one)), limit) if groups else []
        found = [_record(one) for _, one, _ in hits]
        standing: list[tuple[MemoryRecord, float]] = []
        if scope_prefix is not None and _scope(scope_prefix) == EVERYTHING:
            found += [one for one in self._known(query, limit) if fits(one)]
            standing = [(one, 1.0) for one in self._standing() if fits(one)]
        near = self._embedder.embed([one.content for one in found]) @ self._embedder.embed([query])[0]
        scored = [(one, min(max(float(score), 0.0), 1.0)) for one, score in zip(found, near, strict=True)]
        scored = sorted((one for one in scored if one[1] >= min_score), key=lambda one: -one[1])
        return [*standing, *scored][:limit]

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record by its id; none if there is no such record."""
        found = self._find(record_id)
        return _record(found[1]) if found else None

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return the records of a scope and of those below it, newest first."""
        found = sorted(self._records(scope_prefix), key=lambda one: one.created_at, reverse=True)
        return found[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return how many records a scope and those below it hold, of which categories, from when to when."""
        records = self._records(scope)
        times = [one.created_at for one in records]
        return ScopeInfo(
            path=_scope(scope),
            record_count=len(records),
            categories=sorted({name for one in records for name in one.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self._children(scope),
        )

    def list_scopes(self, parent: str = EVERYTHING) -> list[str]:
        """Return the scope itself, and those directly below it: CrewAI searches in the first twenty of these, and
        would not find what stands in the scope itself."""
        return [_scope(parent), *self._children(parent)]

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records of a scope are in each category."""
        return dict(Counter(name for one in self._records(scope_prefix) for name in one.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records there are in a scope and below it."""
        return len(self._records(scope_prefix))

    # Writing

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records as the agent's word, all of them or none; one that is there is replaced."""
        bodies = [(one, _body(one)) for one in records]

        def edit(draft: Draft) -> None:
            for record, body in bodies:
                if (found := self._find(record.id)) and (before := content(found[0])) != _scope(record.scope):
                    self._values.remove(draft, before, record.id)
                scope = _scope(record.scope)
                self._values.put(draft, Group(scope, scope, scope), record.id, body)

        self._values.change(edit)

    def update(self, record: MemoryRecord) -> None:
        """Replace a record; what it said before stays in the document's history. What the memory knows from
        elsewhere stays as it is: the new text is stored beside it."""
        self.save([record])

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records to which all of this applies, softly, and return how many they were."""
        before = _utc(older_than) if older_than else None

        def goes(record: MemoryRecord) -> bool:
            return (
                (record_ids is None or record.id in record_ids)
                and (before is None or record.created_at < before)
                and _fits(record, categories, metadata_filter)
            )

        going = [one for one in self._records(scope_prefix) if goes(one)]

        def edit(draft: Draft) -> None:
            for one in going:
                self._values.remove(draft, _scope(one.scope), one.id)

        self._values.change(edit)
        return len(going)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope, softly."""
        self.delete(scope_prefix)

    # In an event loop

    asave = _awaited(save)
    asearch = _awaited(search)
    adelete = _awaited(delete)

    # Documents

    def _groups(self, scope: str | None) -> list[Document]:
        """Return the documents of a scope and of those below it."""
        wanted = _scope(scope or EVERYTHING)
        below = wanted.rstrip("/") + "/"
        return [one for one in self._values.groups() if (content(one) + "/").startswith(below)]

    def _records(self, scope: str | None) -> list[MemoryRecord]:
        return [_record(one) for _, one in self._values.all(self._groups(scope))]

    def _children(self, parent: str) -> list[str]:
        prefix = _scope(parent).rstrip("/") + "/"
        names = (content(one).removeprefix(prefix).partition("/")[0] for one in self._groups(parent))
        return sorted({prefix + name for name in names if name and prefix + name != _scope(parent)})

    def _find(self, record_id: str) -> tuple[Document, Document] | None:
        """Return the document of a record, after that of its scope."""
        for group in self._values.groups():
            if found := self._values.find(content(group), record_id):
                return group, found
        return None

    # What the memory knows from elsewhere

    def _standing(self) -> list[MemoryRecord]:
        text = self._memory.context(tokens=STANDING_TOKENS)
        return [MemoryRecord(id=STANDING, content=text, categories=["context"])] if text else []

    def _known(self, query: str, limit: int) -> Iterable[MemoryRecord]:
        own = f"{self._values.root}/"
        hits = self._memory.search(query, limit)
        return [_known_record(one) for one in hits if one.confidence != "low" and not one.path.startswith(own)]


def _record(document: Document) -> MemoryRecord:
    return MemoryRecord.model_validate(content(document))


def _known_record(hit: Hit) -> MemoryRecord:
    return MemoryRecord(
        id=hit.id,
        content=hit.text,
        categories=[hit.kind],
        metadata={"trust": hit.trust_label, "speaker": hit.speaker or None, "date": hit.at.date().isoformat()},
        created_at=_utc(hit.at),
        last_accessed=_utc(hit.at),
    )


def _body(record: MemoryRecord) -> str:
    """Return the text of a record's document, with markers in the place of secrets."""
    scoped = record.model_copy(
        update={"scope": _scope(record.scope), "created_at": _utc(record.created_at)}
    ).model_dump(mode="json")
    value = redact_json(plain_json(scoped, "the record", MAX_RECORD_CHARS))
    if not isinstance(value, dict):
        raise InputError("A record must be a MemoryRecord of CrewAI.")
    return body_of(value | {"id": record.id}, [str(value["content"])])


def _fits(record: MemoryRecord, categories: list[str] | None, metadata: dict[str, Any] | None) -> bool:
    return (not categories or not set(categories).isdisjoint(record.categories)) and all(
        record.metadata.get(name) == value for name, value in (metadata or {}).items()
    )


def _scope(path: str) -> str:
    """Return a scope in one spelling: "/company/team"."""
    return "/" + "/".join(filter(None, path.split("/")))


def _utc(time: datetime) -> datetime:
    """Return a time as CrewAI has it: in UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
