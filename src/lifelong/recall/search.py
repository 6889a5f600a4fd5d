"""A question in, hits out: candidates by words and by meaning, ranked, near-copies folded into one."""

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
from lifelong.recall.analyzer import asks
from lifelong.recall.index_writer import text_of
from lifelong.recall.indexing import Indexer
from lifelong.recall.items import Found, Items
from lifelong.recall.memory_index import NEVER, MemoryIndex, Numbers, Places, View
from lifelong.recall.query import Question, parse_query
from lifelong.recall.ranking import Ranked, heaviest, rank, rarity
from lifelong.recall.repair import IndexRepair
from lifelong.recall.vector_rows import VectorRows
from lifelong.redaction import redact
from lifelong.storage.base import Database, Row, Transaction
from lifelong.text.words import count_negations
from lifelong.types import ITEM_KINDS, Clock, Hit, ItemKind, to_micros
from lifelong.validation import validate_count, validate_text, validate_time

log = logging.getLogger("lifelong.recall")

POOL = 80  # candidates by words, and as many by meaning
EACH = 3  # and as many for each hit that is asked for, if that is more
BESIDE = 5  # of each of the two, one of so many, the best, bring along those beside them
MOST_WORDS = 6  # of a question that are looked up, the rarest first
MOST_POSTINGS = 5_000  # items that are looked at for them; the rarest word has this many to itself
COMMON = 0.1  # a word in this share of all items counts half in the question's vector
CENTRED = 0.5  # how far a question is moved off the mean: it is not like the texts, so not in full
PAGE = 20_000  # rows a shelf reads at a time
LOOSE = 64  # items that wait for a vector and are given one on the way, where no indexer runs
AFTER_FAILURE = 30.0  # seconds in which an embedder that failed is not asked again: no question waits for it
MOST = 1_000  # hits that can be asked for
LONGEST = 1_000_000  # characters of a question that are taken


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look. Nothing named: everywhere in the user. `as_of` a past time: what was known then."""

    agent_id: str = ""
    kinds: tuple[ItemKind, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None

    @property
    def narrow(self) -> bool:
        return bool(self.agent_id or self.kinds or self.since or self.until or self.as_of)


class Recall:
    """Finds what one owner's items say about a question. Safe to use from many threads."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        indexer: Indexer,
        mending: IndexRepair,
        zone: tzinfo = UTC,
        *,
        on_use: Callable[[str, Recall], None] = lambda owner, recall: None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._indexer = indexer
        self._mending = mending
        self._zone = zone
        self._on_use = on_use
        self._lock = threading.Lock()
        self._shelf: MemoryIndex | None = None
        self._ask_again = 0.0
        self.error = ""

    def search(
        self,
        question: str,
        top_k: int = 5,
        scope: Scope = Scope(),  # noqa: B008  # frozen
        *,
        explain: bool = False,
    ) -> list[Hit]:
        """The best hits, best first. Times in the question are seen from now, or from `as_of`, in the zone."""
        question = redact(validate_text(question, "The question", LONGEST))  # the embedder may be somebody else's
        validate_count(top_k, "top_k", 1, MOST)
        asked = validate_time(scope.as_of or self._clock(), "The time of asking").astimezone(self._zone)
        view, asks, query, places = self._candidates(question, scope, asked, max(POOL, EACH * top_k))
        ranked = rank(
            view, asks, query, places, to_micros(asked), known=to_micros(asked) if scope.as_of else NEVER
        )
        return self._database.read(lambda tx: self._hits(tx, view, ranked, top_k, scope, explain))

    def unload(self) -> None:
        """Let go of the index in memory; the next question reads it again."""
        with self._lock:
            self._shelf = None

    # Candidates

    def _candidates(
        self, question: str, scope: Scope, asked: datetime, pool: int
    ) -> tuple[View, Question, Numbers, Places]:
        shelf = self._fresh()
        self._on_use(self._owner, self)
        view = shelf.view()
        asks = parse_query(question, asked, view.speakers)
        among = _within(view, slice(None), scope) if scope.narrow else None
        by_words = self._by_words(view, asks, among, pool)
        places, loose = view.places(by_words)
        if loose:
            shelf.take_in(self._database.read(lambda tx: VectorRows(tx).loose(self._owner, loose)))
            view = shelf.view()
            places, _ = view.places(by_words)
            among = _within(view, slice(None), scope) if scope.narrow else None
        query = self._vector(view, asks)
        near = view.nearest(query, pool, among) if query.any() else np.zeros(0, np.intp)
        best = np.concatenate([places[: pool // BESIDE], near[: pool // BESIDE]])
        every = view.with_neighbours(np.concatenate([places, near]), best)
        return view, asks, query, every[_within(view, every, scope)]

    def _by_words(self, view: View, asks: Question, among: NDArray[np.bool_] | None, pool: int) -> list[int]:
        """The items that hold most of the question's rare words, and of equals the newest."""
        stems = dict(asks.words.values())
        rare = sorted(stems, key=view.count)[:MOST_WORDS]
        weights = {stem: stems[stem] * rarity(view, stem) for stem in rare}
        try:
            postings = self._database.read(lambda tx: self._postings(tx, view, rare, pool))
        except StorageError:
            if not self._mending.mend():
                raise
            return []
        if among is not None:
            postings = {stem: view.among(found, among) for stem, found in postings.items()}
        return _heaviest([(weights[stem], found) for stem, found in postings.items()], pool)

    def _postings(self, tx: Transaction, view: View, rare: Sequence[int], pool: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        left = MOST_POSTINGS
        for stem in rare:
            if found and view.count(stem) > left:
                break
            found[stem] = Items(tx, self._owner).holding(stem, max(left, pool))
            left -= len(found[stem])
        return found

    def _vector(self, view: View, asks: Question) -> Numbers:
        """The question among the vectors; zeros where it cannot be put there."""
        nothing = np.zeros(len(view.mean), np.float32)
        serving = self._indexer.find(view.identity)
        if not serving or time.monotonic() < self._ask_again:
            return nothing
        counts = dict.fromkeys(asks.name_words, 0.0)
        for word, (stem, counted) in asks.words.items():
            counts[word] = counted * COMMON / (COMMON + view.count(stem) / max(view.size, 1))
        try:
            raw = serving.embed_query(asks.text, counts)
        except LifelongError as error:
            self.error = f"Questions are answered by words only: {error}"
            self._ask_again = time.monotonic() + AFTER_FAILURE
            return nothing
        self.error = ""
        centred = raw - CENTRED * view.mean if raw.any() else nothing
        return np.asarray(centred / (np.linalg.norm(centred) + 1e-9), np.float32)

    # The shelf

    def _fresh(self) -> MemoryIndex:
        """The shelf with everything that is stamped. A few items are stamped first, where nobody else does it."""
        shelf, waiting = self._read_up()
        if 0 < waiting <= LOOSE:
            try:
                self._indexer.index(self._owner, LOOSE)
            except LifelongError as error:
                log.warning("what is new is found by its words only: %s", error)
            shelf, _ = self._read_up()
        return shelf

    def _read_up(self) -> tuple[MemoryIndex, int]:
        """The shelf, and how many items wait for a stamp that nobody gives them: at most one more than a few."""
        with self._lock:
            while True:
                shelf, stamp, rows, waiting = self._database.read(self._news)
                shelf.take_in(rows)
                if shelf.damaged:
                    self._mending.drop_vectors(shelf.damaged)
                    shelf.damaged = []
                shelf.stamp = rows[-1][1] if rows else stamp
                self._shelf = shelf
                if len(rows) < PAGE:
                    return shelf, waiting

    def _news(self, tx: Transaction) -> tuple[MemoryIndex, int, list[Row], int]:
        """The shelf, a new one where another embedder serves or all was made anew; the newest stamp; what is newer
        than the shelf; and how much waits."""
        shelves = VectorRows(tx)
        alone = not (self._indexer.background.running or self._indexer.error)
        waiting = shelves.pending_count(self._owner, LOOSE + 1) if alone else 0
        state, shelf = shelves.state(self._owner), self._shelf
        if shelf is None or shelf.of != (state.embedder_id, state.era):
            shelf = MemoryIndex(shelves.identity(state.embedder_id), (state.embedder_id, state.era))
        if state.stamp == shelf.stamp:
            return shelf, state.stamp, [], waiting
        return shelf, state.stamp, shelves.newer(self._owner, state.embedder_id, shelf.stamp, PAGE), waiting

    # Hits

    def _hits(
        self, tx: Transaction, view: View, ranked: Ranked, top_k: int, scope: Scope, explain: bool
    ) -> list[Hit]:
        """The best, as their rows are now; of those that say the same, the newest, in the place of the best; of a
        turn, the line of the journal that sums it up and the experience made of that, the best."""
        if scope.agent_id:
            Agents(tx).standing(self._owner, scope.agent_id)  # one that there is not is an error
        kept: dict[object, tuple[int, Found, str]] = {}
        told: set[int] = set()
        for start in range(0, len(ranked.places), top_k):
            places = ranked.places[start : start + top_k]
            ids = view.about["id"][places].tolist()
            found = Items(tx, self._owner).get(ids)
            for at, (place, id_) in enumerate(zip(places, ids, strict=True), start):
                one = found.get(id_)
                if one is None or _has_left(one, scope):
                    continue
                if scope.as_of and one.end_known and one.end_known > scope.as_of:
                    one = one._replace(until=None)
                text = _text(one)
                said = _said(one, text, view.stems(int(place))) or id_
                first, known, _ = kept.get(said, (at, one, text))
                turn = one.record_id if one.kind != "fact" else None
                if said not in kept and (len(kept) == top_k or turn in told):
                    continue
                if turn:
                    told.add(turn)
                if known is one or one.at > known.at:
                    kept[said] = first, one, text
            if len(kept) == top_k:
                break
        return [
            hit(tx, self._owner, one, float(ranked.scores[at]), ranked.explain(at) if explain else None, text)
            for at, one, text in kept.values()
        ]


def hit(
    tx: Transaction,
    owner: str,
    found: Found,
    score: float = 0.0,
    parts: dict[str, float] | None = None,
    text: str | None = None,
) -> Hit:
    """What was found, as it is shown: without secrets. Its `text` may be known already."""
    document = DocumentRows(tx, owner).find(found.thread) if found.kind == "fact" else None
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
        path=document.path if document else found.thread if found.kind in ("journal", "note") else "",
        until=found.until,
        pinned=found.pinned,
        parts=parts or {},
    )


def _heaviest(postings: Sequence[tuple[float, Sequence[int]]], count: int) -> list[int]:
    """Of ids in lists, newest first, so many whose lists weigh most together, and of equals the newest."""
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


def _within(view: View, places: Places | slice, scope: Scope) -> NDArray[np.bool_]:
    """Which of these lie in the scope and have not left."""
    about = view.about
    then = to_micros(scope.as_of) if scope.as_of else None
    inside = about["gone"][places] > (NEVER - 1 if then is None else then)
    if then is not None:
        inside &= (about["since"][places] <= then) & (about["at"][places] <= then)
    if scope.agent_id:
        inside &= about["agent"][places] == view.agent(scope.agent_id)
    if scope.kinds:
        wanted = np.isin(np.arange(len(ITEM_KINDS)), [ITEM_KINDS.index(kind) for kind in scope.kinds])
        inside &= wanted[about["kind"][places]]
    if scope.since:
        inside &= about["at"][places] >= to_micros(scope.since)
    if scope.until:
        inside &= about["at"][places] < to_micros(scope.until)
    return np.asarray(inside, np.bool_)


def _has_left(found: Found, scope: Scope) -> bool:
    """What left since the shelf was filled is not found any more."""
    return found.gone is not None and (scope.as_of is None or found.gone <= scope.as_of)


def _text(found: Found) -> str:
    return text_of(found.type, found.data) if found.type else found.text


def _said(found: Found, text: str, stems: bytes) -> object:
    """What two items have in common that say the same: who spoke, the words, how often it is denied, and whether
    it asks. Nothing where there are no words to compare."""
    return (found.speaker, found.trust, stems, count_negations(text), asks(text)) if stems else None


def validate_scope(
    agent_id: str,
    kinds: Iterable[ItemKind],
    since: datetime | None,
    until: datetime | None,
    as_of: datetime | None,
) -> Scope:
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InputError(f"The kinds cannot be {kinds!r:.200}. Give a list of them.")
    wanted = tuple(kinds)
    unknown = [kind for kind in wanted if kind not in ITEM_KINDS]
    if unknown:
        raise InputError(f"{unknown[0]!r:.200} is no kind. Use some of: {', '.join(ITEM_KINDS)}.")
    for name, moment in (("since", since), ("until", until), ("as_of", as_of)):
        if moment is not None:
            validate_time(moment, name)
    return Scope(agent_id, wanted, since, until, as_of)
