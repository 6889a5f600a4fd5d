"""The words of a text: how they are told apart and written alike, which of them say little, deny, or count.

`fold` takes case and accents away; `content_words` gives the words that say something, and works for scripts
that write no blanks between words, too. The word lists that several stages need stand here. Where two lists
differ, their comments say what each was tuned for; what they share is written once.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import takewhile
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_CACHED_WORDS, MAX_CACHED_WORD_CHARS = 100_000, 40

WORD = re.compile(r"[^\W_]+(?:['+][^\W_]+)*")
FOLDED_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[\u2600-\u27bf\U0001f300-\U0001faff]")  # or an emoji
_UNSPACED_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
UNSPACED = re.compile(f"[{_UNSPACED_SCRIPTS}]+")
_PARTS = f"[{_UNSPACED_SCRIPTS}]+|[^{_UNSPACED_SCRIPTS}]+"
_FIRST_IDEOGRAPH = "\u3400"  # from here on, Han and Hangul, a character may be a word


# Patterns and lists


class BoundedCache(dict[str, T]):
    """Cache what `look` returns for a word. People use few words again and again, so a lookup must be as quick as
    that of a dictionary, which `functools.lru_cache` is not. It is emptied when it is full."""

    def __init__(self, look: Callable[[str], T]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, word: str) -> T:
        found = self._look(word)
        if len(word) <= MAX_CACHED_WORD_CHARS:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = found
        return found


class TextCache(Generic[P, T]):
    """Cache what `look` returns for the texts that were used last, of at most so many characters together: people
    may say anything from a word to a book."""

    def __init__(self, look: Callable[P, T], max_chars: int) -> None:
        self.chars = 0
        self._look, self._max_chars = look, max_chars
        self._known: OrderedDict[tuple[object, ...], T] = OrderedDict()
        self._lock = Lock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            if args in self._known:
                self._known.move_to_end(args)
                return self._known[args]
        found = self._look(*args, **kwargs)
        with self._lock:
            if args not in self._known:
                self._known[args] = found
                self.chars += _weight(args)
            while self.chars > self._max_chars:
                self.chars -= _weight(self._known.popitem(last=False)[0])
        return found


def _weight(texts: tuple[object, ...]) -> int:
    return 1 + sum(len(one) for one in texts if isinstance(one, str))


def text_cache(max_chars: int) -> Callable[[Callable[P, T]], TextCache[P, T]]:
    """Return a decorator that caches what a function of texts returns. Give it positional arguments only."""
    return lambda look: TextCache(look, max_chars)


@cache
def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern. It is compiled when it is first needed: a process that never needs it starts
    without the cost."""
    return re.compile(source, flags)


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(words.split())


_GRAMMAR = word_set(
    """a an the this that these those some any each all both more most other such same own i me my mine myself
    you your yours he him his she her hers it its we us our they them their who whom whose which what when
    where why how there here am is are was were be been being have has had having do does did doing done
    will would shall should can could may might must not no and or but if then so than too very as at by for
    from in into of off on out over to up with about again also just only im ive"""
)

FUNCTION = _GRAMMAR | word_set(
    """every few another yourself himself herself itself ours ourselves theirs themselves ought nor else onto
    down without above after against along among around because before behind below between beyond during
    except inside near once outside per since through throughout till toward towards under until upon via
    within while although though unless whether yet even still ever never always i'm i've i'd i'll you're
    you've you'd you'll he's she's it's it'd it'll we're we've we'd we'll they're they've they'd they'll
    that's there's here's what's who's where's how's let's don't doesn't didn't isn't aren't wasn't weren't
    can't couldn't won't wouldn't shouldn't haven't hasn't hadn't ain't 'm 's 're 've 'll 'd gonna wanna
    gotta yes yeah yep yup nope ok okay oh hey hi hello wow hmm haha lol please thanks thank"""
)
"""Words that tell the rules nothing by themselves: grammar, greetings, assents."""

STOP = _GRAMMAR | word_set(
    """much many dont don doesn didn isn wasn aren weren won t s re ve ll d m let lets get got"""
)
"""Words that the index leaves out. The ranking is tuned to this list, and every stored row was read with it."""

FILLERS = (_GRAMMAR - word_set("both each may no not whose")) | word_set(
    """onto after before down ours really much many another still even ever quite rather pretty yeah yes yep
    yup oh ooh aww wow woah whoa hey hi hello thanks thank bye well okay ok sure please congrats let lets
    get gets got getting gotta gonna wanna go goes going gone like one ones yourself himself herself itself
    ourselves themselves dont doesnt didnt cant wont because while though although until since through der
    das den dem des ein eine einen einem einer und oder aber ist sind waren bin haben ich du er sie es wir
    ihr mich mir sich zu auf mit von für bei nach aus als auch noch nur wie wer dass le la les un une et est
    sont el los las una y son que en في من على إلى عن أن هذا هذه كان كانت و"""
)
"""Words that a summary may leave out, in the languages that people mix. Negations are not among them."""

NEGATIONS = word_set(
    """not no never none nothing nobody nowhere neither nor without cannot nicht kein keine keinen keiner keinem
    nie niemals ohne nichts ne pas jamais sans rien nunca sin ninguno ninguna não nem sem не нет без ни никогда non
    senza لا لم لن ليس ليست بدون غير"""
)
UNSPACED_NEGATION = re.compile("[不没沒無无未别別]|ない")

FIRST_PERSON = word_set("i my me we our us mine myself i'm i've i'd i'll we're we've we'll we'd")

COMMON = word_set(
    """able actually ago agree almost already alright although amazing amount anybody anyone anything anyway
    appreciate area ask asked asking awesome away awhile back bad beautiful became become began begin believe
    best bet better big bit blast bring bringing brings brought busy call called came care chance change chat
    check come comes coming completely congrats cool couple crazy day days deal decide definitely different
    difference difficult doubt easy effort end enjoy enjoyed enough especially everyone everything exactly
    excited exciting experience fact fantastic far feel feeling feelings feels felt find finally fine first
    forget forward found fun further gave get gets getting give given gives giving glad go goal goals goes going
    gone good got great grateful guess guy guys half hand happen happened happening happiness happy hard hear
    heard heart help helped helpful helping helps hope hopefully hoping huge idea imagine impact important
    incredible inspired inspiring instead interested interesting job joy keep keeping kept kind kinda know last
    lately later learn learned least leave left less let life like likes little live long look looked looking
    looks lot lots love loved lovely loving luck lucky made main make makes making many matter matters maybe
    mean meaning means meant memories mind moment moments motivated much nah need needed needs new news next
    nice nobody nothing now number often old one ones open opportunity others part pass passion past people
    perfect perhaps person pic piece place plan plans plenty point positive possible power powerful pretty
    probably problem proud put quite rather reach ready real realize really reason recently remember remind
    reminder reminds rest rewarding right said saw say saying says second see seeing seem seems seen sense set
    share shared sharing show showed shows side since single small someone something sometimes soon sort sorry
    sound sounded sounds special spend spent start started starting stay step stop strength strong stuff such
    super supportive sure sweet take taken takes taking talk talked talking tell telling terrific thing things
    think thinking thought thoughts three time times today together told tomorrow took top totally touch tough
    tried true truly try trying turn turned two understand understanding unique upon use used using usually want
    wanted wants was way ways week well went whatever whole wish wonder wonderful wondering word words work
    worked working world worry worth wrong year years yesterday"""
)

PRAISE = word_set(
    """admirable amazing amazed awesome bad beautiful best blast blessed brave brilliant calming cool crazy cute
    delicious enjoyable epic excellent excited exciting fab fabulous fantastic fun funny glad good gorgeous
    grateful great happy hard healing helpful impressive incredible inspiring inspirational intense interesting
    lovely lucky magical meaningful memorable neat nice overwhelming peaceful perfect powerful pretty priceless
    proud refreshing relaxing rewarding sad satisfying scary special spectacular stunning super sweet terrible
    terrific thankful thrilled thrilling tough unforgettable uplifting useful wild wonderful worth"""
)
"""How people praise or blame anything: these words say little."""

_SMALL_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = {
    **{word: number for number, word in enumerate(_SMALL_NUMBERS.split())},
    **{word: 10 * tens for tens, word in enumerate(_TENS.split(), start=3)},
    "thousand": 1_000,
    "million": 1_000_000,
}


# The words of a text


def fold(text: str) -> str:
    """Return the text without case and accents, and with one kind of apostrophe."""
    text = text.lower()
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'")).casefold()
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFKC", bare)


def content_words(text: str) -> list[str]:
    """Return the words that say something, folded, in order: no stop words; runs of a script without blanks as
    overlapping pairs of characters, and as characters where one may be a word."""
    folded = fold(text)
    return contents(FOLDED_WORD.findall(folded), folded)


def contents(words: list[str], folded: str) -> list[str]:
    """Return the folded words that say something; of one with an apostrophe ("l'hotel"), the parts that do."""
    whole = [word.removesuffix("'s") for word in _apart(words, folded)]
    parts = [word.split("'") if "'" in word else [word] for word in whole if not is_stop(word)]
    return [part for some in parts for part in some if len(some) == 1 or (len(part) > 1 and not is_stop(part))]


def is_negation(word: str) -> bool:
    """Return whether a word, in lower case, denies: "never", "isn't", "nicht", "pas"."""
    return word in NEGATIONS or word.endswith("n't")


def count_negations(text: str) -> int:
    """Return how often a text denies something."""
    spaced = sum(map(is_negation, WORD.findall(text.lower().replace("\u2019", "'"))))
    return spaced + len(UNSPACED_NEGATION.findall(text))


def is_stop(word: str) -> bool:
    """Return whether the index leaves a folded word out."""
    return word in STOP or word.partition("'")[0] in STOP


def _apart(words: list[str], folded: str) -> list[str]:
    """Return the words; those of a script without blanks as pairs of characters and as characters."""
    if folded.isascii() or not UNSPACED.search(folded):
        return words
    return [piece for word in words for part in pattern(_PARTS).findall(word) for piece in _characters(part)]


def _characters(part: str) -> Iterator[str]:
    if len(part) == 1 or not UNSPACED.match(part):
        yield part
        return
    yield from (part[at : at + 2] for at in range(len(part) - 1))
    yield from (character for character in part if character >= _FIRST_IDEOGRAPH)


def same_letters(one: str, other: str) -> int:
    """Return with how many letters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
