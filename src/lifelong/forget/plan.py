"""What goes when something is forgotten: found first, so that a person can look at it before anything changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import NamedTuple

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import MemoryAgent
from lifelong.collect.sessions import Sessions
from lifelong.collect.tombstones import Tombstones
from lifelong.errors import InputError, ItemNotFound
from lifelong.forget.documents import DocumentErasure
from lifelong.journal.records import first_record_of
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.facts import Fact
from lifelong.recall.analyzer import name_stems
from lifelong.recall.core_facts import content_stems
from lifelong.recall.index_writer import facts_of, text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.storage.base import NO_LIMIT, Transaction
from lifelong.text.names import NAMELESS, names
from lifelong.text.sentences import sentences
from lifelong.text.words import content_words, fold
from lifelong.types import Document, to_micros
from lifelong.validation import validate_range

MAX_SENTENCE_CHARS = 2_000
MAX_PREVIEWED_TURNS = 1_000  # whose replies a dry run looks at
MIN_REPEATED_WORDS = 2  # that a reply shares with what it repeats
REPEATED_SHARE = 0.5  # of the words of the shorter of the two
REPEATS = "repeats what goes"
MIN_SENTENCE_WORDS = 3  # of a sentence that is taken out of summaries; a shorter one is said by many
MIN_WORD_CHARS = 3  # a word so short is a part of many others
LABELS = (
    "User",
    "Assistant",
    "Agent",
    "System",
    "Host",
    "text",
    "speaker",
    "name",
    "arguments",
    "failed",
    "summary",
)
"""What lines of the journal call those who have no name, and what the rows of records call their parts."""
FORGOTTEN = "[forgotten]"
"""What stands in a record in the place of a part that was forgotten."""

_WORD = re.compile(r"[^\W_](?:[\w'\u2019-]*[^\W_])?")
_RUN = re.compile(r"[\w'\u2019-]+")
_JOINT = re.compile(r"(['\u2019-]+)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INSERTED = re.compile(r"\[[^\[\]]*\]")
_IDS_PER_QUERY = 500


@dataclass(slots=True)
class ErasurePlan:
    """What goes. `records` has what stays of each record's text, "" where the whole record goes; `documents` go
    with every version; `facts` by the refs of their items; `lines` and `paragraphs` are in files; `experiences` by
    id; `sessions` and `agents` go as rows. `turns` has the records by session, `items` what has vectors.
    `sentences` and `words` were said in it, and are taken out of summaries; not stored once it is done.
    `changed` and `aged` are the lines of `files` that went, were made again, or went by their age.
    `journal_until` and `recalls_until` are times (0: none) before which all of the journal's files, and of the log
    of searches, goes."""

    records: dict[int, str] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    experiences: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    turns: dict[str, list[int]] = field(default_factory=dict)
    items: list[int] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    aged: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    journal_until: int = 0
    recalls_until: int = 0
    everything: bool = False
    """The whole user goes."""

    def __bool__(self) -> bool:
        return any(
            (self.records, self.documents, self.facts, self.lines, self.paragraphs, self.experiences)
        ) or bool(self.sessions or self.agents)

    def dump(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> ErasurePlan:
        """Return the plan of a row; an empty one where all is done but for the database's file."""
        if not text:
            return cls()
        fields = json.loads(text)
        fields["records"] = {int(number): left for number, left in fields["records"].items()}
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class WhatToForget:
    """What a person names: ids as search and list show them, paths of documents, sessions, agents, a person or
    subject, words that must occur, a range of time. A range alone means every record in it; together with another,
    it narrows that."""

    ids: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    about: str = ""
    matching: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def check(self) -> None:
        if not any((self.ids, self.sessions, self.agents, self.about, self.matching, self.since, self.until)):
            raise InputError(
                "Say what to forget: ids (r12, f7), a document's path, a session, an agent, about=, matching=, or "
                "a range of time. A whole user goes with store.forget_user(name)."
            )
        validate_range(self.since, self.until)


class Staying(NamedTuple):
    """A record, or another item, that a dry run names although it stays, and why a person may want it to go."""

    id: str
    text: str
    why: str


class _ByFirstName(NamedTuple):
    """What has only the first name of somebody: what is about them, and what may be about somebody or something
    else. `alone`: nobody else here has that name, so that a document or a speaker of that name is theirs."""

    theirs: list[FoundItem]
    unclear: list[FoundItem]
    alone: bool


class Planner:
    """Find what must go of one owner's memory, in a transaction that only reads."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner
        self._items = Items(tx, owner)
        self._documents = DocumentErasure(tx, owner)
        self._plan = ErasurePlan()

    def plan(self, what: WhatToForget) -> ErasurePlan:
        """Return all that goes."""
        what.check()
        for id_ in what.ids:
            self._add_id(id_)
        for session_id in what.sessions:
            self._add_session(Sessions(self._tx).get(self._owner, session_id).id, what)
        for agent_id in what.agents:
            self._add_agent(agent_id, what)
        if what.about and what.matching:
            matching = {one.id for one in self._holding(what.matching)}
            self._add_found((one for one in self._naming(what.about) if one.id in matching), what)
        elif what.about:
            self._add_found(self._about(what.about), what)
        elif what.matching:
            self._add_found(self._holding(what.matching), what)
        if (what.since or what.until) and not any(
            (what.ids, what.sessions, what.agents, what.about, what.matching)
        ):
            self._add_records(self._in_range(what))
        return self._plan

    def stays(self, what: WhatToForget, plan: ErasurePlan) -> tuple[Staying, ...]:
        """Return what stays by a plan although a person may want it to go: replies in the same turn that repeat
        what goes, and what has only the first name of the person."""
        found = {f"r{number}": Staying(f"r{number}", text, REPEATS) for number, text in self._replies(plan)}
        if what.about:
            first = what.about.split()[0]
            for one in self._by_first_name(what.about).unclear:
                text = one.text or text_of(one.type, one.data)
                if one.kind == "record" and int(one.ref) not in plan.records:
                    found.setdefault(f"r{one.ref}", Staying(f"r{one.ref}", text, f"names only {first}"))
        return tuple(found.values())

    def _replies(self, plan: ErasurePlan) -> Iterator[tuple[int, str]]:
        """Yield what an assistant said in the same turn that repeats what goes, and stays."""
        going = self._own_records(islice(plan.records, MAX_PREVIEWED_TURNS))
        for number, (kind, data) in going.items():
            left = plan.records[number]
            text = text_of(kind, data)
            gone = content_stems(" ".join(sentences_of([(text, left)])) if left else text)
            later = [one for one in self._turn(number) if one not in plan.records]
            for reply, (of, said) in self._own_records(later).items():
                if of == "assistant_message" and _repeats(text_of(of, said), gone):
                    yield reply, text_of(of, said)

    def sessions_before(self, until: datetime) -> list[str]:
        """Return the sessions that ended before this time and hold nothing newer, also those of memory-agents."""
        rows = self._tx.all(
            "SELECT s.id FROM sessions s JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND s.ended_at < ? "
            "AND NOT EXISTS (SELECT 1 FROM session_history h WHERE h.session_id = s.id AND h.at >= ?)",
            *(self._owner, to_micros(until), to_micros(until)),
        )
        return sorted(row[0] for row in rows)

    # What is named

    def _add_id(self, id_: str) -> None:
        if id_.startswith("~") or (id_[:1] == "d" and DocumentRows(self._tx, self._owner).find(id_)):
            self._add_document(id_)
            return
        try:
            self._add_item(self._items.look_up(id_))
        except ItemNotFound:
            found = re.fullmatch(r"r(\d{1,18})", id_.strip().lower(), re.ASCII)
            number = found[1] if found else ""
            if number and self._own_records([int(number)]):  # a tool call is not an item
                self._add_records([int(number)])
                return
            if stone := Tombstones(self._tx, self._owner).find("record", number):
                raise ItemNotFound(f"{id_} was forgotten on {stone.at:%Y-%m-%d} by {stone.author}.") from None
            raise

    def _add_item(self, found: FoundItem) -> None:
        match found.kind:
            case "record":
                self._add_records([int(found.ref)])
            case "fact":
                self._add_fact(found)
            case "experience":
                self._plan.experiences.append(found.ref)
                self._plan.sentences.append(found.text)
            case _:
                (self._plan.paragraphs if "#" in found.ref else self._plan.lines).append(found.ref)
                if first := first_record_of(found.ref):
                    self._add_records(self._turn(first))
                else:
                    self._plan.sentences.append(found.text)

    def _add_document(self, name: str) -> None:
        rows = DocumentRows(self._tx, self._owner)
        document = rows.at(name) if name.startswith("~") else rows.find(name)
        if document is None:
            raise ItemNotFound(f"No document of this user lies at {name}. See: lifelong documents")
        below = rows.walk(document)
        self._plan.documents += [one.id for one in below]
        for one in below:
            for ref, fact, _ in facts_of(one):
                self._add_sources(fact, ref)

    def _add_fact(self, found: FoundItem) -> None:
        document = DocumentRows(self._tx, self._owner).last(found.container)
        versions = DocumentRows(self._tx, self._owner).versions(found.container) if document else []
        for version in reversed(versions):
            for ref, fact, _ in facts_of(version):
                if ref == found.ref.partition("@")[0]:
                    self._plan.facts.append(ref)
                    self._add_sources(fact, ref)
                    return
        self._plan.facts.append(found.ref.partition("@")[0])

    def _add_sources(self, fact: Fact, ref: str) -> None:
        """Forget what a fact came from: of a record that is quoted, the quoted part."""
        self._plan.facts.append(ref)
        rows = self._own_records(fact.records)
        for number, (kind, data) in rows.items():
            text = text_of(kind, data)
            known = self._plan.records.get(number, text)
            self._plan.records[number] = cut(known, fact.text) if fact.day and known else ""

    def _add_session(self, session_id: str, what: WhatToForget) -> None:
        records = self._in_range(what, "s.id = ?", session_id)
        if what.since is None and what.until is None:
            self._plan.sessions.append(session_id)
        self._add_records(records)

    def _add_agent(self, agent_id: str, what: WhatToForget) -> None:
        agent = Agents(self._tx).get(self._owner, agent_id)
        for session in Sessions(self._tx).of_agent(agent.id):
            self._add_session(session.id, what)
        if what.since is None and what.until is None:
            self._plan.agents.append(agent.id)
            if keeper := Agents(self._tx).find(self._owner, MemoryAgent(agent.id)):
                self._plan.agents.append(keeper.id)
                self._plan.sessions += [one.id for one in Sessions(self._tx).of_agent(keeper.id)]

    def _add_found(self, found: Iterable[FoundItem], what: WhatToForget) -> None:
        for one in found:
            if (what.since and one.at < what.since) or (what.until and one.at >= what.until):
                continue
            if one.kind == "journal" and first_record_of(one.ref):
                continue  # it is made again without what goes of its turn, whose records are found themselves
            if one.kind == "fact" and one.record_id:
                self._plan.facts.append(one.ref.partition("@")[0])
                self._add_records(self._own_records([one.record_id]))
            else:
                self._add_item(one)

    def _add_records(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._plan.records[number] = ""

    # What is found

    def _about(self, name: str) -> Iterator[FoundItem]:
        """Yield what a person said, what the documents named after them hold, and what names them."""
        wanted = " ".join(name.split())
        if not content_words(wanted):
            raise InputError(f"{name!r:.200} names nobody. Give a name or a subject.")
        alone = self._by_first_name(wanted).alone
        for one in DocumentRows(self._tx, self._owner).walk():
            if _is_named(one, wanted) or (alone and fold(one.title) == fold(wanted).split()[0]):
                self._add_document(one.path)
        yield from self._naming(wanted)

    def _naming(self, name: str) -> Iterator[FoundItem]:
        """Yield what somebody said, and what holds their name, its words in this order; where nobody else has the
        first name, also what holds that alone."""
        yield from self._items.get(self._items.said_by(" ".join(name.split()), NO_LIMIT)).values()
        named = _phrase(fold(name).split())
        for one in self._holding(name):
            if named.search(fold(one.text or text_of(one.type, one.data))):
                yield one
        yield from self._by_first_name(name).theirs

    def _by_first_name(self, name: str) -> _ByFirstName:
        """Return what has only the first name of a person: theirs, if the person is known here and nobody else of
        that name is, and if the word is written as a name."""
        words = fold(name).split()
        if len(words) < 2 or not content_words(words[0]):
            return _ByFirstName([], [], alone=False)
        known = [fold(one).split() for one in self._items.speakers()]
        known += [
            fold(one.title).split() for one in DocumentRows(self._tx, self._owner).walk() if "/people/" in one.path
        ]
        whole, small = _phrase(words), _phrase(words[:1])
        written = _phrase([name.split()[0].capitalize()])
        holding = [(one, one.text or text_of(one.type, one.data)) for one in self._holding(words[0])]
        holding = [(one, text) for one, text in holding if not whole.search(fold(text))]
        named = [[fold(each).split() for each in names(text)] for _, text in holding]
        known_here = [one for one in known if one[:1] == words[:1]]
        others = [
            one for one in (*known_here, *chain(*named)) if one[:1] == words[:1] and one not in (words, words[:1])
        ]
        alone = bool(known_here) and not others and fold(self._owner).split()[:1] != words[:1]
        is_word = any(small.search(text) for _, text in holding)
        theirs, unclear = [], []
        for (one, text), found in zip(holding, named, strict=True):
            if alone and written.search(text) and (not is_word or words[:1] in found):
                theirs.append(one)
            elif not any(each[:1] == words[:1] and len(each) > 1 for each in found):
                unclear.append(one)
        if alone:
            said = self._items.get(self._items.said_by(name.split()[0], NO_LIMIT)).values()
            theirs += [one for one in said if one.id not in {each.id for each in theirs}]
        return _ByFirstName(theirs, unclear, alone)

    def _holding(self, text: str) -> Iterator[FoundItem]:
        """Yield the items that hold every word of a text, as a word."""
        stems = name_stems(text)
        if not stems:
            raise InputError(f"{text!r:.200} has no word that could be looked for. Give a longer one.")
        ids = self._items.holding(stems, NO_LIMIT)
        words = fold(text).split()
        for start in range(0, len(ids), _IDS_PER_QUERY):
            for one in self._items.get(ids[start : start + _IDS_PER_QUERY]).values():
                said = fold(one.text or text_of(one.type, one.data))
                if all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", said) for word in words):
                    yield one

    def _in_range(self, what: WhatToForget, which: str = "", *params: str) -> list[int]:
        """Return the owner's records in a range of time, without those of memory-agents."""
        rows = self._tx.all(
            "SELECT h.id FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a "
            "ON a.id = s.agent_id WHERE a.owner = ? AND a.kind <> 'memory-agent' AND h.at >= ? AND h.at < ?"
            f"{' AND ' + which if which else ''} ORDER BY h.id",
            self._owner,
            to_micros(what.since) if what.since else 0,
            to_micros(what.until) if what.until else NO_LIMIT,
            *params,
        )
        return [row[0] for row in rows]

    def _turn(self, first: int) -> list[int]:
        """Return the records of the turn that begins with this one: up to where the user speaks again."""
        rows = self._tx.all(
            "SELECT h.id, h.type FROM session_history h JOIN session_history f ON f.session_id = h.session_id "
            "WHERE f.id = ? AND h.id >= f.id ORDER BY h.id",
            first,
        )
        own = [*self._own_records([row[0] for row in rows])]
        ends = [row[0] for row in rows if row[1] == "user_message" and row[0] > first]
        return [id_ for id_ in own if not ends or id_ < ends[0]]

    def _own_records(self, numbers: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return those of the records that are the owner's: type and data."""
        rows = self._tx.many(
            "SELECT h.id, h.type, h.data FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.id = ?",
            [(self._owner, number) for number in numbers],
        )
        return {row[0]: (row[1], row[2]) for row in rows}


def store_plan(tx: Transaction, owner: str, plan: ErasurePlan, author: str, now: datetime) -> int:
    """Store an erasure that is to be done. Return its number."""
    return tx.insert(
        "erasures (owner, at, author, state, plan, report)",
        [(owner, to_micros(now), author, "pending", plan.dump(), "")],
    )[0]


def _is_named(document: Document, name: str) -> bool:
    """Return whether a document is about this person or subject, by its title."""
    title, wanted = fold(document.title).split(), fold(name).split()
    if not title or document.path.count("/") <= 2 or title[0] in NAMELESS:
        return False
    return title[: len(wanted)] == wanted


def _phrase(words: Iterable[str]) -> re.Pattern[str]:
    """Return what finds these words in this order, as words."""
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)")


def _repeats(reply: str, gone: Set[str]) -> bool:
    """Return whether a sentence of a reply says what goes."""
    for sentence in sentences(reply):
        said = content_stems(sentence)
        both = len(said & gone)
        if both >= MIN_REPEATED_WORDS and both >= REPEATED_SHARE * min(len(said), len(gone)):
            return True
    return False


def cut(text: str, quote: str) -> str:
    """Return a text with `[forgotten]` in the place of what a quote took from it; empty if nothing else was said,
    or the quote is not there word for word."""
    left = text
    for piece in _INSERTED.sub("\0", quote).split("\0"):
        words = piece.split()
        if not words:
            continue
        left, times = re.subn(r"\s+".join(map(re.escape, words)), FORGOTTEN, left)
        if not times:
            return ""
    said = left.replace(FORGOTTEN, " ")
    return left.strip() if content_words(said) else ""


def sentences_of(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return the sentences that were said before and are not said any more, given each text before and after."""
    gone: dict[str, None] = {}
    for before, after in texts:
        for one in sentences(before):
            if one not in after and len(one) <= MAX_SENTENCE_CHARS:
                gone[" ".join(one.split())] = None
    return [*gone]


def text_in(kind: str, data: str) -> str:
    """Return what was said in a record; of a tool's call, the texts that it was given."""
    if text := text_of(kind, data):
        return text
    try:
        return " ".join(_leaves(json.loads(data).get("arguments")))
    except (ValueError, AttributeError, RecursionError):
        return data


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)


class WordFinder:
    """Finds words in texts, as words, whatever their case: as quickly with thousands of words as with one."""

    def __init__(self, words: Iterable[str]) -> None:
        self._forms = {fold(word) for word in words}
        self._parts = max((len(_JOINT.split(form)) for form in self._forms), default=0)

    def find(self, text: str) -> set[str]:
        """Return those of the words that a text holds, folded."""
        return {form for form in _forms_in(text, self._parts) if form in self._forms}

    def is_in(self, text: str) -> bool:
        """Return whether a text holds one of the words."""
        return any(form in self._forms for form in _forms_in(text, self._parts))


def _forms_in(text: str, parts: int) -> Iterator[str]:
    """Yield the folded words of a text, and those of up to so many parts, as in mother-in-law."""
    for run in _RUN.findall(fold(text)):
        pieces = _JOINT.split(run)
        for start in range(0, len(pieces), 2):
            for end in range(start, min(start + parts, len(pieces)), 2):
                yield "".join(pieces[start : end + 1])


class ForgottenText:
    """The sentences that were forgotten, and the words that nothing else holds."""

    def __init__(self, sentences: Iterable[str], words: Iterable[str]) -> None:
        self._words = WordFinder(words)
        self._sentences: dict[str, list[str]] = {}
        for one in sentences:
            told = content_words(one)
            if len(told) >= MIN_SENTENCE_WORDS:
                self._sentences.setdefault(max(told, key=len), []).append(one)
        self._longest = WordFinder(self._sentences)

    @classmethod
    def of(cls, plan: ErasurePlan) -> ForgottenText:
        """Return what a plan has found."""
        return cls(plan.sentences, plan.words)

    def is_in(self, text: str) -> bool:
        """Return whether a text holds one of the sentences or words."""
        return any(True for _ in self._sentences_in(text)) or self._words.is_in(text)

    def without(self, line: str) -> str:
        """Return a line of a summary without them; empty if it says nothing else."""
        left = line
        for one in self._sentences_in(line):
            left = left.replace(one, "")
        if left != line and not _says_something(left):
            return ""
        return "" if self._words.is_in(left) else left

    def _sentences_in(self, text: str) -> Iterator[str]:
        for word in self._longest.find(text):
            yield from (one for one in self._sentences[word] if one in text)


def _says_something(line: str) -> bool:
    """Return whether a line of a summary has more than its mark and its speaker."""
    return bool(content_words(re.sub(r"^\W*\*\*[^*]*\*\*", "", line).strip(" -*:→\n")))


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the words of texts that say something, as they are written: the longest first."""
    found = {word for text in texts for word in _WORD.findall(text)}
    telling = (one for one in found if len(one) > MIN_WORD_CHARS and not _DAY.fullmatch(one))
    return sorted(telling, key=lambda one: (-len(one), one))
