"""Choose the sentences of a transcript that deserve to last, and quote them word for word.

A short message is quoted whole; sentences of it that stand on their own and are of different kinds (who somebody
is, what they want, what binds, what is told) are quoted apart, for they go to different documents. Of a longer
message, a quote is one sentence, or a few: a sentence that leans on the one before ("it's the 21st now") is quoted
with it, and a short answer with what it answers. Only what stands in square brackets was not said there: the day
that a relative date means, what is answered, and `[…]` where sentences are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from lifelong.organize.facts import GAP, Source
from lifelong.organize.rules.subjects import SpeakerRole, Utterance
from lifelong.organize.rules.worth import acknowledges, protects_or_binds, worth
from lifelong.redaction import mentions_secret
from lifelong.text.changes import may_end, topic, values
from lifelong.text.dates import with_dates_explained
from lifelong.text.sentences import sentences
from lifelong.text.speech import MARK, MAX_TEXT_CHARS, MIN_SENTENCE_CHARS, own_sentences, without_mark
from lifelong.text.standing import (
    BINDING,
    FIRST_PERSON,
    HEALTH,
    IDENTITY,
    instructs,
    is_for_once,
    is_question,
    standing,
)
from lifelong.text.words import WORD, fold, pattern
from lifelong.types import ToolResult

MAX_QUOTE_CHARS = 600
MAX_WHOLE_CHARS = 240  # of a message that is quoted whole
MORE_WORTH = 0.5  # than the sentence of a record that is worth more
MAX_ANSWER_WORDS = 8  # an answer so short says nothing without its question
MAX_DATA_CHARS = 200
MAX_DATA_QUOTES = 4  # of one output of a tool or one web page

_LEANS = r"""
(?:it|it's|its|it'll|that|that's|this|those|these|they|they're|he|he's|she|she's|him|his|her|them|their|so|then|which
|and|but|because|also|plus|er|sie|es|das|dies\w*|ihn|ihm|sein\w*|und|aber|also|dann|deshalb|weil|denn
|eso|esto|esta|este|ella|lo|la|y|pero|porque|asi que|entonces|il|elle|c'est|ca|cela|ils|elles|et|mais|donc)\b"""
_AGREES = r"""
(?:(?:agreed|right|ok|okay|yes|yep|yeah|sure|fine|deal|done|perfect|great|good|exactly|einverstanden|genau
|passt|ja|gut|abgemacht|klar|vale|de acuerdo|si|claro|perfecto|hecho|bueno|d'accord|oui|parfait
|entendu|bien)\b[\s,.:;!]*)+"""
_ASKS_WHO = r"""
\b(?:where|what|what's|which|who|how (?:old|many|much|long|often|tall)|when|wo|woher|was|welche\w*|wer|wie|wann
|donde|que|cual(?:es)?|quien|como|cuando|cuant[oa]s?|ou|quel(?:le)?s?|qui|comment|quand|combien)\b"""
_OF_YOU = r"""
\b(?:you|your|du|dein\w*|dir|dich|sie|ihr\w*|tu|tus|te|vous|votre|vos|ton|ta|tes|toi|[a-z]{3,}[aei]s)\b"""
_OF_A_TASK = r"""
\b(?:want|would|should|shall|can i|could i|may i|help|mean|think|need|looking|trying|happen\w*|file|error|now|today
|tonight|tomorrow|this|that|it|mochte\w*|soll\w*|kann ich|helfen|meinst|brauch\w*|suchst|heute|das|quieres|puedo
|ayud\w+|necesitas|buscas|hoy|esto|eso|veux|voulez|puis-je|aider|souhait\w+|cherch\w+|aujourd'hui|ca|cela)\b"""
_OPENS = r"""
(?:please |and |also |bitte |und |por favor |y |et )?(?:i|i'm|i've|my|we|we're|our|the|always|never|answer|call
|don't|from now on|ich|mein\w*|wir|unser\w*|der|die|das|immer|nie|antworte|ab (?:jetzt|sofort)|yo|mi|soy|tengo|el
|los|las|siempre|nunca|responde|je|j'\w+|mon|ma|nous|le|les|toujours|jamais|reponds)\b"""
"""How a sentence begins that needs no other."""
_THIRD_PERSON = re.compile(r"(?:he|he's|she|she's|his|her|er|sie|ihr\w*|sein\w*|ella|su|sus|il|elle)\b")
_FAILED = re.compile(
    r"error|fail|exception|denied|not found|no such|refused|timed? ?out|cannot|invalid|unable|missing"
    r"|forbidden|exceeded|rejected|unauthori[sz]ed",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"(?:[$€£¥]\s?\d|\b\d[\d.,]*\s?(?:%|EUR|USD|GBP|CHF|euros?|dollars?|pounds?|km|kg|GB|MB|ms|hours?|minutes?"
    r"|nights?|°C)(?:\b|$))"
)
_ABOUT_PEOPLE = re.compile(
    r"\b(?:you|your|users?|i|i'm|my|we|our|remember|forget|ignore|instructions?|system|assistant|agent|prompt|prefers?"
    r"|always|never|must|should|please|important|memory|note that|from now on|owner|admin|password|likes?|wants?"
    r"|decided)\b|\[\[|https?:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody said, word for word, in one record. `source` names the tool or the web where it is data;
    `about_other`: it begins with "he" or "she", so it is about somebody who was named before; `is_user`: the user
    whose agent it is said it."""

    text: str
    record: int
    at: datetime
    speaker: str
    role: SpeakerRole
    source: Source = ""
    about_other: bool = False
    failed: bool = False
    is_user: bool = False


@dataclass(frozen=True, slots=True)
class StatedText:
    """What a record states, and the quotes that deserve to last of it. `may_end`: a person or the host says it,
    and it may end what they said before; `whole` is it as a quote, if it is short."""

    text: str
    record: int
    at: datetime
    speaker: str
    may_end: bool
    quotes: tuple[Quote, ...]
    whole: Quote | None = None


def find_stated(utterances: Iterable[Utterance]) -> Iterator[StatedText]:
    """Yield what the records state, in the order it was said; those that neither say anything to keep nor can end
    anything are left out."""
    for one in utterances:
        quotes = tuple(_of_data(one) if one.role == "data" else _of_speech(one))
        stated = "\n".join(own_sentences(one.text, one.speaker)) if one.role in ("person", "host") else ""
        ending = bool(stated) and may_end(stated)
        if quotes or ending:
            recorded = one.recorded
            whole = _whole(one) if ending and not quotes else None
            yield StatedText(stated, recorded.id, recorded.at, one.speaker, ending, quotes, whole)


def _whole(utterance: Utterance) -> Quote | None:
    """Return all that somebody says themselves as one quote; none where that is long, or a secret."""
    said = [one for one in own_sentences(utterance.text, utterance.speaker) if not is_question(one)]
    if not said or sum(map(len, said)) > MAX_WHOLE_CHARS or any(map(mentions_secret, said)):
        return None
    recorded = utterance.recorded
    text = with_dates_explained(joined(said, list(range(len(said))), utterance.text), recorded.at)
    is_user = utterance.is_user
    return Quote(text, recorded.id, recorded.at, utterance.speaker, utterance.role, is_user=is_user)


def _of_speech(utterance: Utterance) -> Iterator[Quote]:
    said = list(own_sentences(utterance.text, utterance.speaker))
    kept = _kept(said, utterance)
    recorded = utterance.recorded
    for run in _runs(said, kept, utterance):
        text = with_dates_explained(joined(said, run, utterance.text), recorded.at)
        short = run[0] == 0 and len(WORD.findall(text)) <= MAX_ANSWER_WORDS
        says_nothing = short and utterance.role == "person" and _is_about_nothing(text)
        answered = utterance.question or (utterance.answers if says_nothing else "")
        if short and answered:
            text = f"[{utterance.asked_by}: {without_mark(answered)}] {text}"
        elif says_nothing:
            continue
        yield Quote(
            text,
            recorded.id,
            recorded.at,
            utterance.speaker,
            utterance.role,
            about_other=_THIRD_PERSON.match(fold(said[run[0]])) is not None,
            is_user=utterance.is_user,
        )


def _kept(said: list[str], utterance: Utterance) -> list[int]:
    """Return which sentences are worth keeping. Each further one of a record must be worth more: knowledge that is
    spread over the conversation answers more questions. What protects or binds somebody is kept wherever it is:
    an allergy at the end of a long message."""
    found = [
        (worth(one, utterance), n)
        for n, one in enumerate(said)
        if not is_question(one)
        and not mentions_secret(one)
        and not acknowledges(one, utterance)
        and not (utterance.role == "assistant" and _speaks_as_a_person(one))
    ]
    if _answers_who(said, utterance):
        return [0]
    best = sorted(found, key=lambda one: (-one[0], one[1]))
    return sorted(
        n
        for place, (value, n) in enumerate(best)
        if value > place * MORE_WORTH or (value > 0 and protects_or_binds(said[n], utterance))
    )


def _speaks_as_a_person(sentence: str) -> bool:
    """Return whether a sentence tells how its speaker lives: an assistant that says so translates or plays
    somebody."""
    kinds = {one.kind for one in standing(sentence)}
    return FIRST_PERSON.search(fold(sentence)) is not None and not kinds.isdisjoint(HEALTH | IDENTITY)


def _answers_who(said: list[str], utterance: Utterance) -> bool:
    """Return whether a person answers in a word or two what they were asked about themselves: "Where do you live?"
    "Utrecht". What a task needs to know is of the task."""
    if utterance.role != "person" or not utterance.question or len(said) != 1 or is_question(said[0]):
        return False
    asked = fold(utterance.question)
    asks, you, task = (pattern(one.replace("\n", "")) for one in (_ASKS_WHO, _OF_YOU, _OF_A_TASK))
    if not asks.search(asked) or not you.search(asked) or task.search(asked) or mentions_secret(said[0]):
        return False
    return len(WORD.findall(said[0])) <= MAX_ANSWER_WORDS and bool(topic(said[0])) and not is_for_once(said[0])


def _runs(said: list[str], kept: list[int], utterance: Utterance) -> Iterator[list[int]]:
    """Yield the sentences that make one quote each. A short message is quoted whole, for its sentences explain
    each other; of a longer one, a sentence that leans on the one before it is quoted with that. What people tell
    each other in one go is one quote."""
    together = utterance.role == "person" and not utterance.heard_by_assistant
    short = not together and utterance.role != "assistant" and sum(map(len, said)) <= MAX_WHOLE_CHARS
    if kept and short and not any(map(mentions_secret, said)):
        yield from _of_one_kind(said)
        return
    chosen = set(kept)
    for n in kept:
        while n > 0 and leans(said[n]) and not is_question(said[n - 1]) and not mentions_secret(said[n - 1]):
            n -= 1
            if n in chosen:  # and so is what it leans on
                break
            chosen.add(n)
    run: list[int] = []
    for n in sorted(chosen):
        joins = run and (together or (n == run[-1] + 1 and leans(said[n])))
        if joins and sum(len(said[m]) for m in (*run, n)) <= MAX_QUOTE_CHARS:
            run.append(n)
            continue
        if run:
            yield run
        run = [n]
    if run:
        yield run


def _of_one_kind(said: list[str]) -> Iterator[list[int]]:
    """Yield the sentences of a short message: those of different kinds apart, if each begins with its own subject
    or what is to be done. Others explain the one before."""
    opens = pattern(_OPENS.replace("\n", ""))
    kinds = [_kind(one) if opens.match(fold(one)) and not is_question(one) else "" for one in said]
    run, of = [0], kinds[0]
    for n, kind in enumerate(kinds[1:], start=1):
        if kind and of and kind != of:
            yield run
            run, of = [n], kind
        else:
            run.append(n)
            of = of or kind
    yield run


def _kind(sentence: str) -> str:
    """Return what a sentence is, as far as that tells its place."""
    kinds = {one.kind for one in standing(sentence)}
    if kinds & BINDING:
        return "binds"
    if kinds & (HEALTH | IDENTITY):
        return "is"
    return "wants" if kinds else "tells" if values(sentence) and not FIRST_PERSON.search(fold(sentence)) else ""


def _is_about_nothing(text: str) -> bool:
    """Return whether a text agrees to something, and says no more of it than a day, a time or a number: "Agreed,
    27 November."."""
    agrees = pattern(_AGREES.replace("\n", "")).match(fold(text))
    return agrees is not None and not topic(fold(text)[agrees.end() :])


def joined(said: list[str], run: list[int], whole: str) -> str:
    """Return the sentences as one quote of the whole text; it says where something is left out."""
    quote, end = "", 0
    for n in run:
        start = whole.index(said[n], end)
        between = whole[end:start]
        if not quote or "\n" in between or between.strip(" ,;:\u2013\u2014-"):
            left_out = quote and between.strip() and not MARK.fullmatch(f"{between.strip()} ")
            between = f" {GAP}" if left_out else " "
        quote, end = f"{quote}{between}{said[n]}", start + len(said[n])
    return quote.lstrip()


def leans(sentence: str) -> bool:
    """Return whether a sentence says little without the one before it."""
    folded = fold(sentence)
    return pattern(_LEANS.replace("\n", "")).match(folded) is not None or len(WORD.findall(folded)) <= 3


def _of_data(utterance: Utterance) -> Iterator[Quote]:
    """Yield what is plain in the output of a tool or a web page: why a tool failed, and figures. It instructs
    nobody, and is not about a person."""
    recorded, record = utterance.recorded, utterance.recorded.record
    source: Source = "web" if record.provenance == "web" else "tool"
    text = utterance.text[-MAX_TEXT_CHARS:]
    if mentions_secret(text) or instructs(text):
        return
    failed = isinstance(record, ToolResult) and record.failed
    lines = [without_mark(" ".join(line.split())) for line in (text.splitlines() if failed else sentences(text))]
    plain = [line for line in lines if MIN_SENTENCE_CHARS <= len(line) <= MAX_DATA_CHARS]
    about = [line for line in plain if not _ABOUT_PEOPLE.search(line)]
    if failed:
        chosen = [line for line in about if _FAILED.search(line)][-1:]
    else:
        chosen = [line for line in about if line[0].isupper() and _FIGURE.search(line)][:MAX_DATA_QUOTES]
    for line in chosen:
        yield Quote(line, recorded.id, recorded.at, "", "data", source, failed=failed)
