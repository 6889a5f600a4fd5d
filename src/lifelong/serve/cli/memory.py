"""The everyday verbs, the same as in Python: add, search, context, correct, pin, list, about and the rest."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from lifelong.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_USER,
    Answer,
    AsOfOption,
    HomeOption,
    JsonOption,
    KindOption,
    NeighbourLimit,
    SinceOption,
    TextArgument,
    UserOption,
    Verdict,
    address,
    command,
    find_agent,
    hint,
    known_or_new,
    open_memory,
    read_text,
    several,
    time_option,
)
from lifelong.serve.terminal import (
    counted,
    in_progress,
    not_indexed,
    one_line,
    print_done,
    print_hits,
    print_json,
    print_problem,
    print_table,
    print_text,
    styled,
)

if TYPE_CHECKING:
    from lifelong.collect.tombstones import Tombstone
    from lifelong.memory import Memory
    from lifelong.recall.relations import Relations
    from lifelong.types import Hit

verbs = typer.Typer()

Role = Literal["user", "assistant", "system", "tool", "note"]
ItemArgument = Annotated[str, typer.Argument(help="Its id, as `search` and `list` show it.", metavar="ID")]
AgentOption = Annotated[
    str,
    typer.Option(help="Which agent: connector/user/channel, or an id.", show_default="the user's default agent"),
]
NO_TEXT = "There is no text. Write it on the line, or pipe it in."
JSON_MESSAGES = re.compile(r'\s*(\{\s*"|\[\s*\{)')
"""How messages in JSON begin."""
MAX_IDS_PRINTED = 20  # of what one `add` stored


@verbs.command()
def add(
    text: TextArgument = None,
    agent: AgentOption = "",
    role: Annotated[Role, typer.Option(help="Who said it, if it is plain text.")] = "user",
    speaker: Annotated[str, typer.Option(help="The person's name, where several talk.", show_default=False)] = "",
    at: Annotated[datetime | None, time_option("--at", "When it was said, if not now.")] = None,
    key: Annotated[
        str | None, typer.Option(help="With the same key again, nothing is stored twice.", show_default=False)
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Store JSON as it is, as a text.")] = False,
    end: Annotated[
        bool, typer.Option("--end", help="Also end the session, so that it is organized next.")
    ] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Store what was said, and print the ids of its records. It is on disk when the command ends.

    Takes plain text, one JSON message, a JSON list of messages or JSON Lines, in the shapes of OpenAI, Anthropic
    and LangChain. All of it is stored, or none. What was forgotten, and comes again with its own time, is not
    stored, and that is said.

    Example: lifelong add "I live in Lisbon." --speaker Mara
    """
    from lifelong.collect.messages import to_records
    from lifelong.errors import InputError

    records = to_records(_messages(read_text(text), role, speaker, plain=plain), at=at, speaker=speaker)
    if not records:
        raise InputError("The messages have no text and no tool call, so nothing was stored.")
    with open_memory(home, user, new=True) as memory:
        with in_progress("Storing …", quiet=as_json):
            ids = memory.add(records, agent=known_or_new(memory, agent), key=key)
        who = find_agent(memory, agent)
        if end:
            memory.end_session(who)
    if as_json:
        print_json({"agent": who.cache_key, "ids": ids, "forgotten": [one._asdict() for one in ids.forgotten]})
        return
    for one in ids.forgotten:
        print_problem(_not_stored(one))
    if not ids:
        return
    if len(ids) <= MAX_IDS_PRINTED:
        print_text("\n".join(ids))
    else:
        print_text(f"{ids[0]} to {ids[-1]} ({len(ids):,} records)")


def _not_stored(stone: Tombstone) -> str:
    """Return that a record is not stored again, and what to do who wants it back."""
    number, _, part = stone.ref.partition(".")
    return (
        f"Not stored: {'a part of this' if part else 'this'} was forgotten on {stone.at.astimezone():%Y-%m-%d} by "
        f"{stone.author}, as r{number}, and stays forgotten. To have it back, add it without --at, or with "
        "another time: it is then a new record."
    )


def _messages(text: str, role: Role, speaker: str, *, plain: bool) -> object:
    """Return what `Memory.add` takes: messages if the text is JSON, else one message."""
    from lifelong.errors import InputError
    from lifelong.types import Note

    if not text.strip():
        raise InputError(NO_TEXT)
    found = None if plain else _parse_json(text)
    if found is not None:
        return found
    if role == "user":
        return text
    if role == "note":
        return [Note(text, speaker)]
    return {"role": role, "content": text, **({"name": speaker} if speaker and role == "assistant" else {})}


def _parse_json(text: str) -> object:
    """Return the messages of a JSON document or of JSON Lines; none if the text is neither. Raise `InputError` if
    it begins like messages and cannot be read."""
    from lifelong.errors import InputError

    if not text.lstrip().startswith(("{", "[")):
        return None
    is_text = not JSON_MESSAGES.match(text)
    try:
        found = json.loads(text)
    except RecursionError:
        return None
    except ValueError:
        pass
    else:
        return found if isinstance(found, dict) or (found and isinstance(found[0], dict)) else None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    messages: list[object] = []
    for number, line in lines:
        try:
            messages.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if not messages and is_text:
                return None
            raise InputError(
                f"Line {number} is not JSON, so nothing was stored: {error}. Correct it, or store all of it as a "
                "text with --plain."
            ) from error
    return messages


@command(verbs)
def search(
    memory: Memory,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits.", min=1, max=1000)] = 5,
    kind: Annotated[list[str] | None, several(KindOption, "Only these; may be repeated.")] = None,
    agent: Annotated[str, typer.Option(help="Only the sessions of this agent.", show_default=False)] = "",
    since: SinceOption = None,
    until: Annotated[datetime | None, time_option("--until", "Only what was said before then.")] = None,
    as_of: AsOfOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
) -> Answer:
    """Find what is known about a question, a line a hit: id, date, who, text.

    Beneath a hit stands what else says the same. Where nothing is known, that is said first, and what follows is
    only the nearest. With --json, each hit has its confidence (low, fair, high) and its sources.

    Example: lifelong search "Where does Mara stay in Lisbon?" --explain
    """
    if not query.strip():
        raise typer.BadParameter("There is no question. Ask it in your own words")
    found = memory.search(
        query,
        top_k,
        agent=find_agent(memory, agent) if agent else None,
        kinds=cast("list[KindOption]", kind or []),
        since=since,
        until=until,
        as_of=as_of,
        explain=explain,
    )
    advice = "" if found else _why_nothing(memory)
    return Answer(found, lambda: print_hits(found, advice, query))


def _why_nothing(memory: Memory) -> str:
    """Return why a question may have found nothing, and what to do."""
    if left := memory.admin.unindexed():
        return f"Nothing was found, but {not_indexed(left)}. Run: {hint('worker', memory.home.path)}"
    return "Nothing is known about that yet. Store something with: lifelong add, or see: lifelong demo"


@command(verbs)
def context(
    memory: Memory,
    message: Annotated[str, typer.Argument(help="What the user says; '-': from standard input.")] = "",
    agent: Annotated[
        str, typer.Option(help="Whose next turn it is.", show_default="the one heard from last")
    ] = "",
    tokens: Annotated[int | None, typer.Option(help="How many tokens it may take.", min=0)] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each line is there.")] = False,
) -> Answer:
    """Print what an agent would get before its next turn: what is pinned, the core, what is relevant, the journal.

    The core is what always holds: allergies, rules, who you are, preferences, conventions. To keep a line out of
    it, unpin its id.

    Example: lifelong context "Plan the trip to Porto" --tokens 800
    """
    latest = memory.agents.find("most-recent-foreground") or memory.agent()
    who = find_agent(memory, agent) if agent else latest
    text = memory.context(read_text(message) if message else None, agent=who, tokens=tokens, explain=explain)
    nothing = "There is nothing to tell an agent yet. Store something with: lifelong add"
    if tokens is not None:
        nothing = f"Nothing fits into {tokens:,} tokens, or there is nothing yet."
    return Answer({"agent": who.cache_key, "context": text}, lambda: print_text(text or nothing))


@command(verbs, "list")
def list_(
    memory: Memory,
    kind: Annotated[KindOption | None, typer.Option(help="Only these.")] = None,
    subject: Annotated[str | None, typer.Option(help="A name, or some words.", show_default=False)] = None,
    since: SinceOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1, max=10_000)] = 20,
    before: Annotated[
        str | None, typer.Option(help="Continue after this id.", metavar="ID", show_default=False)
    ] = None,
) -> Answer:
    """List everything that is remembered, the newest first.

    Example: lifelong list --kind fact --subject Mara
    """
    found = memory.list(kind, subject, since, limit, before)
    filtered = kind or subject or since or before
    nothing = (
        "Nothing matches. Leave out a filter." if filtered else "Nothing is remembered. See: lifelong add --help"
    )
    return Answer(found, lambda: print_hits(found, nothing))


@command(verbs)
def about(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="A person, a project or a thing.")],
    limit: NeighbourLimit = 20,
) -> Answer:
    """Show everything about somebody or something: facts, relations, recent records.

    Facts that hold come first; those that have ended follow.

    Example: lifelong about Mara
    """
    if not name.strip():
        raise typer.BadParameter("There is no name. Write a person, a project or a thing")
    related = memory.relations.of(name, limit)
    subject = related.entity or name
    facts = sorted(memory.list("fact", subject, None, limit), key=lambda hit: hit.until is not None)
    records = memory.list("record", subject, None, limit)
    value = {
        "name": subject,
        "path": related.path,
        "facts": facts,
        "relations": related.neighbours,
        "records": records,
        "suggestions": related.suggestions,
    }
    return Answer(value, lambda: _print_about(subject, facts, related, records))


def _print_about(name: str, facts: list[Hit], related: Relations, records: list[Hit]) -> None:
    if not (facts or related.neighbours or records):
        near = f" Did you mean {', '.join(related.suggestions)}?" if related.suggestions else ""
        print_text(f"Nothing is known about {name!r}.{near}")
        return
    print_text(f"{name}  {related.path}" if related.path else name)
    if facts:
        sys.stdout.write(f"\n{styled('Facts', 'bold')}\n")
        print_hits(facts, "", name)
    if related.neighbours:
        sys.stdout.write(f"\n{styled('Related to', 'bold')}\n")
        for one in related.neighbours:
            evidence = one_line(one.evidence[0].text) if one.evidence else ", ".join(one.how)
            print_text(f"{one.name}: {evidence}")
    if records:
        sys.stdout.write(f"\n{styled('Recent records', 'bold')}\n")
        print_hits(records, "", name)


@command(verbs)
def correct(memory: Memory, item: ItemArgument, text: TextArgument = None) -> Answer:
    """Say what is true instead of an item. Your word is found from now on; the item ends, and stays in history.

    Example: lifelong correct r12 "I live in Porto."
    """
    hit = memory.correct(item, read_text(text))
    return Answer(hit, lambda: print_done(f"{item} has ended. Found from now on: {hit.id}"))


@command(verbs)
def pin(memory: Memory, item: ItemArgument) -> Answer:
    """Put an item into every context from now on.

    Example: lifelong pin r12
    """
    memory.pin(item)
    return Answer({"id": item, "pinned": True}, lambda: print_done(f"{item} is in every context from now on."))


@command(verbs)
def unpin(memory: Memory, item: ItemArgument) -> Answer:
    """Take an item out of every context: its pin goes, and it is no longer part of the core.

    Where it is relevant to a message it still comes.

    Example: lifelong unpin r12
    """
    memory.unpin(item)
    return Answer({"id": item, "pinned": False}, lambda: print_done(f"{item} is no longer in every context."))


@command(verbs)
def feedback(
    memory: Memory, item: ItemArgument, verdict: Annotated[Verdict, typer.Argument(help="What it was.")]
) -> Answer:
    """Say that a hit was useful, wrong or outdated: it ranks higher or lower from now on.

    A fact, journal line or experience that is outdated ends, with all that it says. `useful` takes that back.

    Example: lifelong feedback r12 useful
    """
    ended = memory.feedback(item, verdict)

    def show() -> None:
        print_done(f"Noted: {item} {'is' if ended else 'was'} {verdict}.")
        if len(ended) > 1:
            back, part = (
                hint(words, memory.home.path, memory.user)
                for words in (f"feedback {item} useful", f'correct {item} "WHAT IS STILL TRUE"')
            )
            print_text(f"It says: {' '.join(ended)} None of this is current any more.")
            print_text(f"To take this back: {back}")
            print_text(f"To keep a part of it: {part}")

    return Answer({"id": item, "verdict": verdict, "ended": ended}, show)


@command(verbs, "end-session")
def end_session(memory: Memory, agent: AgentOption = "") -> Answer:
    """Say that a conversation is over, so that what is new in it is organized.

    Example: lifelong end-session --agent cli/mara/main
    """
    who = find_agent(memory, agent)
    memory.end_session(who)
    next_step = hint("organize", memory.home.path, memory.user)
    done = f"The session of {address(who.cache_key)} is over. Organize it now with: {next_step}"
    return Answer({"agent": who.cache_key}, lambda: print_done(done))


@command(verbs, during="Organizing …")
def organize(memory: Memory) -> Answer:
    """Do the background work of the home now: make documents, journal and index of what was added.

    Example: lifelong organize
    """
    done, left = memory.organize(), memory.admin.unindexed()
    waiting = memory.admin.health().waiting
    why = _why_waiting(memory) if waiting else ""
    remedy = " ".join(memory.admin.status_notes() if left else ()) or f"Run: {hint('worker', memory.home.path)}"

    def command_for(words: str) -> str:
        return hint(words, memory.home.path, memory.user)

    def show() -> None:
        if done.failed:
            print_text(f"{counted(done.failed, 'transcript')} failed. See: {command_for('inbox list')}")
        if done.finished:
            print_done(f"Organized {counted(done.finished, 'transcript')}. See: {command_for('documents tree')}")
        if waiting:
            print_text(f"{counted(waiting, 'transcript')} {'waits' if waiting == 1 else 'wait'}{why}.")
        elif not (done.finished or done.failed):
            ending = command_for("end-session")
            print_text(f"Nothing was due. What was said is organized when its session ends: {ending}")
        if left:
            print_text(f"{not_indexed(left)}. {remedy}")

    counts = {"organized": done.finished, "failed": done.failed, "waiting": waiting, "unindexed": left}
    return Answer(counts, show)


def _why_waiting(memory: Memory) -> str:
    """Return why transcripts wait although everything that is due was done."""
    due = memory.admin.next_due()
    if not due:
        return ""
    state, at = due
    until = f"{at.astimezone():%H:%M:%S}"
    if state == "leased":
        return f"; a worker, which may have stopped, holds one until {until}"
    return f"; the next attempt is at {until}"


@command(verbs)
def receipt(
    memory: Memory,
    record: Annotated[str, typer.Argument(help="The id that `add` printed, like r33.", metavar="ID")],
) -> Answer:
    """Show how far a record has come: stored, queued, organized, searchable, or failed and why.

    Example: lifelong receipt r1
    """
    found = memory.receipt(record)
    changeset = f", by changeset {found.changeset_id}" if found.changeset_id else ""
    said = "".join(f". {one.removesuffix('.')}" for one in (found.reason, *found.notes) if one)
    return Answer(found, lambda: print_text(f"r{found.record_id} is {found.stage}{changeset}{said}"))


@command(verbs, for_home=True)
def users(memory: Memory) -> Answer:
    """List the users of the home, and how much each has.

    Example: lifelong users
    """
    found = []
    for name in memory.store.users():
        stats = memory.store.existing_user(name).admin.stats()
        counts = {"agents": stats.agents, "sessions": stats.sessions, "documents": stats.documents}
        found.append({"user": name, **counts, "items": sum(stats.items.values())})
    columns = ("user", "agents", "sessions", "documents", "items")
    return Answer(found, lambda: print_table(columns, [tuple(one.values()) for one in found]))
