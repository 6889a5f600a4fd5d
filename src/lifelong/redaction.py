"""Secrets in text: found by their shape, by the name before them, or because they look random.

`redact` puts `[secret: <kind>]` in the place of each. A marker is never looked into, so redacting twice changes
nothing. In doubt the value after "password" is a secret, and that after "token" or "secret" is not: people name
a password to give it away, and speak of secrets and tokens in many other ways.

Every pattern takes what it has scanned, or has scanned a bounded stretch: time grows no faster than the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_

from lifelong.text.words import BoundedCache, pattern

_Span = tuple[int, int, str]  # from, to, kind

_FORMATS = {
    "AWS key": r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16,}+",
    "GitHub token": r"gh[oprsu]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+",
    "GitLab token": r"gl(?:pat|dt|rt|cbt|ptt|soat)-[\w-]{18,}+(?:\.[\w-]{2,}+)*+",
    "Slack token": r"xox[a-z]-[\w-]{10,}+|xapp-[\w-]{16,}+",
    "webhook": r"https://(?:hooks\.slack\.com/\w{1,10}|(?:\w{1,10}\.)?discord(?:app)?\.com/api/webhooks)/[\w/-]++",
    "Stripe key": r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}+",
    "Anthropic key": r"sk-ant-[\w-]{10,}+",
    "OpenAI key": r"(?<![A-Za-z])sk-(?=[\w-]{0,60}[\dA-Z])[\w-]{20,}+",
    "Google key": r"AIza[\w-]{30,}+|GOCSPX-[\w-]{20,}+|ya29\.[\w.-]{20,}+",
    "Hugging Face token": r"hf_[A-Za-z0-9]{20,}+",
    "npm token": r"npm_[A-Za-z0-9]{30,}+",
    "PyPI token": r"pypi-[\w-]{16,}+",
    "SendGrid key": r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    "Twilio key": r"(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32,}+",
    "Telegram token": r"(?<!\d)\d{8,10}:[\w-]{35,}+",
    "API token": r"(?:dckr_[op]at_|do[opr]_v1_|shp(?:at|ca|pa|ss)_|xkeysib-|lin_api_|sntry[su]_)[\w-]{20,}+",
    "JWT": r"eyJ[\w-]{12,}+(?:\.[\w-]*+){0,4}",
}
_FORMAT = "(?a)" + "|".join(f"(?P<k{n}>{pattern})" for n, pattern in enumerate(_FORMATS.values()))

# Up to the END line; where there is none, as far as it looks like the inside of a key.
_PRIVATE_KEY = (
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:(?:[^-]++|-(?!---))*+-{4,5} ?END[A-Z0-9 ]{0,50}+-*+"
    r"|(?:(?:[\s>|\"'+,]|\\[nr]?)*+(?:[\w-]{2,20}: [^\n\\]{1,80}|[A-Za-z0-9+/=]{16,}+))*+"
    r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{1,64}+(?=[ \t\r]*+(?:[\"'\n\\]|\Z)))?)"
)
# The secret is the group: what stands around it tells where it is, and stays.
_AROUND = {
    "password": r"(?<![\w+.-])[a-zA-Z][\w+.-]{0,30}://(?:[^\s:/@\"'<>]{0,200}+:(?!\d{1,5}(?:[/?#\s]|\Z))"
    r"([^\s/\"'<>]{1,300}(?=@)|[^\s\"'<>]{1,300}(?=@))|([^\s:/@\"'<>]{16,300}+)(?=@))"
    r"|(?:\s-u|--user)[ =]?[\"']?[^\s:\"'=]{1,100}:(?!\d+\b)([^\s\"']{1,300}+)",
    "authorization": r"(?i)authorization[\"'\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\]{0,4}"
    r"(?>(?:bearer|basic|token|apikey)\s{1,3}|(?=\S{0,60}\d))([^\s\"'\\,;<{$]{4,}+)"
    r"|\bbearer[ ]{1,3}((?=[a-z._~+/-]{0,60}\d)[\w.~+/=-]{12,}+)",
}
_CARD_START = re.compile(r"\d{4}[ -]?\d{4}")
_CARD = (
    r"(?<![\w.])(?:3[47]\d\d([ -]?)\d{6}\1\d{5}|4\d{12}"
    r"|[2-6]\d{3}([ -]?)\d{4}\2\d{4}\2\d{4}(?:\2\d{3})?)(?![\w-]|\.\d)"
)
# What is long and no secret is taken whole, so that nothing in it is looked at.
_LONG = (
    r"(?a)(?:[a-zA-Z][\w+.-]{1,30}://|www\.)[^\s\"'<>]++|data:image/[^\s\"'<>)]++|AAAA[\w+/=]++"
    r"|(?<!\w)(?i:sha)\d{1,3}[:=-][\w+/=]++|(?P<token>[\w+/=.~-]{20,}+)"
)
_DIGEST = re.compile(r"[0-9a-f]{24}|(?:[0-9a-f]{32}){1,4}|[0-9a-f]{40}|[0-9a-f]{56}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_FILE = re.compile(r"\.(?:png|jpe?g|gif|webp|svg|pdf|py|[jt]sx?|md|txt|json|html?|css|mp[34]|zip|gz|csv)\Z")

_NAME = r"""(?x)(?:
      (?P<password> (?:pass[ _-]?(?:word|wort|wd|phrase|code) | kennwort | wachtwoord | contrase[ñn]a
        | mot[ ]de[ ]passe | pwd | (?<![^\W_])(?:mdp|pw|senha))s?)
    | (?P<pin> (?<![^\W_])(?:pin(?:[ _-]?(?:code|number|nummer))? | cvv2? | cvc2?
        | (?:door|gate|alarm|access|entry|security|verification|lock|garage|safe)[ _-]code))
    | (?P<token> (?:api|access|secret|private|auth|account|encryption|signing|master|license|wi-?fi)[ _-]?key
        | token | secret | (?<![^\W_])(?:clave|pass(?=["'\s]{0,2}[:=])))
    )(?:[_-]?\d{1,3})?(?![^\W_]|_[a-z])"""
_GAP = r"""(?ix)(?:\s{0,2}\([^()\n]{1,40}\) | \s+(?:for|to|of|on|at|from|that|i|we|you
      |für|zum|von|vom|de|del|para|du|pour|da|di|do|voor|van)\b[^.,;:=?!\n]{1,60}?)?
      (?:(?P<assign>[*_`"'\\\])]{0,5}[ \t]{0,3}(?::=|=>|={1,3}|:(?!//)|>|→|->)[*_]{0,2}\s{0,4})
      | (?P<speech>(?:\s+(?:is|are|was|will[ ]be|ist|lautet|war|es|era|est|était|è|é)|['\u2019]s)
        (?:\s+(?:now|still|just|currently|set[ ]to|changed[ ]to|called|jetzt|ahora|maintenant)){0,2}[ ]?:?\s+))
    | (?P<cell>[ \t]{0,20}\|[ \t]{0,20}(?!-)) | (?P<to>\s+(?:to|as|auf|a|en)\s+) | (?P<beside>[ \t]{1,3})"""
_BEFORE = r"(?i)(?:^|[\s:])(\S{4,100})\s+(?:is|as|ist|als|es|est|como|comme|è|é)\s+(?:[\w'-]{1,20}\s+){0,3}\Z"
_NUMBER = r"[\"'`#*\\]{0,3}([A-Za-z]{0,2}\d(?:[ -]?\d|[A-Z]){2,11})(?![\d%]|[.,:/]\d|\w)"
_QUOTE = re.compile(r"(\\*+)(\"\"\"|'''|[\"'`“\u2018«„])")
_CLOSING = {"“": "”", "\u2018": "\u2019", "«": "»", "„": "“"}
_CLAUSE = (
    r"(?i)[.,;:](?=[\s\"']|\Z)|[!?]+(?=\s+[A-Z])|\n|\s(?:and|but|or|because|so|which|if|when|then|und|oder|aber|y|o|pero"
    r"|et|ou|mais|[-\u2013—|]+)(?=\s)|[;&](?=[a-z_ ]{2,40}=)|,(?=[\"']?[a-z_]{2,40}[\"']?[=:])|\s[(#]|</"
)
_TRIM = ".,;:)]}>\"'`*“”\u2019»"
_PLACEHOLDER = (
    r"(?i)[\W_]*|x{3,}|<[\w -]*>|\[[\w -]*\]|\$\{.*\}|\$[a-z_]+|\{+[\w. -]*\}+|%s|%\w+%"
    r"|your[\w-]*|null|none|nil|true|false|(?:my|the|new)[a-z_-]*(?:pass|key|token|secret)[a-z]*|undefined|string|bytes"
    r"|redacted|example|optional|[a-z._]*(?:pass(?:word|wd)?|token|secret|key|pwd)|[.~]{0,2}(?:/[a-z_.-]+){2,}/?"
)
_CODE = (  # what a program assigns from elsewhere, and prices
    r"(?i)[$@]?[a-z_.>-]+[(\[].*|(?:self|this|os|process|config|settings|env|args|user)\..*|\$[a-z_]+->.*|\$\d[\d.,]*"
    r"|str|int|https?:.*"
)
_MEASURE = (
    r"(?i)\W*\d+(?:st|nd|rd|th|s|am|pm|h|hrs?|mins?|days?|k|m|x|%|ms|[kmgt]b|-\w+)?\W*|v?\d+(?:\.\d+)+|[\d/.,:-]+"
    r"|(?:sha|md|utf|base|oauth|aes|rsa|web|erc|http|ipv)-?\d+\w*|2fa|mfa|1password"
)
# A clause with a small word speaks about a password; a pass phrase is made of other words.
_SMALL_WORDS = """a an the my your our his her their its this that it i you he she we they me him us them is are
was were be been has have had do does did can could may might must shall should will would cannot not no never too
very so quite really still yet already again always now then today just only also even more most less least in on
at to of for from with without by as into up down out off over under about than and or but if when while what who
where why how there here all any some each every both please longer one like der die das ein eine mein nicht zu
sehr ist auf im mit für von noch nur el los las un una mi tu su muy es está en con por para de del que más le les
une mon pas trop très est dans du des muito não minha sua molto non mia tua troppo niet te erg mijn"""
_STATES = """weak strong wrong right correct incorrect invalid valid secure insecure safe unsafe secret private
public same important different similar long short good bad great better best fine ok easy hard simple complex
difficult unique empty blank lost known unknown new old stale available unavailable ready enough mine yours gone
broken stolen stuck sent kept set reset given taken made written found shown patience key common random terrible
awful stupid hidden schwach stark falsch richtig abgelaufen sicher geheim débil correcta incorrecta segura faible
incorrecte expiré valide fraca forte errada segreta debole sbagliata sicura zwak sterk fout verlopen"""
_SMALL = frozenset(_SMALL_WORDS.split())
_DESCRIBING = rf"(?i){'|'.join(_STATES.split())}|.{{2,}}(?:ed|ing|able|ible|ful|less|ly|ive|ous|ary|ado|ada)"
_ADVICE = re.compile(r"(?i)\b(?:pass|must|should|enter|please|your|characters|required|incorrect)")
_SYMBOL = re.compile(r"\w[!@#$%^&*+=~?\\|_]|[!@#$%^&*+=~?\\|]\w|[a-z][A-Z]")
_NAMED = {"password": "password", "pin": "PIN", "token": "token"}
_MARKER = re.compile(
    rf"\[secret: (?:{'|'.join([*_FORMATS, *_AROUND])}|PIN|token|private key|card number|random token)\]"
)
_LONG_WORD = re.compile(r"\S{20,}")  # a shorter one is a secret only where its name or its digits say so
_HINT = re.compile("pass|pw|secret|token|key|pin|code|kennw|wachtw|senha|contrase|clave|mdp|cv")  # of a name
_NAME_PART = re.compile("pass[\"']{0,2}$|^(?:passe|code|key)")  # of a name of several words
_FRAME_HINT, _FOUR_DIGITS = re.compile("://|^-u|--user|authoriz|bearer|----"), re.compile(r"\d{4}")
_MAX_ROUNDS = 5  # a marker is shorter than its secret was, and so may bring a name and a value together
_MAX_WORDS, _MAX_CLAUSE_CHARS, _MAX_QUOTE_CHARS, _MAX_PLACEHOLDER_CHARS = 12, 300, 5_000, 100


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets. `found` holds their kinds, in order, and never the secrets themselves."""

    text: str
    found: tuple[str, ...]


def find_secrets(text: str) -> Redacted:
    """Return the text with a marker in the place of each secret, and the kinds that were found."""
    found: list[str] = []
    for _ in range(_MAX_ROUNDS):
        spans = _spans(text)
        if not spans:
            break
        ends = [0, *(end for _, end, _ in spans)]
        parts = [f"{text[at:start]}[secret: {kind}]" for at, (start, _, kind) in zip(ends, spans, strict=False)]
        text = "".join([*parts, text[ends[-1] :]])
        found += [kind for _, _, kind in spans]
    return Redacted(text, tuple(found))


def redact(text: str) -> str:
    """Return the text with a marker in the place of each secret."""
    return find_secrets(text).text


def has_secret(text: str) -> bool:
    return bool(_spans(text))


_KEY_LIKE, _CARD_LIKE, _NAME_LIKE, _FRAME_LIKE = (1 << bit for bit in range(4))
"""What a word may belong to: a key, a card number, a value with its name before it, or in its usual place."""


def suspicion(word: str) -> int:
    """Return 0 where a word cannot be, name or frame a secret: a text of such words has none."""
    word = word.lower().replace("\u0307", "")  # what İ becomes, beside an i
    found = _NAME_LIKE if _HINT.search(word) and (pattern(_NAME).search(word) or _NAME_PART.search(word)) else 0
    others = (_KEY_LIKE, _LONG_WORD), (_CARD_LIKE, _FOUR_DIGITS), (_FRAME_LIKE, _FRAME_HINT)
    return found | sum(kind for kind, hint in others if hint.search(word))


_suspicions = BoundedCache(suspicion)


def _spans(text: str) -> list[_Span]:
    """Return where the secrets are, in order. Overlapping ones become one, so that no part is left over."""
    text = _MARKER.sub(lambda marker: ";" * len(marker[0]), text)
    suspected = reduce(or_, map(_suspicions.__getitem__, text.split()), 0)
    if not suspected or (suspected == _CARD_LIKE and not _CARD_START.search(text)):
        return []
    looks = ((_KEY_LIKE, _shaped), (_CARD_LIKE, _cards), (_FRAME_LIKE, _around), (_NAME_LIKE, _named))
    found = [span for kind, look in looks if suspected & kind for span in look(text)]
    apart: list[_Span] = []
    for start, end, kind in sorted(found, key=lambda span: span[0]):
        if apart and start < apart[-1][1]:
            first, last, known = apart.pop()
            apart.append((first, max(last, end), known))
        else:
            apart.append((start, end, kind))
    return apart


def _cards(text: str) -> Iterator[_Span]:
    for card in pattern(_CARD).finditer(text):
        digits = [int(digit) for digit in reversed(card[0]) if digit.isdecimal()]
        if (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0:
            yield *card.span(), "card number"


def _shaped(text: str) -> Iterator[_Span]:
    for run in _LONG_WORD.finditer(text):
        for key in pattern(_FORMAT).finditer(text, *run.span()):
            yield *key.span(), [*_FORMATS][int((key.lastgroup or "")[1:])]
        for long in pattern(_LONG).finditer(text, *run.span()):
            if (token := long["token"]) and _looks_random(token):
                yield *long.span(), "random token"


def _looks_random(token: str) -> bool:
    """Return whether this looks generated, not written: characters of several kinds that change all the time."""
    if _UUID.search(token) or _FILE.search(token):
        return False
    parts = [part for part in re.split(r"[\W_]+", token) if not _DIGEST.fullmatch(part)]
    core = "".join(part for part in parts if not (part.isdecimal() or (len(part) > 3 and _PIECES.fullmatch(part))))
    cased = core != core.lower() and core != core.upper()
    if len(core) < 16 or not (cased or any(map(str.isdecimal, core))):
        return False
    entropy = -sum(count / len(core) * math.log2(count / len(core)) for count in Counter(core).values())
    return entropy > 3.2 and len(core) / len(_PIECES.findall(core)) < (3.1 if cased else 4)


def _around(text: str) -> Iterator[_Span]:
    yield from ((*key.span(), "private key") for key in pattern(_PRIVATE_KEY).finditer(text))
    for kind, frame in _AROUND.items():
        for around in pattern(frame).finditer(text):
            if not _is_placeholder(around[around.lastindex or 0]):
                yield *around.span(around.lastindex or 0), kind


def _named(text: str) -> Iterator[_Span]:
    """Values that a name announces, as in `password = x`, "my PIN is 1234", "x is the password"."""
    lowered, at = text.lower(), 0
    if len(lowered) != len(text):
        lowered = "".join([letter.lower()[0] for letter in text])
    while name := pattern(_NAME).search(lowered, at):
        group, at = name.lastgroup or "", name.end()
        if value := _value(text, name, group):
            yield *value, _NAMED[group]
            at = max(at, value[1])
        elif group == "password":
            start = max(0, name.start() - 200)
            if (before := pattern(_BEFORE).search(text[start : name.start()])) and _strange(before[1], sure=True):
                yield start + before.start(1), start + before.end(1), _NAMED[group]


def _value(text: str, name: re.Match[str], group: str) -> tuple[int, int] | None:
    """Return where the value after this name is, if one is given."""
    gap = pattern(_GAP).match(text, name.end())
    if not gap:
        return None
    how, sure, start = gap.lastgroup or "", group != "token", gap.end()
    number = pattern(_NUMBER).match(text, start)
    if group == "pin":
        aside = how == "beside" and "cv" not in name[0] and not text[slice(*name.span())].isupper()
        return number.span(1) if number and not aside and len(number[1]) >= (3 if "cv" in name[0] else 4) else None
    if quoted := _quoted(text, start):
        return quoted if _is_value(text[slice(*quoted)], how, sure) else None
    cut = pattern(_CLAUSE).search(text, start, start + _MAX_CLAUSE_CHARS)
    words = list(
        islice(
            re.finditer(r"\S+", text[start : cut.start() if cut else start + _MAX_CLAUSE_CHARS]), _MAX_WORDS + 1
        )
    )
    tight = how == "assign" and "=" in gap[0] and not gap[0][-1].isspace()
    if count := _given_away([word[0] for word in words], how, sure, tight):
        last = start + words[count - 1].end()
        if last == start + _MAX_CLAUSE_CHARS and (rest := re.compile(r"\S+").match(text, last)):
            last = rest.end()
        return start, start + len(text[start:last].rstrip(_TRIM))
    return number.span(1) if number and sure and how in {"assign", "speech"} and len(number[1]) > 5 else None


def _quoted(text: str, start: int) -> tuple[int, int] | None:
    """Return where the text between the quotation marks that open here is."""
    quote = _QUOTE.match(text, start)
    if not quote:
        return None
    closing, limit = quote[1] + _CLOSING.get(quote[2], quote[2]), quote.end() + _MAX_QUOTE_CHARS
    end = text.find(closing, quote.end(), limit)
    while end > 0 and not quote[1] and text[end - 1] == "\\":
        end = text.find(closing, end + 1, limit)
    return (quote.end(), end) if end > 0 and "\n" not in text[quote.end() : end] else None


def _is_value(quoted: str, how: str, sure: bool) -> bool:
    words = quoted.split()
    if not words or _is_placeholder(quoted):
        return False
    if len(words) > 1:
        return sure and how != "beside" and not _ADVICE.search(quoted)
    if how == "beside" or (not sure and how != "assign"):
        return _strange(quoted, sure)
    return sure or _strange(quoted, sure) or (len(quoted) >= 8 and not pattern(_DESCRIBING).fullmatch(quoted))


def _given_away(words: list[str], how: str, sure: bool, tight: bool) -> int:
    """Return how many of these words are the value: 0 where they only speak about it."""
    if (
        not words
        or _is_placeholder(words[0].rstrip(".,;)\"'`"))
        or (how == "assign" and pattern(_CODE).fullmatch(words[0]))
    ):
        return 0
    strange = [_strange(word, sure) for word in words]
    if strange[0]:
        return [*strange, False].index(False)
    bare = [word.strip(_TRIM).lower() for word in words]
    if sure and how in {"assign", "speech"}:
        plain = bare[: strange.index(True)] if True in strange[:4] else bare
        speaks = len(plain) > _MAX_WORDS or not _SMALL.isdisjoint(plain)
        if not speaks and (len(plain) > 2 or not any(map(pattern(_DESCRIBING).fullmatch, plain))):
            return len(plain) + (plain is not bare)
    return int(tight and (sure or len(bare[0]) >= 6))


def _is_placeholder(value: str) -> bool:
    return len(value) <= _MAX_PLACEHOLDER_CHARS and bool(pattern(_PLACEHOLDER).fullmatch(value))


def _strange(word: str, sure: bool) -> bool:
    """Return whether this is not a word of any language: letters mixed with digits or signs, or a number."""
    core = word[:_MAX_CLAUSE_CHARS].strip(_TRIM + "([{<")
    if core.isdecimal():
        return len(core) >= (4 if sure else 6)
    if _is_placeholder(core) or pattern(_MEASURE).fullmatch(core):
        return False
    letters = any(map(str.isalpha, core))
    if letters and any(map(str.isdecimal, core)):
        return len(core) >= (4 if sure else 6)
    return sure and letters and len(core) >= 5 and bool(_SYMBOL.search(core))
