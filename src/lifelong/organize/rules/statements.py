"""Finds the durable statements of a transcript, by rule.

A record is cut into sentences; each is trimmed to what it says, dated, told in the third person and weighed.
The best sentences of a record make a fact that holds the gist of it; the best facts are kept, up to a
share of what was said.
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
from lifelong.organize.rules.requests import intent, is_fragment, is_lasting, joined, wanted
from lifelong.organize.rules.salience import (
    FLOOR,
    Category,
    Unit,
    alone,
    category,
    failure,
    gists,
    is_datum,
    is_deed,
    is_request,
    is_told_to_assistant,
    is_work,
    joined_text,
    photo,
    worth,
)
from lifelong.organize.rules.sentences import (
    own_words,
    prose,
    tell,
    telling,
    trimmed,
    with_apostrophes,
    without_captions,
)
from lifelong.organize.rules.speakers import Said, Subjects, names, subjects, voices
from lifelong.organize.rules.third_person import LEANS, Heard, resolved, third_person
from lifelong.redaction import has_secret
from lifelong.text.dates import absolute
from lifelong.text.languages import is_foreign, is_wish, tells
from lifelong.text.sentences import sentences
from lifelong.types import ToolResult

LASTING = frozenset(("preferences", "decisions", "lessons"))
LEAST_ROOM = 900  # characters
DENSITY = 0.37  # of what was said; the citations are counted
LONGEST_SENTENCE = 400  # characters; what is longer was pasted, not said
_CITATION = len(" [r1234]\n\n")
_ANSWER = 2.0  # what an answer is worth beyond its words
_ASKED, _ASKS = 3.0, -1.0  # a record that answers is worth more, one that asks less
_PASTED = 1_500  # characters of a message from which on it is not all the person's own words
_WORK = 600  # characters of a message from which on it asks for work
_MOST_DATA = 2  # facts from one result of a tool
_IN_MIND = 12  # sentences in which it is looked whom "she" means
MOST_RECORDS = 3  # that a fact comes from

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
    """One fact, told in the third person. `records` are the one to three it came from, `at` is when it was
    said; `subject` is whom or what it is about, empty for nobody in particular; `speaker` is the person who said
    it; `in_chat`: told to another person."""

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


_Weighed = tuple[float, Statement]


def find_statements(transcript: Transcript, *, density: float = DENSITY) -> list[Statement]:
    """What deserves to last, in the order it was said. The facts, with their citations, take about
    `density` of the characters that were said."""
    said = voices(transcript)
    called = names(said)
    about = subjects(said)
    found: list[_Weighed] = []
    heard: deque[Heard] = deque(maxlen=_IN_MIND)
    for one in said:
        found.extend(_data(one) if one.role == "data" else _facts(one, called, about, heard))
    spoken = sum(len(one.text) for one in said if one.role in {"person", "agent"})
    rest = sum(min(len(one.text), LONGEST_SENTENCE) for one in said if one.role in {"assistant", "data"})
    return _kept(found, density * (spoken + rest))


def _facts(said: Said, called: frozenset[str], about: Subjects, heard: deque[Heard]) -> Iterator[_Weighed]:
    text, captions = without_captions(own_words(prose(said.text)) if said.to_no_person else prose(said.text))
    chat = said.role == "person" and not said.to_no_person
    units = [*_accepted(said), *_units(text, said, called, heard, chat)]
    if captions:
        units.append(photo(captions, said.me))
    bonus = _ASKED * bool(said.question) + _ASKS * ("?" in text)
    for value, part in gists(units, said.text, bonus) if chat else alone(units, bonus):
        also = {unit.also for unit in part} - {0, said.recorded.id}
        records = (*sorted(also)[: MOST_RECORDS - 1], said.recorded.id)
        inferred = any(unit.inferred for unit in part)
        for told in _apart(joined_text(part, said.me)):
            kind, subject = _place(told, said, about)
            lasts = kind in LASTING or any(unit.lasts for unit in part)
            speaker = said.me if said.role == "person" else ""
            at = said.recorded.at
            statement = Statement(told, records, at, kind, subject, inferred, speaker=speaker, in_chat=chat)
            yield math.inf if lasts else value, statement


def _apart(fact: str) -> tuple[str, ...]:
    """ "Mara lives in Porto and works as a nurse" as two facts: each can stop being true alone."""
    found = _TWO_STATES.fullmatch(fact)
    return (f"{found[1]}{found[2]}.", f"{found[1]}{found[3]}") if found else (fact,)


def _units(text: str, said: Said, called: frozenset[str], heard: deque[Heard], chat: bool) -> list[Unit]:
    """The sentences of a record that may be kept. One that leans on the one before goes on where that ends."""
    question = said.question if said.role == "person" else ""
    secret = has_secret(said.text)
    units: list[Unit] = []
    kept = -2
    for place, sentence in enumerate(sentences(text)):
        if len(sentence) > LONGEST_SENTENCE or (secret and has_secret(sentence)):
            continue
        foreign = said.role == "person" and is_foreign(sentence)
        cut = trimmed(sentence if foreign else with_apostrophes(sentence), called)
        asks = sentence.endswith("?")
        told = _THEN_ASKS.match(cut) if asks else None
        whole, cut = cut, told[1] if told else cut
        listens = said.to_no_person and not foreign
        doing = intent(cut if told else sentence) if listens else "other"
        answers = bool(question) and is_fragment(cut)
        if listens and not answers and is_lasting(cut, doing, asks=asks) and _for_good(sentence, said):
            unit = _wanted(place, cut, said)
        elif asks and not told:
            unit = None
        elif foreign:
            unit = _foreign(place, sentence, said)
        elif answers and (answer := _answer(cut, question, said)):
            unit = Unit(place, answer, _ANSWER + tell(answer), also=said.asked_in)
        else:
            named, record, sure = resolved(cut, heard, called) if said.role == "person" else (cut, 0, True)
            about = bool(record) or (kept == place - 1 and bool(LEANS.match(cut)))
            asked = doing == "once" or (said.to_no_person and is_request(named))
            unit = _unit(place, sentence, named, said, about=about, asked=asked) if len(named) > 5 else None
            whole = named if record else whole
            if unit and record:
                unit = replace(unit, also=record, inferred=not sure or record != said.recorded.id)
        heard.appendleft(Heard(whole, said.me, said.you, said.recorded.id))
        question = ""
        if not unit:
            continue
        if not chat and kept == place - 1 and LEANS.match(unit.text) and units[-1].has_room(unit):
            units[-1] = units[-1].joined(unit)
        else:
            units.append(unit)
        kept = place
    return units


def _unit(place: int, sentence: str, cut: str, said: Said, *, about: bool, asked: bool) -> Unit | None:
    """`about`: it is known whom the sentence is about; `asked`: it asks for something now."""
    if said.role != "person" and not (is_deed(cut) if said.role == "assistant" else is_work(cut)):
        return None
    wish = 0.0
    if said.to_no_person:
        if found := _CHOICE.match(cut):
            cut, wish = f"I decided to {cut[found.end() :]}", _ANSWER
        if found := _REMEMBER.match(cut):
            cut, wish = cut[found.end() :], _ANSWER
    if asked and not wish:
        return None
    cut = _date_last(absolute(cut, said.recorded.at))
    short = telling(cut)
    cut = cut if LEANS.match(short) else short
    value = worth(cut, correction=bool(_CORRECTS.match(sentence))) + wish
    if _STATE.match(cut) and cut.rsplit(" ", 1)[-1].lower() in DOMAINS:
        value = max(value, FLOOR)
    if _ONLY_DATE.fullmatch(cut) or (not wish and _ASKS_FOR.match(cut)):
        return None
    if value < FLOOR or (
        said.to_assistant
        and not (
            wish
            or about
            or is_told_to_assistant(cut, pasted=len(said.text) > _PASTED, reports="?" not in said.text)
        )
    ):
        return None
    lasts = bool(wish or _CORRECTS_PLAINLY.match(sentence))
    return Unit(place, third_person(cut, said.me, said.you), value, lasts=lasts)


def _foreign(place: int, sentence: str, said: Said) -> Unit | None:
    """A sentence in another language, word for word, with the day: it may tell of "yesterday"."""
    if not tells(sentence, to_assistant=said.to_assistant):
        return None
    wish, at = said.to_no_person and is_wish(sentence), said.recorded.at
    verb = "wants" if wish else f"said on {at.day} {at:%B %Y}"
    quoted = sentence.rstrip().replace('"', "'").rstrip(".")
    return Unit(place, f'{said.me} {verb}: "{quoted}"', _ANSWER + tell(sentence), lasts=wish)


def _for_good(sentence: str, said: Said) -> bool:
    """Whether a wish is one for ever: it says so, or no work is described in the message that it may belong to."""
    if _LASTING.search(sentence):
        return True
    if len(said.text) > _WORK:
        return False
    others = [trimmed(one, frozenset()) for one in sentences(prose(said.text)) if one != sentence]
    return not any(intent(one) == "once" or is_request(one) for one in others)


def _wanted(place: int, cut: str, said: Said) -> Unit:
    """What a person wants of an assistant from now on."""
    wish = absolute(wanted(cut), said.recorded.at)
    told = third_person(wish, said.me, "it" if "the assistant" in wish else "the assistant")
    return Unit(place, told, _ANSWER + tell(told), lasts=True)


def _answer(answer: str, question: str, said: Said) -> str:
    if tell(answer) < 1 or said.to_assistant:
        return ""
    return absolute(joined(question, answer, said.me, said.you), said.recorded.at)


def _accepted(said: Said) -> Iterator[Unit]:
    """What an assistant proposed and the person agreed to with no word of their own."""
    if said.to_assistant and _ACCEPTS.fullmatch(said.text.strip()[:60]):
        for sentence in sentences(prose(said.before)):
            if _PROPOSAL.search(sentence) and len(sentence) <= LONGEST_SENTENCE and not has_secret(sentence):
                told = third_person(absolute(sentence.rstrip(" .?!"), said.recorded.at), said.you, said.me)
                yield Unit(0, f"{said.me} agreed: {told}", _ANSWER + tell(told), also=said.asked_in)
                return


def _data(said: Said) -> Iterator[_Weighed]:
    """What a tool or the web said, as far as it is plain: why a tool failed, and figures."""
    recorded, record = said.recorded, said.recorded.record
    source: Source = "web" if record.provenance == "web" else "tool"
    if has_secret(said.text):
        return
    if isinstance(record, ToolResult) and record.failed:
        if why := failure(said.text):
            text = f"{record.name.strip() or 'A tool'} failed: {why.rstrip('.')}."
            yield math.inf, Statement(text, (recorded.id,), recorded.at, "lessons", "", source=source)
        return
    plain = (trimmed(sentence, frozenset()) for sentence in sentences(prose(said.text)) if len(sentence) <= 200)
    for sentence in [sentence for sentence in plain if is_datum(sentence)][:_MOST_DATA]:
        text = f"{absolute(sentence, recorded.at)}."
        yield 0.3, Statement(text, (recorded.id,), recorded.at, "events", "", source=source)


def _place(text: str, said: Said, about: Subjects) -> tuple[Category, str]:
    """What kind of knowledge a fact is, and about whom or what."""
    kind = category(text)
    group, name = about.of(text, said.me)
    if kind == "people" and (group == "projects" or said.role == "person"):
        return group, name
    if said.role == "person":
        return kind, said.me
    if said.role == "assistant":
        return "events", ""
    return ("events" if kind in {"people", "preferences"} else kind), ""


def _date_last(text: str) -> str:
    """ "On 5 May 2023, I ran" as "I ran on 5 May 2023": a fact starts with its subject."""
    found = _LEADING_DATE.match(text)
    if not found:
        return _MIDDLE_DATE.sub(r"\1 \3 \2", text) if "around" in text.lower() else text
    return f"{found[2]} {found[1][0].lower()}{found[1][1:]}{text[found.end() :]}"


def _kept(found: Sequence[_Weighed], room: float) -> list[Statement]:
    """What lasts in any case, and of the rest the facts that are worth most for their length, as many as there
    is room for; what people said comes before data. There is always room for a few: a short talk may be all
    facts."""
    room = max(room, LEAST_ROOM)
    costs = [len(statement.text_in_document) + _CITATION for _, statement in found]
    best = sorted(
        range(len(found)),
        key=lambda n: (found[n][0] < math.inf, found[n][1].source != "", -found[n][0] / costs[n], n),
    )
    kept = []
    for n in best:
        if found[n][0] == math.inf or costs[n] <= 2 * room:  # half of it fits: this evens out in the long run
            room -= costs[n]
            kept.append(n)
    return [found[n][1] for n in sorted(kept)]
