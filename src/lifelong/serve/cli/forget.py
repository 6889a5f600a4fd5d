"""`lifelong forget` shows what would go, asks, forgets and proves it; `lifelong forgotten` lists what went."""

from __future__ import annotations

import sys
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_USER,
    Answer,
    HomeOption,
    JsonOption,
    LimitOption,
    UserOption,
    command,
    document_path,
    find_agent,
    hint,
    open_memory,
    time_option,
)
from lifelong.serve.terminal import (
    in_progress,
    print_done,
    print_entries,
    print_json,
    print_problem,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lifelong.forget.erasure import ForgetReport
    from lifelong.forget.proof import Proof
    from lifelong.memory import Memory

verbs = typer.Typer()

MAX_SHOWN = 40  # records, facts, documents that a preview shows of each


@verbs.command()
def forget(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ids as `search` shows them, or documents: r12 f7 ~/memory/people/priya.", metavar="ID"
        ),
    ] = None,
    session: Annotated[str, typer.Option(help="A whole session, by its id.", show_default=False)] = "",
    agent: Annotated[str, typer.Option(help="All sessions of an agent, and the agent.", show_default=False)] = "",
    about: Annotated[
        str, typer.Option(help="A person or subject: what they said and what names them.", show_default=False)
    ] = "",
    matching: Annotated[str, typer.Option(help="What holds all these words.", show_default=False)] = "",
    since: Annotated[datetime | None, time_option("--since", "Only what was said from then on.")] = None,
    until: Annotated[datetime | None, time_option("--until", "Only what was said before then.")] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All that the user of --user has, and the user.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    no_proof: Annotated[bool, typer.Option("--no-proof", help="Do not look for what is left of it.")] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Remove something for good, with all that was made of it, and prove that it is gone.

    Shows first what would go, and asks. Records, facts, documents with every version, journal lines, experiences,
    vectors and logged searches go; what was made with it is made again without it. Exits with 1 if you say no, or
    if something is left. A range of time alone means every record in it.

    Example: lifelong forget r12 --dry-run
    """
    named = bool(ids or session or agent or about or matching or since or until)
    if everything and named:
        raise typer.BadParameter("--everything takes nothing beside it but --user")
    if not (everything or named):
        raise typer.BadParameter("Say what to forget: an id like r12, a document, or one of the options")
    if not (dry_run or yes or _can_ask(as_json)):
        raise typer.BadParameter("Nobody can be asked here. Look with --dry-run, then repeat it with --yes")
    from lifelong.serve.forgetting import store_what_waits

    with open_memory(home, user) as memory:
        store_what_waits(memory)
        if everything:
            report = _forget_user(memory, dry_run=dry_run, yes=yes, quiet=as_json)
        else:
            work = partial(
                memory.forget,
                *(document_path(one) if "/" in one else one for one in ids or []),
                session=session or None,
                agent=find_agent(memory, agent) if agent else None,
                about=about,
                matching=matching,
                since=since,
                until=until,
            )
            report = _forget(work, dry_run=dry_run, yes=yes, quiet=as_json)
        if report.preview or not report:
            if as_json:
                _print_json(report, None)
            return
        proof = None
        if not no_proof:
            with in_progress("Looking for what is left of it …", quiet=as_json):
                proof = memory.admin.prove_forgotten(report)
        backup = hint("backup FILE", memory.home.path)
    if as_json:
        _print_json(report, proof)
    else:
        _print_report(report, proof, backup, is_user=everything)
    if not report.complete or (proof and not proof.clean):
        raise typer.Exit(1)


def _can_ask(as_json: bool) -> bool:
    return sys.stdin.isatty() and not as_json


def _forget(work: partial[ForgetReport], *, dry_run: bool, yes: bool, quiet: bool) -> ForgetReport:
    """Show what would go, ask, and forget it. Return what went, or the preview where nothing was to be done."""
    if dry_run or not quiet:
        with in_progress("Looking for what goes along …", quiet=quiet):
            preview = work(dry_run=True)
        if not quiet:
            _print_preview(preview)
        if dry_run or not preview:
            return preview
    if not yes and not _ask("Forget this for good? It cannot be undone. [y/N] ", "y", "yes"):
        raise typer.Exit(1)
    with in_progress("Forgetting …", quiet=quiet):
        return work()


def _forget_user(memory: Memory, *, dry_run: bool, yes: bool, quiet: bool) -> ForgetReport:
    """Say how much would go, have the name typed, and forget the user."""
    preview = memory.store.forget_user(memory.user, dry_run=True)
    if not quiet:
        _print_user(memory.user, preview)
    if dry_run:
        return preview
    if not yes and not _ask(f"Type the user's name, {memory.user}, to forget all of it: ", memory.user):
        raise typer.Exit(1)
    with in_progress("Forgetting …", quiet=quiet):
        return memory.store.forget_user(memory.user)


def _print_user(user: str, preview: ForgetReport) -> None:
    from lifelong.serve.forgetting import joined, what_a_user_had

    print_text(f"All that {user} has would go for good: {joined(what_a_user_had(preview))}.")
    if preview.backups:
        print_text(f"Backups that will still hold it, unless they were deleted: {', '.join(preview.backups)}")


def _ask(question: str, *wanted: str) -> bool:
    """Ask a person, and return whether the answer is one of these. Otherwise, say that nothing was done."""
    sys.stdout.write(question)
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in wanted:
        return True
    print_text("Nothing was forgotten.")
    return False


def _print_json(report: ForgetReport, proof: Proof | None) -> None:
    from lifelong.serve.forgetting import without_words

    print_json({"report": without_words(report), "proof": proof})


def _print_preview(report: ForgetReport) -> None:
    from lifelong.forget.preview import ForgetPreview
    from lifelong.redaction import redact
    from lifelong.serve.forgetting import joined, what_goes, what_is_made_again

    if not report:
        print_text("Nothing fits, so there is nothing to forget. See: lifelong list --subject WORDS")
        return
    print_text("This would go for good:")
    print_entries([(f"{kind} {which}".rstrip(), text) for kind, which, text in _rows(report)])
    print_text(f"In all: {joined(what_goes(report))}, with what the index holds of them.")
    if again := what_is_made_again(report):
        print_text(f"Written again without it: {joined(again)}, and the summaries that were made with it.")
    if isinstance(report, ForgetPreview) and report.stays:
        print_text("This would stay. To forget it, too, name its id:")
        print_entries([(one.id, f"{redact(one.text)} ({one.why})") for one in report.stays[:MAX_SHOWN]])
    if report.backups:
        print_text(f"Backups that will still hold it, unless they were deleted: {', '.join(report.backups)}")


def _rows(report: ForgetReport) -> Iterator[tuple[str, str, str]]:
    from lifelong.redaction import redact

    said = dict(text.partition(" ")[::2] for text in report.texts)
    kinds = (
        ("record", [(one, redact(said.get(one, ""))) for one in report.records]),
        ("part of", [(one, redact(said.get(one, ""))) for one in report.cut]),
        ("fact", [("", text) for text in report.facts]),
        ("document", [(path, "with every version") for path in report.documents]),
        ("document", [(path, "is written again without it") for path in report.rewritten]),
    )
    for kind, found in kinds:
        yield from ((kind, *one) for one in found[:MAX_SHOWN])
        if len(found) > MAX_SHOWN:
            yield kind, "", f"… and {len(found) - MAX_SHOWN:,} more; --dry-run --json shows all"


def _print_report(report: ForgetReport, proof: Proof | None, backup: str, *, is_user: bool) -> None:
    from lifelong.serve.forgetting import (
        joined,
        proof_sentence,
        what_a_user_had,
        what_goes,
        what_is_made_again,
    )

    print_done(f"Forgotten: {joined(what_a_user_had(report) if is_user else what_goes(report))}.")
    if (again := what_is_made_again(report)) and not is_user:
        places = [*report.rewritten, *report.files]
        more = f" and {len(places) - MAX_SHOWN:,} more" if len(places) > MAX_SHOWN else ""
        print_text(f"  Written again without it: {joined(again)}: {', '.join(places[:MAX_SHOWN])}{more}.")
    if report.backups:
        print_text(f"  Backups that still hold it, unless they were deleted: {', '.join(report.backups)}")
        print_text(f"  Delete them, and make a new one: {backup}")
    if not report.complete:
        print_problem(report.left)
    if proof:
        (print_done if proof.clean else print_problem)(proof_sentence(proof))


@command(verbs)
def forgotten(memory: Memory, limit: LimitOption = 20) -> Answer:
    """List what was forgotten, the newest first: what it was, when, and on whose word. No text is kept.

    Users of the home that were forgotten whole are listed, too, without their names.

    Example: lifelong forgotten
    """
    stones = [*memory.admin.forgotten(limit), *memory.store.forgotten_users()]
    found = sorted(stones, key=lambda one: one.at, reverse=True)[:limit]
    value = [one._replace(ref=f"r{one.ref}" if one.kind == "record" else one.ref)._asdict() for one in found]
    cells = [(one["at"], one["kind"], one["ref"], one["author"]) for one in value]
    return Answer(
        value, lambda: print_table(("at", "what", "which", "author"), cells, "Nothing was forgotten so far.")
    )
