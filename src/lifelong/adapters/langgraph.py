"""LangGraph: `LifelongStore` keeps the values of a graph's store as documents of a user.

Each namespace is a document below `~/langgraph`, and each key one below its namespace. A document's first line is
JSON, as a heading, which is not searched; what is searched follows it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from operator import ge, gt, le, lt
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from lifelong.errors import DocumentInUse, DocumentNotFound, InputError, StaleWrite, StorageConflict
from lifelong.memory import Memory
from lifelong.organize.documents import commit_as
from lifelong.organize.draft import MAX_BODY_CHARS, MAX_SLUG_BYTES, MAX_TITLE_CHARS, Draft
from lifelong.redaction import has_secret, redact
from lifelong.types import Document, Json
from lifelong.validation import plain_json, validate_text

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise ImportError("This adapter needs LangGraph. Install it: pip install 'lifelong[langgraph]'") from error

ROOT = "~/langgraph"
HEADING = "# "
MAX_TRIES = 10  # while others write the same keys
CHANGED_MEANWHILE = (StaleWrite, StorageConflict, DocumentNotFound, DocumentInUse, InputError)
"""What writing raises where another process made or removed the same documents between two reads."""
HITS_PER_SEARCH = (50, 1_000)  # of everything that is remembered, among which are those of the namespace

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_ORDERS: dict[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class LifelongStore(BaseStore):
    """Keep what a graph of LangGraph stores, in the memory of one user.

        builder.compile(store=LifelongStore(memory))

    A value comes back exactly as it was put, or `put` refuses it. All puts of a batch are stored, or none; its
    reads see what was stored before it. Values do not expire: a TTL is refused."""

    supports_ttl = False

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._documents = memory.documents
        self._lock = Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do these operations, and return what each of them gives."""
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in ops]
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        if puts:
            self._put([*puts.values()])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, in an event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    # Reading

    def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        match op:
            case GetOp(namespace, key):
                found = self._documents.find(_path(namespace, key))
                return _Stored(namespace, found).item(self._memory) if found else None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                found_names = [_namespace(one) for one in self._namespaces()]
                named = {one[: op.max_depth] for one in found_names if _matches(one, op.match_conditions or ())}
                return sorted(named)[op.offset : op.offset + op.limit]
            case _:
                raise InputError(f"{op!r:.200} is not an operation of a store. Use GetOp, PutOp, SearchOp …")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Return the matching values, best first; without a query, by namespace and key."""
        prefix, end = op.namespace_prefix, op.offset + op.limit
        spaces = {one.path: one for one in self._namespaces() if _namespace(one)[: len(prefix)] == prefix}
        found = self._scored(spaces, op, end) if op.query else self._all(spaces)
        fitting = (one for one in found if _fits(one.value, op.filter or {}))
        return [one.search_item(self._memory) for one in islice(fitting, op.offset, end)]

    def _all(self, spaces: dict[str, Document]) -> Iterator[_Stored]:
        for space in spaces.values():
            yield from (_Stored(_namespace(space), one) for one in self._documents.children(space.id))

    def _scored(self, spaces: dict[str, Document], op: SearchOp, enough: int) -> list[_Stored]:
        """Return the values that the memory's search finds, each once; look further if too few of them match."""
        found: dict[str, _Stored] = {}
        for hits in HITS_PER_SEARCH:
            for hit in self._memory.search(op.query or "", hits, kinds=("fact",)):
                space = spaces.get(hit.path.rpartition("/")[0])
                if space and hit.path not in found and (document := self._documents.find(hit.path)):
                    found[hit.path] = _Stored(_namespace(space), document, hit.score)
            if sum(_fits(one.value, op.filter or {}) for one in found.values()) >= enough:
                break
        return [*found.values()]

    def _namespaces(self) -> list[Document]:
        return self._documents.children(ROOT) if self._documents.find(ROOT) else []

    # Writing

    def _put(self, puts: list[PutOp]) -> None:
        """Write and delete values as one changeset. The last writer of a key wins."""
        bodies = [(op, _body(op)) for op in puts]
        with self._lock:
            for left in reversed(range(MAX_TRIES)):
                try:
                    self._commit(bodies)
                except CHANGED_MEANWHILE:
                    if not left:
                        raise
                else:
                    return

    def _commit(self, puts: list[tuple[PutOp, str]]) -> None:
        draft = self._documents.draft()
        root = draft.at(ROOT)
        for op, body in puts:
            if body and root is None:
                root = draft.write(slug="langgraph", title="LangGraph", body="", parent_path="~")
            _put(draft, op, body)
        if root and draft.changes:
            commit_as(self._documents, draft, root.id, author="langgraph", trust="agent")


class _Stored(NamedTuple):
    """The document of a key, in its namespace; and how well it answers a query."""

    namespace: tuple[str, ...]
    document: Document
    score: float | None = None

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = _content(self.document)["value"]
        return value

    def item(self, memory: Memory) -> Item:
        return Item(**self._about(memory))

    def search_item(self, memory: Memory) -> SearchItem:
        return SearchItem(**self._about(memory), score=self.score)

    def _about(self, memory: Memory) -> dict[str, Any]:
        document = self.document
        first = document if document.version == 1 else memory.documents.versions(document.id)[0]
        times = {"created_at": first.valid_from, "updated_at": document.valid_from}
        return {"namespace": self.namespace, **_content(document), **times}


def _put(draft: Draft, op: PutOp, body: str) -> None:
    """Edit the document of a key, and that of its namespace where it is the first or the last key there."""
    space, found = draft.at(_path(op.namespace)), draft.at(_path(op.namespace, op.key))
    if body:
        if not space:
            title = " / ".join(op.namespace)[:MAX_TITLE_CHARS]
            slug = _slug(".".join(op.namespace))
            space = draft.write(slug=slug, title=title, body=_heading([*op.namespace]), parent_path=ROOT)
        draft.write(
            slug=_slug(op.key),
            title=op.key[:MAX_TITLE_CHARS],
            body=body,
            parent_id=space.id,
            document_id=found.id if found else None,
            expected_version=found.version if found else None,
        )
    elif space and found:
        draft.delete(found.id, found.version)
        if not draft.children(space.id, limit=1):
            draft.delete(space.id, space.version)


def _path(namespace: tuple[str, ...], key: str | None = None) -> str:
    return "/".join((ROOT, _slug(".".join(namespace)), *([] if key is None else [_slug(key)])))


def _slug(name: str) -> str:
    """Return a name as a step of a path, different for different names: "users.mara", "a%2Fb"; of one that cannot
    be shown so, a digest."""
    slug = quote(name, safe="@:,+=", errors="surrogatepass")
    if slug in ("", ".", "..", "~") or len(slug) > MAX_SLUG_BYTES or has_secret(slug):
        return f"#{blake2b(name.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"
    return slug


def _body(op: PutOp) -> str:
    """Return the text of a key's document, empty for one that goes. Raise where the value could not come back as
    it is, or not for as long as is asked."""
    if op.ttl is not None:
        raise NotImplementedError("lifelong has no TTL: what it stores stays. Put it without one, and delete it.")
    if op.value is None:
        return ""
    value = plain_json(op.value, "the value", sys.maxsize)
    if not isinstance(value, dict):
        raise InputError(f"The value of {op.key!r:.100} must be a dict, not {type(op.value).__name__}.")
    body = "\n\n".join(filter(None, (_heading({"key": op.key, "value": value}), "\n".join(_searched(op, value)))))
    validate_text(body, "The value, with what is searched of it,", MAX_BODY_CHARS)
    if redact(body) != body:
        raise InputError(
            f"The value of {op.key!r:.100} holds a secret, which lifelong does not keep. Leave it out, or keep it "
            "elsewhere and store its name."
        )
    return body


def _heading(value: Json) -> str:
    """Return JSON as a heading, in which nothing reads as a link to a document."""
    text = _STRING.sub(lambda one: one[0].replace("[", "\\u005b"), json.dumps(value, ensure_ascii=False))
    return HEADING + re.sub(r"\[(?=\[)", "[ ", text)


def _content(document: Document) -> Any:
    return json.loads(document.body.partition("\n")[0].removeprefix(HEADING))


def _namespace(document: Document) -> tuple[str, ...]:
    return tuple(_content(document))


def _searched(op: PutOp, value: dict[str, Json]) -> Iterator[str]:
    """Yield what is searched of a value, a line each: the fields that `index` names, or all that hold text. None
    of it reads as a heading, a link or the citation of a record."""
    if op.index is False:
        return
    named = [text for path in op.index or () for text in get_text_at_path(value, tokenize_path(path))]
    for text in named if op.index else _fields("", value):
        line = " ".join(text.split()).lstrip("# ").replace("[[", "[")
        if line:
            yield f"{line}." if line.endswith("]") else line


def _fields(name: str, value: Json) -> Iterator[str]:
    """Yield the texts and numbers of a value with the names of their fields."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _fields(key, one)
    elif isinstance(value, list):
        for one in value:
            yield from _fields(name, one)
    elif value is not None and not isinstance(value, bool):
        yield f"{name.replace('_', ' ')}: {value}"


def _fits(value: Json, wanted: Any) -> bool:
    """Return whether a value is what a filter asks for, as LangGraph's own stores read it."""
    if isinstance(wanted, dict):
        if any(key.startswith("$") for key in wanted):
            return all(_compare(value, operator, one) for operator, one in wanted.items())
        return isinstance(value, dict) and all(_fits(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
    return bool(value == wanted)


def _compare(value: Any, operator: str, wanted: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == wanted) == (operator == "$eq")
    if operator not in _ORDERS:
        raise InputError(f"Unknown operator {operator!r:.100}. Use $eq, $ne, {', '.join(_ORDERS)}.")
    try:
        return _ORDERS[operator](float(value), float(wanted))
    except (TypeError, ValueError):  # it is missing, or not a number
        return False


def _matches(namespace: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    for condition in conditions:
        path = condition.path
        if condition.match_type not in ("prefix", "suffix"):
            raise InputError(f"Unknown match type {condition.match_type!r:.100}. Use prefix or suffix.")
        part = (
            namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :] if path else ()
        )
        if len(part) != len(path) or any(
            wanted not in ("*", label) for wanted, label in zip(path, part, strict=True)
        ):
            return False
    return True
