"""What somebody says themselves in a message: no code, no quotation, no table, no error, no text that they paste
or only ask about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lifelong.text.sentences import sentences
from lifelong.text.words import fold, pattern

MAX_TEXT_CHARS = 20_000  # of one message that are read; longer text was pasted
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 4, 500
MAX_REQUEST_CHARS = 600  # within which somebody says what a text is given for

MARK = re.compile(r"(?:(?:[-*+•>#|]+|\d{1,3}[.)])\s+|\*\*|Inferred:\s+)+")
_CODE = re.compile(r"(```|~~~)[^\n]*\n.*?(?:\n\1|\Z)", re.DOTALL)
_NOT_PROSE = re.compile(
    r"[>|<{}$]|\[\d|//|/\*|import |def |Traceback |File \"|[\w.]*(?:Error|Exception|Warning): |\s+at \S+\("
    r"|at \S+ \(\S+:\d+"
)
_PASTED = (
    r"(?:(?:^|(?<=[.!?] ))(?:[^\n.!?]{0,200}?\b(?:summari[sz]e|translate|rewrite|rephrase|proofread|correct"
    r"|improve|edit|shorten|fix|review|explain|analy[sz]e|reply to|respond to|read|ubersetze|korrigiere"
    r"|traduce|corrige"
    r"|resume|traduis|resume[rz]?)\b[^\n]{0,200}:[ \t]*\n|(?:From|To|Cc|Subject|Sent|Date|Von|An|Betreff|De|Para"
    r"|Asunto): [^\n]*\n\s*(?:From|To|Cc|Subject|Sent|Date|Von|An|Betreff|De|Para|Asunto): [^\n]*\n))"
)
_ABOUT_TEXT = (
    r"[^\w]{0,3}(?:(?:hey|hi|ok|please|pls|can you|could you|bitte|kannst du|puedes|por favor|peux-tu)[, ]+){0,3}"
    r"(?:(?:is|are|ist|sind|es|est-ce que) (?:this|that|these|the following|it|das|dies\w*|folgende\w*|esto|este"
    r"|ce)\b[^?\n]{0,40}\b(?:phishing|spam|scam|legit\w*|fake|true|correct|real|genuine|safe|grammar\w*|betrug"
    r"|echt|richtig|estafa|correcto|verdad|arnaque|vrai)\b[^?\n]{0,40}\?"
    r"|what (?:does|do) (?:this|that|these|the following)\b[^?\n]{0,60}\?"
    r"|(?:translate|summari[sz]e|rewrite|rephrase|proofread|paraphrase|ubersetze?|korrigiere|traduce|corrige"
    r"|traduis)\b)"
)
"""How somebody begins who asks about a text that follows."""


def own_sentences(text: str) -> Iterator[str]:
    """Yield the sentences that somebody says themselves."""
    text = text[:MAX_TEXT_CHARS]
    if asked := pattern(_ABOUT_TEXT).match(fold(text[:MAX_REQUEST_CHARS])):
        text = text[: asked.end()]
    if "\n" in text:
        text = _CODE.sub("\n", text)
        if ":" in text and (pasted := pattern(_PASTED, re.MULTILINE | re.IGNORECASE).search(text)):
            text = text[: pasted.end()]
    for sentence in sentences(text):
        if _NOT_PROSE.match(sentence):
            continue
        one = without_mark(sentence)
        if MIN_SENTENCE_CHARS <= len(one) <= MAX_SENTENCE_CHARS:
            yield one


def without_mark(sentence: str) -> str:
    """Return a sentence without the mark of a list or heading before it, in which it could be taken for more than
    a sentence of a document."""
    mark = MARK.match(sentence)
    return (sentence[mark.end() :] if mark else sentence).strip()
