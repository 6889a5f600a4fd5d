"""What differs between two versions of a document, and how a difference is taken back out of a third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher, unified_diff

from lifelong.organize.facts import paragraphs
from lifelong.types import Document

LINES_AROUND = 2


def same(one: Document, other: Document) -> bool:
    """Whether they say the same, in the same place."""
    return _fields(one) == _fields(other) and one.body == other.body


def diff(old: Document | None, new: Document | None) -> str:
    """What changed, as a unified diff: the fields that differ, then the body. Empty: nothing."""
    was, now = _fields(old) if old else {}, _fields(new) if new else {}
    if old and new:
        was, now = {k: v for k, v in was.items() if now[k] != v}, {k: v for k, v in now.items() if was[k] != v}
    lines = unified_diff(
        [*(f"{name}: {value}" for name, value in was.items() if value), *(old.body.splitlines() if old else ())],
        [*(f"{name}: {value}" for name, value in now.items() if value), *(new.body.splitlines() if new else ())],
        fromfile=_name(old),
        tofile=_name(new),
        lineterm="",
        n=LINES_AROUND,
    )
    return "\n".join(lines)


def undone(before: Document | None, after: Document, current: Document) -> tuple[Document, list[str]]:
    """`current` without what changed from `before` to `after` (none before: it was made then), and what
    could not be taken back because it was changed again since, in words."""
    if before is None:
        body, stuck = _without("", after.body, current.body)
        return replace(current, body=body), stuck
    back: dict[str, object] = {}
    body, stuck = _without(before.body, after.body, current.body)
    for name, value in _fields(before).items():
        if value == getattr(after, name):
            continue
        if getattr(current, name) == getattr(after, name):
            back[name] = value
        else:
            stuck.append(f"its {name.removesuffix('_id')}")
    return replace(current, body=body, **back), stuck  # type: ignore[arg-type]  # the fields' own values


def _without(before: str, after: str, current: str) -> tuple[str, list[str]]:
    """The body without one change, paragraph by paragraph: those it added go, those it removed come back,
    and what was done since stays."""
    if current == after:
        return before, []
    old, new, body = paragraphs(before), paragraphs(after), paragraphs(current)
    stuck: list[str] = []
    for gone, come, anchor in _changes(old, new):
        lost = [one for one in come if one not in body]
        stuck += [f"{one:.80}" for one in lost]
        if gone and lost:
            continue  # what replaced them was changed again: they would contradict it
        at = _position(body, come, anchor)
        kept = body[:at] + [one for one in gone if one not in body]
        rest = body[at:]
        for one in come:
            if one in rest:
                rest.remove(one)
            elif one in kept:
                kept.remove(one)
        body = kept + rest
    return "\n\n".join(body), stuck


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[list[str], list[str], list[str]]]:
    """What went, what came instead, and what stood before it; the last change first."""
    found = []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and i_end - i == j_end - j:
            found += [([old[i + n]], [new[j + n]], list(new[: j + n])) for n in range(i_end - i)]
        elif kind != "equal":
            found.append((list(old[i:i_end]), list(new[j:j_end]), list(new[:j])))
    return found[::-1]


def _position(body: Sequence[str], come: Sequence[str], before: Sequence[str]) -> int:
    """Where the change stands in `body`: where what came does, else after the nearest that stood before."""
    for one in come:
        if one in body:
            return body.index(one)
    return next((body.index(one) + 1 for one in reversed(before) if one in body), 0)


def _fields(document: Document) -> dict[str, object]:
    """All that can be edited but the body."""
    return {
        "slug": document.slug,
        "title": document.title,
        "description": document.description,
        "parent_id": document.parent_id,
        "links": document.links,
    }


def _name(document: Document | None) -> str:
    return f"{document.path} (version {document.version})" if document else "nothing"
