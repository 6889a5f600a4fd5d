"""Search: candidates by words and by meaning, ranked, near-copies folded into one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

import numpy as np
from numpy.typing import NDArray

from lifelong.collect.agents import Agents
from lifelong.errors import InputError, LifelongError, StorageError
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.analyzer import ends_in_question
from lifelong.recall.index_worker import IndexWorker
from lifelong.recall.index_writer import text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.query import ParsedQuery, parse_query
from lifelong.recall.ram_index import NEVER, IndexView, Numbers, RamIndex, Rows
from lifelong.recall.ranking import Ranked, heaviest, rank, rarity
from lifelong.recall.repair import IndexRepair
from lifelong.recall.vector_rows import VectorRows
from lifelong.redaction import redact
from lifelong.storage.base import Database, Row, Transaction
from lifelong.text.words import count_negations
from lifelong.types import ITEM_KINDS, Clock, Hit, ItemKind, to_micros
from lifelong.validation import validate_count, validate_text, validate_time

log = logging.getLogger("lifelong.recall")

MIN_CANDIDATES = 80  # by words, and as many by meaning
CANDIDATES_PER_HIT = 3  # if that makes more
SURROUNDINGS_OF_BEST = 5  # of each of the two lists, one in this many, the best, bring along those beside them
MAX_LOOKED_UP_WORDS = 6  # of a question, the rarest first
MAX_POSTINGS = 5_000  # items that are looked at for them; the rarest word may have this many alone
HALF_WEIGHT_SHARE = 0.1  # a word in this share of all items counts half in the question's vector
QUERY_CENTRING = 0.5  # how much of the mean is taken off a question: it is not like the texts, so not all
ROWS_PER_READ = 20_000  # that the index in memory loads at a time
MAX_INLINE_EMBEDDED = 64  # items without a vector that a search embeds itself, where no index worker runs
RETRY_EMBEDDER_SECONDS = 30.0  # before an embedder that failed is asked again: no search waits for it
MAX_HITS = 1_000
MAX_QUERY_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What a search is limited to; by default nothing. `as_of` a past time: what was known then."""

    agent_id: str = ""
    kinds: tuple[ItemKind, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None

    @property
    def narrow(self) -> bool:
        return bool(self.agent_id or self.kinds or self.since or self.until or self.as_of)


class Searcher:
    """Search one owner's items. Safe to use from many threads."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        index_worker: IndexWorker,
        repair: IndexRepair,
        zone: tzinfo = UTC,
        *,
        on_use: Callable[[str, Searcher], None] = lambda owner, searcher: None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._index_worker = index_worker
        self._repair = repair
        self._zone = zone
        self._on_use = on_use
        self._lock = threading.Lock()
        self._index: RamIndex | None = None
        self._retry_at = 0.0
        self.error = ""

    def search(
        self,
        question: str,
        top_k: int = 5,
        filters: SearchFilter = SearchFilter(),  # noqa: B008  # frozen
        *,
        explain: bool = False,
    ) -> list[Hit]:
        """Return the best hits, best first. Times in the question count from now, or from `as_of`, in the zone."""
        # redacted, since the embedder may be a remote one
        question = redact(validate_text(question, "The question", MAX_QUERY_CHARS))
        validate_count(top_k, "top_k", 1, MAX_HITS)
        asked = validate_time(filters.as_of or self._clock(), "The time of asking").astimezone(self._zone)
        pool = max(MIN_CANDIDATES, CANDIDATES_PER_HIT * top_k)
        view, parsed, query, places = self._candidates(question, filters, asked, pool)
        ranked = rank(
            view, parsed, query, places, to_micros(asked), known=to_micros(asked) if filters.as_of else NEVER
        )
        return self._database.read(lambda tx: self._hits(tx, view, ranked, top_k, filters, explain))

    def unload(self) -> None:
        """Drop the index in memory; the next search loads it again."""
        with self._lock:
            self._index = None

    # Candidates

    def _candidates(
        self, question: str, filters: SearchFilter, asked: datetime, pool: int
    ) -> tuple[IndexView, ParsedQuery, Numbers, Rows]:
        index = self._up_to_date()
        self._on_use(self._owner, self)
        view = index.view()
        parsed = parse_query(question, asked, view.speakers)
        among = _within(view, slice(None), filters) if filters.narrow else None
        by_words = self._by_words(view, parsed, among, pool)
        places, unknown = view.places(by_words)
        if unknown:
            rows = self._database.read(lambda tx: VectorRows(tx).without_sequence(self._owner, unknown))
            index.load(rows)
            view = index.view()
            places, _ = view.places(by_words)
            among = _within(view, slice(None), filters) if filters.narrow else None
        query = self._vector(view, parsed)
        near = view.nearest(query, pool, among) if query.any() else np.zeros(0, np.intp)
        best = np.concatenate([places[: pool // SURROUNDINGS_OF_BEST], near[: pool // SURROUNDINGS_OF_BEST]])
        every = view.with_surroundings(np.concatenate([places, near]), best)
        return view, parsed, query, every[_within(view, every, filters)]

    def _by_words(
        self, view: IndexView, parsed: ParsedQuery, among: NDArray[np.bool_] | None, pool: int
    ) -> list[int]:
        """Return the items that hold most of the question's rare words, of equals the newest."""
        stems = dict(parsed.words.values())
        rare = sorted(stems, key=view.count)[:MAX_LOOKED_UP_WORDS]
        weights = {stem: stems[stem] * rarity(view, stem) for stem in rare}
        try:
            postings = self._database.read(lambda tx: self._postings(tx, view, rare, pool))
        except StorageError as error:
            if not self._repair.repair_fulltext(error):
                raise
            return []
        if among is not None:
            postings = {stem: view.among(found, among) for stem, found in postings.items()}
        return _heaviest([(weights[stem], found) for stem, found in postings.items()], pool)

    def _postings(self, tx: Transaction, view: IndexView, rare: Sequence[int], pool: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        left = MAX_POSTINGS
        for stem in rare:
            if found and view.count(stem) > left:
                break
            found[stem] = Items(tx, self._owner).holding(stem, max(left, pool))
            left -= len(found[stem])
        return found

    def _vector(self, view: IndexView, parsed: ParsedQuery) -> Numbers:
        """Return the question's vector, centred; zeros where it cannot be embedded."""
        nothing = np.zeros(len(view.mean), np.float32)
        active = self._index_worker.find(view.identity)
        if not active or time.monotonic() < self._retry_at:
            return nothing
        counts = dict.fromkeys(parsed.name_words, 0.0)
        for word, (stem, counted) in parsed.words.items():
            counts[word] = counted * HALF_WEIGHT_SHARE / (HALF_WEIGHT_SHARE + view.count(stem) / max(view.size, 1))
        try:
            raw = active.embed_query(parsed.text, counts)
        except LifelongError as error:
            self.error = f"Search goes by words only: {error}"
            self._retry_at = time.monotonic() + RETRY_EMBEDDER_SECONDS
            return nothing
        self.error = ""
        centred = raw - QUERY_CENTRING * view.mean if raw.any() else nothing
        return np.asarray(centred / (np.linalg.norm(centred) + 1e-9), np.float32)

    # The index in memory

    def _up_to_date(self) -> RamIndex:
        """Return the index with everything that has a vector. Embed a few items here, if nobody else does."""
        index, waiting = self._load_new()
        if 0 < waiting <= MAX_INLINE_EMBEDDED:
            try:
                self._index_worker.embed_pending(self._owner, MAX_INLINE_EMBEDDED)
            except LifelongError as error:
                log.warning("new items are found by their words only: %s", error)
            index, _ = self._load_new()
        return index

    def _load_new(self) -> tuple[RamIndex, int]:
        """Return the index, and how many items wait for a vector that nobody makes: at most one over the limit."""
        with self._lock:
            while True:
                index, sequence, rows, waiting = self._database.read(self._new_rows)
                index.load(rows)
                if index.damaged:
                    self._repair.drop_vectors(index.damaged)
                    index.damaged = []
                index.sequence = rows[-1][1] if rows else sequence
                self._index = index
                if len(rows) < ROWS_PER_READ:
                    return index, waiting

    def _new_rows(self, tx: Transaction) -> tuple[RamIndex, int, list[Row], int]:
        """Return the index (a new one where another embedder is active, or all was made again), the newest number
        of the sequence, the rows that the index lacks, and how many items wait."""
        vector_rows = VectorRows(tx)
        alone = not (self._index_worker.background.running or self._index_worker.error)
        waiting = vector_rows.pending_count(self._owner, MAX_INLINE_EMBEDDED + 1) if alone else 0
        state, index = vector_rows.state(self._owner), self._index
        if index is None or index.built_from != (state.embedder_id, state.version):
            index = RamIndex(vector_rows.identity(state.embedder_id), (state.embedder_id, state.version))
        if state.sequence == index.sequence:
            return index, state.sequence, [], waiting
        newer = vector_rows.newer(self._owner, state.embedder_id, index.sequence, ROWS_PER_READ)
        return index, state.sequence, newer, waiting

    # Hits

    def _hits(
        self, tx: Transaction, view: IndexView, ranked: Ranked, top_k: int, filters: SearchFilter, explain: bool
    ) -> list[Hit]:
        """Return the best, as their rows are now. Of items that say the same, the newest takes the place of the
        best; of a record, its journal line and its experience, only the best is shown."""
        if filters.agent_id:
            Agents(tx).get_row(self._owner, filters.agent_id)  # raises for an unknown one
        kept: dict[object, tuple[int, FoundItem, str]] = {}
        shown_records: set[int] = set()
        for start in range(0, len(ranked.places), top_k):
            places = ranked.places[start : start + top_k]
            ids = view.columns["id"][places].tolist()
            found = Items(tx, self._owner).get(ids)
            for at, (place, id_) in enumerate(zip(places, ids, strict=True), start):
                one = found.get(id_)
                if one is None or _is_hidden(one, filters):
                    continue
                if filters.as_of and one.end_known and one.end_known > filters.as_of:
                    one = one._replace(until=None)
                text = _text(one)
                same = _sameness(one, text, view.stems(int(place))) or id_
                first, known, _ = kept.get(same, (at, one, text))
                record = one.record_id if one.kind != "fact" else None
                if same not in kept and (len(kept) == top_k or record in shown_records):
                    continue
                if record:
                    shown_records.add(record)
                if known is one or one.at > known.at:
                    kept[same] = first, one, text
            if len(kept) == top_k:
                break
        return [
            hit(tx, self._owner, one, float(ranked.scores[at]), ranked.explain(at) if explain else None, text)
            for at, one, text in kept.values()
        ]


def hit(
    tx: Transaction,
    owner: str,
    found: FoundItem,
    score: float = 0.0,
    parts: dict[str, float] | None = None,
    text: str | None = None,
) -> Hit:
    """Return the hit of an item, without secrets. Its `text` may be known already."""
    document = DocumentRows(tx, owner).find(found.container) if found.kind == "fact" else None
    return Hit(
        id=Items(tx, owner).shown_id(found),
        kind=found.kind,
        text=redact(_text(found) if text is None else text) if found.type else found.text,
        at=found.at,
        trust=found.trust,
        score=round(score, 4),
        speaker=found.speaker,
        agent_id=found.agent_id,
        session_id=found.session_id,
        record_id=found.record_id,
        path=document.path if document else found.container if found.kind in ("journal", "note") else "",
        until=found.until,
        pinned=found.pinned,
        parts=parts or {},
    )


def _heaviest(postings: Sequence[tuple[float, Sequence[int]]], count: int) -> list[int]:
    """Return the ids whose lists weigh most together, of equals the newest. Each list has its newest id first."""
    ids = np.concatenate([np.zeros(0, np.int64), *(np.array(found, np.int64) for _, found in postings)])
    if not len(ids):
        return []
    each = np.repeat([weight for weight, _ in postings], [len(found) for _, found in postings])
    order = np.argsort(-ids, kind="stable")  # merges what is sorted already
    ids = ids[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    which, scores = ids[starts], np.add.reduceat(each[order], starts)
    best: list[int] = which[heaviest(scores, count)].tolist()
    return best


def _within(view: IndexView, places: Rows | slice, filters: SearchFilter) -> NDArray[np.bool_]:
    """Return which of these pass the filter, and are not hidden."""
    columns = view.columns
    then = to_micros(filters.as_of) if filters.as_of else None
    inside = columns["hidden_at"][places] > (NEVER - 1 if then is None else then)
    if then is not None:
        inside &= (columns["since"][places] <= then) & (columns["at"][places] <= then)
    if filters.agent_id:
        inside &= columns["agent"][places] == view.agent(filters.agent_id)
    if filters.kinds:
        wanted = np.isin(np.arange(len(ITEM_KINDS)), [ITEM_KINDS.index(kind) for kind in filters.kinds])
        inside &= wanted[columns["kind"][places]]
    if filters.since:
        inside &= columns["at"][places] >= to_micros(filters.since)
    if filters.until:
        inside &= columns["at"][places] < to_micros(filters.until)
    return np.asarray(inside, np.bool_)


def _is_hidden(found: FoundItem, filters: SearchFilter) -> bool:
    """Return whether it was hidden since the index was loaded."""
    return found.hidden_at is not None and (filters.as_of is None or found.hidden_at <= filters.as_of)


def _text(found: FoundItem) -> str:
    return text_of(found.type, found.data) if found.type else found.text


def _sameness(found: FoundItem, text: str, stems: bytes) -> object:
    """Return what is equal of two items that say the same: speaker, words, number of negations, and whether it
    asks. None where there are no words to compare."""
    return (found.speaker, found.trust, stems, count_negations(text), ends_in_question(text)) if stems else None


def validate_filter(
    agent_id: str,
    kinds: Iterable[ItemKind],
    since: datetime | None,
    until: datetime | None,
    as_of: datetime | None,
) -> SearchFilter:
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InputError(f"The kinds cannot be {kinds!r:.200}. Give a list of them.")
    wanted = tuple(kinds)
    unknown = [kind for kind in wanted if kind not in ITEM_KINDS]
    if unknown:
        raise InputError(f"Unknown kind {unknown[0]!r:.200}. Use some of: {', '.join(ITEM_KINDS)}.")
    for name, time_ in (("since", since), ("until", until), ("as_of", as_of)):
        if time_ is not None:
            validate_time(time_, name)
    return SearchFilter(agent_id, wanted, since, until, as_of)
