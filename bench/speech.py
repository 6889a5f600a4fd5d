"""Talk without end that full text and vectors meet as they meet people's: real words, each about as often as
people use it (Zipf's law), sessions that stay with a subject, and names that hardly anybody else uses.

The words are those of the bundled model's vocabulary, which is ordered by how common they are; behind them come
made-up names, so that the list goes on as a language does.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate, count
from random import Random

from bench.embedder import folder
from lifelong import UserMessage
from lifelong.models.embedders.static import TOKENIZER
from lifelong.text.words import content_words, is_stop

SESSION = 20  # turns
SPEAKERS = ("Ada", "Bruno", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hiro")
BEGIN = datetime(2015, 1, 5, 8, 0, tzinfo=UTC)

NAMES = 40_000
FLAT, STEEP = 30, 1.3  # Zipf-Mandelbrot: the commonest word that says something is one in a hundred; few are rare
SUBJECT = 40  # words of a session's subject; about half of what is said in it is made of them

_START = "Al Be Ca Do El Fa Gu Ha In Jo Ka Lu Ma No Or Pe Qui Ro Sa Te Ul Va We Xi Yo Za".split()
_MIDDLE = "ba den fi gor la mi nu per ra sol ti va".split()
_END = "ck da ern fo gin hal is ken lo mar na ns pe ro son ta ville wick x y".split()

_TEMPLATES = (
    "I {} the {} with my {} because of the {}.",
    "We went to {} and saw a {} {} near the {}.",
    "My {} said that the {} of {} was better than any {} I had.",
    "Last week I got a {} from {}, and it was {} all day.",
    "You should {} your {} before the {} gets {}.",
    "There are {number} {} in the {} now, and {} is not one of them.",
    "I can not stand how {} the {} has been since {}.",
    "Have you {} that {} yet? It is about {} and {}.",
    "That is what {} told me when we did the {} in {}.",
    "I would like to {} more {} this {month}, if the {} lets me.",
)
_MONTHS = "January February March April May June July August September October November December".split()
_QUESTIONS = (
    "What did {who} say about the {}?",
    "When was it about {}?",
    "Who told me of {}?",
    "Which {} was it?",
)


@cache
def _words() -> list[str]:
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(folder() / TOKENIZER)).get_vocab()
    by_rank = (token[1:] for token in sorted(vocabulary, key=vocabulary.__getitem__) if token.startswith("▁"))
    real = [word for word in by_rank if len(word) > 2 and word.isascii() and word.islower() and word.isalpha()]
    random = Random(1)
    names = {f"{random.choice(_START)}{random.choice(_MIDDLE)}{random.choice(_END)}" for _ in range(NAMES)}
    names |= {f"{name}{random.choice(_MIDDLE)}{random.choice(_END)}" for name in sorted(names) for _ in range(8)}
    return [word for word in real if not is_stop(word)] + sorted(names, key=lambda _: random.random())


@cache
def _weights() -> list[float]:
    return list(accumulate((rank + FLAT) ** -STEEP for rank in range(len(_words()))))


class Speech:
    """Sessions without end, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._at = BEGIN

    def sessions(self) -> Iterator[list[UserMessage]]:
        for number in count():
            self._at += timedelta(minutes=self._random.randint(20, 90))
            who = SPEAKERS[number % len(SPEAKERS)], SPEAKERS[self._random.randrange(len(SPEAKERS))]
            subject = self._pick(SUBJECT)
            yield [UserMessage(self._turn(subject), who[turn % 2], at=self._at) for turn in range(SESSION)]

    def turns(self) -> Iterator[UserMessage]:
        return (turn for session in self.sessions() for turn in session)

    def question(self, turn: UserMessage) -> str:
        """About a few words of this turn."""
        words = list(dict.fromkeys(content_words(turn.text)))
        some = self._random.sample(words, min(len(words), self._random.randint(2, 5)))
        return self._random.choice(_QUESTIONS).format(" ".join(some), who=turn.speaker)

    def _turn(self, subject: list[str]) -> str:
        return " ".join(self._sentence(subject) for _ in range(self._random.randint(1, 3)))

    def _sentence(self, subject: list[str]) -> str:
        template = self._random.choice(_TEMPLATES)
        anything = self._pick(4)
        words = [self._random.choice(subject) if self._random.random() < 0.5 else word for word in anything]
        number, month = self._random.randint(2, 9_999), self._random.choice(_MONTHS)
        return template.format(*words, number=number, month=month)

    def _pick(self, number: int) -> list[str]:
        return self._random.choices(_words(), cum_weights=_weights(), k=number)
