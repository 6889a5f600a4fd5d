"""Commands that look after a home: health, checks, costs, the index, backups."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Never

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
    hint,
    open_memory,
    parse_path,
)
from lifelong.serve.terminal import (
    counted,
    in_progress,
    interrupts,
    not_indexed,
    one_line,
    print_done,
    print_json,
    print_problem,
    print_table,
    print_text,
    showing_progress,
    styled,
    what_is_held,
    width,
)

if TYPE_CHECKING:
    from lifelong.forget.audit import Audit, Finding
    from lifelong.forget.scan import StoredSecret
    from lifelong.memory import Memory

verbs = typer.Typer()

WATCH_SECONDS = 2.0  # between two looks of `health --watch`
MAX_FINDINGS_SHOWN = 20  # of each kind; `--json` has all


@verbs.command()
def health(
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds, until Ctrl-C.")] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Show whether all is well, green, yellow or red, and what waits. Exits with 1 on red.

    Example: lifelong health --watch
    """
    with open_memory(home, user) as memory:
        if watch:
            _watch(memory, as_json=as_json)
        found = _look(memory)
    if as_json:
        print_json(found)
    else:
        print_text("\n".join(_health_lines(found)))
    if found["status"] == "red":
        raise typer.Exit(1)


def _look(memory: Memory) -> dict[str, Any]:
    found = memory.admin.health()
    counts = {"marked": found.marked, "waiting": found.waiting, "dead": found.dead, "oldest": found.oldest}
    return {"status": found.status, "reasons": found.reasons, **counts, "unindexed": memory.admin.unindexed()}


def _health_lines(found: dict[str, Any]) -> list[str]:
    return [
        f"● {found['status']}",
        *(f"  {one_line(reason)}" for reason in found["reasons"]),
        f"{counted(found['marked'], 'session')} and {counted(found['waiting'], 'transcript')} wait to be "
        "organized, "
        f"{found['dead']:,} failed for good, {not_indexed(found['unindexed'])}",
    ]


def _watch(memory: Memory, *, as_json: bool) -> Never:
    from queue import Empty

    with interrupts(signal.SIGINT) as over:
        shown = 0
        while over.empty():
            found = _look(memory)
            if as_json:
                print_json(found, compact=True)
            else:
                lines = _health_lines(found)
                sys.stdout.write(f"\x1b[{shown}F\x1b[J" if shown and sys.stdout.isatty() else "")
                print_text("\n".join(lines))
                shown = sum(1 + (len(line) - 1) // width() for line in lines)
            sys.stdout.flush()
            with suppress(Empty):
                over.get(timeout=WATCH_SECONDS)
                break
    raise KeyboardInterrupt


@command(verbs)
def stats(memory: Memory) -> Answer:
    """Show how much there is of everything, and what models cost today.

    Example: lifelong stats
    """
    found = memory.admin.stats()
    items = ", ".join(f"{count:,} {kind}" for kind, count in found.items.items()) or "nothing yet"
    lines = [
        f"agents      {found.agents:,}",
        f"sessions    {found.sessions:,}",
        f"documents   {found.documents:,}",
        f"searchable  {items}",
        f"cost today  {found.cost_today:.4f} USD",
    ]
    return Answer(found, lambda: print_text("\n".join(lines)))


@command(verbs)
def ledger(memory: Memory, limit: LimitOption = 20) -> Answer:
    """Show every call of a model and what it cost, the newest first.

    Example: lifelong ledger --limit 50
    """
    found = memory.admin.ledger(limit)
    cells = [
        (
            *(one.at, one.purpose, one.model, one.state),
            *(one.input_tokens, one.output_tokens, f"{one.cost:.4f}", one.error),
        )
        for one in found
    ]
    columns = ("at", "purpose", "model", "state", "tokens in", "tokens out", "USD", "error")
    none = "No model was called. The rules organizer needs none; name one in lifelong.toml: models.model"
    return Answer(found, lambda: print_table(columns, cells, none))


@verbs.command()
def doctor(
    audit: Annotated[
        bool, typer.Option("--memory", help="Also look through what each user's memory holds, and offer fixes.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(help="With --memory: how long to look at each user's memory, at most.", min=0)
    ] = 60.0,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Check the whole database and the index of every user. Exits with 1 if anything is wrong.

    With --memory, it also looks for secrets, facts without their records, contradictions, duplicates, plans whose
    day is past and pages that are too long. Nothing is changed: each finding comes with the command that fixes it.

    Example: lifelong doctor --home ~/.lifelong
    """
    from lifelong.home import Home, existing_home
    from lifelong.memory import Store

    problems: list[str] = []
    audits: list[Audit] = []
    place = existing_home(home).path
    with Store.open(place) as store:
        with in_progress("Reading the whole database …", quiet=as_json):
            problems += store.user().admin.check()
        for user in () if problems else store.users():
            with in_progress(f"Reading the index of {user} …", quiet=as_json):
                problems += store.existing_user(user).admin.verify()
        health = None if problems else store.user().admin.health()
        left = 0 if problems else store.user().admin.unindexed()
        for user in store.users() if audit and not problems else ():
            with showing_progress(f"The memory of {user}:", quiet=as_json) as progress:
                found = store.existing_user(user).admin.audit(max_seconds=seconds, progress=progress)
            audits.append(found)
    reasons = health.reasons if health else ()
    remarks = [] if health and health.status == "red" else [*reasons]
    problems += [] if remarks else reasons
    remarks += Home(place).exposed()
    if as_json:
        memory = {"memory": audits} if audit else {}
        print_json({"sound": not problems, "problems": problems, "remarks": remarks, "unindexed": left, **memory})
    else:
        index = f"{not_indexed(left)}: let a worker run" if left else "the index is complete"
        _print_findings(problems, f"The database is sound, {index}, and nothing is stuck.", remarks)
        for found in audits:
            _print_audit(found, place)
    if problems or not all(found.clean for found in audits):
        raise typer.Exit(1)


def _print_audit(audit: Audit, home: Path) -> None:
    """Print how many findings of each kind there are, and then each with its fix."""
    looked = f"{counted(audit.facts, 'fact')}, {counted(audit.documents, 'document')} and "
    looked += f"{counted(audit.lines, 'line')} of journal and notes"
    if audit.clean:
        print_done(f"The memory of {audit.user} is tidy: {looked}.")
    else:
        print_text(f"\nThe memory of {audit.user}: {counted(len(audit.findings), 'finding')} in {looked}.\n")
        print_table(("kind", "found"), audit.counts.items())
    for kind in audit.counts:
        found = [one for one in audit.findings if one.kind == kind]
        fixes = {one.fix for one in found}
        print_text(f"\n{styled(f'{kind}: {len(found):,}', 'bold')}")
        for one in found[:MAX_FINDINGS_SHOWN]:
            sys.stdout.write(f"{styled(one_line(one.id), 'cyan')}  {_where(one)}{one_line(one.problem)}\n")
            if len(fixes) > 1 or len(found) == 1:
                sys.stdout.write(f"    {styled(hint(one_line(one.fix), home, audit.user), 'green')}\n")
        if len(found) > MAX_FINDINGS_SHOWN:
            print_text(f"… and {len(found) - MAX_FINDINGS_SHOWN:,} more: see them with --json")
        if len(fixes) == 1 < len(found):
            print_text(f"For all of them: {styled(hint(one_line(found[0].fix), home, audit.user), 'green')}")
    for sentence in audit.left_out:
        print_text(sentence)


def _where(finding: Finding) -> str:
    return "" if finding.path == finding.id else f"{styled(one_line(finding.path), 'dim')}  "


def _print_findings(problems: Sequence[str], well: str, remarks: Sequence[str] = ()) -> None:
    for problem in problems:
        print_problem(problem)
    for remark in remarks:
        print_text(remark)
    if not problems:
        print_done(well)


@command(verbs, during="Reading the whole index …")
def verify(memory: Memory) -> Answer:
    """Compare the search index with what it is made from. Exits with 1 if anything is wrong.

    Example: lifelong verify --user work
    """
    faults = memory.admin.verify()
    return Answer(
        {"sound": not faults, "faults": faults},
        lambda: _print_findings(faults, "The index is complete."),
        code=int(bool(faults)),
    )


@verbs.command()
def scan(
    redact: Annotated[
        bool, typer.Option("--redact", help="Put a marker in the place of each, after asking.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Redact without asking.")] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Look for secrets that are stored, such as by an older version. Exits with 1 if any are left.

    They are listed by place and kind, and never shown. Backups are not looked at.

    Example: lifelong scan --redact
    """
    with open_memory(home, user) as memory:
        found = memory.admin.scan()
        if not as_json:
            _print_secrets(found)
        if found and redact and (yes or (not as_json and _confirmed(len(found)))):
            report = memory.admin.redact()
            left = report.left
            if as_json:
                print_json({"redacted": report.redacted, "left": left})
            else:
                print_done(f"{counted(len(report.redacted), 'place')} redacted.")
                _print_secrets(left, none="Nothing is left.")
        else:
            left = tuple(found)
            if as_json:
                print_json({"redacted": (), "left": left})
    if left:
        raise typer.Exit(1)


def _confirmed(count: int) -> bool:
    return typer.confirm(f"Redact {counted(count, 'place')}? This cannot be undone")


def _print_secrets(found: Sequence[StoredSecret], none: str = "No stored secret was found.") -> None:
    cells = [(one.place, one.id, one.part, ", ".join(dict.fromkeys(one.kinds)), one.excerpt) for one in found]
    print_table(("place", "id", "part", "kind", "around it"), cells, none)


@verbs.command()
def rebuild(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make the search index again from history, documents and files. Nothing that was stored is touched.

    Search finds what it found before until each item is made again; only a full-text index that is damaged is
    emptied first. If it is interrupted, a worker or this command continues.

    Example: lifelong rebuild --home ~/.lifelong
    """
    with open_memory(home) as memory:
        left = rebuild_index(memory, quiet=as_json)
        reasons = memory.admin.health().reasons if left else ()
    if as_json:
        print_json({"rebuilt": not left})
    elif left:
        print_done(
            f"The index was rebuilt, but {left:,} items wait for their vectors. {' '.join(reasons)}".strip()
        )
    else:
        print_done("The index was rebuilt.")


def rebuild_index(memory: Memory, *, quiet: bool) -> int:
    """Make again what is derived. Return how many items still wait when no more can be done now."""
    memory.admin.rebuild()
    with in_progress("Rebuilding the index …", quiet=quiet):
        while (left := memory.admin.unindexed()) and memory.admin.index():
            pass
    return left


@command(verbs, for_home=True, during="Writing the copy …")
def backup(
    memory: Memory,
    target: Annotated[
        Path,
        typer.Argument(help="The file to write. It must not exist yet.", parser=parse_path, metavar="FILE"),
    ],
) -> Answer:
    """Write a copy of the whole home, its database and the files of its users, while work goes on.

    Example: lifelong backup ~/backups/memory.db
    """
    from shlex import quote

    memory.admin.backup(target)
    size = target.expanduser().stat().st_size
    message = f"{target} ({size:,} bytes). To restore it: lifelong restore {quote(str(target))} --home FOLDER"
    return Answer({"backup": target, "bytes": size}, lambda: print_done(message))


@command(verbs, during="Forgetting what is too old …")
def retention(
    memory: Memory,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> Answer:
    """Forget now what is older than the `retain_…_days` of lifelong.toml, as the schedule does.

    Example: lifelong retention --dry-run
    """
    from lifelong.forget.retention import describe

    report = memory.admin.retain(dry_run=dry_run)
    if not memory.settings.continuity.retains_for_a_time:
        message = "Nothing is forgotten by its age. Set a limit in lifelong.toml: continuity.retain_history_days"
    elif said := describe(report):
        message = f"Would forget: {said}." if dry_run else f"Forgotten: {said}. {report.left}".strip()
    else:
        message = "Nothing is too old."
    return Answer(report, lambda: print_done(message))


@verbs.command()
def restore(
    source: Annotated[
        Path, typer.Argument(help="A file that `lifelong backup` wrote.", parser=parse_path, metavar="FILE")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there; the old database and files are kept beside.")
    ] = False,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place as the home's database, with the files of its users, once it was checked.

    Example: lifelong restore ~/backups/memory.db --home ~/restored
    """
    from lifelong.serve.restore import restore as put

    with in_progress("Reading the whole backup …", quiet=as_json):
        restored = put(source, home, force=force)
    if as_json:
        print_json(restored._asdict())
        return
    for kept in filter(None, (restored.kept, restored.kept_files)):
        print_done(f"What was there is kept as {kept}.")
    if restored.files is None:
        print_done(
            f"{restored.database} is in place. This backup has no journal and notes, which are files in users/."
        )
    else:
        print_done(f"{restored.database} is in place, with {counted(restored.files, 'file')} in users/.")


@verbs.command()
def encrypt(
    remove: Annotated[bool, typer.Option("--remove", help="Take the encryption away.")] = False,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Encrypt the database of a home with the key in LIFELONG_STORAGE_KEY, or in the system's keyring.

    Stop what works with the home before. To change the key, have the present one in LIFELONG_OLD_KEY.

    Example: lifelong encrypt --home ~/.lifelong
    """
    import os

    from lifelong.errors import InputError
    from lifelong.home import existing_home
    from lifelong.keys import database_key
    from lifelong.memory import Store
    from lifelong.settings import Settings

    place = existing_home(home)
    storage = Settings.load(place.settings).storage
    if storage.url.get_secret_value():
        raise InputError("storage.url names a PostgreSQL, which lifelong does not encrypt. Encrypt its disk.")
    key = database_key(place, storage)
    if not key:
        raise InputError("There is no key. Set LIFELONG_STORAGE_KEY, or storage.keyring = true in lifelong.toml.")
    old, new = (key, "") if remove else (os.environ.get("LIFELONG_OLD_KEY", ""), key)
    with in_progress("Writing every page again …", quiet=as_json):
        Store.change_key(place.path, old, new)
    if as_json:
        print_json({"database": place.database, "encrypted": bool(new)})
    elif new:
        print_done(f"{place.database} is encrypted. Without its key nobody can read it: keep a copy of the key.")
    else:
        print_done(f"{place.database} is not encrypted any more. Take the key out of the settings.")


@verbs.command()
def export(
    folder: Annotated[
        Path,
        typer.Argument(
            help="The folder to write. It must not exist yet, or be empty.", parser=parse_path, metavar="FOLDER"
        ),
    ],
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Write everything of a user to a folder of JSON Lines and Markdown that `lifelong import` reads back.

    Example: lifelong export ~/exported --user work
    """
    with open_memory(home, user) as memory, showing_progress("Exporting", quiet=as_json) as progress:
        done = memory.export(folder, progress=progress)
        held = what_is_held(memory.admin.stats(), done.files)
    if as_json:
        print_json({"user": user, **done._asdict()})
        return
    print_done(f"{done.folder} has everything of {user}: {held} ({done.bytes:,} bytes).")
