"""Tell what binds: an instruction to an agent, what somebody prefers, and who somebody is. Such a thing must not
rest on an agent's word alone (SPEC S5)."""

from __future__ import annotations

import re
from functools import lru_cache

from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.rules.subjects import USER, display_name, leading_name
from lifelong.text.sentences import sentences
from lifelong.text.standing import HEALTH, IDENTITY, Kind, instructs, standing
from lifelong.text.words import fold

DEFAULT_OWNER = "default"

ORDERS: frozenset[Kind] = frozenset(("never", "style"))
"""Standing sentences that give an agent an order, whoever says them. A convention of a project is what an agent
found out; a rule must say that it is one."""
PERSONAL: frozenset[Kind] = HEALTH | IDENTITY | {"preference", "limit", "rule"}
"""Standing sentences that bind where they are about the user, or in the first person."""

BINDING_PLACES = (f"{MEMORY_ROOT}/preferences", f"{MEMORY_ROOT}/rules")
"""Documents in which every line is a preference or an instruction."""

_CLAIMS = re.compile(
    r"\b(?:prefer\w*|lik(?:e|es|ed)|lov(?:e|es|ed)|hat(?:e|es|ed)|want\w*|wish\w*|favou?rit\w*|always|never|must|"
    r"should|call(?:ed)?|names?|nickname\w*|owner|admin\w*|boss|trust\w*|authori[sz]e\w*|approve\w*|allow\w*|"
    r"permi\w+|is (?:an?|the|not)|can|may|heißt|mag|immer|nie(?:mals)?|muss|soll|llama|prefiere|siempre|"
    r"nunca|debe)\b",
    re.IGNORECASE,
)
"""What makes a sentence about the user a preference, an instruction or a statement of who they are."""
_LIKES = re.compile(r"(?:\w+ ){0,2}(?:prefer|like|love|hate|want|wish|dislike)s?\b", re.IGNORECASE)
"""How a sentence goes on after a name that says what somebody likes."""

_ORDERS = re.compile(
    r"(?:always|never|do not|don't|from now on|immer|niemals|nie|siempre|nunca|toujours|jamais)\b", re.IGNORECASE
)
"""How a sentence begins that gives an order."""
_RULES = re.compile(
    r"\b(?:always|rules?|polic(?:y|ies)|must|whenever|every time|in future|without (?:asking|approval|confirm\w*)"
    r"|immer|regeln?|muss|siempre|reglas?|toujours|regles?)\b"
)
"""What says that it is a rule."""

_OWN = re.compile(r"(?:\w+[,:] )?(?:i|i'm|i've|my|we|our|ich|mein\w*|yo|mi|soy|je|mon|ma)\b")
"""How a sentence begins that somebody says of themselves."""

_MARKUP = re.compile(r"^[#>*+\-\s]+|[*_`]", re.MULTILINE)


def binds(text: str, person: str) -> bool:
    """Return whether a text instructs an agent, or says what somebody prefers or who they are. `person` is what
    documents call the user."""
    return any(_binds(one, person) for one in sentences(_MARKUP.sub(" ", text)))


def _binds(sentence: str, person: str) -> bool:
    about = _about(person).match(sentence)
    if about:
        rest = sentence[about.end() :]
        own = f"My{rest}" if about[1] else in_first_person(rest.strip())
        return bool(_CLAIMS.search(rest)) or bool(_kinds(own) & (PERSONAL | ORDERS))
    if (name := leading_name(sentence)) and _LIKES.match(sentence[len(name) :].strip()):
        return True
    if _ORDERS.match(sentence) or instructs(sentence):
        return True
    kinds = _kinds(sentence)
    is_rule = "rule" in kinds and _RULES.search(fold(sentence)) is not None
    is_own = _OWN.match(fold(sentence)) is not None
    return is_rule or bool(kinds & ORDERS) or (is_own and bool(kinds & PERSONAL))


def _kinds(text: str) -> set[Kind]:
    return {one.kind for one in standing(text)}


def in_first_person(text: str) -> str:
    """Return what a sentence says of the user as the user would say it, roughly: it is read, and not shown."""
    verb, _, rest = text.partition(" ")
    verb = {"is": "am", "has": "have", "does": "do"}.get(verb, verb.removesuffix("s"))
    return f"I {verb} {rest}"


@lru_cache(maxsize=64)
def _about(person: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:[Tt]he )?[Uu]ser|{re.escape(person)})\b(['\u2019]s\b)?(?= )")


def binding_place(path: str, owner: str) -> bool:
    """Return whether every line of a document binds: it holds preferences or rules, or is about the user."""
    about = f"{MEMORY_ROOT}/people/{USER.lower() if owner == DEFAULT_OWNER else owner}"
    return any(path == place or path.startswith(f"{place}/") for place in (*BINDING_PLACES, about))


def person_named(owner: str) -> str:
    """Return what documents call the person behind a user."""
    return USER if owner == DEFAULT_OWNER else display_name(owner)
