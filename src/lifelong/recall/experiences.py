"""The experiences of one user: each told once, found by meaning, and not more of them than are of use.

Texts are rows; vectors are derived from them (`experience_vectors.py`), and live wherever the settings say. A row
is written before its vector, and deleted before it, so a stop at any instant leaves vectors that are missing or
left over: `heal` makes the ones and removes the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from lifelong.collect.transcript import without_injected
from lifelong.errors import InputError, LifelongError
from lifelong.journal.records import summarized_by
from lifelong.journal.service import JournalService
from lifelong.recall.analyzer import read
from lifelong.recall.dedup import Alike, is_same, never, on_scale
from lifelong.recall.experience_rows import Experience, ExperienceRows
from lifelong.recall.experience_vectors import ExperienceVectors, Serving
from lifelong.recall.indexing import Indexer
from lifelong.recall.supersession import has_ended
from lifelong.recall.write_behind import WriteBehind
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.text.names import names
from lifelong.types import PROVENANCES, Clock, Provenance
from lifelong.validation import validate_count, validate_name, validate_text, validate_time

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Vector
    from lifelong.vectors.base import Vectors

log = logging.getLogger("lifelong.recall")

SHORTEST, LONGEST = 20, 100_000  # characters of an experience
NEAREST = 10  # that a new one is compared with: a look-alike may be nearer than what it repeats
POOL = 50  # that are near a question, of which words choose
MOST = 1_000  # that can be asked for
AS_MUCH = 0.5  # of the score of what has ended in part, from which on what says so stands above it

Group = Literal["category", "session", "entity"]
Found: TypeAlias = list[Experience]
Ids: TypeAlias = list[str]
Use: TypeAlias = tuple[frozenset[str], datetime]  # what came back, and when
GROUPS: tuple[Group, ...] = get_args(Group)


class _Replaced(Exception):
    """Another embedder serves since we looked for what is near."""


class Experiences:
    """Adds experiences, and finds them. `indexer` knows who embeds, `alike` words that mean the same. From the
    `threshold` on two are the same; there may be so many at the `most`. Safe to use from many threads and
    processes."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        indexer: Callable[[], Indexer],
        vectors: Callable[[], Vectors],
        *,
        threshold: float = 0.85,
        most: int = 5_000,
        alike: Alike = never,
        journal: JournalService | None = None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._vectors = ExperienceVectors(database, owner, indexer, vectors)
        self._threshold = threshold
        self._most = most
        self._alike = alike
        self._journal = journal
        self._lock = threading.Lock()
        self._uses: WriteBehind[Use] = WriteBehind(
            "experience-uses", "uses of experiences are not counted", self._count
        )

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
        """The id of a new experience, durable on return; none where it is there already, in whichever words.
        Secrets, and what recall put into it, are taken out of its text. Entities are the names in it, where none
        are given."""
        if isinstance(entities, str) or not isinstance(entities, Iterable | None):
            raise InputError(f"The entities cannot be {entities!r:.200}. Give a list of them.")
        given = Experience("", text, category, session_id, record, trust, at or self._clock(), ())
        one = checked(given)
        if entities is not None:
            one = replace(one, entities=tuple(redact(validate_name(name, "An entity")) for name in entities))
        return self.add_all([one])[0]

    def add_all(self, told: Sequence[Experience]) -> Sequence[str | None]:
        """The same for several, embedded together."""
        if not told:
            return []
        serving = self._vectors.heal()
        self.flush()  # what was used just now does not go for what is new
        rows = serving.embedder.embed([one.text for one in told])
        return [self._add(one, row, serving) for one, row in zip(told, rows, strict=True)]

    def _add(self, one: Experience, vector: Vector, serving: Serving) -> str | None:
        try:
            with self._lock:
                if self._is_known(one, vector, serving):
                    return None
                gone = self._database.write(lambda tx: self._insert(tx, one, serving))
                if gone is None:
                    return None
                self._vectors.change(serving, one.id, vector, gone)
                return one.id
        except _Replaced:
            return self.add_all([one])[0]

    def _is_known(self, one: Experience, vector: Vector, serving: Serving) -> bool:
        near = {found.id: found.similarity for found in self._vectors.near(serving, vector, NEAREST)}
        rows = self._database.read(lambda tx: ExperienceRows(tx, self._owner).get(near))
        if ended := [other.id for other in rows.values() if other.until]:
            self._vectors.remove(serving, ended)  # they would hide one that holds
            return self._is_known(one, vector, serving)
        scaled = {id_: on_scale(cosine, serving.identity) for id_, cosine in near.items()}
        return any(
            is_same(one.text, other.text, scaled[other.id], self._threshold, self._alike)
            for other in rows.values()
        )

    def _insert(self, tx: Transaction, one: Experience, serving: Serving) -> Ids | None:
        """Those that had to go for it; none where it was there."""
        rows, now = ExperienceRows(tx, self._owner), self._clock()
        if rows.served(take=True).embedder != serving.identity:
            raise _Replaced
        if has_ended(tx, self._owner, one.record, now):
            return None
        if (one.record and rows.made_of(one.record)) or not rows.add(one, now):
            return None
        return rows.evict(self._most, now, but=one.id)

    # Finding

    def query(self, question: str, top_k: int = 5) -> Found:
        """Those that answer best, best first, each with its score: half of it by meaning, half by the share of the
        question's words that it holds. Where no vectors can be had, by words alone. What has ended in part stands
        below what says so."""
        validate_text(question, "The question", 1_000_000)
        validate_count(top_k, "top_k", 1, MOST)
        near = self._meant(question, max(POOL, 2 * top_k))
        found, surpassed = self._database.read(lambda tx: self._candidates(tx, near))
        asked = set(read(question).stems)
        scores = {one.id: (near.get(one.id, 0.0) + _share(asked, one.text)) / 2 for one in found}
        made_of = {summarized_by(one.record): one.id for one in found}
        for id_, by in sorted(surpassed.items(), key=lambda pair: -pair[1]):
            newer = scores.get(made_of.get(by, ""), 0.0)
            if newer >= AS_MUCH * scores[id_]:
                scores[id_] = min(scores[id_], newer - 1e-4)
        scored = [replace(one, score=round(scores[one.id], 4)) for one in found]
        best = sorted((one for one in scored if one.score > 0), key=lambda one: (-one.score, one.id))[:top_k]
        self.use(one.id for one in best)
        return best

    def _meant(self, question: str, count: int) -> dict[str, float]:
        """What is near a question, and how near."""
        try:
            if not (serving := self._vectors.serving()):
                return {}
            vector = serving.embedder.embed_query(question, {})
            return {found.id: found.similarity for found in self._vectors.near(serving, vector, count)}
        except LifelongError as error:
            log.warning("experiences are found by their words only: %s", error)
            return {}

    def _candidates(self, tx: Transaction, near: dict[str, float]) -> tuple[Found, dict[str, int]]:
        """Those that hold, and what says of some of them that a part does not."""
        rows = ExperienceRows(tx, self._owner)
        if near:
            found = [one for one in rows.get(near).values() if one.until is None]
        else:
            found = rows.newest("", "", None, self._most)
        return found, rows.surpassed(one.id for one in found)

    def list(
        self, category: str = "", *, session_id: str = "", since: datetime | None = None, limit: int = 100
    ) -> Found:
        """The newest first: of a category, of a session, of what was told since then."""
        validate_text(category, "The category", 1_000)
        validate_text(session_id, "The session's id", 1_000)
        since = validate_time(since, "since") if since else None
        validate_count(limit, "The limit")
        return self._database.read(
            lambda tx: ExperienceRows(tx, self._owner).newest(category, session_id, since, limit)
        )

    def use(self, ids: Iterable[str]) -> None:
        """They came back to somebody: they stay longer than others. Waits for no disk, and never fails."""
        if used := frozenset(ids):
            self._uses.note((used, self._clock()))

    def flush(self) -> None:
        """Count the uses that wait to be counted."""
        self._uses.flush()

    def _count(self, uses: Sequence[Use]) -> None:
        def count(tx: Transaction) -> None:
            for ids, at in uses:
                ExperienceRows(tx, self._owner).use(ids, at)

        self._database.write(count)

    # Healing

    def heal(self) -> None:
        """Vectors for rows that have none; none that belong to no row, or to one that has ended; an item for each
        row, and no more rows than there may be."""

        def settle(tx: Transaction) -> None:
            rows = ExperienceRows(tx, self._owner)
            rows.evict(self._most, self._clock())
            rows.reindex(self._clock())

        self._database.write(settle)
        self._vectors.forget()
        self._vectors.heal()

    def extract(self) -> None:
        """Repair the vectors; with a journal, add what is new in it."""
        from lifelong.recall.extraction import extract

        if not (self._journal and self._journal.enabled):
            self.heal()
            return
        self._journal.write_all(wait=False)
        extract(self._database, self._owner, self._clock, self, self._journal, self._journal.ended)

    def backfill(self) -> int:
        """Make some of the vectors that are missing. Return how much there was to do. Never fails."""
        return self._vectors.tend()

    def missing(self) -> int:
        """Return how many experiences wait for their vectors."""
        return self._database.read(lambda tx: ExperienceRows(tx, self._owner).waiting())

    @property
    def error(self) -> str:
        """What a person should know of the vectors."""
        return self._vectors.error

    def close(self) -> None:
        """Count what waits, and let go of the vectors."""
        self._uses.close()
        self._vectors.close()


def checked(given: Experience) -> Experience:
    """An experience as it would be added, with the id that follows from its text and the names in it."""
    told = " ".join(redact(without_injected(validate_text(given.text, "An experience", LONGEST))).split())
    if len(told) < SHORTEST or not any(map(str.isalnum, told)):
        raise InputError(
            f"An experience needs words, at least {SHORTEST} characters. Tell it in a whole sentence."
        )
    if given.trust not in PROVENANCES:
        raise InputError(f"{given.trust!r:.200} is no trust. Use one of: {', '.join(PROVENANCES)}.")
    validate_name(given.category, "The category", 200)
    validate_text(given.session_id, "The session's id", 1_000)
    validate_text(given.record, "The record's id", 1_000)
    validate_time(given.at, "The experience's time")
    return replace(
        given, id=f"e{blake2b(told.encode(), digest_size=12).hexdigest()[1:]}", text=told, entities=names(told)
    )


def grouped(found: Iterable[Experience], by: Group) -> dict[str, Found]:
    """The experiences under what they have in common, in their order; those with several names, under each."""
    groups: dict[str, Found] = {}
    for one in found:
        keys = {"category": (one.category,), "session": (one.session_id,), "entity": one.entities}[by]
        for key in keys or ("",):
            groups.setdefault(key, []).append(one)
    return groups


def _share(asked: set[int], text: str) -> float:
    return len(asked & set(read(text).stems)) / len(asked) if asked else 0.0
