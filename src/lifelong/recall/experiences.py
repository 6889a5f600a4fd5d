"""The experiences of one user: each stored once, found by meaning, the least used deleted when there are too many.

Texts are rows. Each experience is also an item, whose vector it shares. The row is written before the vector, so a
stop at any instant leaves at most one that is missing: `repair` or the index worker makes it. `extract` makes
experiences of new journal records.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from lifelong.collect.erasures import check_erasures, erasure_count
from lifelong.collect.transcript import without_injected
from lifelong.errors import ErasedMeanwhile, InputError, LifelongError, Outvoted
from lifelong.journal.indexing import trust_of
from lifelong.journal.records import JournalRecord, first_record_of
from lifelong.journal.service import JournalService
from lifelong.recall.analyzer import extract_terms
from lifelong.recall.dedup import SameMeaning, calibrated, is_same, never_same
from lifelong.recall.experience_rows import (
    Experience,
    ExperienceItem,
    ExperienceRows,
    ExperienceUses,
    ReadUntil,
)
from lifelong.recall.feedback import has_ended
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_worker import ActiveEmbedder, IndexWorker
from lifelong.recall.items import Items
from lifelong.redaction import mentions_secret, redact
from lifelong.storage.base import Database, Transaction
from lifelong.text.names import names
from lifelong.text.role_play import Plays
from lifelong.types import PROVENANCES, Clock, Provenance
from lifelong.validation import validate_count, validate_name, validate_text, validate_time

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Vector

log = logging.getLogger("lifelong.recall")

MIN_CHARS, MAX_CHARS = 20, 100_000  # of an experience
DEDUP_CANDIDATES = 10  # nearest that a new one is compared with: the nearest need not be the one it repeats
QUERY_CANDIDATES = 50  # nearest to a question, of which words choose
MAX_INLINE_EMBEDDED = 64  # missing vectors that a query makes itself
MAX_RESULTS = 1_000
MIN_SUCCESSOR_SHARE = 0.5  # of the score of a partly superseded one, from which on its successor ranks above it
CATEGORIES = frozenset(("note", "learned", "turn-summary", "user-preference", "decision"))
"""The categories of journal records that become experiences."""
EXTRACTION_BATCH = 50  # journal records after which the progress is stored
EXTRACTION_OVERLAP = timedelta(days=1)  # a turn is written down after it was over

Group = Literal["category", "session", "entity"]
ExperienceList: TypeAlias = list[Experience]  # `list` is a method of Experiences
ExperiencesNear: TypeAlias = list[tuple[Experience, float]]
GROUPS: tuple[Group, ...] = get_args(Group)


class _EmbedderChanged(Exception):
    """Another embedder became active during the search for near experiences."""


class Experiences:
    """Add and find experiences. `index_worker` makes vectors and knows their store, `same_meaning` which words
    mean the same. Two are the same from the similarity `threshold` on; `most` is how many are kept. Safe to use
    from many threads and processes."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        index_worker: Callable[[], IndexWorker],
        *,
        threshold: float = 0.85,
        most: int = 5_000,
        same_meaning: SameMeaning = never_same,
        journal: JournalService | None = None,
        uses: ExperienceUses | None = None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._index_worker = index_worker
        self._threshold = threshold
        self._most = most
        self._same_meaning = same_meaning
        self._journal = journal
        self._lock = threading.Lock()
        self._uses = uses or ExperienceUses(database)
        self.error = ""

    # Adding

    def add(
        self,
        text: str,
        category: str = "note",
        *,
        session_id: str = "",
        record: str = "",
        trust: Provenance = "agent",
        at: datetime | None = None,
        entities: Iterable[str] | None = None,
    ) -> str | None:
        """Store an experience and return its id, once it is durable; none where it is known already, in whatever
        words. Secrets and injected context are removed from its text. Entities are the names in it, if not
        given."""
        if isinstance(entities, str) or not isinstance(entities, Iterable | None):
            raise InputError(f"The entities cannot be {entities!r:.200}. Give a list of them.")
        given = Experience("", text, category, session_id, record, trust, at or self._clock(), ())
        one = prepare_experience(given)
        if entities is not None:
            one = replace(one, entities=tuple(redact(validate_name(name, "An entity")) for name in entities))
        return self.add_all([one])[0]

    def add_all(self, prepared: Sequence[Experience], erasures: int | None = None) -> Sequence[str | None]:
        """Add several prepared experiences, embedded together. Raise `ErasedMeanwhile` where something was
        forgotten since this count of `erasures`, with which their texts were read."""
        if not prepared:
            return []
        active = self._complete()
        self.flush()  # so that what was used just now is not evicted
        rows = active.embedder.embed([one.text for one in prepared])
        return [self._add(one, row, active, erasures) for one, row in zip(prepared, rows, strict=True)]

    def _add(self, one: Experience, vector: Vector, active: ActiveEmbedder, erasures: int | None) -> str | None:
        try:
            with self._lock:
                if self._is_known(one, vector, active):
                    return None
                item = self._database.write(lambda tx: self._insert(tx, one, active, erasures))
                if item is None:
                    return None
                if not item.is_embedded:
                    self._put(item, vector, active)
                return one.id
        except _EmbedderChanged:
            return self.add_all([one], erasures)[0]

    def _is_known(self, one: Experience, vector: Vector, active: ActiveEmbedder) -> bool:
        return any(
            is_same(one.text, other.text, calibrated(cosine, active.identity), self._threshold, self._same_meaning)
            for other, cosine in self._near(active, vector, DEDUP_CANDIDATES)
        )

    def _insert(
        self, tx: Transaction, one: Experience, active: ActiveEmbedder, erasures: int | None
    ) -> ExperienceItem | None:
        """Insert a row, and evict others for it. Return its item; none where it is known."""
        if erasures is not None:
            check_erasures(tx, self._owner, erasures)
        rows, states, now = ExperienceRows(tx, self._owner), IndexStates(tx), self._clock()
        if states.identity(states.lock(self._owner).embedder_id) not in ("", active.identity):
            raise _EmbedderChanged
        if has_ended(tx, self._owner, one.record, now):
            return None
        if (one.record and rows.made_of(one.record)) or not rows.add(one, now):
            return None
        rows.evict(self._most, now, but=one.id)
        return rows.item(one.id)

    def _put(self, item: ExperienceItem, vector: Vector, active: ActiveEmbedder) -> None:
        """Store the vector of a new experience. Where that fails, the index worker makes it again."""
        from lifelong.vectors.base import VectorRow

        worker, made = self._index_worker(), {item.id: vector} if vector.any() else {}
        try:
            partition = worker.partition(self._owner, active.identity)
            rows = [VectorRow(item.id, "experience", "", item.at, vector)] if made else []
            worker.put(partition, rows)
            worker.mark_embedded(self._owner, active.identity, made, [item.id])
        except LifelongError as error:
            log.warning("an experience is kept, but gets its vector later: %s", error)

    # Vectors

    def _complete(self) -> ActiveEmbedder:
        """Return the embedder whose vectors are in use, after every experience got its vector, whatever that
        takes, also where another embedder has to take over."""
        worker = self._index_worker()
        while not (active := worker.active(self._owner)):
            worker.take_over(self._owner)
        while worker.embed_pending(self._owner, kind="experience"):
            pass
        self.error = ""
        return active

    def _near(self, active: ActiveEmbedder, vector: Vector, count: int) -> ExperiencesNear:
        """Return the nearest that hold, each with its cosine."""
        import numpy as np

        from lifelong.vectors.base import VectorFilter

        vectors = self._index_worker().vectors(self._owner)
        partition = self._index_worker().partition(self._owner, active.identity)
        asked, only = count, VectorFilter(kinds=("experience",))
        while True:
            ids = vectors.nearest(partition, vector, asked, only)
            found = self._database.read(
                lambda tx, ids=ids: ExperienceRows(tx, self._owner).of_items(ids)  # type: ignore[misc]
            )
            if len(found) >= count or len(ids) < asked:
                break
            asked *= 4  # others have ended, or were evicted
        rows = vectors.get(partition, [*found])
        cosines = np.vecdot(rows, vector / max(float(np.linalg.norm(vector)), 1e-9))
        return list(zip(found.values(), cosines.tolist(), strict=True))

    # Finding

    def query(self, question: str, top_k: int = 5) -> ExperienceList:
        """Return those that answer best, best first, each with its score: half of it by meaning, half by the share
        of the question's words that it holds; by words alone where there are no vectors. A partly superseded one
        ranks below its successor. Counts as a use."""
        validate_text(question, "The question", 1_000_000)
        validate_count(top_k, "top_k", 1, MAX_RESULTS)
        near = self._nearest(question, max(QUERY_CANDIDATES, 2 * top_k))
        found = [one for one, _ in near]
        if not near:
            found = self.list(limit=self._most)
        superseded = self._database.read(
            lambda tx: ExperienceRows(tx, self._owner).partly_superseded(one.id for one in found)
        )
        cosines = {one.id: cosine for one, cosine in near}
        asked = set(extract_terms(question).stems)
        scores = {one.id: (cosines.get(one.id, 0.0) + _share(asked, one.text)) / 2 for one in found}
        made_of = {first_record_of(one.record): one.id for one in found}
        for id_, by in sorted(superseded.items(), key=lambda pair: -pair[1]):
            newer = scores.get(made_of.get(by, ""), 0.0)
            if newer >= MIN_SUCCESSOR_SHARE * scores[id_]:
                scores[id_] = min(scores[id_], newer - 1e-4)
        scored = [replace(one, score=round(scores[one.id], 4)) for one in found]
        best = sorted((one for one in scored if one.score > 0), key=lambda one: (-one.score, one.id))[:top_k]
        self.use(one.id for one in best)
        return best

    def _nearest(self, question: str, count: int) -> ExperiencesNear:
        """Return those near a question, and how near each is; none where too many lack their vectors. A few are
        made here."""
        worker = self._index_worker()
        try:
            if not (active := worker.active(self._owner)):
                made_by = self._database.read(lambda tx: worker.active_identity(tx, self._owner))
                why = f"{made_by or 'the embedder'}, whose they are, is not available"
            else:
                worker.embed_pending(self._owner, MAX_INLINE_EMBEDDED, "experience")
                if not self._database.read(lambda tx: ExperienceRows(tx, self._owner).waiting()):
                    self.error = ""
                    return self._near(active, active.embedder.embed_query(question, {}), count)
                why = "some are missing"
        except LifelongError as error:
            why = str(error)
        self.error = f"Experiences are found by words only until their vectors are made: {why}. Let a worker run."
        log.warning("experiences are found by their words only: %s", why)
        return []

    def list(
        self, category: str = "", *, session_id: str = "", since: datetime | None = None, limit: int = 100
    ) -> ExperienceList:
        """Return the newest first: of a category, of a session, of what was told since then."""
        validate_text(category, "The category", 1_000)
        validate_text(session_id, "The session's id", 1_000)
        since = validate_time(since, "since") if since else None
        validate_count(limit, "The limit")
        return self._database.read(
            lambda tx: ExperienceRows(tx, self._owner).newest(category, session_id, since, limit)
        )

    def use(self, ids: Iterable[str]) -> None:
        """Count that these came back: they are kept longer than others. Waits for no disk, and never fails."""
        if used := frozenset(ids):
            self._uses.count(self._owner, used, self._clock())

    def flush(self) -> None:
        """Count the uses that wait to be counted."""
        self._uses.flush()

    # Repairing

    def repair(self) -> None:
        """Make an item for each row and the vectors that are missing, and delete rows beyond the limit."""

        def work(tx: Transaction) -> None:
            rows = ExperienceRows(tx, self._owner)
            rows.evict(self._most, self._clock())
            rows.reindex(self._clock())

        self._database.write(work)
        active, worker = self._complete(), self._index_worker()
        ids = self._database.read(lambda tx: ExperienceRows(tx, self._owner).item_ids())
        rows = worker.vectors(self._owner).get(worker.partition(self._owner, active.identity), ids)
        if missing := [id_ for id_, row in zip(ids, rows, strict=True) if not row.any()]:
            self._database.write(lambda tx: IndexStates(tx).requeue(missing))
            self._complete()

    # Extracting

    def extract(self) -> None:
        """Repair the store, and add what is new in the journal. Progress is stored after each batch; what a stop
        has read again is known by its record or by its text. Where another process asked for an embedder that is
        not available here, extraction is left to it."""
        journal = self._journal if self._journal and self._journal.enabled else None
        if journal:
            journal.write_all(wait=False)
        try:
            self.repair()
        except Outvoted as error:
            if not journal:
                raise
            log.warning("no experiences are extracted: %s", error)
            self._database.write(self._continue_by_time)
            return
        while journal:
            with suppress(ErasedMeanwhile):
                self._extract(journal)
                return

    def _extract(self, journal: JournalService) -> None:
        def load(tx: Transaction) -> tuple[int, ReadUntil | None, Plays]:
            rows, items = ExperienceRows(tx, self._owner), Items(tx, self._owner)
            return erasure_count(tx, self._owner), rows.read_until(), items.plays()

        def is_lasting(record: JournalRecord) -> bool:
            return is_candidate(record) and record.id not in ended and not _is_played(record, plays)

        erasures, read_until, plays = self._database.read(load)
        new, added, ended = _records_since(read_until, journal), 0, journal.ended()
        for start in range(0, len(new), EXTRACTION_BATCH):
            batch = new[start : start + EXTRACTION_BATCH]
            prepared = [one for record in filter(is_lasting, batch) if (one := _from_record(record, self._clock))]
            added += sum(id_ is not None for id_ in self.add_all(prepared, erasures))
            until = ReadUntil(batch[-1].id, self._clock())
            self._database.write(partial(self._set_read_until, until))
        log.info("extraction: %d record(s) read, %d experience(s) added", len(new), added)

    def _set_read_until(self, until: ReadUntil, tx: Transaction) -> None:
        ExperienceRows(tx, self._owner).set_read_until(until)

    def _continue_by_time(self, tx: Transaction) -> None:
        """Have the next extraction read the day files: MEMORY.md may be compacted before it."""
        rows = ExperienceRows(tx, self._owner)
        if known := rows.read_until():
            rows.set_read_until(known._replace(record=""))


def prepare_experience(given: Experience) -> Experience:
    """Return an experience as it is stored: cleaned, with an id made from its text, and the names in it."""
    text = " ".join(redact(without_injected(validate_text(given.text, "An experience", MAX_CHARS))).split())
    if len(text) < MIN_CHARS or not any(map(str.isalnum, text)):
        raise InputError(
            f"An experience needs words, at least {MIN_CHARS} characters. Tell it in a whole sentence."
        )
    if given.trust not in PROVENANCES:
        raise InputError(f"Unknown trust {given.trust!r:.200}. Use one of: {', '.join(PROVENANCES)}.")
    validate_name(given.category, "The category", 200)
    validate_text(given.session_id, "The session's id", 1_000)
    validate_text(given.record, "The record's id", 1_000)
    validate_time(given.at, "The experience's time")
    return replace(
        given, id=f"e{blake2b(text.encode(), digest_size=12).hexdigest()[1:]}", text=text, entities=names(text)
    )


def grouped(found: Iterable[Experience], by: Group) -> dict[str, ExperienceList]:
    """Group experiences, in their order; one with several names is in several groups."""
    groups: dict[str, ExperienceList] = {}
    for one in found:
        keys = {"category": (one.category,), "session": (one.session_id,), "entity": one.entities}[by]
        for key in keys or ("",):
            groups.setdefault(key, []).append(one)
    return groups


def _share(asked: set[int], text: str) -> float:
    return len(asked & set(extract_terms(text).stems)) / len(asked) if asked else 0.0


def _records_since(until: ReadUntil | None, journal: JournalService) -> Sequence[JournalRecord]:
    """Return the records after the last one that was read. Where that one is gone, those of the time since: what
    compaction took out of MEMORY.md is in the day files."""
    records = journal.records()
    places = [place for place, record in enumerate(records) if until and record.id == until.record]
    if places:
        return records[places[-1] + 1 :]
    since = until.at - EXTRACTION_OVERLAP if until else None
    there = {record.id for record in records}
    days = journal.records_of_days(since.date() if since else None)
    every = [*(record for record in days if record.id not in there), *records]
    return [one for one in every if since is None or one.timestamp is None or one.timestamp > since]


def _from_record(record: JournalRecord, clock: Clock) -> Experience | None:
    """Return the experience of a journal record; none where its text cannot be one."""
    at = record.timestamp or clock()
    given = Experience(
        "", record.text, record.category, record.session_id, record.id, trust_of(record), at, entities=()
    )
    try:
        return prepare_experience(given)
    except InputError as error:
        log.warning("record %.100r of the journal cannot become an experience: %s", record.id, error)
        return None


def _is_played(record: JournalRecord, plays: Plays) -> bool:
    """Return whether a record summarizes a turn in which a person plays a part."""
    first = first_record_of(record.id)
    if first is None or record.timestamp is None:
        return False
    return plays.hold(record.session_id, first, record.timestamp)


def is_candidate(record: JournalRecord) -> bool:
    """Return whether a record may become an experience: long enough, of a lasting category, without a secret."""
    text = " ".join(record.text.split())
    return (
        record.category in CATEGORIES
        and MIN_CHARS <= len(text) <= MAX_CHARS
        and not (record.is_secret or mentions_secret(record.text) or mentions_secret(text))
    )
