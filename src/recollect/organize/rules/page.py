"""A document while claims are filed in it: what holds, and what was true earlier."""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.organize.claims import EARLIER, Claim
from recollect.types import Document

FULL = 4_000  # characters of a document, from which on new claims go to the next page
_SPLIT = f"\n\n{EARLIER}\n\n"


@dataclass(slots=True)
class Page:
    """`current` and `earlier` are its paragraphs."""

    path: str
    title: str
    description: str
    document: Document | None
    current: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    changed: bool = False

    @classmethod
    def of(cls, document: Document) -> Page:
        current, _, earlier = f"\n\n{document.body}".partition(_SPLIT)
        return cls(
            document.path,
            document.title,
            document.description,
            document,
            _parts(current.removeprefix("\n\n")),
            _parts(earlier),
        )

    @property
    def body(self) -> str:
        parts = [*self.current, EARLIER, *self.earlier] if self.earlier else self.current
        return "\n\n".join(parts)

    def is_full(self) -> bool:
        return sum(len(part) + 2 for part in (*self.current, *self.earlier)) > FULL

    def add(self, claim: Claim) -> None:
        place, paragraph = (self.current if claim.current else self.earlier), str(claim)
        if paragraph not in place:
            place.append(paragraph)
            self.changed = True

    def replace(self, old: str, new: Claim) -> bool:
        """Put the claim in place of the paragraph, if it still stands and says something else."""
        if old not in self.current or old == str(new):
            return False
        place = self.current.index(old)
        if new.current:
            self.current[place] = str(new)
        else:
            del self.current[place]
            self.earlier.append(str(new))
        self.changed = True
        return True


def _parts(text: str) -> list[str]:
    return text.split("\n\n") if text else []
