"""Sentences in other languages than English, known by their small words or their script. The rules keep them
as they were said: they can retell English only. German, Spanish, French, Portuguese, Italian and Dutch have
words here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from lifelong.text.words import FUNCTION, WORD, word_set

SMALL = word_set(
    """der das den dem ein eine einen einem einer und oder aber nicht kein keine keinen ist sind war bin bist hat
    haben
    wird werden wurde mit von zu zum zur auf für bei nach aus seit über unter noch nur auch schon sehr mal doch
    ja nein
    dass wenn weil als wie wo sich es sie er ihr ihm ihn hier dort heute danke hallo bitte tschüss
    el la los las un una unos unas y o pero que de del al en con por para sin sobre es está son fue ser estar se
    lo le
    les su sus muy más también hay como cuando porque si sí hoy hola gracias claro bien adiós
    les des du au aux et ou mais est sont été être pas très avec pour dans sur sous chez qui quand parce il
    elle ils elles ce cette ces bonjour merci salut oui
    os um uma uns umas não com por da dos das na nas é são foi ser há quando obrigado obrigada olá sim
    il gli uno ma non è sono della del dei nel nella di per tra che quando perché molto anche ciao grazie
    het een niet geen zijn naar ook maar voor bij dat deze omdat hij zij hallo bedankt dank"""
)
FIRST = word_set(
    """ich mich mein meine meinen meiner meinem wir uns unser unsere unseren
    yo mi mis nos nosotros nuestro nuestra soy estoy vivo tengo trabajo prefiero odio gusta gustan encanta llamo
    je j mon mes nous notre nos
    eu meu minha meus minhas nós nosso nossa sou estou moro tenho trabalho prefiro
    io mio mia miei mie noi nostro nostra ho abito lavoro
    ik mij mijn wij ons onze"""
)
"""The small words of these languages, and those of somebody who speaks of themselves."""
_SIGNS = SMALL | FIRST
_LASTING = word_set("immer nie niemals siempre nunca toujours jamais sempre mai altijd nooit")
_SUBJECT = word_set(
    "ich wir yo nosotros soy estoy tengo je j nous eu nós sou estou moro tenho io noi ho abito ik wij"
)
_WANTS = word_set(
    "möchte will mag hätte quiero prefiero veux voudrais préfère quero prefiro voglio vorrei wil wilt"
)
_ENGLISH = FUNCTION - SMALL - FIRST - word_set("in on an so was am will also over at as do no me a i")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_MIN_LETTERS = 6  # of a sentence in another script

STOP_WORDS = {
    "german": word_set(
        """der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren bin bist hat
        habe haben hatte ich du er sie es wir ihr mich mir dich dir sich uns euch mein meine meinen meinem meiner
        dein deine deinen sein seine ihre ihren unser unsere unserer unseren zu zum zur auf mit von vom fur bei
        nach aus als auch noch nur wie wer was wann wo warum dass nicht kein keine so da doch mal ja schon im in am
        an um ob wird werden wurde kann soll muss welche welcher welches welchem welchen"""
    ),
    "spanish": word_set(
        """el la los las un una unos unas y o pero es son era fue ser estar esta este esto estos estas ese esa eso
        que de del al a en con por para como se su sus mi mis tu tus me te le lo les nos yo ella nosotros ya si no
        muy mas ha he hay cual cuales quien cuando donde cuanto cuanta cuantos cuantas"""
    ),
    "french": word_set(
        """le la les un une des et ou mais est sont etait je tu il elle on nous vous ils elles mon ma mes ton ta
        tes son sa ses notre nos votre vos leur leurs du de au aux ce cet cette ces qui que quoi dont dans sur avec
        pour par pas ne plus comme y en se a quel quelle quels quelles"""
    ),
}
"""Words that say little, folded, by language: the index leaves them out of texts in that language."""

_LISTS = {"english": FUNCTION, **STOP_WORDS}
_LANGUAGES = {
    word: tuple(language for language, words in _LISTS.items() if word in words)
    for word in frozenset[str]().union(*_LISTS.values())
}
FOREIGN_WORDS = frozenset[str]().union(*STOP_WORDS.values()) - FUNCTION
"""Small words that are not English ones."""


def guess_language(words: Iterable[str]) -> str:
    """Return the language, by its English name, that has most of these folded words among its small words; empty
    where that is English, or cannot be told."""
    counts = Counter(language for word in words for language in _LANGUAGES.get(word, ()))
    english = counts.pop("english", 0)
    best = max(counts, key=lambda language: counts[language], default="")
    return best if counts[best] > english else ""


def is_foreign(sentence: str) -> bool:
    """Return whether the sentence is in another language than English."""
    if not sentence.isascii() and 2 * len(_LATIN.findall(sentence)) < sum(map(str.isalpha, sentence)):
        return True
    if _SIGNS.isdisjoint(sentence.lower().split()):
        return False
    words = WORD.findall(sentence)
    plain = [word for word in (words[0].lower(), *words[1:]) if word.islower()] if words else []  # no names
    signs = sum(word in SMALL or 2 * (word in FIRST) for word in plain)
    signs += bool(signs) * sum(not word.isascii() for word in plain)
    english = sum(word in _ENGLISH for word in plain) + words.count("I")
    return signs > max(1, 2 * english, len(words) / 8)


def is_worth_keeping(sentence: str, *, to_assistant: bool) -> bool:
    """Return whether a foreign sentence says enough to be kept; said to an assistant, it must be about the
    speaker."""
    if not _LATIN.search(sentence):
        return sum(map(str.isalpha, sentence)) >= _MIN_LETTERS
    words = WORD.findall(sentence.lower())
    own = any(word in FIRST or word in _LASTING for word in words)
    telling = sum(word not in SMALL and word not in FIRST for word in words)
    return telling >= 2 if own else telling >= 4 and not to_assistant


def is_foreign_standing_request(sentence: str) -> bool:
    """Return whether a sentence makes a lasting request ("immer", "nunca"), and does not say what the
    speaker always is or does."""
    words = {word.partition("'")[0] for word in WORD.findall(sentence.lower())}
    return not _LASTING.isdisjoint(words) and (_SUBJECT.isdisjoint(words) or not _WANTS.isdisjoint(words))
