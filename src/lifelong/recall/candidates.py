"""The candidates of a question: items that hold its words or are near it in meaning, with all that ranking needs.

No index is kept in memory. Words come from the full-text index, the newest items with each; meaning from the store
of vectors. Then one query reads the rows of the candidates, as they are now: what was hidden, ended or pinned
since counts at once, and what was stored a moment ago is found by its words.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.collect.history import History
from lifelong.errors import StorageCorrupt, StorageError
from lifelong.recall.analyzer import SECRET, query_stems
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_worker import IndexWorker
from lifelong.recall.index_writer import text_of
from lifelong.recall.items import FOUND_COLUMNS, FoundItem, Items, found_item, is_derived
from lifelong.recall.query import ParsedQuery, QueryWord
from lifelong.recall.repair import IndexRepair
from lifelong.recall.vocabulary import Vocabulary, may_be_misspelled
from lifelong.redaction import redact
from lifelong.storage.base import Database, Row, Transaction
from lifelong.text.names import NAMELESS
from lifelong.text.role_play import Plays
from lifelong.text.words import fold
from lifelong.types import ITEM_KINDS, PROVENANCES, ItemKind, from_micros, to_micros
from lifelong.vectors.base import VectorFilter

log = logging.getLogger("lifelong.recall")

Places: TypeAlias = NDArray[np.intp]
"""Places of candidates in the columns."""
Numbers: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
MAX_LOOKED_UP_WORDS = 12  # of a question
FIRST_POSTINGS = 500  # items that are looked up for each word, the newest
MAX_POSTINGS = 5_000  # and for the rarest word
MAX_COMMON_WORDS = 3  # of those with more, the rarest, which are looked up together
MAX_COMPARED = 2_000  # items that pass a filter, whose words are compared one by one
MIN_SIZE = 100  # items that a memory is taken to have, at least, where the rarity of a word is told
ENOUGH = 0.75  # share of the candidates asked for that must pass the filter, or more are read
MAX_ROUNDS = 4  # of reading more, four times as many each
_RECORD = ITEM_KINDS.index("record")
RAREST_CANDIDATES = 20  # that hold the rarest word of a question, at least
MEAN_DAMPING = 10  # items' worth of trust in a mean of zero


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What a search is limited to; by default nothing. `as_of` a past time: what was known then."""

    agent_id: str = ""
    kinds: tuple[ItemKind, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None

    @property
    def of_vectors(self) -> VectorFilter:
        """What of it does not change about an item."""
        since = to_micros(self.since) if self.since else None
        ends = [to_micros(self.until)] if self.until else []
        ends += [to_micros(self.as_of) + 1] if self.as_of else []
        return VectorFilter(self.kinds, self.agent_id, since, min(ends) if ends else None)


class Corpus(NamedTuple):
    """What is known of all items of an owner: about how many there are, the first and the newest id, who made the
    vectors in use, their mean, who speaks, and where people play parts."""

    size: int
    first: int
    newest: int
    identity: str
    mean: Numbers
    speakers: Sequence[str]
    plays: Plays

    @property
    def named(self) -> dict[str, frozenset[str]]:
        """For each word of a speaker's name, the speakers who have it."""
        named: dict[str, frozenset[str]] = {}
        for name in self.speakers:
            for word in fold(name).split():
                if word not in NAMELESS:
                    named[word] = named.get(word, frozenset()) | {name}
        return named


def read_corpus(tx: Transaction, owner: str, waiting: int = 0) -> Corpus:
    """Return what is known of an owner's items; so many of them wait for a vector."""
    states, items = IndexStates(tx), Items(tx, owner)
    state = states.get(owner)
    identity = states.identity(state.embedder_id)
    mean = np.zeros(int(identity.rpartition("/")[2] or 0), np.float32)
    if state.mean:
        mean += np.frombuffer(state.mean, "<f4") * (state.mean_of / (state.mean_of + MEAN_DAMPING))
    return Corpus(
        *(state.size + waiting, state.first_item or 1, items.newest_id(), identity, mean),
        *(items.speakers(), items.plays()),
    )


class Postings(NamedTuple):
    """The newest items that hold a stem, and in how many it occurs: exactly, where these are all. Items that were
    made from a record are not among these: they are `derived`."""

    ids: Integers
    total: int
    derived: Integers


class Candidates:
    """The candidates of a question, each at its place in columns: `id`, `kind` and `trust` (as numbers), the times
    `at` said, `since` known from, `hidden_at`, `until` no longer true from, `end_known`; `by` the record that
    ended it (0: none), the `record` it comes from (0: none), its `length` in content words, `flags`, `feedback`;
    and in lists `ref`, `container`, `agent_id`, `speaker` and `stems`. `vectors` has their vectors at length 1,
    zeros where there is none, and `mean` that of all items. `counted` are those that a search finds where
    nothing is made from records: whatever compares candidates with all of them goes by these."""

    def __init__(
        self,
        corpus: Corpus,
        postings: Mapping[int, Postings],
        rows: Sequence[Row],
        vectors: Numbers,
        counted: Set[int],
    ) -> None:
        self._rows = rows
        self._texts: dict[int, str] = {}
        self._postings = postings
        self.corpus = corpus
        self.size = max([corpus.size, len(counted), *(one.total for one in postings.values())])
        self.mean = corpus.mean
        self.vectors = vectors
        ids, kinds, refs, _, at, trusts, speakers, agents, _, records, containers = _columns(rows, 0, 11)
        since, until, end_known, hidden, feedback, _, by = _columns(rows, 11, 18)
        stems, lengths, flags = _columns(rows, FOUND_COLUMNS, FOUND_COLUMNS + 3)
        self.id = np.array(ids, np.int64)
        self.counted = np.flatnonzero(np.isin(self.id, np.array([*counted], np.int64)))
        self.kind = np.array([*map(ITEM_KINDS.index, kinds)], np.uint8)
        self.trust = np.array([*map(PROVENANCES.index, trusts)], np.uint8)
        self.at, self.since = np.array(at, np.int64), np.array(since, np.int64)
        self.hidden_at, self.until = _times(hidden, NEVER), _times(until, NEVER)
        self.end_known, self.by, self.record = _times(end_known, 0), _times(by, 0), _times(records, 0)
        self.length, self.flags = np.array(lengths, np.int64), np.array(flags, np.int64)
        self.feedback = np.array(feedback, np.float32)
        self.ref, self.container, self.agent_id, self.speaker = refs, containers, agents, speakers
        packed = [one if isinstance(one, bytes) and len(one) % 4 == 0 else b"" for one in stems]
        every = np.frombuffer(b"".join(packed), "<u4")
        ends = np.cumsum([len(one) // 4 for one in packed]).tolist()
        self.stems = [every[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def __len__(self) -> int:
        return len(self._rows)

    def forget_ends_after(self, known: int) -> None:
        """Let hold what was not known to have ended at a time in the past."""
        later = self.end_known > known
        self.until[later], self.by[later] = NEVER, 0

    def count(self, word: QueryWord) -> int:
        """Return in how many of the owner's items a word of the question occurs; an estimate for common ones."""
        return max((self._postings[stem].total for stem in word.stems if stem in self._postings), default=0)

    def holds(self, words: Sequence[QueryWord]) -> Numbers:
        """Return a row for each candidate: 1 for each of these words that it holds."""
        lengths = [len(one) for one in self.stems]
        row = np.repeat(np.arange(len(lengths)), lengths)
        every = np.concatenate([np.zeros(0, np.uint32), *self.stems])
        table = np.zeros((len(lengths), len(words)), np.float32)
        for column, word in enumerate(words):
            for stem in word.stems:
                table[row[every == stem], column] = 1
        return table

    def said_by(self, names: Set[str]) -> NDArray[np.bool_]:
        return np.array([name in names for name in self.speaker], np.bool_)

    def is_played(self, place: int) -> bool:
        """Return whether a record was said in a part, or begins a turn that was."""
        at = from_micros(int(self.at[place]))
        return self.corpus.plays.hold(str(self._rows[place][8]), int(self.record[place]), at)

    def found(self, place: int) -> FoundItem:
        """Return a candidate as its row has it."""
        return found_item(self._rows[place][:FOUND_COLUMNS])

    def text(self, place: int) -> str:
        """Return the text of a candidate, without secrets."""
        if (known := self._texts.get(place)) is None:
            row = self._rows[place]
            known = text_of(row[19], row[20] or "") if row[19] else str(row[3])
            known = self._texts[place] = redact(known) if self.flags[place] & SECRET else known
        return known


def _columns(rows: Sequence[Row], start: int, end: int) -> list[list[object]]:
    return [[row[column] for row in rows] for column in range(start, end)]


def _times(values: Sequence[object], missing: int) -> Integers:
    return np.array([missing if value is None else value for value in values], np.int64)


class CandidateReader:
    """Collect the candidates of questions to one owner's items."""

    def __init__(self, database: Database, owner: str, index_worker: IndexWorker, repair: IndexRepair) -> None:
        self._database = database
        self._owner = owner
        self._index_worker = index_worker
        self._repair = repair

    def postings(self, corpus: Corpus, parsed: ParsedQuery) -> dict[int, Postings]:
        """Return the newest items of each of the question's words. Nothing is found by words for the moment where
        the full-text index is damaged; it is made again."""
        stems = list(dict.fromkeys(stem for one in parsed.words[:MAX_LOOKED_UP_WORDS] for stem in one.stems))
        try:
            return self._database.read(lambda tx: self._postings(tx, corpus, stems))
        except StorageError as error:
            if not self._repair.repair_fulltext(error):
                raise
            return {}

    def corrected(self, parsed: ParsedQuery, postings: Mapping[int, Postings]) -> ParsedQuery:
        """Return a look-up with words that differ by one slip in the place of those that no item holds."""
        unknown = [
            one
            for one in parsed.words[:MAX_LOOKED_UP_WORDS]
            if may_be_misspelled(one.word)
            and not any(stem in postings and postings[stem].total for stem in one.stems)
        ]
        if not unknown:
            return parsed

        def near(tx: Transaction) -> dict[str, list[str]]:
            return {one.word: Vocabulary(tx, self._owner).near(one.word) for one in unknown}

        meant = self._database.read(near)
        words = [
            one._replace(stems=tuple(stem for word in meant[one.word] for stem in query_stems(word)))
            if meant.get(one.word)
            else one
            for one in parsed.words
        ]
        return replace(parsed, words=words)

    def _postings(self, tx: Transaction, corpus: Corpus, stems: Sequence[int]) -> dict[int, Postings]:
        items, found = Items(tx, self._owner), {}

        def holding(stems: Sequence[int], limit: int, *, derived: bool = False) -> Integers:
            return np.array(items.newest_holding(stems, limit, derived=derived), np.int64)

        for stem in stems:
            ids = holding([stem], FIRST_POSTINGS)
            derived = holding([stem], FIRST_POSTINGS, derived=True)
            found[stem] = Postings(ids, _estimate(corpus, ids, FIRST_POSTINGS), derived)
        rarest = sorted(stems, key=lambda stem: found[stem].total)
        common = [stem for stem in rarest if len(found[stem].ids) == FIRST_POSTINGS]
        if common and common[0] == rarest[0]:
            ids = holding(common[:1], MAX_POSTINGS)
            found[common[0]] = found[common[0]]._replace(ids=ids, total=_estimate(corpus, ids, MAX_POSTINGS))
        if len(common) > 1:
            together = holding(common[:MAX_COMMON_WORDS], FIRST_POSTINGS)
            for stem in common[:MAX_COMMON_WORDS]:
                ids = found[stem].ids
                older = together[together < ids[-1]]  # the newer ones are among them
                found[stem] = found[stem]._replace(ids=np.concatenate([ids, older]))
        return found

    def collect(
        self,
        corpus: Corpus,
        parsed: ParsedQuery,
        postings: Mapping[int, Postings],
        query: Numbers,
        filters: SearchFilter,
        pool: int,
    ) -> Candidates:
        """Return the candidates that pass the filter: about `pool` by words, and as many by meaning; of what was
        made from records as many again; and the records that others of them come from or were superseded by. Where
        many do not pass, more are read."""
        only = filters.of_vectors
        if not _lets_most_pass(only):
            narrow = self._database.read(lambda tx: self._narrow(tx, [*postings], only, pool))
            none = np.zeros(0, np.int64)
            postings = {stem: one._replace(ids=narrow[stem], derived=none) for stem, one in postings.items()}
        by_words = self._by_words(corpus, parsed, postings)
        made = self._by_words(corpus, parsed, postings, derived=True)
        vectors, partition = None, None
        if query.any():
            vectors = self._index_worker.vectors(self._owner)
            partition = self._index_worker.partition(self._owner, corpus.identity)
        known, count = dict[int, Row](), pool
        near, passing, own = list[int](), set[int](), set[int]()
        with_derived = bool(filters.kinds) and "record" not in filters.kinds
        for _ in range(MAX_ROUNDS):
            sought = 2 * count if made else count
            near = vectors.nearest(partition, query, sought, only) if vectors and partition else []
            new = [id_ for id_ in dict.fromkeys([*by_words[:count], *made[:count], *near]) if id_ not in known]
            known |= self._database.read(lambda tx, new=new: Items(tx, self._owner).rows(new))  # type: ignore[misc]
            passing = {id_ for id_, row in known.items() if _passes(row, filters)}
            own = {id_ for id_ in passing if with_derived or not is_derived(known[id_][1], known[id_][9])}
            if _enough(by_words[:count], own, pool, count) and _enough(near, own, pool, sought):
                break
            count *= 4
        counted = {*_first(by_words[:count], own, pool), *_first(near, own, pool)}
        others = passing - own
        passing = counted | {
            *_first([*made[:count], *by_words[:count]], others, pool),
            *_first(near, others, pool),
        }
        records = {str(known[id_][column]) for id_ in passing for column in (9, 17) if known[id_][column]}
        records -= {known[id_][2] for id_ in passing if known[id_][1] == "record"}
        if records:
            more = self._database.read(lambda tx: self._records(tx, records))
            known |= more
            passing |= {id_ for id_, row in more.items() if _passes(row, filters)}
        rows = [known[id_] for id_ in sorted(passing)]
        ids = [row[0] for row in rows]
        found = (
            vectors.get(partition, ids)
            if vectors and partition
            else np.zeros((len(ids), len(corpus.mean)), np.float32)
        )
        return Candidates(corpus, postings, rows, found, counted)

    def _records(self, tx: Transaction, record_ids: Set[str]) -> dict[int, Row]:
        items = Items(tx, self._owner)
        return items.rows(items.ids_of("record", record_ids))

    def previous(self, candidates: Candidates, places: Places) -> list[str]:
        """Return for each of these candidates what was said just before it in its session; empty where nothing
        was."""
        is_record = (candidates.kind[places] == _RECORD).tolist()
        records = [int(record) for record in candidates.record[places][is_record]]
        try:
            texts = self._database.read(lambda tx: History(tx).texts_before(records)) if records else {}
        except (StorageCorrupt, UnicodeDecodeError) as error:
            log.warning("a search goes without what was said before its candidates: %s", error)
            texts = {}
        found = {record: redact(text_of(*row)) for record, row in texts.items()}
        return [
            found.get(record, "") if itself else ""
            for record, itself in zip(candidates.record[places].tolist(), is_record, strict=True)
        ]

    def _narrow(self, tx: Transaction, stems: Sequence[int], only: VectorFilter, pool: int) -> dict[int, Integers]:
        """Return the newest items of each stem that pass the filter. Where few pass, their stems are compared: to
        look at all items with a common word would take longer."""
        items = Items(tx, self._owner)
        if (few := items.passing(only, MAX_COMPARED)) is not None:
            every = np.frombuffer(b"".join(packed for _, packed in few if len(packed) % 4 == 0), "<u4")
            whose = np.repeat(
                np.array([id_ for id_, _ in few], np.int64),
                [len(packed) // 4 if len(packed) % 4 == 0 else 0 for _, packed in few],
            )
            return {stem: np.sort(whose[every == stem])[::-1] for stem in stems}
        return {stem: np.array(items.holding([stem], 4 * pool, only), np.int64) for stem in stems}

    def _by_words(
        self, corpus: Corpus, parsed: ParsedQuery, postings: Mapping[int, Postings], *, derived: bool = False
    ) -> list[int]:
        """Return the items that hold most of the question's rare words first, of equals the newest; before these
        some that hold the rarest, however common words they are that others hold together. `derived`: those that
        were made from records."""
        size = max([corpus.size, *(one.total for one in postings.values())], default=0)
        each = []
        for one in parsed.words:
            found = [postings[stem] for stem in one.stems if stem in postings]
            total = max((some.total for some in found), default=0)
            if total or derived:
                held = np.concatenate([np.zeros(0, np.int64), *(some[2 if derived else 0] for some in found)])
                # Asked for the ids alone, it imports masked arrays: a third of numpy's own import.
                ids = np.unique(held, return_index=True)[0]
                each.append((one.weight * rarity(total, size), ids))
        ids = np.concatenate([np.zeros(0, np.int64), *(found for _, found in each)])
        which, where = np.unique(ids, return_inverse=True)
        scores = np.bincount(
            where, np.repeat([weight for weight, _ in each], [len(found) for _, found in each]), len(which)
        )
        best = which[np.lexsort((-which, -scores))]
        rarest = max(each, key=lambda one: one[0])[1] if each else best
        few: list[int] = best[np.isin(best, rarest)][:RAREST_CANDIDATES].tolist()
        return list(dict.fromkeys([*few, *best.tolist()]))


def rarity(count: int, size: int) -> float:
    """Return how much a word counts that occurs in so many of `size` items. A few items tell little about which
    words are common: in a memory with one, its words would count nothing."""
    return float(np.log(1 + (max(max(size, MIN_SIZE) - count, 0) + 0.5) / (count + 0.5)))


def _estimate(corpus: Corpus, ids: Integers, limit: int) -> int:
    """Return in how many items a word occurs: the newest `limit` of them cover a range of ids, and before it they
    are taken to be as dense."""
    if len(ids) < limit:
        return len(ids)
    newest = max(corpus.newest, int(ids[0]))
    share = (newest - int(ids[-1]) + 1) / max(newest - corpus.first + 1, 1)
    return max(len(ids), min(round(len(ids) / share), corpus.size))


def _first(ids: Iterable[int], among: Set[int], count: int) -> list[int]:
    return [id_ for id_ in ids if id_ in among][:count]


def _enough(ids: Sequence[int], passing: Set[int], pool: int, count: int) -> bool:
    """Return whether there are enough that pass, or no more to read."""
    return len(ids) < count or sum(id_ in passing for id_ in ids) >= ENOUGH * pool


def _lets_most_pass(only: VectorFilter) -> bool:
    """Return whether most items pass a filter: most are records. Then it is enough to look at what was found."""
    return only._replace(kinds=()) == VectorFilter() and (not only.kinds or "record" in only.kinds)


def _passes(row: Row, filters: SearchFilter) -> bool:
    """Return whether it passes the filter, and is not hidden."""
    _, kind, _, _, at, _, _, agent_id, _, _, _, since, _, _, hidden_at, *_ = row
    then = to_micros(filters.as_of) if filters.as_of else None
    if hidden_at is not None and (then is None or hidden_at <= then):
        return False
    if then is not None and (since > then or at > then):
        return False
    return (
        (not filters.agent_id or agent_id == filters.agent_id)
        and (not filters.kinds or kind in filters.kinds)
        and (not filters.since or at >= to_micros(filters.since))
        and (not filters.until or at < to_micros(filters.until))
    )
