"""`lifelong import`: chats, transcripts, notes and memories from elsewhere, and exports of lifelong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import DEFAULT_HOME, DEFAULT_USER, HomeOption, JsonOption, hint, parse_path
from lifelong.serve.terminal import (
    counted,
    in_progress,
    not_indexed,
    print_done,
    print_json,
    print_text,
    showing_progress,
    what_is_held,
)

if TYPE_CHECKING:
    from lifelong.importers.importing import ImportReport
    from lifelong.memory import Memory, Store

verbs = typer.Typer()


@verbs.command("import")
def import_(
    path: Annotated[
        Path, typer.Argument(help="A file, a folder or a zip archive.", parser=parse_path, metavar="PATH")
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="What it is, where that is not recognized: chatgpt, claude, claude-code, codex, mem0, jsonl, "
            "markdown or lifelong.",
            metavar="KIND",
        ),
    ] = None,
    vouch: Annotated[
        bool,
        typer.Option(
            "--vouch", help="Take memories of mem0, which a model wrote, for the user's word: you have read them."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be imported.")] = False,
    organize: Annotated[
        bool, typer.Option("--organize/--no-organize", help="Organize it now, or leave that to a worker.")
    ] = True,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            help="Whose memory. Left out: the default user; for an export of lifelong, its own.",
            metavar="NAME",
        ),
    ] = None,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Import chats, transcripts, notes or memories from elsewhere, or an export of lifelong.

    Reads exports of ChatGPT and Claude, transcripts of Claude Code and Codex, memories of mem0, Markdown files,
    and chats as JSON Lines. Each conversation keeps its times. What was imported before is not imported again, so
    an import that was stopped goes on when it is called again. An export of lifelong becomes a user, who must hold
    nothing yet.

    Example: lifelong import ~/Downloads/chatgpt-export.zip --dry-run
    """
    from lifelong.forget.export_format import is_export
    from lifelong.home import existing_home
    from lifelong.memory import Store

    with Store.open(existing_home(home).path) as store:
        if kind == "lifelong" or (kind is None and is_export(path.expanduser())):
            if vouch:
                raise typer.BadParameter("An export of lifelong keeps whose word each thing is: leave out --vouch")
            _import_user(store, path, user, dry_run=dry_run, as_json=as_json)
        else:
            memory = store.user(DEFAULT_USER if user is None else user)
            with showing_progress("Importing", quiet=as_json) as progress:
                done = memory.import_from(path, kind, vouch=vouch, dry_run=dry_run, progress=progress)
            _finish(memory, done, organize=organize, as_json=as_json)


def _import_user(store: Store, folder: Path, user: str | None, *, dry_run: bool, as_json: bool) -> None:
    if dry_run:
        raise typer.BadParameter("An export of lifelong is imported whole or not at all: leave out --dry-run")
    with showing_progress("Importing", quiet=as_json) as progress:
        done = store.import_user(folder, user, progress=progress)
    admin = store.user(done.user).admin
    waiting = admin.unindexed()
    if as_json:
        print_json({"kind": "lifelong", **done._asdict(), "unindexed": waiting})
        return
    for remark in done.remarks:
        print_text(remark)
    if done.renumbered:
        print_text("Other users of this home have some of its ids, so records and sessions have new ones.")
    if waiting:
        print_text(f"{counted(waiting, 'item')} of the home wait for the index: let a worker run.")
    print_done(f"The user {done.user} is imported: {what_is_held(admin.stats(), done.files)}.")


def _finish(memory: Memory, done: ImportReport, *, organize: bool, as_json: bool) -> None:
    """Organize what was imported, and say what became of it."""
    from lifelong.importers.importing import WRITTEN_BY_MODELS

    dry_run = done.dry_run
    if not as_json:
        print_text(_summary(done))
    counts = {}
    if organize and not dry_run:
        with in_progress("Organizing …", quiet=as_json):
            work = memory.organize()
        health, left = memory.admin.health(), memory.admin.unindexed()
        counts = {"organized": work.finished, "failed": work.failed, "waiting": health.waiting, "unindexed": left}
    if as_json:
        print_json({"user": memory.user, "report": done, **counts})
        return
    if done.kind in WRITTEN_BY_MODELS and not done.vouched:
        print_text(
            "A model wrote these, so they are kept as the agent's word: search finds them and says so, and they "
            "are not taken for facts about the user. If you have read them and they are right, import them with "
            "--vouch: then they are the user's."
        )
    if dry_run:
        print_text(f"Nothing was stored. {counted(done.added, 'record')} would be new.")
        return
    print_done(f"{counted(done.added, 'record')} added; {done.known:,} were here before.")
    if counts.get("organized"):
        documents = hint("documents tree", memory.home.path, memory.user)
        print_done(f"Organized {counted(counts['organized'], 'transcript')}. See: {documents}")
    if not organize or counts["waiting"] or counts["failed"]:
        print_text(f"The rest is organized by a worker, or by: {hint('organize', memory.home.path, memory.user)}")
    if counts.get("unindexed"):
        print_text(f"{not_indexed(counts['unindexed'])}. Run: {hint('worker', memory.home.path)}")


def _summary(done: ImportReport) -> str:
    """Return what was found, and what was left out and why, a line each."""
    when = f", {done.first:%Y-%m-%d} to {done.last:%Y-%m-%d}" if done.first and done.last else ""
    found = f"{counted(done.conversations, done.units[0])}, {counted(done.messages, done.units[1])}{when}"
    lines = [f"{done.label} ({done.how}): {found}"]
    lines += [f"  left out: {count:,} x {reason}" for reason, count in done.skipped.items()]
    return "\n".join(lines)
