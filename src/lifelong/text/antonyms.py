"""Words that are opposites, and words that mean the same: English ones, by their stems."""

from __future__ import annotations

from functools import lru_cache

from lifelong.text.stems import stem

OPPOSITES = """increase decrease; increase reduce; rise fall; raise lower; grow shrink; more less; more fewer;
most least; before after; up down; up drop; up fall; down rise; on off; enable disable; add remove; open close;
start stop; begin end; gain lose; win lose; find lose; fast slow; faster slower; quick slow; high low; higher
lower; first last; allow forbid; allow deny; accept reject; buy sell; pass fail; love hate; like hate; like
dislike; always never; left right; north south; east west; old new; older younger; old young; large small; big
small; bigger smaller; long short; longer shorter; hot cold; warm cold; early late; earlier later; light dark;
with without; better worse; good bad; import export; push pull; upload download; install uninstall; lock unlock;
maximum minimum; over under; above below; inside outside; morning evening; day night; arrive leave; borrow lend;
upgrade downgrade; success failure; true false; public private; connect disconnect; include exclude; agree
disagree; succeed fail; encrypt decrypt; attach detach; easy hard; cheap expensive; strong weak; safe unsafe;
stable unstable; full empty; asleep awake; married divorced; everyone nobody; all none; today tomorrow; today
yesterday; yesterday tomorrow; last next; tonight tomorrow; over still; ascend descend; horizontal vertical;
employee employer; vegetarian vegan"""

SYNONYMS = """like love enjoy prefer fond; short brief concise; answer response reply; buy purchase; begin start;
fix repair solve resolve; error bug failure; choose chose pick select decide opt adopt; live reside;
finish complete; depart leave; move relocate reschedule; delay postpone; crash fail; show display; allow permit;
job position; build create; hate dislike; quit leave left; cause lead led; need require must; help assist;
happen occur; meeting appointment; kid child children; ask request; about around approximately; car vehicle;
mail email; run execute; check verify; store save keep; update upgrade; get receive; give hand; talk speak;
drop remove delete; learn study lesson; trip journey travel; afraid scared fear; favorite favourite;
color colour; become turn"""

_NEGATING = ("un", "in", "il", "im", "ir", "dis", "non", "non-", "de", "a", "up", "down")
_TURNED = (("up", "down"), ("over", "under"), ("in", "out"), ("in", "ex"), ("im", "ex"), ("pre", "post"))
SHORTEST_BASE = 4  # letters that a beginning is put before


def are_opposites(one: str, other: str) -> bool:
    """Whether two folded words are: by the list, or by how they begin ("legal" and "illegal", "upstream" and
    "downstream")."""
    return (stem(one), stem(other)) in _opposites() or _is_negated(one, other) or _is_negated(other, one)


def are_synonyms(one: str, other: str) -> bool:
    """Whether two stems are, by the list."""
    return (one, other) in _synonyms()


def _is_negated(one: str, other: str) -> bool:
    if len(other) >= SHORTEST_BASE and any(stem(one) == stem(f"{start}{other}") for start in _NEGATING):
        return True
    return any(
        one.startswith(x) and other.startswith(y) and stem(one.removeprefix(x)) == stem(other.removeprefix(y))
        for pair in _TURNED
        for x, y in (pair, pair[::-1])
    )


@lru_cache(maxsize=1)
def _opposites() -> frozenset[tuple[str, str]]:
    pairs = [tuple(map(stem, pair.split())) for pair in OPPOSITES.split(";")]
    return frozenset(pair for one, other in pairs for pair in ((one, other), (other, one)))


@lru_cache(maxsize=1)
def _synonyms() -> frozenset[tuple[str, str]]:
    groups = [[stem(word) for word in group.split()] for group in SYNONYMS.split(";")]
    return frozenset((x, y) for group in groups for x in group for y in group)
