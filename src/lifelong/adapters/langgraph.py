"""LangGraph: `LifelongStore` keeps the values of a graph's store as documents of a user.

Each namespace is a document below `~/langgraph`, and each key one below its namespace.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from lifelong.adapters.values import Group, Values, body_of, content
from lifelong.errors import InputError
from lifelong.memory import Memory
from lifelong.organize.draft import MAX_BODY_CHARS, Draft
from lifelong.redaction import redact
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

_ORDERS: dict[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class LifelongStore(BaseStore):
    """Keep what a graph of LangGraph stores, in the memory of one user.

        builder.compile(store=LifelongStore(memory))

    A value comes back exactly as it was put, or `put` refuses it. All puts of a batch are stored, or none; its
    reads see what was stored before it. Values do not expire: a TTL is refused."""

    supports_ttl = False

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._values = Values(memory, "langgraph", "LangGraph")

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
                found = self._values.find(".".join(namespace), key)
                return _Stored(namespace, found).item(self._memory) if found else None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                found_names = [_namespace(one) for one in self._values.groups()]
                named = {one[: op.max_depth] for one in found_names if _matches(one, op.match_conditions or ())}
                return sorted(named)[op.offset : op.offset + op.limit]
            case _:
                raise InputError(f"{op!r:.200} is not an operation of a store. Use GetOp, PutOp, SearchOp …")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Return the matching values, best first; without a query, by namespace and key."""
        prefix, end = op.namespace_prefix, op.offset + op.limit
        spaces = [one for one in self._values.groups() if _namespace(one)[: len(prefix)] == prefix]

        def fits(document: Document) -> bool:
            return _fits(content(document)["value"], op.filter or {})

        if op.query:
            hits = self._values.search(op.query, spaces, fits, end)
            found = [_Stored(_namespace(space), one, hit.score) for space, one, hit in hits]
        else:
            every = ((space, one) for space, one in self._values.all(spaces) if fits(one))
            found = [_Stored(_namespace(space), one) for space, one in islice(every, end)]
        return [one.search_item(self._memory) for one in found[op.offset : end]]

    # Writing

    def _put(self, puts: list[PutOp]) -> None:
        """Write and delete values as one changeset. The last writer of a key wins."""
        bodies = [(op, _body(op)) for op in puts]

        def edit(draft: Draft) -> None:
            for op, body in bodies:
                name = ".".join(op.namespace)
                if body:
                    group = Group(name, " / ".join(op.namespace), [*op.namespace])
                    self._values.put(draft, group, op.key, body)
                else:
                    self._values.remove(draft, name, op.key)

        self._values.change(edit)


class _Stored(NamedTuple):
    """The document of a key, in its namespace; and how well it answers a query."""

    namespace: tuple[str, ...]
    document: Document
    score: float | None = None

    def item(self, memory: Memory) -> Item:
        return Item(**self._about(memory))

    def search_item(self, memory: Memory) -> SearchItem:
        return SearchItem(**self._about(memory), score=self.score)

    def _about(self, memory: Memory) -> dict[str, Any]:
        document = self.document
        first = document if document.version == 1 else memory.documents.versions(document.id)[0]
        times = {"created_at": first.valid_from, "updated_at": document.valid_from}
        return {"namespace": self.namespace, **content(document), **times}


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
    body = body_of({"key": op.key, "value": value}, _searched(op, value))
    validate_text(body, "The value, with what is searched of it,", MAX_BODY_CHARS)
    if redact(body) != body:
        raise InputError(
            f"The value of {op.key!r:.100} holds a secret, which lifelong does not keep. Leave it out, or keep it "
            "elsewhere and store its name."
        )
    return body


def _namespace(document: Document) -> tuple[str, ...]:
    return tuple(content(document))


def _searched(op: PutOp, value: dict[str, Json]) -> Iterator[str]:
    """Yield what is searched of a value, a line each: the fields that `index` names, or all that hold text."""
    if op.index is False:
        return
    named = [text for path in op.index or () for text in get_text_at_path(value, tokenize_path(path))]
    yield from named if op.index else _fields("", value)


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
