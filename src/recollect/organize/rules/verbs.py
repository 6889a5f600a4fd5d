"""Where the verb of a clause is."""

from __future__ import annotations

from recollect.organize.rules import phrases, topics
from recollect.organize.rules.phrases import SKIPPED
from recollect.organize.rules.stems import PASTS, stem

_NO_PARTICIPLES = phrases.words("something nothing anything everything during morning evening wedding building")


def is_verb(low: str) -> bool:
    return (
        low in phrases.AUXILIARIES
        or (stem(low) in topics.VERBS and (low.endswith(("s", "ed")) or low in PASTS))
        or low.endswith(("'re", "'ve", "it's", "he's"))
    )


class Words:
    """The words of a clause: its subject ends at `begin`, the verb is at `main`, the rest begins at `after`.
    `follows`: a clause stands before it, so that it may begin with its verb. `clipped`: the subject carries the
    verb ("the dishwasher's fixed"). `decided`: the verb is what somebody decided to do."""

    def __init__(self, tokens: list[str], *, follows: bool) -> None:
        self.tokens = tokens
        self.lows = [token.lower() for token in tokens]
        self.follows = follows
        self.clipped = self.decided = False
        self.verb = self.finite = ""
        self.main = 0
        self.begin, self.after = self._find_verb()

    def _find_verb(self) -> tuple[int, int]:
        """Where the subject ends, and where the rest begins."""
        lows = self.lows
        begin = next((at for at in range(len(lows)) if self._is_finite(at)), -1)
        if begin < 0 and len(lows) > 1 and lows[0].endswith("'s") and self._is_participle(1):
            begin, self.clipped = 0, True
        order = int(lows[:1] == ["please"])
        if begin < 0 and len(lows) > order + 1 and stem(lows[order]) in topics.VERBS and lows[order] not in PASTS:
            self.finite, self.verb = lows[order], stem(lows[order])
            return 0, order + 1
        if begin < 0:
            return len(lows), len(lows)
        self.finite = lows[begin] if not lows[begin].endswith(("'s", "'re", "'m", "'ve")) else "is"
        self.verb, self.main = "be" if self.finite == "is" else stem(lows[begin]), begin
        main, at = begin, begin + 1
        while self.verb in ("be", "get") or lows[main] in phrases.AUXILIARIES:
            while at < len(lows) and (
                lows[at] in phrases.ADVERBS or lows[at] in phrases.AUXILIARIES or lows[at] in ("to", "gonna")
            ):
                at += 1
            if at >= len(lows) or not self._is_participle(at):
                self.verb = next((stem(low) for low in lows[main:at] if low in ("be", "have")), self.verb)
                break
            main, at = at, at + 1
            self.main, self.verb = main, stem(lows[main])
        if self.verb in ("decid", "agre", "choos") and lows[self.main + 1 : self.main + 2] == ["to"]:
            decided = "".join(lows[self.main + 2 : self.main + 3])
            if stem(decided) in topics.VERBS:
                self.main, self.verb, self.decided = self.main + 2, stem(decided), True
        subject_end = begin + 1 if lows[begin].endswith("'s") else begin
        return (0, 0) if lows[0] == "there" else (subject_end, self.main + 1)

    def _is_finite(self, at: int) -> bool:
        low = self.lows[at]
        if low in phrases.AUXILIARIES:
            return True
        following = self.lows[at + 1] if at + 1 < len(self.lows) else ""
        head, _, clitic = low.partition("'")
        if clitic in ("s", "re", "ve", "m"):
            return head in phrases.PRONOUNS
        if not at:
            return (low.endswith(("ed", "s")) or low in PASTS) and stem(low) in topics.VERBS and self.follows
        previous = self.lows[at - 1]
        if (
            not low[0].isalpha()
            or self.tokens[at][0].isupper()
            or previous in phrases.DETERMINERS
            or previous in phrases.PREPOSITIONS
            or previous.endswith(("'s", "s'"))
            or low.endswith("ing")
            or following in phrases.AUXILIARIES
            or (stem(following) in topics.VERBS and following == stem(following))
            or (not following and at > 1 and self.lows[at - 2] in phrases.THEIRS)
        ):
            return False
        if stem(low) in topics.VERBS:
            return low.endswith(("s", "ed")) or low in PASTS or self._is_plural(at)
        if not low.endswith(("s", "ed")) or low.endswith("ss"):
            return low in PASTS
        return (
            (at <= 2 and self.tokens[at - 1][0].isupper())
            or following in phrases.DETERMINERS
            or following[:1].isdigit()
            or following in ("them", "to", "up", "down", "out", "off")
            or (at + 1 < len(self.tokens) and self.tokens[at + 1][0].isupper())
        )

    def _is_plural(self, end: int) -> bool:
        """The subject up to here is of more than one."""
        last = next((low for low in reversed(self.lows[:end]) if low not in phrases.ADVERBS), "")
        return last.endswith("s") or last in ("people", "children", "they", "we") or "and" in self.lows[:end]

    def _is_participle(self, at: int) -> bool:
        low = self.lows[at]
        if self.tokens[at][0].isupper() or low in SKIPPED or low in _NO_PARTICIPLES:
            return False
        if (low.endswith(("ed", "ing")) and stem(low) != low) or low in PASTS:
            return True
        return stem(low) in topics.VERBS and any(
            word in phrases.MODALS or word == "gonna" for word in self.lows[max(0, at - 3) : at]
        )
