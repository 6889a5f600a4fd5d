"""Choose the core: what stands about the user and what they asked for, whatever the next message says.

Candidates are the current facts of documents and the user's own records: the newest ones, and older ones that the
full-text index finds by the words of standing sentences. `standing` says what each is. Left out are what a tool, a
web page or the assistant said (unless a person approved it), what the user says in a part that they play, what has
ended or a newer sentence replaces, what a person took out with `unpin`, the private matters of somebody who is not
in the conversation, and the rules of another project.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import folder_of, is_foreground
from lifelong.collect.sessions import Sessions
from lifelong.organize.binding import DEFAULT_OWNER, in_first_person, person_named
from lifelong.organize.document_rows import MEMORY_ROOT, DocumentRows
from lifelong.organize.facts import HOST, PEOPLE
from lifelong.organize.identity import Identities
from lifelong.recall.analyzer import stem_number
from lifelong.recall.feedback import FeedbackRows
from lifelong.recall.index_writer import text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.replaced import NewerStatements, Statement, topic
from lifelong.recall.search import hit
from lifelong.redaction import redact
from lifelong.storage.base import Transaction
from lifelong.text.sentences import sentences
from lifelong.text.speech import own_sentences
from lifelong.text.standing import (
    BINDING,
    CUES,
    HEALTH_CUES,
    IDENTITY,
    MAX_TEXT_CHARS,
    PRIVATE,
    RANKS,
    Kind,
    is_private,
    standing,
)
from lifelong.text.stems import stem
from lifelong.text.words import content_words, fold, text_cache
from lifelong.types import Agent, Hit, Note, UserMessage

MIN_TOPIC: dict[Kind, int] = {"never": 1, "rule": 1, "convention": 2, "preference": 1, "family": 1}
"""Words that say what it is about, without which a sentence of the kind says nothing."""
NEWEST_RECORDS = 300  # of the user and the host that are looked at, whatever they say
MAX_PER_CUE = 10  # newest items that hold a word of standing sentences
MAX_CACHED_CHARS = 4_000_000  # of texts, for each of what is known of them
MAX_CANDIDATES = 600
RELAYED = "the user said: "
"""Before what an assistant stored as the user's words: it may be about the user, and never a rule."""
MAX_AGENTS = 200  # whose folders are known as projects
MAX_OF_KIND: dict[Kind, int] = {"name": 2, "home": 2, "work": 2, "family": 3}
MAX_WHOLE_CHARS = 240  # of a record that is shown whole
SAME_SHARE = 0.8  # of their words that two lines share, if they say the same
QUOTED_SHARE = 0.8  # of a fact's words that a sentence has, if the fact is a quotation of it
COVERED_SHARE = 0.5  # of a fact's words that a sentence has, if the fact was made of it

_PROJECTS = f"{MEMORY_ROOT}/projects/"
_EXPLICIT = re.compile(
    r"\b(?:rules?|always|polic(?:y|ies)|conventions?|must|ever|from now on|immer|regeln?|siempre|reglas?"
    r"|toujours|regles?|never|nie"
    r"|niemals|nunca|jamas|jamais)\b"
)
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Who talks now, and about what: the agent, its open session, the names that spoke in it (none: unknown),
    the message, and whether it is given, rather than what was said last."""

    agent_id: str = ""
    session_id: str = ""
    speakers: frozenset[str] = frozenset()
    message: str = ""
    is_asked: bool = False


@dataclass(slots=True)
class _Candidate:
    found: FoundItem
    kind: Kind
    text: str
    own: bool
    essence: str
    stems: frozenset[str]
    whole: str
    speaker: str

    @property
    def age(self) -> tuple[datetime, int]:
        return self.found.at, self.found.record_id or 0

    @property
    def said(self) -> Statement:
        at, record = self.found.at, self.found.record_id or 0
        return Statement(self.essence, at, record, self.speaker, self.kind, whole=self.whole)


class Core(NamedTuple):
    """The core, most protective first, each line with what it is; and what the user said, which tells what else in
    a context is outdated."""

    lines: list[tuple[Hit, Kind]]
    later: NewerStatements


def choose_core(tx: Transaction, owner: str, conversation: Conversation) -> Core:
    """Choose the core of a context."""
    return _Core(tx, owner, conversation).choose()


def newer_statements(
    tx: Transaction, owner: str, conversation: Conversation, hits: Sequence[Hit]
) -> NewerStatements:
    """Return what the user said that may replace what these hits say: said later, and about the same."""
    return _Core(tx, owner, conversation).newer_than(hits)


def without_other_projects(
    tx: Transaction, owner: str, conversation: Conversation, hits: Sequence[Hit]
) -> list[Hit]:
    """Return the hits, without the rules of another project than the conversation's."""
    return _Core(tx, owner, conversation).without_other_projects(hits)


def sessions_elsewhere(tx: Transaction, owner: str, conversation: Conversation) -> frozenset[str]:
    """Return the recent sessions of agents that work in another folder than the conversation's agent; none where
    that agent works in no folder, or the message names a project."""
    return _Core(tx, owner, conversation).sessions_elsewhere()


class _Core:
    def __init__(self, tx: Transaction, owner: str, conversation: Conversation) -> None:
        self._tx = tx
        self._owner = owner
        self._conversation = conversation
        self._items = Items(tx, owner)
        self._identities = Identities(tx, owner)
        self._documents = DocumentRows(tx, owner)
        self._paths: dict[str, str] = {}
        self._works_alone: dict[str, bool] = {}
        self._folders: dict[str, str] = {}
        # Who said a record, and to which agent.
        self._said_to = defaultdict[int, tuple[str, str]](lambda: ("", ""))

    def choose(self) -> Core:
        found = self._found()
        candidates = [one for item in found for one in self._standing(item)]
        later = self._later(found, candidates)
        candidates = list(_up_to_date(candidates, later, found))
        candidates = self._without_removed(candidates)
        records = {one.found.record_id for one in candidates if one.found.kind == "fact" and one.found.record_id}
        self._said_to.update(self._items.speaker_of(sorted(records)))
        candidates = self._without_strangers(candidates)
        candidates = self._of_project(candidates)
        candidates = _each_once(self._without_covered(candidates))
        lines = [
            (replace(hit(self._tx, self._owner, one.found), text=redact(one.text)), one.kind)
            for one in _bounded(sorted(candidates, key=_order))
        ]
        return Core(lines, later)

    def newer_than(self, hits: Sequence[Hit]) -> NewerStatements:
        """Return what was said that may replace what a hit says. Only what is later than the oldest hit and shares
        a word with one of them is read: a prompt waits for it."""
        words = frozenset[str]().union(*(topic(one.text) for one in hits))
        oldest = min(((one.at, one.record_id or 0) for one in hits), default=None)
        found = [
            item
            for item in (self._found() if words else ())
            if oldest and (item.at, item.record_id or 0) > oldest and not words.isdisjoint(topic(_own_words(item)))
        ]
        return self._later(found, [one for item in found for one in self._standing(item)])

    def _later(self, found: Sequence[FoundItem], candidates: Sequence[_Candidate]) -> NewerStatements:
        said = [one.said for one in candidates]
        said += [
            one for item in found if item.kind == "record" and not item.until for one in self._sentences(item)
        ]
        here = self._here()
        elsewhere = {item.record_id for item in found if here and self._folder(item.agent_id) not in {"", *here}}
        said = [one for one in said if one.record_id not in elsewhere]
        asked = {item.record_id for item in found if self._is_asked(item)}
        return NewerStatements(one for one in said if one.record_id not in asked)

    # Candidates

    def _found(self) -> list[FoundItem]:
        """Return what may stand: what protects somebody, however old; what is new; then the rest, newest first."""
        ids = self._items.holding_each(sorted(set(map(stem_number, HEALTH_CUES))), MAX_PER_CUE)
        ids += self._items.newest_said(("user", "system"), NEWEST_RECORDS)
        ids += self._items.holding_each(sorted(set(map(stem_number, CUES))), MAX_PER_CUE)
        found = [*self._items.get(list(dict.fromkeys(ids))[:MAX_CANDIDATES]).values()]
        self._said_to.update(self._items.speaker_of(sorted({one.record_id for one in found if one.record_id})))
        plays = self._items.plays()
        return [
            one
            for one in found
            if not plays.hold(one.session_id, one.record_id or 0, one.at)
            and (not self._is_by_program(one) or self._is_said_here(one))
        ]

    def _is_by_program(self, found: FoundItem) -> bool:
        """Return whether the host said something, or it was said to an agent that works without a person."""
        agent_id = found.agent_id or self._said_to[found.record_id or 0][1]
        if found.trust == "system" or not agent_id or found.type == Note.type:
            return found.trust == "system"
        if agent_id not in self._works_alone:
            agent = Agents(self._tx).find_row(agent_id)
            self._works_alone[agent_id] = agent is not None and not is_foreground(agent.kind)
        return self._works_alone[agent_id]

    def _is_said_here(self, found: FoundItem) -> bool:
        """Return whether something was said to the agent of the conversation: what a host tells one agent binds no
        other."""
        return self._conversation.agent_id == (found.agent_id or self._said_to[found.record_id or 0][1])

    def _standing(self, found: FoundItem) -> Iterator[_Candidate]:
        if found.until or found.hidden_at or found.kind not in ("record", "fact"):
            return
        relayed = found.trust == "agent" and found.type == UserMessage.type
        if found.trust not in ("user", "system") and not relayed and not found.approved_by:
            return
        whole = _own_words(found)
        text = whole if found.kind == "record" else found.text
        about_user = found.kind == "fact" and self._about_user.match(text)
        if about_user:
            text = in_first_person(text[about_user.end() :])
        said = [
            one
            for one in standing(text, by_host=found.trust == "system")
            if len(topic(one.essence)) >= MIN_TOPIC.get(one.kind, 0) and (not relayed or one.kind in PRIVATE)
        ]
        if found.kind == "fact" and said and not self._path(found).startswith(f"{MEMORY_ROOT}/"):
            return
        for kind, words, own, essence in said:
            own = own or self._is_users(found)
            if found.kind == "fact" and kind in IDENTITY | {"preference"} and not own:
                continue
            shown = found.text if about_user else words
            yield _Candidate(
                *(found, kind, f"{RELAYED if relayed else ''}{shown}", own, essence, content_stems(words)),
                whole=whole,
                speaker=self._who(found),
            )

    def _is_asked(self, found: FoundItem) -> bool:
        """Return whether an item is the message itself, which a host may have stored before it asks."""
        asked = self._conversation.message.split() if self._conversation.is_asked else []
        return (
            found.kind == "record"
            and bool(asked)
            and text_of(found.type, found.data)[:MAX_TEXT_CHARS].split() == asked
        )

    def _path(self, found: FoundItem) -> str:
        if found.container not in self._paths:
            document = self._documents.find(found.container)
            self._paths[found.container] = document.path if document else ""
        return self._paths[found.container]

    def _is_users(self, found: FoundItem) -> bool:
        """Return whether a fact is in the document about the user."""
        return found.kind == "fact" and fold(self._path(found)) == f"{PEOPLE}{fold(self._person)}"

    @property
    def _person(self) -> str:
        """What documents call the user."""
        return person_named(self._owner)

    @cached_property
    def _about_user(self) -> re.Pattern[str]:
        return re.compile(rf"{re.escape(self._person)} (?=[a-z])")

    # What is left out

    def _without_removed(self, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Leave out what a person took out: the item, the facts made of it, and the sentence that the fact was
        made of. What is pinned stands above the core."""
        gone = FeedbackRows(self._tx, self._owner).taken_out()
        gone |= {one.key for one in self._items.pinned()}
        facts = [one for key in sorted(gone) if (one := self._fact(key))]
        words = [(one.record_id, content_stems(one.text)) for one in facts]
        return [
            one
            for one in candidates
            if one.found.key not in gone
            and f"record:{one.found.record_id}" not in gone
            and not any(one.found.record_id == record and _covers(one.stems, stems) for record, stems in words)
        ]

    def _fact(self, key: str) -> FoundItem | None:
        return self._items.find("fact", key.removeprefix("fact:")) if key.startswith("fact:") else None

    def _without_strangers(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Leave out the private matters and the rules of people who are not in the conversation, where it is known
        who is; where it is not, who each of several people is, and what guests want. A person's rule binds nobody
        else."""
        names = {speaker for one in candidates if (speaker := self._speaker(one.found))}
        agent_id = self._conversation.agent_id
        present = {fold(self._identities.name(name, agent_id)) for name in self._conversation.speakers}
        present = present or self._expected(candidates)
        hidden = PRIVATE | BINDING if present else IDENTITY if len(names) > 1 else frozenset()
        known = present if self._identities.is_guest(agent_id) else {"", *present}
        by_guest = None if agent_id else self._identities.is_guest  # no agent: it is the owner's
        return [
            one
            for one in candidates
            if not (by_guest and one.kind in PRIVATE | BINDING and by_guest(self._agent_of(one.found)))
            if one.found.trust == "system"
            or self._speaker(one.found) in known
            or not (one.kind in hidden or (present and is_private(one.text)))
        ]

    def _speaker(self, found: FoundItem) -> str:
        """Return the name of who said an item, or the record that a fact was made of; folded, empty if unknown."""
        speaker, agent_id = self._said_to[found.record_id or 0]
        if found.kind == "record":
            speaker, agent_id = found.speaker, found.agent_id
        return fold(self._identities.speaker(speaker, agent_id))

    def _expected(self, candidates: Sequence[_Candidate]) -> set[str]:
        """Return who may talk to the conversation's agent though nobody has spoken yet: the owner, its address,
        and who talked to it before. None where nobody talks to it, or the owner has no name and no guests."""
        agent_id = self._conversation.agent_id
        address = self._identities.address(agent_id)
        agents = {agent_id, *(self._agent_of(one.found) for one in candidates)}
        if not address or (self._owner == DEFAULT_OWNER and not any(map(self._identities.is_guest, agents))):
            return set()
        spoke = {self._speaker(one.found) for one in candidates if self._agent_of(one.found) == agent_id}
        own = set() if self._identities.is_guest(agent_id) else {fold(self._person)}
        return {fold(address)} | own | spoke - {""}

    def _agent_of(self, found: FoundItem) -> str:
        return found.agent_id or self._said_to[found.record_id or 0][1]

    def _who(self, found: FoundItem) -> str:
        """Return whose word an item is, by name or else by address: what one says replaces nothing of another."""
        if found.trust == "system":
            return HOST
        if found.kind != "record":
            return found.speaker
        return self._identities.name(found.speaker, found.agent_id) or self._identities.address(found.agent_id)

    def _sentences(self, found: FoundItem) -> Iterator[Statement]:
        """Yield what the user or the host said in a record, each sentence."""
        if found.trust in ("user", "system"):
            whole = _own_words(found)[:MAX_TEXT_CHARS]
            for one in sentences(whole):
                yield Statement(one, found.at, found.record_id or 0, self._who(found), whole=whole)

    def _of_project(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Leave out the rules of another project than the agent's, or than the one that the message names."""
        here = self._here()
        return [
            one
            for one in candidates
            if not here or one.kind not in BINDING or not self.is_elsewhere(one.text, one.found, here)
        ]

    def _here(self) -> set[str]:
        """Return the projects that the message names, or else the agent's; none where that is unknown. What was
        talked of last names none for an agent that works in a folder."""
        folder = self._folder(self._conversation.agent_id)
        message = "" if folder and not self._conversation.is_asked else fold(self._conversation.message)
        return {name for name in self._projects if _names(message, name)} or ({folder} if folder else set())

    def is_elsewhere(self, text: str, found: FoundItem, here: Collection[str]) -> bool:
        """Return whether something was said of, or in, other projects only."""
        folded = fold(text)
        of = {name for name in self._projects if _names(folded, name)}
        path = self._path(found) if found.kind == "fact" else ""
        if path.startswith(_PROJECTS):
            of.add(fold(path.removeprefix(_PROJECTS).partition("/")[0]))
        if not of:
            folder = self._folder(found.agent_id or self._said_to[found.record_id or 0][1])
            of = {folder} if folder else set()
        return bool(of) and of.isdisjoint(here)

    def without_other_projects(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, without the rules of another project; for an agent that works in a folder, without
        all that was said of or in other projects, except what is about the user."""
        here = self._here()
        if not here:
            return list(hits)
        in_folder = bool(self._folder(self._conversation.agent_id))
        self._said_to.update(self._items.speaker_of(sorted({one.record_id for one in hits if one.record_id})))
        kept = []
        for one in hits:
            kinds = {said.kind for said in standing(one.text, by_host=one.trust == "system")}
            is_bound = bool(kinds & BINDING) or (in_folder and not kinds and not one.path.startswith(PEOPLE))
            found = self._items.look_up(one.id) if is_bound else None
            if found is None or not self.is_elsewhere(one.text, found, here):
                kept.append(one)
        return kept

    def sessions_elsewhere(self) -> frozenset[str]:
        folder = self._folder(self._conversation.agent_id)
        if not folder:
            return frozenset()
        agents = Agents(self._tx).newest_of_user(self._owner, MAX_AGENTS)
        others = [agent.id for agent in agents if _folder(agent) not in ("", *self._here())]
        return frozenset(one.id for agent in others for one in Sessions(self._tx).of_agent(agent))

    @cached_property
    def _projects(self) -> set[str]:
        """Return the names of the projects that documents or agents are about, folded."""
        rows = self._documents.titles()
        parents = {id_ for id_, _, slug, _ in rows if slug == "projects"}
        found = {fold(name) for _, parent, slug, title in rows if parent in parents for name in (slug, title)}
        agents = Agents(self._tx).newest_of_user(self._owner, MAX_AGENTS)
        return found | {name for agent in agents if (name := _folder(agent))}

    def _folder(self, agent_id: str) -> str:
        if agent_id not in self._folders:
            agent = Agents(self._tx).find_row(agent_id) if agent_id else None
            self._folders[agent_id] = _folder(Agents(self._tx).get(self._owner, agent_id)) if agent else ""
        return self._folders[agent_id]

    def _without_covered(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Leave out sentences of records that a chosen fact of the same kind says, or that a fact said which has
        ended; and facts that only quote a part of a sentence."""
        records = {one.found.record_id for one in candidates if one.found.kind == "record" and one.found.record_id}
        chosen = {one.found.key: one for one in candidates}
        kinds = {(one.found.key, one.kind) for one in candidates}
        facts: dict[int, list[FoundItem]] = {}
        for fact in self._items.facts_citing(sorted(records)):
            if fact.record_id and (fact.until or fact.key in chosen):
                facts.setdefault(fact.record_id, []).append(fact)
        dropped: set[int] = set()
        said = [one for one in candidates if one.found.kind != "fact"]
        for one in said:
            ended = (content_stems(fact.text) for fact in facts.get(one.found.record_id or 0, ()) if fact.until)
            if any(_covers(one.stems, words) for words in ended):
                dropped.add(id(one))
        for one in said:
            for fact in facts.get(one.found.record_id or 0, ()) if id(one) not in dropped else ():
                words = content_stems(fact.text)
                if not _covers(one.stems, words):
                    continue
                is_quoted = not fact.until and len(words & one.stems) >= QUOTED_SHARE * len(words)
                if is_quoted:
                    dropped.add(id(chosen[fact.key]))
                elif fact.until or (fact.key, one.kind) in kinds:  # or it says another part of the sentence
                    dropped.add(id(one))
        return [one for one in candidates if id(one) not in dropped]


def _up_to_date(
    candidates: Sequence[_Candidate], later: NewerStatements, found: Iterable[FoundItem]
) -> Iterator[_Candidate]:
    """Yield the candidates; in the place of one that was replaced what the newest statement says, unless that
    stands itself."""
    records = {one.record_id: one for one in found if one.kind == "record"}
    standing_records = {one.found.record_id for one in candidates}
    shown: set[tuple[int, Kind]] = set()
    for one in candidates:
        newest = last = later.newest(one.said)
        while newest:
            last, newest = newest, later.newest(newest)
        if last is None:
            yield one
            continue
        record = records.get(last.record_id)
        if record and last.record_id not in standing_records and (last.record_id, one.kind) not in shown:
            shown.add((last.record_id, one.kind))
            text = last.whole if len(last.whole) <= MAX_WHOLE_CHARS else last.text
            stems = content_stems(text)
            yield _Candidate(record, one.kind, text, one.own, last.text, stems, last.whole, last.speaker)


def _own_words(found: FoundItem) -> str:
    """Return what a record says, without what its speaker pasted or only asks about; or what a fact says."""
    if found.kind != "record":
        return _said(found.text, found.speaker) if found.trust == "user" else found.text
    return _record_words(found.type, found.data, found.speaker, found.trust == "user")


@text_cache(MAX_CACHED_CHARS)
def _record_words(type_: str, data: str, speaker: str, is_users: bool) -> str:
    text = text_of(type_, data)
    return _said(text, speaker) if is_users else text


@text_cache(MAX_CACHED_CHARS)
def _said(text: str, speaker: str) -> str:
    return "\n".join(own_sentences(text, speaker))


def _folder(agent: Agent) -> str:
    """Return the name of the folder that an agent works in, folded; empty where that is unknown."""
    return fold(folder_of(agent.descriptor))


@text_cache(MAX_CACHED_CHARS)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say something."""
    return frozenset(map(stem, content_words(text)))


def _covers(sentence: frozenset[str], fact: frozenset[str]) -> bool:
    return bool(fact) and len(sentence & fact) >= COVERED_SHARE * len(fact)


def _names(folded: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) is not None if len(name) > 2 else False


def _each_once(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Leave out what another line says with nearly the same words; facts and newer lines stay."""
    kept: list[_Candidate] = []
    for one in sorted(candidates, key=lambda one: (one.found.kind != "fact", *(-age for age in _age(one)))):
        if not any(
            one.stems and len(one.stems & other.stems) >= SAME_SHARE * len(one.stems | other.stems)
            for other in kept
        ):
            kept.append(one)
    return kept


def _age(one: _Candidate) -> tuple[float, int]:
    return one.found.at.timestamp(), one.found.record_id or 0


def _order(one: _Candidate) -> tuple[object, ...]:
    """Order by rank; then what is about the user, or says itself that it is a rule; then the newest first, but
    introductions the oldest first."""
    at, record = _age(one)
    age = (at, record) if one.kind in ("name", "family") else (-at, -record)
    first = _EXPLICIT.search(fold(one.essence)) is not None if one.kind in BINDING else one.own
    return (RANKS[one.kind], not first, *age)


def _bounded(ordered: Sequence[_Candidate]) -> Iterator[_Candidate]:
    """Yield the lines, but of who somebody is only a few; of homes none that is older than the newest address."""
    counts: Counter[Kind] = Counter()
    addressed = max((one.age for one in ordered if one.kind == "home" and _NUMBER.search(one.text)), default=None)
    for one in ordered:
        if one.kind == "home" and addressed and one.age < addressed:
            continue
        counts[one.kind] += 1
        if counts[one.kind] <= MAX_OF_KIND.get(one.kind, len(ordered)):
            yield one
