"""Finds the durable statements of a transcript by rule.

A record is split into sentences; each is trimmed, dated, retold in the third person and scored. The best sentences
of a record make a fact; the best facts are kept, up to a share of the length of the transcript.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lifelong.organize.facts import Source
from lifelong.organize.organizer import Transcript
from lifelong.organize.rules.features import DOMAINS
from lifelong.organize.rules.requests import (
    answered,
    as_standing_request,
    intent,
    is_short_answer,
    is_standing_request,
)
from lifelong.organize.rules.salience import (
    MIN_SALIENCE,
    Candidate,
    Category,
    category,
    combined,
    failure_reason,
    is_about_user,
    is_agent_report,
    is_own_action,
    is_plain_figure,
    is_request,
    joined_text,
    photo_candidate,
    salience,
    separate,
)
from lifelong.organize.rules.sentences import (
    information,
    informative_clauses,
    own_words,
    prose,
    trimmed,
    with_apostrophes,
    without_captions,
)
from lifelong.organize.rules.speakers import Subjects, Utterance, find_subjects, find_utterances, speaker_names
from lifelong.organize.rules.third_person import PRONOUN_START, EarlierSentence, resolve_pronoun, third_person
from lifelong.redaction import has_secret
from lifelong.text.dates import with_absolute_dates
from lifelong.text.languages import is_foreign, is_foreign_standing_request, is_worth_keeping
from lifelong.text.sentences import sentences
from lifelong.types import ToolResult

KEPT_CATEGORIES = frozenset(("preferences", "decisions", "lessons"))
MIN_ROOM_CHARS = 900
DENSITY = 0.37  # the length of the facts, with citations, over that of the transcript
MAX_SENTENCE_CHARS = 400  # longer text was pasted
_CITATION = len(" [r1234]\n\n")
_ANSWER_BONUS = 2.0  # for an answer, beyond its words
_ANSWERS_BONUS, _ASKS_MALUS = 3.0, -1.0  # for a record that answers, and for one that asks
_PASTED_CHARS = 1_500  # a longer message is partly pasted
_TASK_CHARS = 600  # a longer message describes a task
_MAX_DATA_FACTS = 2  # from one tool result
_SENTENCES_REMEMBERED = 12  # to find whom "she" means
MAX_RECORDS = 3  # of one fact

_CORRECTS = re.compile(r"(?:no|actually|correction|sorry|wait)\b[, ]", re.IGNORECASE)
_CORRECTS_PLAINLY = re.compile(
    r"(?:(?:no|oh|oops|wait|sorry|actually|hmm)\b[,.!: ]+)*"
    r"(?:correction|(?:wait|no|sorry|oops), (?:actually|no|sorry|wait|i)\b|i (?:misspoke|meant|was wrong)"
    r"|scratch that)",
    re.IGNORECASE,
)
_STATE = re.compile(r"(?:the|my|our|i am|i'm)\b(?: [\w'-]+){1,6}\Z", re.IGNORECASE)
_LEADING_DATE = re.compile(
    r"((?:On|In|Around) [^,]{3,36} \d{4}),? (?=(?:I|we)\b)"
    r"((?:(?!, (?:(?:and|but|so) )?(?:I|we|it|he|she|they|the|my|our|though|which|because|but)\b)[^;:])+)",
    re.IGNORECASE,
)
_MIDDLE_DATE = re.compile(r"\b((?:I|we)(?:'ve)?) (around [A-Z][a-z]+ \d{4}) ([^,;]+)", re.IGNORECASE)
_ONLY_DATE = re.compile(r"(?:(?:on|in|around)\b[\w ]*|\d{1,2} [A-Z]\w+) \d{4}", re.IGNORECASE)
_ASKS_FOR = re.compile(
    r"(?:\w+[:,] )?please\b|.*, please\b|(?:move|send|put|bring|give|tell|ask|call|remind|book|check|show)"
    r" (?:it|him|her|them|that|this|the|me|us|my|our)\b",
    re.IGNORECASE,
)
_ASKING = (
    "can|could|would|will|do|does|did|don't|what|how|which|where|when|who|why|any|is|are|isn't|was|were|should|have"
    "|has|got any|am"
)
_THEN_ASKS = re.compile(
    rf"(?:(?:since|as|now that|given that|because) )?((?!(?:{_ASKING}|if|for|in|as|with|when|after|before|let)\b)"
    rf".{{12,}}?)[,;\u2013\u2014]\s+(?:and |so |but )?(?:i'm (?:curious|wondering),? )?(?:{_ASKING})\b.*",
    re.IGNORECASE,
)
_LASTING = re.compile(r"\b(?:always|never|from now on|in (?:the )?future|every time|don't ever)\b", re.IGNORECASE)
_REMEMBER = re.compile(
    r"(?:(?:please|i (?:need|want) you to) )?(?:remember|note|know|keep in mind|don't forget|fyi|for the record"
    r"|you should know)(?: that)?[,:]? (?!to\b)",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"let's (?=(?:go with|use|keep|switch|stick|make it|choose|move|ship|call)\b)", re.IGNORECASE)
_PROPOSAL = re.compile(
    r"\b(?:i (?:suggest|recommend|propose|would (?:suggest|recommend|go with))|how about|shall i|should i)\b",
    re.IGNORECASE,
)
_ACCEPTS = re.compile(
    r"(?:yes|yeah|ok|okay|sure|perfect|great|sounds good|good idea|agreed|deal)?[,.! ]*"
    r"(?:please )?(?:do (?:that|it)|go ahead|let's do (?:that|it)|that works|sounds good|agreed)\b[.! ]*",
    re.IGNORECASE,
)
_TWO_STATES = re.compile(
    r"([A-Z][\w.-]* )((?:lives|works|studies|is|has) [^,;.]{3,80}?),? and "
    r"((?:lives|works|studies|is|has)(?! been (?:for|since)\b) [^;]{3,120})"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One fact in the third person. `records` are the one to three it came from, `at` is when it was said;
    `subject` is whom or what it is about, empty if nobody in particular; `speaker` is the person who said it;
    `in_chat`: said to another person."""

    text: str
    records: tuple[int, ...]
    at: datetime
    category: Category
    subject: str
    inferred: bool = False
    source: Source = ""
    speaker: str = ""
    in_chat: bool = False

    @property
    def text_in_document(self) -> str:
        """The text without its subject, if the title of its document names that."""
        named = self.category in {"people", "projects"} and self.subject
        return self.text.removeprefix(f"{self.subject} ") if named else self.text


_Scored = tuple[float, Statement]


def find_statements(transcript: Transcript, *, density: float = DENSITY) -> list[Statement]:
    """Return what deserves to last, in the order it was said. The facts, with their citations, take about
    `density` of the characters of the transcript."""
    utterances = find_utterances(transcript)
    names = speaker_names(utterances)
    about = find_subjects(utterances)
    found: list[_Scored] = []
    earlier: deque[EarlierSentence] = deque(maxlen=_SENTENCES_REMEMBERED)
    for one in utterances:
        found.extend(_data(one) if one.role == "data" else _statements(one, names, about, earlier))
    spoken = sum(len(one.text) for one in utterances if one.role in {"person", "agent"})
    rest = sum(min(len(one.text), MAX_SENTENCE_CHARS) for one in utterances if one.role in {"assistant", "data"})
    return _select(found, density * (spoken + rest))


def _statements(
    utterance: Utterance, names: frozenset[str], about: Subjects, earlier: deque[EarlierSentence]
) -> Iterator[_Scored]:
    text, captions = without_captions(
        own_words(prose(utterance.text)) if utterance.heard_by_assistant else prose(utterance.text)
    )
    chat = utterance.role == "person" and not utterance.heard_by_assistant
    candidates = [*_accepted(utterance), *_candidates(text, utterance, names, earlier, chat)]
    if captions:
        candidates.append(photo_candidate(captions, utterance.speaker))
    bonus = _ANSWERS_BONUS * bool(utterance.question) + _ASKS_MALUS * ("?" in text)
    for value, part in combined(candidates, utterance.text, bonus) if chat else separate(candidates, bonus):
        also_records = {candidate.also_record for candidate in part} - {0, utterance.recorded.id}
        records = (*sorted(also_records)[: MAX_RECORDS - 1], utterance.recorded.id)
        inferred = any(candidate.inferred for candidate in part)
        for fact_text in _split_states(joined_text(part, utterance.speaker)):
            kind, subject = _category(fact_text, utterance, about)
            keep = kind in KEPT_CATEGORIES or any(candidate.keep for candidate in part)
            speaker = utterance.speaker if utterance.role == "person" else ""
            at = utterance.recorded.at
            statement = Statement(fact_text, records, at, kind, subject, inferred, speaker=speaker, in_chat=chat)
            yield math.inf if keep else value, statement


def _split_states(fact: str) -> tuple[str, ...]:
    """Split "Mara lives in Porto and works as a nurse" in two: each fact can stop being true alone."""
    found = _TWO_STATES.fullmatch(fact)
    return (f"{found[1]}{found[2]}.", f"{found[1]}{found[3]}") if found else (fact,)


def _candidates(
    text: str, utterance: Utterance, names: frozenset[str], earlier: deque[EarlierSentence], chat: bool
) -> list[Candidate]:
    """Return the sentences that may be kept. One that begins with a pronoun joins the one before."""
    question = utterance.question if utterance.role == "person" else ""
    secret = has_secret(utterance.text)
    candidates: list[Candidate] = []
    kept = -2
    for place, sentence in enumerate(sentences(text)):
        if len(sentence) > MAX_SENTENCE_CHARS or (secret and has_secret(sentence)):
            continue
        foreign = utterance.role == "person" and is_foreign(sentence)
        cut = trimmed(sentence if foreign else with_apostrophes(sentence), names)
        asks = sentence.endswith("?")
        statement = _THEN_ASKS.match(cut) if asks else None
        whole, cut = cut, statement[1] if statement else cut
        listens = utterance.heard_by_assistant and not foreign
        doing = intent(cut if statement else sentence) if listens else "other"
        answers = bool(question) and is_short_answer(cut)
        if (
            listens
            and not answers
            and is_standing_request(cut, doing, asks=asks)
            and _is_lasting(sentence, utterance)
        ):
            candidate = _standing_request(place, cut, utterance)
        elif asks and not statement:
            candidate = None
        elif foreign:
            candidate = _foreign(place, sentence, utterance)
        elif answers and (answer := _answer(cut, question, utterance)):
            candidate = Candidate(
                place, answer, _ANSWER_BONUS + information(answer), also_record=utterance.asked_in
            )
        else:
            named, record, sure = (
                resolve_pronoun(cut, earlier, names) if utterance.role == "person" else (cut, 0, True)
            )
            about = bool(record) or (kept == place - 1 and bool(PRONOUN_START.match(cut)))
            asked = doing == "once" or (utterance.heard_by_assistant and is_request(named))
            candidate = (
                _candidate(place, sentence, named, utterance, about=about, asked=asked) if len(named) > 5 else None
            )
            whole = named if record else whole
            if candidate and record:
                candidate = replace(
                    candidate, also_record=record, inferred=not sure or record != utterance.recorded.id
                )
        earlier.appendleft(EarlierSentence(whole, utterance.speaker, utterance.listener, utterance.recorded.id))
        question = ""
        if not candidate:
            continue
        if (
            not chat
            and kept == place - 1
            and PRONOUN_START.match(candidate.text)
            and candidates[-1].fits_with(candidate)
        ):
            candidates[-1] = candidates[-1].joined_with(candidate)
        else:
            candidates.append(candidate)
        kept = place
    return candidates


def _candidate(
    place: int, sentence: str, cut: str, utterance: Utterance, *, about: bool, asked: bool
) -> Candidate | None:
    """Return the sentence as a candidate, if it is worth it. `about`: its subject is known; `asked`: it asks for
    something now."""
    if utterance.role != "person" and not (
        is_own_action(cut) if utterance.role == "assistant" else is_agent_report(cut)
    ):
        return None
    bonus = 0.0
    if utterance.heard_by_assistant:
        if found := _CHOICE.match(cut):
            cut, bonus = f"I decided to {cut[found.end() :]}", _ANSWER_BONUS
        if found := _REMEMBER.match(cut):
            cut, bonus = cut[found.end() :], _ANSWER_BONUS
    if asked and not bonus:
        return None
    cut = _date_last(with_absolute_dates(cut, utterance.recorded.at))
    short = informative_clauses(cut)
    cut = cut if PRONOUN_START.match(short) else short
    value = salience(cut, correction=bool(_CORRECTS.match(sentence))) + bonus
    if _STATE.match(cut) and cut.rsplit(" ", 1)[-1].lower() in DOMAINS:
        value = max(value, MIN_SALIENCE)
    if _ONLY_DATE.fullmatch(cut) or (not bonus and _ASKS_FOR.match(cut)):
        return None
    if value < MIN_SALIENCE or (
        utterance.to_assistant
        and not (
            bonus
            or about
            or is_about_user(cut, pasted=len(utterance.text) > _PASTED_CHARS, reports="?" not in utterance.text)
        )
    ):
        return None
    keep = bool(bonus or _CORRECTS_PLAINLY.match(sentence))
    return Candidate(place, third_person(cut, utterance.speaker, utterance.listener), value, keep=keep)


def _foreign(place: int, sentence: str, utterance: Utterance) -> Candidate | None:
    """Return a sentence in another language word for word, with the day: it may speak of "yesterday"."""
    if not is_worth_keeping(sentence, to_assistant=utterance.to_assistant):
        return None
    request, at = utterance.heard_by_assistant and is_foreign_standing_request(sentence), utterance.recorded.at
    verb = "wants" if request else f"said on {at.day} {at:%B %Y}"
    quoted = sentence.rstrip().replace('"', "'").rstrip(".")
    return Candidate(
        place, f'{utterance.speaker} {verb}: "{quoted}"', _ANSWER_BONUS + information(sentence), keep=request
    )


def _is_lasting(sentence: str, utterance: Utterance) -> bool:
    """Return whether a request holds from now on: it says so, or the message describes no task it may belong
    to."""
    if _LASTING.search(sentence):
        return True
    if len(utterance.text) > _TASK_CHARS:
        return False
    others = [trimmed(one, frozenset()) for one in sentences(prose(utterance.text)) if one != sentence]
    return not any(intent(one) == "once" or is_request(one) for one in others)


def _standing_request(place: int, cut: str, utterance: Utterance) -> Candidate:
    """Return what a person wants of an assistant from now on."""
    request = with_absolute_dates(as_standing_request(cut), utterance.recorded.at)
    fact_text = third_person(request, utterance.speaker, "it" if "the assistant" in request else "the assistant")
    return Candidate(place, fact_text, _ANSWER_BONUS + information(fact_text), keep=True)


def _answer(answer: str, question: str, utterance: Utterance) -> str:
    if information(answer) < 1 or utterance.to_assistant:
        return ""
    return with_absolute_dates(
        answered(question, answer, utterance.speaker, utterance.listener), utterance.recorded.at
    )


def _accepted(utterance: Utterance) -> Iterator[Candidate]:
    """Return what an assistant proposed and the person agreed to without repeating it."""
    if utterance.to_assistant and _ACCEPTS.fullmatch(utterance.text.strip()[:60]):
        for sentence in sentences(prose(utterance.previous_text)):
            if _PROPOSAL.search(sentence) and len(sentence) <= MAX_SENTENCE_CHARS and not has_secret(sentence):
                fact_text = third_person(
                    with_absolute_dates(sentence.rstrip(" .?!"), utterance.recorded.at),
                    utterance.listener,
                    utterance.speaker,
                )
                yield Candidate(
                    0,
                    f"{utterance.speaker} agreed: {fact_text}",
                    _ANSWER_BONUS + information(fact_text),
                    also_record=utterance.asked_in,
                )
                return


def _data(utterance: Utterance) -> Iterator[_Scored]:
    """Return what is plain in the output of a tool or a web page: why a tool failed, and figures."""
    recorded, record = utterance.recorded, utterance.recorded.record
    source: Source = "web" if record.provenance == "web" else "tool"
    if has_secret(utterance.text):
        return
    if isinstance(record, ToolResult) and record.failed:
        if why := failure_reason(utterance.text):
            text = f"{record.name.strip() or 'A tool'} failed: {why.rstrip('.')}."
            yield math.inf, Statement(text, (recorded.id,), recorded.at, "lessons", "", source=source)
        return
    plain = (
        trimmed(sentence, frozenset()) for sentence in sentences(prose(utterance.text)) if len(sentence) <= 200
    )
    for sentence in [sentence for sentence in plain if is_plain_figure(sentence)][:_MAX_DATA_FACTS]:
        text = f"{with_absolute_dates(sentence, recorded.at)}."
        yield 0.3, Statement(text, (recorded.id,), recorded.at, "events", "", source=source)


def _category(text: str, utterance: Utterance, about: Subjects) -> tuple[Category, str]:
    """Return what kind of knowledge a fact is, and whom or what it is about."""
    kind = category(text)
    group, name = about.of(text, utterance.speaker)
    if kind == "people" and (group == "projects" or utterance.role == "person"):
        return group, name
    if utterance.role == "person":
        return kind, utterance.speaker
    if utterance.role == "assistant":
        return "events", ""
    return ("events" if kind in {"people", "preferences"} else kind), ""


def _date_last(text: str) -> str:
    """Turn "On 5 May 2023, I ran" into "I ran on 5 May 2023": a fact starts with its subject."""
    found = _LEADING_DATE.match(text)
    if not found:
        return _MIDDLE_DATE.sub(r"\1 \3 \2", text) if "around" in text.lower() else text
    return f"{found[2]} {found[1][0].lower()}{found[1][1:]}{text[found.end() :]}"


def _select(found: Sequence[_Scored], room: float) -> list[Statement]:
    """Return what is kept in any case, and of the rest the facts with the highest score per character that fit;
    what people said goes before data. There is always room for a few: a short conversation may be all facts."""
    room = max(room, MIN_ROOM_CHARS)
    costs = [len(statement.text_in_document) + _CITATION for _, statement in found]
    best = sorted(
        range(len(found)),
        key=lambda n: (found[n][0] < math.inf, found[n][1].source != "", -found[n][0] / costs[n], n),
    )
    kept = []
    for n in best:
        if found[n][0] == math.inf or costs[n] <= 2 * room:  # half of it fits, which is right on average
            room -= costs[n]
            kept.append(n)
    return [found[n][1] for n in sorted(kept)]
