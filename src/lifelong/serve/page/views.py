"""The views of the page, except documents and their changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import NamedTuple, cast, get_args

from starlette.responses import Response

from lifelong.errors import InputError, NotAPerson
from lifelong.journal.compaction import LongMemoryBlock, parse_blocks
from lifelong.journal.records import JournalRecord, encode, parse
from lifelong.journal.service import JournalService
from lifelong.journal.summarize import parse_summary
from lifelong.memory import Memory
from lifelong.organize.health import Receipt
from lifelong.organize.review import ReviewState
from lifelong.recall.experiences import GROUPS, grouped
from lifelong.recall.feedback import Verdict
from lifelong.recall.index_writer import SEARCHABLE_TYPES
from lifelong.recall.relations import Relations
from lifelong.serve.forgetting import joined
from lifelong.serve.page.context import PageContext, agent_name
from lifelong.serve.page.documents import diff_lines, summarize
from lifelong.serve.page.graph import make_graph
from lifelong.serve.terminal import counted
from lifelong.types import (
    ITEM_KINDS,
    NOTHING_KNOWN,
    ONLY_NEAREST,
    Agent,
    Found,
    Hit,
    ItemKind,
    ItemState,
    Session,
    SessionOutline,
    StoredRecord,
    ToolCall,
    nothing_known,
)

OVERVIEW_RECORDS = 8
AUDIT_SECONDS = 10.0  # that somebody may wait for a page
OVERVIEW_CHANGESETS = 6
SEARCH_HITS = 10
ITEMS_PER_PAGE = 30
EXPERIENCES_PER_PAGE = 200
EXPERIENCES_FOUND = 20
MAX_EXPERIENCES = 1_000_000
KNOWN_ITEMS = 50  # facts and records about somebody that are shown
GRAPH_NEIGHBOURS = 14
LISTED_ENTITIES = 40
SESSIONS_PER_PAGE = 60
RECORDS_PER_PAGE = 100
RECORDS_BEFORE = 20  # ids before a record that are shown with it, if they are of its session
INBOX_PER_PAGE = 100
REVIEWS_PER_PAGE = 50
JOURNAL_PER_PAGE = 200
MAX_ARCHIVED = 500  # records of a month, the newest
VERDICTS: tuple[Verdict, ...] = ("useful", "wrong", "outdated")
STATES: tuple[ItemState, ...] = get_args(ItemState)


def overview(page: PageContext) -> Response:
    """Show what came in, what was organized, and whether all is well."""
    memory = page.memory
    return page.show(
        "overview.html",
        stats=memory.admin.stats(),
        health=page.visible(memory.admin.health()),
        unindexed=memory.admin.unindexed(),
        records=memory.list("record", limit=OVERVIEW_RECORDS),
        changes=[summarize(memory, one) for one in memory.documents.changesets(OVERVIEW_CHANGESETS)],
    )


def audit(page: PageContext) -> Response:
    """Show what should not be in the memory, and the command that fixes each."""
    return page.show("audit.html", audit=page.memory.admin.audit(max_seconds=AUDIT_SECONDS))


# What is remembered


def search(page: PageContext) -> Response:
    """Show what is found for a question, and what each score is made of."""
    question = page.text("q")
    kinds = page.query.getlist("kind")
    top = page.number("top", SEARCH_HITS)
    since, until, as_of = page.time("since"), page.time("until", days=1), page.time("as_of", days=1)
    hits: Sequence[Hit] = ()
    if question:
        hits = page.memory.search(
            question, top, kinds=cast(list[ItemKind], kinds), since=since, until=until, as_of=as_of, explain=True
        )
    largest = max((abs(part) for hit in hits for part in hit.parts.values()), default=1.0)
    return page.show(
        "search.html",
        question=question,
        kinds=kinds,
        top=top,
        hits=hits,
        unknown=_unknown(hits),
        largest=largest,
        all_kinds=ITEM_KINDS,
    )


def _unknown(found: Sequence[Found]) -> str:
    """Return what to say where nothing is known."""
    if not nothing_known(found):
        return ""
    return ONLY_NEAREST if found else NOTHING_KNOWN


def browse(page: PageContext) -> Response:
    """List everything that is remembered."""
    kind, subject, since = page.text("kind"), page.text("subject"), page.time("since")
    before = page.query.get("before")
    hits = page.memory.list(
        cast(ItemKind, kind) if kind else None, subject or None, since, ITEMS_PER_PAGE + 1, before
    )
    more = hits[ITEMS_PER_PAGE - 1].id if len(hits) > ITEMS_PER_PAGE else ""
    return page.show(
        "browse.html",
        kind=kind,
        subject=subject,
        hits=hits[:ITEMS_PER_PAGE],
        more=more,
        before=before,
        all_kinds=ITEM_KINDS,
    )


def judge_item(page: PageContext) -> Response:
    """Store what a person says of an item, and go back to where it was shown."""
    item, action, memory = page.text("item"), page.text("do"), page.memory
    if action in ("pin", "unpin"):
        (memory.pin if action == "pin" else memory.unpin)(item)
        return page.return_with(f"{action}ned")
    if action == "correct":
        memory.correct(item, page.text("text"))
        return page.return_with("corrected")
    for verdict in VERDICTS:
        if action == verdict:
            if len(memory.feedback(item, verdict)) > 1:
                return page.return_with("ended")
            is_record = verdict == "outdated" and item[:1] in "rR"
            return page.return_with("lowered" if is_record else verdict)
    raise InputError(f"Unknown action {action!r:.200}. Use a button of the page.")


def _pinned(memory: Memory) -> set[str]:
    """Return the ids of what is pinned."""
    return {one.id for one in memory.admin.pinned()}


def experiences(page: PageContext) -> Response:
    """Show the experiences, grouped."""
    memory = page.memory
    question, by = page.text("q"), next((one for one in GROUPS if one == page.text("by")), GROUPS[0])
    if not memory.settings.continuity.experience_store_enabled:
        return page.show("experiences.html", is_on=False, question=question)
    store = memory.experiences
    found = store.query(question, EXPERIENCES_FOUND) if question else store.list(limit=MAX_EXPERIENCES)
    part = page.part(found, EXPERIENCES_PER_PAGE, len(found))
    return page.show(
        "experiences.html",
        is_on=True,
        question=question,
        by=by,
        all_groups=GROUPS,
        groups=grouped(part.shown, by),
        pinned=_pinned(memory),
        unknown=_unknown(found) if question else "",
        part=part,
    )


def relations(page: PageContext) -> Response:
    """Show how people, projects and things are related, as a graph."""
    memory = page.memory
    entities = memory.relations.entities(LISTED_ENTITIES)
    entity = page.text("entity") or (entities[0] if entities else "")
    ended = bool(page.text("ended"))
    found = memory.relations.of(entity, GRAPH_NEIGHBOURS, ended=ended) if entity else None
    graphs = [make_graph(found, 760, 480), make_graph(found, 360, 440)] if found and found.neighbours else []
    return page.show("relations.html", entities=entities, entity=entity, ended=ended, found=found, graphs=graphs)


def about(page: PageContext) -> Response:
    """Show everything that is known about a person, a project or a thing: documents, facts, relations, records."""
    memory = page.memory
    entities = memory.relations.entities(LISTED_ENTITIES)
    asked = page.text("name") or (entities[0] if entities else "")
    related = memory.relations.of(asked, GRAPH_NEIGHBOURS) if asked else Relations("")
    name = related.entity or asked
    facts = memory.list("fact", name, limit=KNOWN_ITEMS) if name else []
    facts.sort(key=lambda hit: hit.until is not None)
    records = memory.list("record", name, limit=KNOWN_ITEMS) if name else []
    found = memory.documents.find(related.path) if related.path else None
    documents = [found] if found else []
    known = ((len(documents), "document"), (len(facts), "fact"), (len(records), "record"))
    return page.show(
        "about.html",
        name=name,
        entities=entities,
        related=related,
        facts=facts,
        records=records,
        documents=documents,
        limit=KNOWN_ITEMS,
        summary=joined([counted(number, noun) for number, noun in known if number]),
    )


# Sessions and the inbox


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A record as it is shown. `text` is a tool call's arguments, where it is one."""

    stored: StoredRecord
    who: str
    text: str
    receipt: Receipt


def sessions(page: PageContext) -> Response:
    """Show the newest sessions by agent, or the one of an `id`."""
    memory = page.memory
    if chosen := page.text("id"):
        return _session(page, memory.sessions.get(chosen))
    found = memory.sessions.recent(SESSIONS_PER_PAGE + 1, page.text("before") or None)
    shown = found[:SESSIONS_PER_PAGE]
    groups: dict[str, list[tuple[Session, SessionOutline]]] = {}
    for one, outline in zip(shown, memory.sessions.outlines(shown), strict=True):
        groups.setdefault(one.agent_id, []).append((one, outline))
    agents = [(_agent(memory, agent_id), some) for agent_id, some in groups.items()]
    more = found[SESSIONS_PER_PAGE - 1].id if len(found) > SESSIONS_PER_PAGE else ""
    return page.show("sessions.html", agents=agents, more=more)


def record(page: PageContext) -> Response:
    """Go to a record within its session."""
    chosen = page.number("id")
    receipt = page.memory.receipt(chosen)
    after = max(0, chosen - RECORDS_BEFORE)
    return page.go("/sessions", anchor=f"r{chosen}", id=receipt.session_id, after=after)


def _session(page: PageContext, session: Session) -> Response:
    memory, after = page.memory, page.number("after")
    found = memory.sessions.history(session, after)
    records = [_shown_record(memory, one) for one in found[:RECORDS_PER_PAGE]]
    return page.show(
        "session.html",
        session=session,
        outline=memory.sessions.outlines([session])[0],
        pinned=_pinned(memory),
        can_be_judged=SEARCHABLE_TYPES,
        agent=_agent(memory, session.agent_id),
        records=records,
        after=after,
        whole=page.number("whole"),
        more=records[-1].stored.id if len(found) > RECORDS_PER_PAGE else 0,
    )


def _shown_record(memory: Memory, stored: StoredRecord) -> ShownRecord:
    record, receipt = stored.record, memory.receipt(stored.id)
    if isinstance(record, ToolCall):
        arguments = json.dumps(record.arguments, indent=2, ensure_ascii=False)
        return ShownRecord(stored, record.name, arguments, receipt)
    who = getattr(record, "speaker", "") or getattr(record, "name", "")
    return ShownRecord(stored, who, record.text, receipt)


def _agent(memory: Memory, agent_id: str) -> tuple[Agent, str]:
    agent = memory.agents.get(agent_id)
    return agent, agent_name(agent)


def inbox(page: PageContext) -> Response:
    """Show the transcripts on their way to the memory-agents, and those that failed."""
    memory, state = page.memory, page.text("state")
    states = (cast(ItemState, state),) if state else ()
    found = [page.visible(one) for one in memory.inbox.list(*states, limit=page.end_of(INBOX_PER_PAGE))]
    counts = memory.inbox.counts()
    part = page.part(found, INBOX_PER_PAGE, sum(counts.get(one, 0) for one in states or STATES))
    sessions = {one.session_id for one in part.shown}
    who = {session: agent_name(memory.agents.get(memory.sessions.get(session).agent_id)) for session in sessions}
    return page.show("inbox.html", state=state, states=STATES, counts=counts, part=part, who=who)


def retry(page: PageContext) -> Response:
    """Try one item again, or every one that failed for good."""
    retried = page.memory.inbox.retry(page.number("id") or None)
    return page.go("/inbox", done="retried" if retried else "none")


def release(page: PageContext) -> Response:
    """Take an item from the worker that holds it."""
    released = page.memory.inbox.release(page.number("id") or None)
    return page.go("/inbox", done="released" if released else "none")


# What waits for a person


def review(page: PageContext) -> Response:
    """Show what agents wrote that waits for a person, or what was decided."""
    state = page.text("state") or "waiting"
    found = page.memory.reviews.list(cast(ReviewState, state), limit=page.end_of(REVIEWS_PER_PAGE) + 1)
    part = page.part(found, REVIEWS_PER_PAGE)
    shown = [(one, diff_lines(one.change) if one.kind == "document" else []) for one in part.shown]
    return page.show("review.html", state=state, states=get_args(ReviewState), part=part, shown=shown)


def decide(page: PageContext) -> Response:
    """Store what a person decided on a write that waits."""
    if not page.from_page:
        raise NotAPerson
    reviews, which, action = page.memory.reviews, page.text("id"), page.text("do")
    if action == "approve":
        done = reviews.approve(which)
        return page.go("/review", done="forgotten" if done.kind == "forget" else "approved")
    if action == "edit":
        reviews.edit(which, page.text("text"))
        return page.go("/review", done="edited")
    if action == "refuse":
        reviews.refuse(which)
        return page.go("/review", done="refused")
    raise InputError(f"Unknown action {action!r:.200}. Use a button of the page.")


# The journal


class JournalDay(NamedTuple):
    day: str
    records: list[JournalRecord]


class ArchivedMonth(NamedTuple):
    """The records that compaction took out of MEMORY.md in a month: the newest of `total`."""

    month: str
    file: str
    total: int
    records: list[JournalRecord]


def journal(page: PageContext) -> Response:
    """Show the journal's records by day, what was compacted, or what opens a session."""
    memory, show = page.memory, page.text("show") or "records"
    if not memory.settings.continuity.journal_enabled:
        return page.show("journal.html", is_on=False, show=show)
    if show == "long":
        text = memory.journal.long_memory()
        return page.show(
            "journal.html",
            is_on=True,
            show=show,
            blocks=[_summary(block) for block in parse_blocks(encode(text))[::-1]],
            text=text,
            archived=_archived(memory.journal),
            ended=memory.admin.ended("journal"),
            pinned=_pinned(memory),
        )
    if show == "context":
        return page.show("journal.html", is_on=True, show=show, context=memory.journal.context())
    return _journal_records(page, memory.journal)


def _summary(block: LongMemoryBlock) -> dict[str, object]:
    """Return a block of LONGMEMORY.md, its lines by day, and how many more are in the archive."""
    lines, more = parse_summary(block.text)
    days = {line.day: [one for one in lines if one.day == line.day] for line in lines}
    return {"day": block.day, "of": block.of, "days": days, "more": more}


def _journal_records(page: PageContext, journal: JournalService) -> Response:
    """Show MEMORY.md, or the file of a day, newest first."""
    chosen, category = page.text("day"), page.text("category")
    found = (journal.day(_date(chosen)) if chosen else journal.records())[::-1]
    counts = Counter(one.category for one in found)
    newest = sorted((one for one in found if category in ("", one.category)), key=_seconds, reverse=True)
    part = page.part(newest, JOURNAL_PER_PAGE, len(newest))
    return page.show(
        "journal.html",
        is_on=True,
        show="records",
        days=_by_day(page, part.shown),
        part=part,
        ended=page.memory.admin.ended("journal"),
        pinned=_pinned(page.memory),
        counts=counts.most_common(),
        chosen=chosen,
        category=category,
        day_files=[path.stem for path in journal.files.days()][::-1],
    )


def _by_day(page: PageContext, records: Iterable[JournalRecord]) -> list[JournalDay]:
    def day(record: JournalRecord) -> str:
        at = record.timestamp
        return at.astimezone(page.zone).date().isoformat() if at else ""

    return [JournalDay(one, list(found)) for one, found in groupby(records, day)]


def _seconds(record: JournalRecord) -> float:
    return record.timestamp.timestamp() if record.timestamp else 0.0


def _archived(journal: JournalService) -> list[ArchivedMonth]:
    found = []
    for path in sorted(journal.files.archive_folder.glob("compacted-????-??.md"), reverse=True):
        records = [line.record for line in parse(journal.files.read(path)) if line.record][::-1]
        month = path.stem.removeprefix("compacted-")
        found.append(ArchivedMonth(month, path.name, len(records), records[:MAX_ARCHIVED]))
    return found


def _date(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  # a day has no zone
    except ValueError:
        raise InputError(f"{text!r:.200} is not a day. Write it as 2026-03-05.") from None
