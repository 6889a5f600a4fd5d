"""What is found out about a word once, and asked for with every text that has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MOST = 100_000  # words
LONGEST = 40  # characters of a word that is remembered


class BoundedCache(dict[str, T]):
    """A dictionary that asks `look` for what it does not know. People use few words again and again, so of most
    texts nothing has to be looked at. It forgets everything when it is full."""

    def __init__(self, look: Callable[[str], T]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, word: str) -> T:
        found = self._look(word)
        if len(word) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[word] = found
        return found
