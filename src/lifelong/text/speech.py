"""What somebody says themselves in a message: no code, no quotation, no table, no error, no text that they paste
or only ask about, nothing that is made up."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from lifelong.text.attribution import Part, Signs, find_signs, is_own, may_hold_others_text
from lifelong.text.pasted import (
    ROLE_NAMES,
    asks_about_what_follows,
    chat_label,
    describes,
    find_frame,
    greeted,
    is_conditional,
    is_head,
    is_own_speech,
    signed,
    signs_off,
    speaks,
)
from lifelong.text.sentences import sentences
from lifelong.text.standing import FIRST_PERSON
from lifelong.text.words import WORD, fold, pattern

MAX_TEXT_CHARS = 20_000  # of one message that are read; longer text was pasted
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 4, 500
MIN_STATEMENT_CHARS = 8  # before a question
MIN_QUOTED_WORDS = 3  # fewer in quotation marks are a name or a title
MIN_TEXT_WORDS = 3  # fewer words are no text that somebody pastes
MAX_TEXT_READ = 600  # of what follows a sentence that presents it
MIN_CHAT_LINES = 2
MIN_SENTENCES, MAX_SENTENCES = 2, 200  # of a message whose layout tells something
MAX_FRAMES, MAX_BLOCKS, MAX_QUOTATIONS = 40, 200, 100  # of one message; one with more is pasted

_WORD_CUT = re.compile(r"\s\S{0,60}\Z")
"""Half a word where a long text is cut. What is longer is none: not all languages have spaces."""
MARK = re.compile(r"(?:(?:[-*+•>#|]+|\d{1,3}[.)])\s+|\*\*|Inferred:\s+)+")
_BLOCK = re.compile(
    r"(?P<fence>```|~~~|'''|\"\"\")[^\n]*\n.*?(?:\n[ \t]{0,8}(?P=fence)|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})(?:\s[^<>\n]{0,200})?>")
_QUOTED = re.compile(
    r"\"[^\"\n]{2,2000}\"|[\u201c\u201e][^\u201c\u201d\u201e\n]{2,2000}[\u201c\u201d]|«[^«»\n]{2,2000}»"
    r"|(?<![\w'])'(?=\w)[^'\n]*(?:'\w[^'\n]*){0,20}'(?!\w)|(?<!\w)\u2018[^\u2018\n]{2,2000}\u2019(?!\w)"
)
_NOT_PROSE = re.compile(
    r"[>|<{}$]|\[\d|//|/\*|import |def |Traceback |File \"|[\w.]*(?:Error|Exception|Warning): |\s+at \S+\("
    r"|at \S+ \(\S+:\d+"
)
_REPORTS = re.compile(r"[\w.]*(?:Error|Exception|Warning): |Traceback |File \"|at \S+ \(\S+:\d+")
"""How a program tells of an error: no person speaks there, whatever stands before the colon."""
_CODE_LINE = re.compile(
    r"(?:def|class|return|import|from \S+ import|const|let|var|function|public|private|SELECT|INSERT|UPDATE"
    r"|#include"
    r"|int main|print)\b.*[(){};=:*].*|[\w.\[\]]+ ?(?:[-+*/|&]?=|:=) ?\S.*|.*; ?(?:--|//|#) .*|\w[\w.]*\(.*\)"
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,8}>[^\n]*$", re.MULTILINE)
_CITED_LINE = re.compile(r"^[^\n]*\[[^\[\]\n]{1,100}, r\d{1,18}(?:, [^\[\]\n]{0,100})?\][ \t]*$", re.MULTILINE)
"""A fact as our documents hold it, with its speaker or day: somebody who pastes one does not say it."""
_COMMENT_LINE = re.compile(r"#|//|/\*|\*|--|;;|<!--")
_QUESTION_WORDS = (
    r"(?:what|what's|how|which|where|where's|when|why|who|who's|any (?:idea|tips|chance|good)|anything|do|does|did"
    r"|is|are|can|could|should|shall|would|will|have|has|was|wie|was|welche[rsnm]?|wo|wohin|wann|warum|wieso|wer"
    r"|kann|kannst|konntest|soll|sollte|gibt|hast|ist|sind|brauche?|weisst|geht|qu[eé]|c[oó]mo|cu[aá]l(?:es)?"
    r"|d[oó]nde|cu[aá]ndo|por qu[eé]|qui[eé]n|puedes|puedo|hay|me (?:recomiendas|puedes|montas|ayudas)|tienes"
    r"|sabes|quel(?:le)?s?|comment|o[uù]|quand|pourquoi|qui|est-ce|qu'est-ce|tu (?:peux|connais|as|sais)|peux-tu"
    r"|je peux|y a-t-il|il y a|c'est quoi)"
)
_ASKS_BEHIND = (
    r"(?i)(?:[,;:]|\s[\u2013\u2014-]|\s[\U0001F300-\U0001FAFF]"
    rf"|,? (?:so|and|but|und|also|aber|y|pero|et|mais|donc))\s+(?=\u00bf|{_QUESTION_WORDS}\b)"
)
_ASKS = rf"\W*(?:(?:and|so|but|ok|hey|hi|und|y|et)\W+)?{_QUESTION_WORDS}\b"
_DEPENDS = (
    r"\W*(?:if|when|once|while|suppose|say|let's say|assuming|imagine|wenn|falls|angenommen|si|cuando|quand"
    r"|supposons)\b"
)
_DEPENDS_WITHIN = (
    r"\b(?:if|in case|unless|suppose|supposing|assuming|let(?:'s| us) say|imagine|wenn|falls|angenommen|en caso"
    r"|supongamos|au cas|supposons)\b"
    r"|\b(?:wrote|writes|says?|said|thinks?|thought|claims?|reckons?|told \w+|sagt\w*|meint\w*|schr(?:ieb|eibt)"
    r"|behauptet|dicen?|dijo|escribio|dit|ecrit|a ecrit)(?: (?:that|dass|que))?,? "
    r"(?:i|i'm|i've|my|ich|mein\w*|yo|soy|tengo|mi|je|j'\w+|mon|ma)\b"
)
"""What makes a statement one of a case, or of somebody else's."""
_OPENS_BLOCK = re.compile(r"\s*(?:[\"'\u201c\u201e\u2018«>]|```|~~~|<\w)")


class _Part(NamedTuple):
    start: int
    end: int
    text: str


class Speech(NamedTuple):
    """What of a message its writer says themselves, and what of it is somebody else's or made up."""

    own: str
    others: str


def own_sentences(text: str, *names: str) -> Iterator[str]:
    """Yield the sentences that somebody says themselves. `names` are theirs, as far as they are known: a label or
    the end of a letter with one of them is their own."""
    if len(text) > MAX_TEXT_CHARS:
        text = _WORD_CUT.sub("", text[:MAX_TEXT_CHARS])
    for part in _own_by_layout(text, _first_names(*names)):
        if _NOT_PROSE.match(part.text):
            continue
        for one in _with_question_apart(without_mark(part.text)):
            if MIN_SENTENCE_CHARS <= len(one) <= MAX_SENTENCE_CHARS:
                yield one


@lru_cache(maxsize=512)  # whole texts
def split_speech(text: str, name: str = "") -> Speech:
    """Return what of a message is its writer's own, and what is not, a sentence a line. Code and reports of
    programs are in neither. `name` is the writer's, if it is known."""
    own = _own_by_layout(text, _first_names(name))
    others = [
        part.text
        for part in _located(text)
        if not any(one.start < part.end and part.start < one.end for one in own)
        and not (_NOT_PROSE.match(without_mark(part.text)) or _is_code(part.text))
        and WORD.search(part.text)
    ]
    return Speech("\n".join(one.text for one in own), "\n".join(others))


def _first_names(*names: str) -> set[str]:
    """Return the first names, folded, without what no person is called."""
    return {fold(name).partition(" ")[0] for name in names} - ROLE_NAMES - {""}


def _with_question_apart(sentence: str) -> tuple[str, ...]:
    """Return what somebody tells of themselves before they ask, and the question: "I don't eat gluten and I'm in
    Vienna on Friday, what can I order?"."""
    if not sentence.endswith("?"):
        return (sentence,)
    for found in pattern(_ASKS_BEHIND).finditer(sentence[:MAX_SENTENCE_CHARS], MIN_STATEMENT_CHARS):
        told = sentence[: found.start()]
        folded = fold(told)
        if (
            FIRST_PERSON.search(folded)
            and not pattern(_ASKS).match(folded)
            and not pattern(_DEPENDS).match(folded)
            and not pattern(_DEPENDS_WITHIN).search(folded)
        ):
            return told, sentence[found.start() :].lstrip(" ,;:\u2013\u2014-")
    return (sentence,)


def _own_by_layout(text: str, names: Collection[str]) -> list[_Part]:
    """Return the sentences that are the writer's own by the words that present texts, and by the layout."""
    masked = _without_blocks(text)
    by_words = _own_by_words(text, masked, names)
    parts = _parts(text, by_words, names)
    outside = [
        part
        for part in parts
        if masked[part.start : part.end].strip()
        and not (_REPORTS.match(part.text) or _OPENS_BLOCK.match(text, part.end))  # a block has an end of its own
    ]
    if len(parts) < MIN_SENTENCES or not may_hold_others_text(outside):
        return by_words
    judged = {(part.start, part.end) for part in parts}
    own = {part[:2] for part in by_words} - judged
    own |= {part[:2] for part, signs in zip(parts, find_signs(text, parts, names), strict=True) if is_own(signs)}
    return [part for part in _located(masked) if part[:2] in own]


def layout_signs(text: str, name: str) -> list[tuple[int, int, Signs]]:
    """Return where each sentence of a message stands, and its signs. `name` is the writer's."""
    names = _first_names(name)
    parts = _parts(text, _own_by_words(text, _without_blocks(text), names), names)
    return [(*part[:2], signs) for part, signs in zip(parts, find_signs(text, parts, names), strict=True)]


def _parts(text: str, by_words: Collection[_Part], names: Collection[str]) -> list[Part]:
    own = {part[:2] for part in by_words}
    every = list(islice(_located(text), MAX_SENTENCES + 1))
    if len(every) > MAX_SENTENCES:
        return []
    return [Part(*one, by_words=one[:2] in own, presents=_presents(text, one, names)) for one in every]


def _presents(text: str, part: _Part, names: Collection[str]) -> bool:
    ends_line = "\n" in text[part.end : part.end + 2] or not text[part.end : part.end + MAX_TEXT_READ].strip()
    return find_frame(part.text, ends_line=ends_line, names=names) is not None


def _own_by_words(text: str, masked: str, names: Collection[str]) -> list[_Part]:
    spoken = _quotations(masked)
    own: list[_Part] = []
    begins = min(_letter(masked, names), _log(masked, names), _presented(masked, text))
    last, frames, is_supposed = len(masked.rstrip()), 0, False
    for part in _located(masked):
        if part.start >= begins or frames > MAX_FRAMES or (len(spoken) > MAX_QUOTATIONS and own):
            break
        if any(start < part.end and part.start < end for start, end in spoken):
            continue
        if _REPORTS.match(part.text):
            continue
        ends_line = part.end >= last or "\n" in masked[part.end : part.end + 2]
        frame = find_frame(part.text, ends_line=ends_line, names=names)
        if frame is None:
            is_supposed = is_supposed and is_conditional(part.text)
            if not is_supposed:
                own.append(part)
            continue
        if frame.at is None:
            is_supposed = True
            continue
        if frame.at == 0 and _OPENS_BLOCK.match(text, part.end):
            continue
        at = part.start + frame.at
        frames += 1
        follows = masked[at : at + MAX_TEXT_READ]
        if frame.if_spoken and not speaks(follows):
            own.append(part)
            continue
        if frame.at and _OPENS_BLOCK.match(text, at):
            own.append(part)  # what is pasted has an end of its own
            continue
        if frame.is_request and frame.at == len(part.text) and len(WORD.findall(follows)) < MIN_TEXT_WORDS:
            own = [] if frame.points_back and masked == text and not spoken and ">" not in text else own
            own.append(part)
            continue
        if frame.at == len(part.text):
            own.append(part)
        line_end = masked.find("\n", at)
        if frame.is_request and at < line_end and describes(masked[at:line_end].strip()):
            begins = min(begins, line_end)  # the text itself stands below
            continue
        break
    return own


def _presented(masked: str, text: str) -> int:
    """Return where the text begins that the first line asks about; the length of the message where there is none.
    A block with an end of its own is left out already."""
    start = len(masked) - len(masked.lstrip())
    end = masked.find("\n", start)
    if end < 0 or masked != text:
        return len(masked)
    follows = masked[end : end + MAX_TEXT_READ].strip()
    has_text = len(WORD.findall(follows)) >= MIN_TEXT_WORDS and not _OPENS_BLOCK.match(follows)
    return end if has_text and asks_about_what_follows(masked[start:end], follows) else len(masked)


def _log(text: str, names: Collection[str]) -> int:
    """Return where a chat begins: with the first of several lines under the names of others, of which one returns
    or two speak; the length of the text where there is none."""
    if text.count(":") < MIN_CHAT_LINES or "\n" not in text:
        return len(text)
    first, place = len(text), 0
    seen: set[str] = set()
    speaking: set[str] = set()
    returns = False
    for line in text.split("\n"):
        label = chat_label(line.strip())
        if label and label.partition(" ")[0] not in names:
            first = min(first, place)
            returns = returns or label in seen
            seen.add(label)
            if speaks(line.partition(":")[2]):
                speaking.add(label)
        place += len(line) + 1
    return first if (returns and speaking) or len(speaking) >= MIN_CHAT_LINES else len(text)


def _located(text: str) -> Iterator[_Part]:
    end = 0
    for sentence in sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        yield _Part(start, end, sentence)


def _without_blocks(text: str) -> str:
    """Return the text, of the same length, with line breaks in the place of fenced and marked blocks, of quoted
    lines, of facts with their citations, and of code and its comments."""
    if "```" in text or "~~~" in text or "'''" in text or '"""' in text:
        text = _BLOCK.sub(lambda found: "\n" * len(found[0]), text)
    for start, end in _marked(text):
        text = text[:start] + "\n" * (end - start) + text[end:]
    if ">" in text:
        text = _QUOTED_LINE.sub(lambda found: "\n" * len(found[0]), text)
    if "]" in text:
        text = _CITED_LINE.sub(lambda found: "\n" * len(found[0]), text)
    if "\n" not in text:
        return text
    lines = text.split("\n")
    is_code = [_is_code(line.strip()) for line in lines]
    if any(is_code):
        dropped = (code or _COMMENT_LINE.match(line.lstrip()) for code, line in zip(is_code, lines, strict=True))
        lines = ["\n" * len(line) if drop else line for drop, line in zip(dropped, lines, strict=True)]
    return "\n".join(lines)


def _marked(text: str) -> list[tuple[int, int]]:
    """Return where a text stands between two tags: "<mail>…</mail>"."""
    blocks: list[tuple[int, int]] = []
    opened: dict[str, int] = {}
    for found in _TAG.finditer(text) if "</" in text else ():
        tag = found[2].lower()
        if not found[1]:
            opened.setdefault(tag, found.start())
        elif tag in opened:
            blocks.append((opened[tag], found.end()))
            opened.clear()
    return blocks[:MAX_BLOCKS]


def _is_code(line: str) -> bool:
    return line.endswith((";", "{", "}")) or _CODE_LINE.fullmatch(line) is not None


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return where somebody else speaks in quotation marks; of more than are read, one more."""
    return [
        found.span()
        for found in islice(_QUOTED.finditer(text), MAX_QUOTATIONS + 1)
        if len(WORD.findall(found[0])) >= MIN_QUOTED_WORDS
        and speaks(found[0])
        and not is_own_speech(text[max(0, found.start() - 200) : found.start()].rpartition("\n")[2])
    ]


def _letter(text: str, names: Collection[str]) -> int:
    """Return where a letter of somebody else begins: with the head of a mail, or with a greeting if another name
    than the writer's stands below its end; the length of the text where there is none."""
    if "\n" not in text:
        return len(text)
    place, greeting = 0, -1
    was_head = False
    lines = text.split("\n")
    for number, line in enumerate(lines):
        head = is_head(line)
        if head and was_head:
            return place - len(lines[number - 1]) - 1
        was_head = head
        if greeting < 0 and greeted(line):
            greeting = place
        if greeting >= 0 and (signs_off(line) or signed(line)):
            below = next((one for one in lines[number + 1 :] if one.strip()), "")
            name = signed(line) or fold(below.strip()).partition(" ")[0]
            if name and name not in names:
                return greeting
        place += len(line) + 1
    return len(text)


def without_mark(sentence: str) -> str:
    """Return a sentence without the mark of a list or heading before it, in which it could be taken for more than
    a sentence of a document."""
    mark = MARK.match(sentence)
    return (sentence[mark.end() :] if mark else sentence).strip()
