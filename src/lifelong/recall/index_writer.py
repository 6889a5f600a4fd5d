"""Make records, documents and files searchable: turn them into items.

Records and documents become items in the transaction that stores them; files are synced whenever they have
changed. Injected context, summaries of compacted contexts and the sessions of memory-agents are left out, so that
nothing is found twice.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from lifelong.collect.erasures import check_erasures, erasure_count
from lifelong.collect.history import History, IndexableRecord, RecordRow
from lifelong.collect.transcript import without_injected
from lifelong.errors import (
    ErasedMeanwhile,
    JournalError,
    LifelongError,
    StorageBusy,
    StorageCorrupt,
    StorageFull,
    StorageUnavailable,
)
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.facts import PEOPLE, Fact, FactIndex, IndexedFact, digest, paragraphs, parse_fact, sentence
from lifelong.recall.analyzer import AnalyzedText, analyze
from lifelong.recall.ends import Ends, FactState
from lifelong.recall.feedback import FeedbackRows
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.types import (
    PROVENANCES,
    Changeset,
    Clock,
    Document,
    Item,
    ItemKind,
    StoredRecord,
    from_micros,
)

log = logging.getLogger("lifelong.recall")

MEMORY_AGENT = "memory-agent"
MAX_SYNC_TRIES = 3  # of files from which something was forgotten meanwhile
SEARCHABLE_TYPES = frozenset(("user_message", "assistant_message", "note", "system_message", "tool_result"))
"""The types of record that become items. A tool call is left out: its result says more."""
LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
"""`[[target]]` or `[[target|label]]`."""


class AnalyzedRecord(NamedTuple):
    """A searchable record: its speaker, its text, and the text analyzed."""

    speaker: str
    text: str
    analyzed: AnalyzedText


def analyze_record(written: RecordRow) -> AnalyzedRecord | None:
    """Analyze a record before the transaction that stores it, since that takes time. None: it is not searchable.
    Its row holds no secrets any more."""
    found = _searchable(written)
    return AnalyzedRecord(*found, analyze(found[1], is_redacted=True)) if found else None


def index_records(tx: Transaction, owner: str, stored: Sequence[IndexableRecord], now: datetime) -> None:
    """Index records that were just stored, and analyzed before."""
    ready = [
        (one, one.analyzed)
        for one in stored
        if one.agent_kind != MEMORY_AGENT and isinstance(one.analyzed, AnalyzedRecord)
    ]
    Items(tx, owner).add_analyzed(
        [(_record_item(one, it.speaker, it.text), it.analyzed) for one, it in ready], now
    )


def reindex_records(tx: Transaction, owner: str, stored: Sequence[IndexableRecord], now: datetime) -> None:
    """Index records that may be items already, and delete the items of those that are not searchable."""
    found = {
        str(one.record_id): _record_item(one, *it)
        for one in stored
        if one.agent_kind != MEMORY_AGENT and (it := _searchable(one.written))
    }
    items = Items(tx, owner)
    items.erase(items.ids_of("record", [str(one.record_id) for one in stored if str(one.record_id) not in found]))
    items.put(found.values(), now)
    items.place(found.values())


def played(tx: Transaction, owner: str, records: Iterable[StoredRecord]) -> set[int]:
    """Return the records that belong to a play: nothing is learned from them."""
    plays = Items(tx, owner).plays()
    return {one.id for one in records if plays.hold(one.session_id, one.id, one.at)}


def _searchable(written: RecordRow) -> tuple[str, str] | None:
    """Return speaker and text; none where the record is not searchable."""
    kind, provenance, _, data = written
    if kind not in SEARCHABLE_TYPES:
        return None
    content = _content(data)
    text = without_injected(content.get("text", ""))
    if not text or content.get("summary"):
        return None
    if provenance not in PROVENANCES:
        log.warning("a record is not indexed, since its provenance is unknown: %.80r", provenance)
        return None
    return content.get("speaker", ""), text


def _record_item(one: IndexableRecord, speaker: str, text: str) -> Item:
    _, provenance, at, _ = one.written
    return Item(
        *("record", str(one.record_id), text, from_micros(at), one.session_id),
        agent_id=one.agent_id,
        session_id=one.session_id,
        record_id=one.record_id,
        speaker=speaker,
        trust=provenance,  # type: ignore[arg-type]  # it was checked
        since=one.since,
    )


def is_searchable(agent_kind: str, written: RecordRow) -> bool:
    """Return whether a record becomes an item."""
    return agent_kind != MEMORY_AGENT and _searchable(written) is not None


def text_of(kind: str, data: str) -> str:
    """Return the text of a record, as its item has it; empty where it cannot be read."""
    return without_injected(_content(data).get("text", "")) if kind in SEARCHABLE_TYPES else ""


def _content(data: str) -> dict[str, Any]:
    """Return the content of a record. Unreadable ones are logged and skipped."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and all(isinstance(content.get(name, ""), str) for name in ("text", "speaker")):
        return content
    log.warning("a record cannot be read, and is not indexed: %.80r", data)
    return {}


def index_document(
    tx: Transaction,
    owner: str,
    document_id: str,
    document: Document | None,
    now: datetime,
    changeset: Changeset | None = None,
) -> None:
    """Update the items of a document, what it cites, and which of its facts have ended; none: it was deleted. Its
    facts have their ids already. The changeset that wrote it says whose word is new in it."""
    items = Items(tx, owner)
    facts = [(ref, one) for ref, one, _ in facts_of(document)] if document else []
    facts.sort(key=lambda one: one[1].current)  # a sentence that stands twice holds if one of them does
    current = dict(facts)
    known = items.known_facts(document_id)
    items.hide("fact", known.keys() - current.keys(), now)
    ids = FactIndex(tx, owner).ids(document_id)
    subject = document.title if document and document.path.startswith(PEOPLE) else ""
    written = min(document.valid_from, now) if document else now  # a draft has its time only once it is committed
    titles = _Titles(tx, owner)
    changed = {
        ref: one
        for ref, one in current.items()
        if known.get(ref) != (one.records[0] if one.records else None, ids.get(ref, ""))
    }
    items.take_ids({ref: ids[ref] for ref in changed if ref in ids})
    items.put(
        [
            _with_trust(
                tx, owner, one, changeset, _fact_item(tx, titles, ref, one, document_id, subject, written, ids)
            )
            for ref, one in changed.items()
        ],
        now,
    )
    if document:
        _retitle_links(tx, owner, document, now)
    states = {
        ref if one is current[ref] else f"{ref} r{one.records[0]}": FactState(
            frozenset(one.records), _end(one), one.by
        )
        for ref, one in facts
        if one.records or one is current[ref]
    }
    Ends(tx, owner).put_facts(document_id, states, now)


def reindex_document(tx: Transaction, owner: str, versions: Sequence[Document]) -> None:
    """Index a document that may be indexed already, from its first version on, so that it is found as of any
    time."""
    deleted_at: datetime | None = None
    rows = DocumentRows(tx, owner)
    changesets = {id_: rows.changeset(id_) for id_ in {one.changeset_id for one in versions}}
    for one in versions:
        if deleted_at and deleted_at != one.valid_from:
            index_document(tx, owner, one.id, None, deleted_at)
        register_facts(tx, owner, {one.id: one})
        index_document(tx, owner, one.id, one, one.valid_from, changesets.get(one.changeset_id))
        deleted_at = one.valid_to
    if deleted_at:
        index_document(tx, owner, versions[-1].id, None, deleted_at)


def register_facts(
    tx: Transaction, owner: str, documents: Mapping[str, Document | None], told: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Give the facts of these documents their ids; none: it was deleted. A fact that is in another of them than
    before keeps its id. `told`: see `FactIndex.register`. Return the old and new refs of those."""
    facts = [
        IndexedFact(one.id, ref.removeprefix(f"{one.id}#"), fact.text)
        for one in documents.values()
        if one
        for ref, fact, _ in facts_of(one)
    ]
    return FactIndex(tx, owner).register(documents, facts, told or {})


def _retitle_links(tx: Transaction, owner: str, document: Document, now: datetime) -> None:
    """Index the facts again that name a document by a title which it no longer has."""
    rows = DocumentRows(tx, owner)
    before = rows.version(document.id, document.version - 1) if document.version > 1 else None
    if before is None or before.title == document.title:
        return
    titles = _Titles(tx, owner)
    for source_id in dict.fromkeys(
        id_ for id_, reference in rows.referrers(document.id) if reference.kind == "body"
    ):
        source = rows.find(source_id)
        if source is None or source_id == document.id:
            continue
        subject = source.title if source.path.startswith(PEOPLE) else ""
        ids = FactIndex(tx, owner).ids(source_id)
        linking = [(ref, one) for ref, one, _ in facts_of(source) if LINK.search(one.text)]
        Items(tx, owner).replace(
            [
                _as_before(tx, owner, _fact_item(tx, titles, ref, one, source_id, subject, source.valid_from, ids))
                for ref, one in linking
            ],
            now,
        )


class _Titles:
    """Replace the links of a text by the titles of the documents that they name."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self.owner = owner
        self._rows = DocumentRows(tx, owner)

    def shown(self, text: str) -> str:
        return LINK.sub(lambda link: self._title(link[1].strip()) or (link[2] or link[1]).strip(), text)

    def _title(self, target: str) -> str:
        document_id = self._rows.resolve(target)
        document = self._rows.row(document_id) if document_id else None
        return document.title if document else ""


def facts_of(document: Document) -> Iterator[tuple[str, Fact, str]]:
    """Yield a document's facts: the ref, the fact with its subject, and the paragraph it was read from. Also
    yields a person's own text, as an item of kind fact without citations."""
    for paragraph in paragraphs(document.body):
        fact = parse_fact(paragraph)
        if fact or not paragraph.startswith("#"):
            fact = fact or Fact(paragraph.strip(), ())
            yield ref_of(document, fact), replace(fact, text=sentence(document, fact)), paragraph


def ref_of(document: Document, fact: Fact) -> str:
    """Return the ref of the item that a fact becomes."""
    return f"{document.id}#{digest(document, fact)}"


def _fact_item(
    tx: Transaction,
    titles: _Titles,
    ref: str,
    one: Fact,
    document_id: str,
    subject: str,
    written: datetime,
    ids: Mapping[str, str],
) -> Item:
    """Return the item of a fact, whose trust is not known yet. A quote about somebody of whom its words do not
    tell is shown under their name: "Ann Lee: her birthday is on 3 May"."""
    first = one.records[0] if one.records else None
    is_named = not (subject and one.speaker) or subject.partition(" ")[0].lower() in one.text.lower()
    return Item(
        *(
            "fact",
            ref,
            titles.shown(one.text if is_named else f"{subject}: {one.text}"),
            (History(tx).said_at(titles.owner, first) if first else None) or written,
            document_id,
        ),
        record_id=first,
        speaker=one.speaker or subject,
        public_id=ids.get(ref, ""),
        approved_by=one.approved,
    )


def _with_trust(tx: Transaction, owner: str, one: Fact, changeset: Changeset | None, item: Item) -> Item:
    """Return the item of a fact with whose word it is: as the fact says itself; what a person wrote, and did not
    quote, is theirs; else it is that of those who said what it cites, a person before an agent; and where it cites
    nothing, that of who wrote the document. What a rollback brings back is whose it was."""
    known = _as_before(tx, owner, item) if changeset and changeset.cause == "rollback" else item
    if known is not item:
        return known
    if one.source or one.inferred:
        return item._replace(trust=one.source or "agent")
    by = changeset or Changeset(0, owner, item.at, "edit", "person")
    if by.cause == "edit" and by.trust == "user" and not one.day:
        return item._replace(trust="user")
    if not one.records:
        approved_by = by.approved_by if by.trust == "agent" else ""
        return item._replace(trust=by.trust, approved_by=approved_by, at=by.said_at or item.at)
    said = {History(tx).provenance(owner, record) for record in one.records}
    return item._replace(trust="agent" if "agent" in said and "user" not in said else "user")


def _as_before(tx: Transaction, owner: str, item: Item) -> Item:
    """Return the item with the trust that it has; the very same where it is new."""
    known = Items(tx, owner).find(item.kind, item.ref)
    return item._replace(trust=known.trust, approved_by=known.approved_by) if known else item


def _end(one: Fact) -> datetime | None:
    try:
        return datetime.fromisoformat(one.until).replace(tzinfo=UTC) if one.until else None
    except ValueError:  # a person wrote a day that does not exist
        return None


# Files


FileChange = tuple[int, int]
"""The time of a file's last change in nanoseconds, and its size."""


class FileItem(NamedTuple):
    """What is kept of an item of a file: a digest of its text, empty where the text is, and when the file was
    changed so that it has it."""

    digest: bytes
    since: int


class SyncedFile(NamedTuple):
    """A file as it was read: time and size, its items by ref (none: it was never read), and the length and a
    digest of its content."""

    changed: FileChange
    items: dict[str, FileItem] | None
    is_read: bool = True
    length: int = 0
    digest: bytes = b""


Loaded = dict[Path, dict[str, Item]]
"""The items of files that were read in this sync."""


class FileSync:
    """Keep the files of one kind of one owner searchable: `files` lists them, `read` returns the content of one,
    `items` what is found in it, and `appended` what is found in whole lines that were added to it, if that can be
    told from them alone. Where two files have an item of one ref, the one that was changed last counts; an empty
    text in one of them hides the item. With `alone`, no other home keeps such files of this owner, so what is not
    in ours is hidden; else only what was in ours before. A file that cannot be read or indexed is logged and tried
    again; its previous version stays. No text is kept: a file is read again where a text is needed."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        read: Callable[[Path], bytes],
        kind: ItemKind,
        files: Callable[[], Sequence[Path]],
        items: Callable[[bytes, Path], Iterable[Item]],
        *,
        alone: bool,
        appended: Callable[[bytes, Path], Iterable[Item] | None] = lambda data, path: None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._kind = kind
        self._files = files
        self._content = read
        self._items = items
        self._appended = appended
        self._alone = alone
        self._read: dict[Path, SyncedFile] = {}
        self._indexed: dict[str, bytes] = {}  # digests of the indexed texts, by ref
        self._failing: set[Path] = set()
        self._unlisted = False  # their folder could not be looked at
        self._synced: int | None = None  # a hash of the files and the index's version when all was last synced
        self._syncing = threading.Lock()

    def sync(self, versions: Mapping[str, int]) -> int:
        """Update the items from the files; `versions` has every owner's version of the index. Return how many were
        added, changed or hidden."""
        with self._syncing:
            for _ in range(MAX_SYNC_TRIES):
                with suppress(ErasedMeanwhile):
                    return self._sync(versions)
                self._read = {}
            return 0  # the next look reads the files again

    def _sync(self, versions: Mapping[str, int]) -> int:
        try:
            paths = self._files()
        except (OSError, JournalError) as error:
            if not self._unlisted:
                log.warning("the %s files cannot be looked at; what is indexed stays: %s", self._kind, error)
            self._unlisted = True
            return 0
        self._unlisted = False
        found = {path: change for path in paths if (change := _change(path))}
        now = hash((versions.get(self._owner, 0), frozenset(found.items())))
        if self._synced == now:
            return 0
        erasures = self._database.read(lambda tx: erasure_count(tx, self._owner))  # before the files are read
        loaded: Loaded = {}
        self._read = {path: self._read_file(path, change, loaded) for path, change in found.items()}
        indexed = self._database.read(lambda tx: Items(tx, self._owner).refs(self._kind))
        stored = {} if self._indexed else self._stored()
        newest = _newest(self._read)
        counts = {
            path: self._index_file(path, digests, indexed, stored, erasures, loaded)
            for path, digests in newest.items()
        }
        all_indexed = None not in counts.values()
        hidden: set[str] = set()
        if all_indexed and all(file.items is not None for file in self._read.values()):
            hidden = indexed if self._alone else indexed & (self._indexed.keys() | _hidden(self._read))
            hidden = hidden.difference(*newest.values())
            self._hide(hidden)
        is_complete = all_indexed and all(file.is_read for file in self._read.values())
        self._synced = now if is_complete else None
        return sum(changed or 0 for changed in counts.values()) + len(hidden)

    def _read_file(self, path: Path, change: FileChange, loaded: Loaded) -> SyncedFile:
        known = self._read.get(path)
        if known and known.changed == change and known.is_read:
            return known
        before = (known and known.items) or {}
        try:
            data = self._content(path)
            more = self._added(path, data, known) if known else None
            items = more if more is not None else self._items(data, path)
            loaded[path] = {item.ref: item for item in items}
        except (OSError, LifelongError, ValueError) as error:
            if not known or known.is_read:
                log.warning("%s cannot be read; its previous version stays: %s", path.name, error)
            return SyncedFile(change, known.items if known else None, is_read=False)
        read = {ref: FileItem(_digest(item.text), change[0]) for ref, item in loaded[path].items()}
        same = {ref: before[ref] for ref in read.keys() & before.keys() if before[ref].digest == read[ref].digest}
        kept = before if more is not None else {}
        return SyncedFile(change, kept | read | same, length=len(data), digest=_file_digest(data))

    def _added(self, path: Path, data: bytes, known: SyncedFile) -> Iterable[Item] | None:
        """Return what is found in what was added to a file since it was read; none where that cannot be told from
        what was added alone, or more was changed."""
        is_longer = data[known.length - 1 : known.length] == b"\n" and known.length < len(data)
        if not is_longer or _file_digest(memoryview(data)[: known.length]) != known.digest:
            return None
        return self._appended(data[known.length :], path)

    def _stored(self) -> dict[str, bytes]:
        """Return digests of the texts in the index: what is in it already need not be written again."""
        texts = self._database.read(lambda tx: Items(tx, self._owner).texts(self._kind))
        return {ref: _digest(text) for ref, text in texts}

    def _index_file(
        self,
        path: Path,
        digests: dict[str, bytes],
        indexed: set[str],
        stored: Mapping[str, bytes],
        erasures: int,
        loaded: Loaded,
    ) -> int | None:
        """Return how many items came or changed; none where the file cannot be read again, or the database refuses
        its items."""
        known = {ref for ref, it in digests.items() if ref in indexed and stored.get(ref) == it}
        refs = [
            ref
            for ref, it in digests.items()
            if ref not in known and (ref not in indexed or self._indexed.get(ref) != it)
        ]
        try:
            if not loaded.get(path, {}).keys() >= set(refs):
                loaded[path] = {item.ref: item for item in self._items(self._content(path), path)}
            new = {ref: loaded[path][ref] for ref in refs if ref in loaded[path]}
            changed = self._database.write(lambda tx: self._index(tx, new, indexed, erasures)) if new else 0
        except (StorageUnavailable, StorageBusy, StorageFull, StorageCorrupt, ErasedMeanwhile):
            raise
        except (OSError, LifelongError, ValueError) as error:
            if path not in self._failing:
                log.warning("%s: indexing failed; its previous version stays: %s", path.name, error)
            self._failing.add(path)
            return None
        self._failing.discard(path)
        self._indexed |= {ref: digests[ref] for ref in known}
        self._indexed |= {ref: _digest(item.text) for ref, item in new.items()}
        return changed

    def _index(self, tx: Transaction, new: dict[str, Item], indexed: set[str], erasures: int) -> int:
        check_erasures(tx, self._owner, erasures)
        items, now = Items(tx, self._owner), self._clock()
        changed = items.replace(new.values(), now) | (new.keys() - indexed)
        items.put([item for ref, item in new.items() if ref in changed], now, rebuilding=not indexed)
        FeedbackRows(tx, self._owner).apply({f"{self._kind}:{ref}" for ref in changed})
        return len(changed)

    def _hide(self, refs: set[str]) -> None:
        if refs:
            self._database.write(lambda tx: Items(tx, self._owner).hide(self._kind, refs, self._clock()))
        for ref in refs:
            self._indexed.pop(ref, None)


def _newest(files: dict[Path, SyncedFile]) -> dict[Path, dict[str, bytes]]:
    """Return the digests of the items that count of each file: of two with one ref, the one that was changed
    last."""
    newest: dict[str, tuple[Path, FileItem]] = {}
    hidden = _hidden(files)
    for path, file in files.items():
        for ref, one in (file.items or {}).items():
            if ref not in hidden and (ref not in newest or one.since > newest[ref][1].since):
                newest[ref] = path, one
    counts: dict[Path, dict[str, bytes]] = {path: {} for path in files}
    for ref, (path, one) in newest.items():
        counts[path][ref] = one.digest
    return counts


def _hidden(files: dict[Path, SyncedFile]) -> set[str]:
    return {ref for file in files.values() for ref, one in (file.items or {}).items() if not one.digest}


def _file_digest(data: bytes | memoryview) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() if text else b""


def _change(path: Path) -> FileChange | None:
    """Return when a file was changed, and its size; none where there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
