"""Trims text and sentences to what they say: without greetings, hedges, names and asides."""

from __future__ import annotations

import re
from functools import lru_cache

from lifelong.text.words import WORD, either, weight, without_case, word_set

MAX_RECORD_CHARS = 20_000  # of one record that are read; longer text was pasted

_CODE = re.compile(r"(```|~~~)[^\n]*\n.*?(?:\n\1|\Z)", re.DOTALL)
_NOT_PROSE = re.compile(
    r"^[ \t]*(?:>|\||<|\{|\}|\[\d|//|/\*|\$ |import |def ).*$|<[^<>\n]{1,200}>|https?://\S+", re.MULTILINE
)
_MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}|[-*+•]|(?:\*\*)?\d{1,3}[.)])[ \t]+|\*\*|__|[\U0001F000-\U0001FFFF☀-➿️]", re.MULTILINE
)
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])")
_DRAWN_OUT = re.compile(r"([a-z])\1\1+(?!\.)")  # "sooo"; not "www."
_PASTED = re.compile(
    r"(?:(?:^|(?<=[.!?] ))(?:[^\n.!?]{0,200}?\b(?<!\bI )(?<!\bwe )(?<!\blet me )(?:summari[sz]e|translate|rewrite"
    r"|rephrase|proofread|correct|improve|edit|shorten|fix|review|explain|analy[sz]e|(?:reply|respond) to)"
    r"|(?:[^\n.!?]{0,200}?(?:\bplease|\byou|,) )?read)\b[^\n]{0,200}:[ \t]*\n"
    r"|^(?:(?:From|To|Cc|Subject|Sent|Date): [^\n]*\n\s*){2}).*",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_WITHOUT = {  # the apostrophe
    "im": "I'm",
    "ive": "I've",
    **{
        f"{word}nt": f"{word}n't"
        for word in word_set("do does did ca could wo would should is are was were have has had")
    },
    **{f"{word}s": f"{word}'s" for word in word_set("that what she")},
    **{f"{word}re": f"{word}'re" for word in word_set("you they")},
}
_UNMARKED = re.compile(rf"\b(?:{'|'.join(_WITHOUT)})\b")
_CAPTION = re.compile(r"\[shared image:\s*([^\]\n]{3,300})\]")
_OPENING = re.compile(
    "(?:"
    + either(
        r"oh|ooh|ah|aww?|bro|bruh|dude|guys|mate|wow|who+a+h?|woah|yeah|yep|yup|yes|nope|nah|hey|hi|hello|hmm+|haha|lol|omg|well|so|and|but"
        r"|also|anyways?|okay|ok|actually|honestly|basically|plus|btw|by the way|you know what|i mean|to be honest"
        r"|guess what|in fact|like i said|as (?:i|you) (?:said|know)|luckily|fortunately|unfortunately"
        r"|speaking of [\w' ]{2,30},|one more thing|then(?= i\b|,)"
    )
    + r"(?:[\s,.!:\u2013\u2014-]+|$)|"
    + either(
        r"no|sure(?: thing)?|sorry|exactly|absolutely|definitely|totally|certainly|indeed|agreed|true|right"
        r"|thanks(?: so much| a lot)?|thank you(?: so much)?|cool|great|nice|awesome|amazing|of course|for sure"
        r"|no (?:worries|problem|way|doubts?)|wait|congrats|correction|good (?:question|point|idea|news)"
        r"|great (?:question|point|idea|news)|aww|oops|woohoo|man|i (?:misspoke|was wrong)|scratch that"
        r"|my (?:bad|mistake)"
    )
    + r"(?:\s*[,.!:\u2013\u2014]+\s*|\s+[-\u2013\u2014]\s*|$))+",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?<!\ba )(?<!\ban )(?:"
    + either(
        r"really|truly|super|just(?! (?:like|as|a|an|one|the|under|over|before|after)\b)|totally|definitely"
        r"|absolutely|actually|honestly|literally|basically|certainly|obviously|incredibly|extremely|seriously"
        r"|simply|kinda|a (?:little )?bit(?! of)|quite a (?:little )?bit(?! of)|kind of(?! \w+ing)|sort of"
        r"|you know,|i (?:think|guess|believe|feel like|have to say|must say|suppose)(?: that)?"
        r"(?= (?:i|it|we|the|my|that|this|he|she|they)\b)|in my opinion|for me,|to be honest|of course"
        r"|i just wanted to (?:tell|let) you (?:know )?(?:about |that )?"
    )
    + r"|(?<=[smetn] )(?:so|very|pretty|quite|too)(?= \w+(?:ed|ing|ful|y|ant|ent|al|ive|ous)\b))\s+",
    re.IGNORECASE,
)
_HEDGE_LOWER = without_case(_HEDGE)
_TAG = re.compile(
    r"(?:,?\s+(?:too|as well|though|lol|haha|right|you know|huh|again|anyway|so far|i guess|if you ask me"
    r"|by the way|btw"
    r"|in the end|isn't it|don't you think|at the same time|for sure|all the time|and (?:stuff|more|all that"
    r"|so on)))+\s*$",
    re.IGNORECASE,
)
_TAG_ENDS = (
    *("too", "well", "though", "lol", "haha", "right", "know", "huh", "again", "anyway", "far", "guess", "me"),
    *("end", "it", "think", "time", "way", "btw", "sure", "stuff", "more", "that", "on"),
)
_CLAUSE = re.compile(
    r"(\s+[-\u2013\u2014]+\s*|[\u2013\u2014]\s*|--+\s*|-\s+|;\s+|:\s+(?=[A-Za-z])|,\s+(?=(?:and (?:it|that|this"
    r"|i|i'm|i've|we|they|he|she|now)|but|so|which|because|since|though|although|especially|even|while|it|it's|i"
    r"|i'm|i've|we|we're|they|he|she|that's|this|not|plus|as|whether)\b)|\s+(?=(?:and (?:it|it's|that|this|i'm"
    r"|i've|they|it's|how)|but|'cause|because|which|even though)\b))",
    re.IGNORECASE,
)
_MAX_NICKNAME_CHARS = 20
_ITEM_NUMBER = re.compile(r"^\d{1,2}\. (?=\D)")
_QUOTE = re.compile(r"(^|[^\d])\"")  # after a number it means inches
_JOINT = re.compile(r"(?:and|but|so|plus|though)\b,?\s+", re.IGNORECASE)
_DEPENDENT = re.compile(
    r"(?:which|because|'cause|since|as|while|especially|even|not|how|whether|although|though)\b", re.IGNORECASE
)
_REASON = re.compile(r"(?:because|'cause|since|so that)\b", re.IGNORECASE)


def prose(text: str) -> str:
    """Return the prose of a text: without code, quotations, tables and markup."""
    text = text[:MAX_RECORD_CHARS]
    if "```" in text or "~~~" in text:
        text = _CODE.sub("\n", text)
    text = _DRAWN_OUT.sub(r"\1", _MARKUP.sub("", _NOT_PROSE.sub("", text))).replace("\u2019", "'")
    return _EMPHASIS.sub("", text) if "*" in text else text


def with_apostrophes(sentence: str) -> str:
    """Return an English sentence with "I'm" for "im"."""
    if _WITHOUT.keys().isdisjoint(sentence.split()):
        return sentence
    return _UNMARKED.sub(lambda found: _WITHOUT[found[0]], sentence)


def own_words(text: str) -> str:
    """Return what somebody says to an assistant, without a mail or other text that they paste."""
    return _PASTED.sub("", text) if ":" in text and "\n" in text else text


def without_captions(text: str) -> tuple[str, list[str]]:
    """Return the text without image captions, and the captions."""
    if "[shared image:" not in text:
        return text, []
    return _CAPTION.sub("", text), _CAPTION.findall(text)


@lru_cache(maxsize=256)
def _calling(names: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern for addressing somebody by name, or by a short form of it."""
    forms = {
        name[:n] for name in names if name for n in (*range(3, min(len(name), _MAX_NICKNAME_CHARS)), len(name))
    }
    called = "|".join(sorted(map(re.escape, forms), key=lambda form: (-len(form), form))) or r"(?!)"
    return re.compile(
        rf"^(?:{called})(?:[,!.:]\s*|\s*[-\u2013\u2014]\s*|\s+(?=[iI]\b|[iI]'|you|your|that))"
        rf"|,\s*(?:{called})(?=\s*(?:[,.!?;\u2013\u2014-]|$))|\s(?:{called})(?=[.!?]*$|,)"
    )


def trimmed(sentence: str, names: frozenset[str]) -> str:
    """Return the sentence without its opening words, names of listeners, hedges and closing mark."""
    text = _ITEM_NUMBER.sub("", " ".join(sentence.split()).strip(" \"'()*-\u2013\u2014,"))
    called = _calling(names)
    for _ in range(3):
        before = text
        if opening := _OPENING.match(text):
            text = text[opening.end() :]
        text = called.sub("", text).lstrip(" ,.!-\u2013\u2014")
        if text == before:
            break
    if _HEDGE_LOWER.search(text.lower()):
        text = _HEDGE.sub("", text)
    text = text.rstrip(" .!?…\"',-\u2013\u2014:;")
    if text.lower().endswith(_TAG_ENDS):
        text = _TAG.sub("", text)
    text = text.rstrip(" ,")
    if text.count('"') % 2 and (quote := _QUOTE.search(text)):  # the other quotation mark was trimmed
        return f'"{text}' if quote[1].strip() else f'{text}"'
    return text


def information(text: str) -> float:
    """Return how much information a text holds."""
    return sum(map(weight, WORD.findall(text)))


def informative_clauses(sentence: str) -> str:
    """Return the sentence without clauses that say little."""
    parts = _CLAUSE.split(sentence)
    if len(parts) == 1:
        return sentence
    clauses = parts[::2]
    scores = [information(clause) + (0.5 if _REASON.match(clause) else 0.0) for clause in clauses]
    best = max(range(len(clauses)), key=scores.__getitem__)
    kept = [n == best or (score >= 1.0 and score > 0.03 * len(clauses[n])) for n, score in enumerate(scores)]
    if _DEPENDENT.match(clauses[best]):
        kept[max(0, best - 1)] = True
    kept_text = ""
    for n, clause in enumerate(clauses):
        if not kept[n]:
            continue
        if not kept_text:
            joint = _JOINT.match(clause) if n else None
            kept_text = clause[joint.end() :] if joint else clause
        else:
            gap = parts[2 * n - 1]
            kept_text += f"{gap if gap.strip() in {',', ':', ''} else '; '}{clause}"
    return kept_text.strip(" ,;")
