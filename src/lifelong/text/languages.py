"""Languages, known by their small words or their script. German, Spanish, French, Portuguese, Italian and Dutch
have words here."""

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
_ENGLISH = FUNCTION - SMALL - FIRST - word_set("in on an so was am will also over at as do no me a i")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")

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
