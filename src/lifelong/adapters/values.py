"""Keep a framework's values as documents of a user: what the adapters of key-value stores share.

Below a root such as `~/langgraph` each group of values (a namespace, a scope) is a document, and each value one
below its group. A document's first line is JSON, as a heading, which is not searched; what is searched follows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

from lifelong.errors import DocumentInUse, DocumentNotFound, InputError, StaleWrite, StorageConflict
from lifelong.memory import Memory
from lifelong.organize.documents import commit_as
from lifelong.organize.draft import MAX_SLUG_BYTES, MAX_TITLE_CHARS, Draft
from lifelong.redaction import has_secret
from lifelong.types import Document, Hit, Json

HEADING = "# "
MAX_TRIES = 10  # while others write the same values
CHANGED_MEANWHILE = (StaleWrite, StorageConflict, DocumentNotFound, DocumentInUse, InputError)
"""What writing raises where another process made or removed the same documents between two reads."""
HITS_PER_SEARCH = (50, 1_000)  # of everything that is remembered, among which are those that are looked for

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Group(NamedTuple):
    """A group of values: its name in paths, its title, and what its document's heading holds."""

    name: str
    title: str
    value: Json


class Values:
    """The values below `~/<slug>`. Writing is the agent's word, signed by the slug."""

    def __init__(self, memory: Memory, slug: str, title: str) -> None:
        self.root = f"~/{slug}"
        self._memory = memory
        self._documents = memory.documents
        self._slug = slug
        self._title = title
        self._lock = Lock()

    def path(self, group: str, key: str | None = None) -> str:
        """Return the path of a group's document, or of a value's."""
        return "/".join((self.root, slug_of(group), *([] if key is None else [slug_of(key)])))

    def groups(self) -> list[Document]:
        """Return the documents of all groups."""
        return self._documents.children(self.root) if self._documents.find(self.root) else []

    def find(self, group: str, key: str) -> Document | None:
        """Return the document of a value."""
        return self._documents.find(self.path(group, key))

    def all(self, groups: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
        """Yield the documents of all values of these groups, each with that of its group."""
        for group in groups:
            yield from ((group, one) for one in self._documents.children(group.id))

    def search(
        self, query: str, groups: Iterable[Document], fits: Callable[[Document], bool], enough: int
    ) -> list[tuple[Document, Document, Hit]]:
        """Return the values that the memory's search finds in these groups and that fit, best first, each once
        with its group and its hit; look further where these are not enough."""
        places = {one.path: one for one in groups}
        found: dict[str, tuple[Document, Document, Hit]] = {}
        fitting: list[tuple[Document, Document, Hit]] = []
        for hits in HITS_PER_SEARCH:
            for hit in self._memory.search(query, hits, kinds=("fact",)):
                group = places.get(hit.path.rpartition("/")[0])
                if group and hit.path not in found and (document := self._documents.find(hit.path)):
                    found[hit.path] = group, document, hit
            fitting = [one for one in found.values() if fits(one[1])]
            if len(fitting) >= enough:
                break
        return fitting

    def change(self, edit: Callable[[Draft], object]) -> None:
        """Commit what `edit` does to a draft, as one changeset. It is done again where others wrote meanwhile, so
        that the last writer of a value wins."""
        with self._lock:
            for left in reversed(range(MAX_TRIES)):
                try:
                    draft = self._documents.draft()
                    edit(draft)
                    if draft.changes and (root := draft.at(self.root)):
                        commit_as(self._documents, draft, root.id, author=self._slug, trust="agent")
                except CHANGED_MEANWHILE:
                    if not left:
                        raise
                else:
                    return

    def put(self, draft: Draft, group: Group, key: str, body: str) -> None:
        """Write a value, with its group where it is the first one there."""
        if not draft.at(self.root):
            draft.write(slug=self._slug, title=self._title, body="", parent_path="~")
        space, found = draft.at(self.path(group.name)), draft.at(self.path(group.name, key))
        space = space or draft.write(
            slug=slug_of(group.name),
            title=group.title[:MAX_TITLE_CHARS],
            body=heading(group.value),
            parent_path=self.root,
        )
        draft.write(
            slug=slug_of(key),
            title=key[:MAX_TITLE_CHARS],
            body=body,
            parent_id=space.id,
            document_id=found.id if found else None,
            expected_version=found.version if found else None,
        )

    def remove(self, draft: Draft, group: str, key: str) -> None:
        """Delete a value, with its group where it is the last one there. The versions stay."""
        space, found = draft.at(self.path(group)), draft.at(self.path(group, key))
        if space and found:
            draft.delete(found.id, found.version)
            if not draft.children(space.id, limit=1):
                draft.delete(space.id, space.version)


def slug_of(name: str) -> str:
    """Return a name as a step of a path, different for different names: "users.mara", "a%2Fb"; of one that cannot
    be shown so, a digest."""
    slug = quote(name, safe="@:,+=", errors="surrogatepass")
    if slug in ("", ".", "..", "~") or len(slug) > MAX_SLUG_BYTES or has_secret(slug):
        return f"#{blake2b(name.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"
    return slug


def body_of(value: Mapping[str, Json], searched: Iterable[str]) -> str:
    """Return the text of a value's document: the value, and the lines that are searched."""
    return "\n\n".join(filter(None, (heading(dict(value)), "\n".join(_lines(searched)))))


def heading(value: Json) -> str:
    """Return JSON as a heading, in which nothing reads as a link to a document."""
    text = _STRING.sub(lambda one: one[0].replace("[", "\\u005b"), json.dumps(value, ensure_ascii=False))
    return HEADING + re.sub(r"\[(?=\[)", "[ ", text)


def content(document: Document) -> Any:
    """Return what a document's heading holds."""
    return json.loads(document.body.partition("\n")[0].removeprefix(HEADING))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts as lines, of which none reads as a heading, a link or the citation of a record."""
    for text in texts:
        line = " ".join(text.split()).lstrip("# ").replace("[[", "[")
        if line:
            yield f"{line}." if line.endswith("]") else line
