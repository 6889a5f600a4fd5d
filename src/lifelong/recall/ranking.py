"""How well a candidate answers a question: a weighted sum of parts, each between about 0 and 1.

    words      the share of the question's words, rare ones counting more, that it holds or comes near
    exact      the share that it holds, best as they are written, where the question is a look-up
    vector     how near it is to the question in meaning
    session    the share of the words that its session holds
    previous   `words` of what was said just before it: a reply is about what it replies to
    speaker    it was said by the person that the question names
    user       it was said by the user, in their own words, where the question is about "I" and "my"
    assistant  it was said by the assistant, where the question asks what that said
    number     it holds a number, where one is asked for
    date       it holds a time, where one is asked for
    when       it was said in, or soon after, the time that the question speaks of
    recent     it is one of the newer candidates
    question   it is itself a question, and says nothing else; not where the question is a look-up
    quoted     it answers in words that are not its speaker's own, or in a part that they play; not in a look-up
    feedback   what people said of it
    ended      it has stopped being true, and is not a record

Whatever compares a candidate with others (which words are rare, how new it is) goes by those that were not made
from records, so that organizing changes no score. `number`, `date` and `when` count only as far as a candidate is
about the question at all. The weights were fitted on all benchmarks at once (docs/recall-figures.md).

Three rules follow the sum. Of two that say something about the same, and are nearly equal, the newer comes first,
unless the question is about the past. What holds every rare word of a look-up never ranks below what holds none.
What replaced something ranks above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lifelong.recall.analyzer import ASSISTANT, DATED, IS_QUESTION, NUMBER, PERSON, text_words
from lifelong.recall.candidates import NEVER, Candidates, Numbers, Places, rarity
from lifelong.recall.query import ParsedQuery
from lifelong.recall.word_match import WordEmbedder, match_words
from lifelong.text.sentences import sentences
from lifelong.text.speech import split_speech
from lifelong.text.standing import is_question
from lifelong.text.time_ranges import Period
from lifelong.types import ITEM_KINDS, PROVENANCES, Confidence, to_micros
from lifelong.vectors.base import have_direction

WEIGHTS: Mapping[str, float] = {
    "words": 5.0,
    "exact": 4.0,
    "vector": 7.2,
    "session": 1.3,
    "previous": 3.5,
    "speaker": 3.5,
    "user": 3.3,
    "assistant": 3.0,
    "number": 1.8,
    "date": 1.9,
    "when": 3.3,
    "recent": 0.9,
    "question": -2.5,
    "quoted": -1.0,
    "feedback": 1.0,
    "ended": -3.0,
}
_ROW = {name: row for row, name in enumerate(WEIGHTS)}
_ABOUT_ROWS = [_ROW["words"], _ROW["vector"]]
SENTENCE_EMBEDDER_FACTORS: Mapping[str, float] = {"vector": 2.0, "words": 0.6, "previous": 0.6}
"""An embedder that reads whole sentences sees more than single words do."""

HALF_SIMILARITY_WORDS = 2.0  # a candidate of this many content words keeps half of its similarity
HALF_LENT_WORDS = 30.0  # what was said before counts half if it has this many
MIN_MATCHED = 100  # candidates, the best by words and vector, whose texts are read word by word
OTHER_FORM_WEIGHT = 0.75  # in a look-up, of another form of a word than the one that is written
MIN_REPLIES = 50  # of these, the best, for which what was said before is read
CANDIDATES_PER_HIT = 2  # if that makes more
MAX_MATCHED_CHARS = 8_000  # of each text
MIN_JUDGED = 20  # candidates, the best, of which it is told whose words they are; more, if more are shown
MAX_JUDGED_CHARS = 4_000  # of each of their texts that are read for it
MAX_WELL_JUDGED = 50  # of more texts than these, only the beginning is read
MAX_BEGINNING_CHARS = 400  # this much of it
FULL_TOPIC_RANK = 10  # the one that is this well placed by its words is fully about the question
TOLD_WITHIN_DAYS = 30.0  # an event is told within about this time after it
DAY_BESIDE_WEIGHT = 0.95  # what a day beside the time counts that a question speaks of
NEAR_TIE = 1.0  # a difference of scores below which the newer of two comes first
TIED_CANDIDATES = 10  # of the best, that are compared with one another
MIN_COMMON_WEIGHT = 3.0  # of the rare words that two share if they are about the same
RARE_SHARE, RARE_COUNT = 0.01, 3  # a word is rare in this share of all items, or in so many
COMMON_RARE_SHARE = 0.05  # and among the candidates
MIN_SUCCESSOR_SHARE = 0.5  # what ends a part of one ranks above it if it is half as much about the question
FAIR_MATCH = 1.6  # below it, one first hit in 7 is right; one question of 20 has no better
FAIR_SENTENCE_MATCH = 2.8  # the same with an embedder that reads sentences
HIGH_MATCH = 6.0  # from here on, about two of three first hits are right
MIN_SHOWN_PART = 5e-4  # of a score, where it is explained
DAY = 86_400_000_000  # microseconds

BUNDLED = "static/"  # how the identity of the bundled embedder begins, which adds up single words

_RECORD, _JOURNAL = (ITEM_KINDS.index(kind) for kind in ("record", "journal"))
_USER = PROVENANCES.index("user")


@dataclass(frozen=True, slots=True)
class Ranked:
    """Places of the candidates, best first; their scores, and the parts of these, a row each. From the match
    `fair` on, a candidate may answer the question. `is_present`: that asks how something is. `quoted` says of each
    candidate whether it is quoted or made up, as far as it is about the question."""

    places: Places
    scores: Numbers
    fair: float
    is_present: bool
    quoted: NDArray[np.bool_]
    _parts: Numbers

    def explain(self, place: int, score: float) -> dict[str, float]:
        """Return the parts of a candidate's score, that of its group; `order` is what rules added or took."""
        parts = dict(zip(WEIGHTS, self._parts[:, place].tolist(), strict=True))
        parts["order"] = score - sum(parts.values())
        return {name: round(part, 3) for name, part in parts.items() if abs(part) >= MIN_SHOWN_PART}

    def confidence(self, place: int) -> Confidence:
        """Return how sure it is that a candidate answers the question, by its match in words and meaning."""
        match = sum(float(self._parts[_ROW[name], place]) for name in ("words", "exact", "vector"))
        return "high" if match >= HIGH_MATCH else "fair" if match >= self.fair else "low"

    def word_match(self, place: int) -> float:
        """Return how much of a candidate's score comes from its words."""
        return float(self._parts[_ROW["words"], place])

    def prefers(self, newer: int, older: int) -> bool:
        """Return whether what seems to have replaced a candidate should stand before it: it is asked how something
        is now, and the newer one is about that as well."""
        about, known = (float(self._parts[_ABOUT_ROWS, place].sum()) for place in (newer, older))
        return self.is_present and about >= MIN_SUCCESSOR_SHARE * known

    def feedback(self, place: int) -> float:
        """Return how much of a candidate's score is what people said of it."""
        return float(self._parts[_ROW["feedback"], place])


def rank(
    candidates: Candidates,
    parsed: ParsedQuery,
    query: Numbers,
    now: int,
    embedder: WordEmbedder,
    previous: Callable[[Places], Sequence[str]],
    top_k: int,
) -> Ranked:
    """Return the candidates by how well they answer the question; `query` is its vector, centred, or zeros.
    `previous` reads what was said before candidates; `top_k` are to be shown."""
    holds = candidates.holds(parsed.words)
    asked = [one.word for one in parsed.words]
    rare = np.array([rarity(candidates.count(one), candidates.size) for one in parsed.words], np.float32)
    weights = rare * np.array([one.weight for one in parsed.words], np.float32)
    known_words = np.array([candidates.count(one) > 0 for one in parsed.words], np.bool_)
    exact = _share(holds, weights)
    parts = np.zeros((len(WEIGHTS), len(candidates)), np.float32)

    is_bundled = candidates.corpus.identity.startswith(BUNDLED) or not query.any()
    factors = {} if is_bundled else SENTENCE_EMBEDDER_FACTORS

    def put(name: str, values: NDArray[np.generic]) -> None:
        parts[_ROW[name]] = WEIGHTS[name] * factors.get(name, 1.0) * np.asarray(values, np.float32)

    put("vector", _similarity(candidates, query))
    best = _best_of_each(
        candidates, parts[_ROW["vector"]] + WEIGHTS["words"] * exact, max(MIN_MATCHED, CANDIDATES_PER_HIT * top_k)
    )
    texts = [text_words(candidates.text(place)[:MAX_MATCHED_CHARS]) for place in best.tolist()]
    matched = holds.copy()
    matched[best] = np.maximum(holds[best], match_words(embedder, asked, texts))
    words = _share(matched, weights)
    put("words", words)
    if parsed.is_lookup:
        as_written = np.zeros_like(holds)
        for place, text in zip(best.tolist(), texts, strict=True):
            as_written[place] = [one.word in text for one in parsed.words]
        put("exact", _share(np.where(as_written, 1.0, OTHER_FORM_WEIGHT) * holds, weights))
    else:
        put("question", candidates.flags & IS_QUESTION != 0)
    put("session", _of_session(candidates, holds, weights * known_words))
    put("speaker", candidates.said_by(parsed.people) if parsed.people else np.zeros(len(candidates)))
    put("user", (candidates.flags & PERSON != 0) & parsed.of_user)
    put("assistant", (candidates.flags & ASSISTANT != 0) & parsed.of_assistant)
    about = _about(words, candidates.counted)
    put("number", (candidates.flags & parsed.wants & NUMBER != 0) * about)
    put("date", (candidates.flags & parsed.wants & DATED != 0) * about)
    if parsed.period:
        put("when", _when(parsed.period, candidates.at) * about)
    put("recent", _recency(candidates.at, candidates.counted))
    put("ended", (candidates.until <= now) & (candidates.kind != _RECORD))
    quoted, below, judged = np.zeros((3, len(candidates)), np.bool_)

    def judge() -> None:
        """Tell whose words the best are, also those that come to be among them as others fall."""
        while True:
            first = candidates.counted[heaviest(parts.sum(axis=0)[candidates.counted], max(MIN_JUDGED, top_k))]
            new = first[~judged[first]]
            if not len(new):
                return
            for place in new.tolist():
                chars = MAX_JUDGED_CHARS if judged.sum() < MAX_WELL_JUDGED else MAX_BEGINNING_CHARS
                judged[place] = True
                quoted[place], below[place] = _judged(candidates, place, chars, asked, weights, embedder)
            if not parsed.is_lookup:
                put("quoted", below)
                parts[_ROW["user"]][below] = 0

    judge()
    best = _best_of_each(candidates, parts.sum(axis=0), max(MIN_REPLIES, CANDIDATES_PER_HIT * top_k))
    texts = [text_words(text[:MAX_MATCHED_CHARS]) for text in previous(best)]
    found = match_words(embedder, asked, texts)
    lengths = np.array([len(text) for text in texts], np.float32)
    before = np.zeros(len(candidates), np.float32)
    lacking = np.maximum(found - matched[best], 0)
    before[best] = _share(lacking, weights) * HALF_LENT_WORDS / (HALF_LENT_WORDS + lengths)
    put("previous", before)
    judge()
    scores = np.asarray(parts.sum(axis=0), np.float32)
    if not (parsed.is_past or parsed.is_lookup):
        scores = _newer_first(candidates, parsed, scores, below)
    put("feedback", candidates.feedback)
    scores = scores + parts[_ROW["feedback"]]
    if parsed.is_lookup:
        scores = _rare_words_first(candidates, parsed, holds, scores)
    scores = _above_superseded(candidates, parts[_ROW["words"]] + parts[_ROW["vector"]], scores)
    order = np.argsort(-scores, kind="stable")
    fair = FAIR_MATCH if is_bundled else FAIR_SENTENCE_MATCH
    return Ranked(order, scores, fair, parsed.is_present, quoted, parts)


def heaviest(weights: NDArray[np.floating], k: int) -> Places:
    """Return the indices of the `k` heaviest, heaviest first, of equals the first."""
    if k < len(weights):
        heavy = np.flatnonzero(weights >= np.partition(weights, -k)[-k])
        return heavy[np.argsort(-weights[heavy], kind="stable")[:k]]
    return np.argsort(-weights, kind="stable")


def _best_of_each(candidates: Candidates, weights: Numbers, k: int) -> Places:
    """Return the places of the `k` heaviest that count, and of as many others."""
    others = np.delete(np.arange(len(candidates)), candidates.counted)
    return np.concatenate([some[heaviest(weights[some], k)] for some in (candidates.counted, others)])


# The parts


def _share(table: Numbers, weights: Numbers) -> Numbers:
    """Return for each row the share of the weights that it has."""
    held = np.einsum("ij,j->i", table, weights)  # `@` may warn of an invalid value though all are finite
    return np.asarray(held / max(float(weights.sum()), 1e-9), np.float32)


def _similarity(candidates: Candidates, query: Numbers) -> Numbers:
    """Return how near each is to the question, its vector centred on the mean of all items. Short ones are near by
    chance."""
    if not query.any() or not len(candidates):
        return np.zeros(len(candidates), np.float32)
    rows = candidates.vectors - candidates.mean
    near = rows @ query / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
    near = np.clip(np.where(have_direction(candidates.vectors), near, 0), 0, 1)
    return np.asarray(near * candidates.length / (candidates.length + HALF_SIMILARITY_WORDS), np.float32)


def _of_session(candidates: Candidates, holds: Numbers, weights: Numbers) -> Numbers:
    """Return the share of the words that the candidates of each one's session hold together."""
    numbers: dict[str, int] = {}
    keys = [str(one) or f"#{at}" for at, one in enumerate(candidates.container)]  # without one, it stands alone
    session = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)
    together = np.zeros((len(numbers), holds.shape[1]), np.float32)
    np.maximum.at(together, session, holds)
    return _share(together, weights)[session]


def _about(words: Numbers, counted: Places) -> Numbers:
    """Return how much each is about the question, in full from the tenth best on."""
    if not len(counted):
        return np.ones_like(words)
    nth = min(FULL_TOPIC_RANK, len(counted))
    tenth = float(np.partition(words[counted], -nth)[-nth])
    return np.asarray(np.clip(words / max(tenth, 1e-9), 0, 1), np.float32)


def _recency(at: NDArray[np.int64], counted: Places) -> Numbers:
    """Return the share of the candidates that are older."""
    return np.asarray(np.searchsorted(np.sort(at[counted]), at) / max(len(counted), 1), np.float32)


def _when(asked: Period, at: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return 1 within the time, a little less a day before or after it, and less and less after that."""
    start, end = (to_micros(edge) for edge in asked)
    late = DAY_BESIDE_WEIGHT * np.clip(1 - (at - end - DAY) / (TOLD_WITHIN_DAYS * DAY), 0, 1)
    return np.where(at < start - DAY, 0, np.where((at >= start) & (at < end), 1, late))


def _judged(
    candidates: Candidates, place: int, chars: int, words: Sequence[str], weights: Numbers, embedder: WordEmbedder
) -> tuple[bool, bool]:
    """Return whether a place, of whose text so much is read, is quoted or made up: its speaker plays a part, also
    in the turn that a journal line summarizes, or states nothing themselves, or less of what is asked for than
    others do in their words; and whether it answers so, since the speaker's own words hold no more of the
    question."""
    is_persons = candidates.kind[place] == _RECORD and candidates.trust[place] == _USER
    if (is_persons or candidates.kind[place] == _JOURNAL) and candidates.is_played(place):
        return True, True
    if not is_persons:
        return False, False
    said = split_speech(candidates.text(place)[:chars], str(candidates.speaker[place]))
    if not said.others:
        return False, False
    own, others = _share(match_words(embedder, words, [text_words(one) for one in said]), weights).tolist()
    is_quoted = others > own or all(map(is_question, sentences(said.own)))
    return is_quoted, is_quoted and others >= own


# The rules


def _newer_first(
    candidates: Candidates, parsed: ParsedQuery, scores: Numbers, quoted: NDArray[np.bool_]
) -> Numbers:
    """Lift the newer of two to the older one's score where they share rare words and are nearly tied, unless it is
    quoted and the older one is not."""
    counted = candidates.counted
    best = counted[heaviest(scores[counted], TIED_CANDIDATES)]
    asked = {stem: candidates.count(one) for one in parsed.words for stem in one.stems}
    counts = Counter(stem for place in counted.tolist() for stem in candidates.stems[place].tolist())
    most = max(RARE_COUNT, COMMON_RARE_SHARE * len(counted))
    stems = {int(place): set(candidates.stems[place].tolist()) for place in best}
    scores = scores.copy()
    for newer in best[np.lexsort((candidates.id[best], candidates.at[best]))].tolist():
        for older in best.tolist():
            behind = scores[older] - scores[newer]
            if candidates.at[older] >= candidates.at[newer] or not 0 < behind <= NEAR_TIE:
                continue
            if quoted[newer] and not quoted[older]:
                continue
            shared = stems[older] & stems[newer]
            weight = sum(rarity(asked[stem], candidates.size) for stem in shared & asked.keys())
            weight += sum(
                rarity(counts[stem], len(counted)) for stem in shared - asked.keys() if counts[stem] <= most
            )
            if weight >= MIN_COMMON_WEIGHT:
                scores[newer] = scores[older] + 1e-3
    return scores


def _rare_words_first(candidates: Candidates, parsed: ParsedQuery, holds: Numbers, scores: Numbers) -> Numbers:
    """Lift what holds every rare word of the question above what holds none."""
    most = max(RARE_COUNT, RARE_SHARE * candidates.size)
    rare = [at for at, one in enumerate(parsed.words) if 0 < candidates.count(one) <= most and one.weight == 1]
    if not rare or not len(scores):
        return scores
    held = holds[:, rare].sum(axis=1)
    every, none = held == len(rare), held == 0
    none[np.delete(np.arange(len(none)), candidates.counted)] = False
    if not every.any() or not none.any():
        return scores
    short = float(scores[none].max() - scores[every].min()) + 1e-3
    return np.where(every, scores + short, scores) if short > 0 else scores


def _above_superseded(candidates: Candidates, topic: Numbers, scores: Numbers) -> Numbers:
    """Lift the record that ended a candidate above it, or else the best one made of that record; where it ended a
    part only, if it is about the question as well. The oldest end comes first, so that of several the last word
    ranks first."""
    by = candidates.by
    superseded = np.flatnonzero(by)
    if not len(superseded):
        return scores
    order = np.lexsort((scores, candidates.kind == _RECORD))
    made_of = dict(zip(candidates.record[order].tolist(), order.tolist(), strict=True))
    lifted = scores.copy()
    for at in superseded[np.argsort(by[superseded], kind="stable")]:
        newer = made_of.get(int(by[at]))
        if newer is not None and (
            candidates.until[at] != NEVER or topic[newer] >= MIN_SUCCESSOR_SHARE * topic[at]
        ):
            lifted[newer] = max(lifted[newer], lifted[at] + 1e-3)
    return lifted
