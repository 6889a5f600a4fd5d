"""Search: candidates by words and by meaning, ranked, near-copies folded into one."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial

import numpy as np

from lifelong.collect.agents import Agents
from lifelong.errors import InputError, LifelongError
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.candidates import (
    CandidateReader,
    Candidates,
    Corpus,
    Numbers,
    Postings,
    SearchFilter,
    read_corpus,
)
from lifelong.recall.grouping import confidences, group_candidates
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_worker import IndexWorker
from lifelong.recall.index_writer import text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.query import MAX_PARSED_CHARS, ParsedQuery, parse_query
from lifelong.recall.ranking import Ranked, rank
from lifelong.recall.repair import IndexRepair
from lifelong.recall.word_match import WordEmbedder
from lifelong.redaction import redact, redact_start
from lifelong.storage.base import Database, Transaction
from lifelong.types import ITEM_KINDS, Clock, Hit, ItemKind, to_micros
from lifelong.validation import validate_count, validate_range, validate_text, validate_time

log = logging.getLogger("lifelong.recall")

MIN_CANDIDATES = 80  # by words, and as many by meaning
CANDIDATES_PER_HIT = 3  # if that makes more
HALF_WEIGHT_SHARE = 0.1  # a word in this share of all items counts half in the question's vector
QUERY_CENTRING = 0.5  # how much of the mean is taken off a question: it is not like the texts, so not all
MAX_INLINE_EMBEDDED = 64  # items without a vector that a search embeds itself, where no index worker runs
MAX_COUNTED_WAITING = 1_000  # items without a vector that are counted
RETRY_EMBEDDER_SECONDS = 30.0  # before an embedder that failed is asked again: no search waits for it
MAX_HITS = 1_000
MAX_SOURCES = 5  # of a hit
MAX_QUERY_CHARS = 1_000_000


class Searcher:
    """Search one owner's items. Safe to use from many threads."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        index_worker: IndexWorker,
        repair: IndexRepair,
        word_embedder: WordEmbedder,
        zone: tzinfo = UTC,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._index_worker = index_worker
        self._reader = CandidateReader(database, owner, index_worker, repair)
        self._word_embedder = word_embedder
        self._zone = zone
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
        question = redact_start(validate_text(question, "The question", MAX_QUERY_CHARS), MAX_PARSED_CHARS)
        validate_count(top_k, "top_k", 1, MAX_HITS)
        asked = validate_time(filters.as_of or self._clock(), "The time of asking").astimezone(self._zone)
        pool = max(MIN_CANDIDATES, CANDIDATES_PER_HIT * top_k)
        corpus = self._corpus()
        parsed = parse_query(question, asked, corpus.named, self._owner)
        postings = self._reader.postings(corpus, parsed)
        if parsed.is_lookup and (meant := self._reader.corrected(parsed, postings)) is not parsed:
            parsed, postings = meant, self._reader.postings(corpus, meant)
        query = self._vector(corpus, parsed, postings)
        candidates = self._collect(corpus, parsed, postings, query, filters, pool)
        if filters.as_of:
            candidates.forget_ends_after(to_micros(asked))
        previous = partial(self._reader.previous, candidates)
        ranked = rank(candidates, parsed, query, to_micros(asked), self._word_embedder, previous, top_k)
        return self._database.read(lambda tx: self._hits(tx, candidates, ranked, top_k, filters, explain))

    def _collect(
        self,
        corpus: Corpus,
        parsed: ParsedQuery,
        postings: Mapping[int, Postings],
        query: Numbers,
        filters: SearchFilter,
        pool: int,
    ) -> Candidates:
        """Return the candidates; by words only where the store of vectors fails."""
        if query.any():
            try:
                return self._reader.collect(corpus, parsed, postings, query, filters, pool)
            except LifelongError as error:
                self.error = f"Search goes by words only: {error}"
                log.warning("search goes by words only: %s", error)
                query[:] = 0
        return self._reader.collect(corpus, parsed, postings, query, filters, pool)

    def _corpus(self) -> Corpus:
        """Return what is known of all items. Embed a few that wait, if nobody else does."""
        waiting = self._database.read(lambda tx: IndexStates(tx).pending_count(self._owner, MAX_COUNTED_WAITING))
        alone = not (self._index_worker.background.running or self._index_worker.error)
        if alone and 0 < waiting <= MAX_INLINE_EMBEDDED:
            try:
                self._index_worker.embed_pending(self._owner, MAX_INLINE_EMBEDDED)
            except LifelongError as error:
                log.warning("new items are found by their words only: %s", error)
        return self._database.read(lambda tx: read_corpus(tx, self._owner, waiting))

    def _vector(self, corpus: Corpus, parsed: ParsedQuery, postings: Mapping[int, Postings]) -> Numbers:
        """Return the question's vector, centred; zeros where it cannot be embedded."""
        nothing = np.zeros(len(corpus.mean), np.float32)
        active = self._index_worker.find(corpus.identity)
        if not active or time.monotonic() < self._retry_at:
            return nothing
        counts = {}
        for one in parsed.words:
            total = max((postings[stem].total for stem in one.stems if stem in postings), default=0)
            share = total / max(corpus.size, 1)
            counts[one.word] = one.weight * HALF_WEIGHT_SHARE / (HALF_WEIGHT_SHARE + share)
        try:
            raw = active.embed_query(parsed.text, counts)
        except LifelongError as error:
            self.error = f"Search goes by words only: {error}"
            self._retry_at = time.monotonic() + RETRY_EMBEDDER_SECONDS
            return nothing
        self.error = ""
        if not raw.any():
            return nothing
        centred = raw - QUERY_CENTRING * corpus.mean
        return np.asarray(centred / (np.linalg.norm(centred) + 1e-9), np.float32)

    # Hits

    def _hits(
        self,
        tx: Transaction,
        candidates: Candidates,
        ranked: Ranked,
        top_k: int,
        filters: SearchFilter,
        explain: bool,
    ) -> list[Hit]:
        if filters.agent_id:
            Agents(tx).get_row(self._owner, filters.agent_id)  # raises for an unknown one
        hits = []
        groups = group_candidates(candidates, ranked, top_k)
        for group, confidence in zip(groups, confidences(candidates, ranked, groups), strict=True):
            found = [self._known_then(candidates.found(place), filters) for place in group.places]
            sources = tuple(
                hit(tx, self._owner, one, text=candidates.text(place), quoted=bool(ranked.quoted[place]))
                for one, place in list(zip(found, group.places, strict=True))[1 : MAX_SOURCES + 1]
            )
            lead = group.places[0]
            parts = ranked.explain(group.scored, group.score) if explain else None
            quoted = bool(ranked.quoted[lead])
            first = hit(tx, self._owner, found[0], group.score, parts, candidates.text(lead), quoted=quoted)
            newer = None if group.newer is None else hit(tx, self._owner, candidates.found(group.newer))
            hits.append(replace(first, sources=sources, confidence=confidence, newer=newer))
        return hits

    def _known_then(self, found: FoundItem, filters: SearchFilter) -> FoundItem:
        """Return an item without an end that was not known yet at the time of a search in the past."""
        if filters.as_of and found.end_known and found.end_known > filters.as_of:
            return found._replace(until=None)
        return found


def hit(
    tx: Transaction,
    owner: str,
    found: FoundItem,
    score: float = 0.0,
    parts: dict[str, float] | None = None,
    text: str | None = None,
    *,
    quoted: bool = False,
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
        approved_by=found.approved_by,
        quoted=quoted,
    )


def _text(found: FoundItem) -> str:
    return text_of(found.type, found.data) if found.type else found.text


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
    validate_range(since, until)
    return SearchFilter(agent_id, wanted, since, until, as_of)
