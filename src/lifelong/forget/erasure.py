"""Forget: remove something and all that was made of it, for good, and show that it is gone.

    plan ─▶ rows ─▶ files ─▶ experiences, journal items ─▶ vectors ─▶ pages ─▶ done

The plan is stored first, in `erasures`. Each step may be done twice, so an erasure that was interrupted goes on
where it stopped: when the home is opened again, with the next one, or by a worker. Once it is done, only a
tombstone and the numbers of the report are left.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import is_foreground
from lifelong.collect.erasures import count_erasure
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.collect.transcript import transcript
from lifelong.errors import TEMPORARY_ERRORS, LifelongError, StorageBusy
from lifelong.forget.backups import known_backups
from lifelong.forget.documents import erase_items
from lifelong.forget.files import ErasedFromFiles, FileErasure
from lifelong.forget.plan import ErasurePlan, Planner, WhatToForget, store_plan, text_in
from lifelong.forget.proof import traceable
from lifelong.forget.rows import ErasedRows, RowErasure
from lifelong.forget.user_rows import count_user, erase_some_of_user, finish_user
from lifelong.journal.files import file_lock, list_files
from lifelong.journal.records import JournalRecord
from lifelong.journal.rows import JournalRows
from lifelong.journal.turn_summaries import summarize_turn
from lifelong.recall.analyzer import text_words
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.index_state import IndexStates
from lifelong.recall.items import Items
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Transaction
from lifelong.types import to_micros

if TYPE_CHECKING:
    from lifelong.wiring import UserParts

log = logging.getLogger("lifelong.forget")

RECORDS_PER_WRITE = 200  # erased in one transaction; other writers wait as long
CHARS_PER_WRITE = 20_000  # of their texts, whose words are looked for elsewhere
WORDS_PER_WRITE = 500  # that are looked for in one transaction
PREVIEWED_RECORDS = 1_000  # whose facts and documents a preview looks for; writers wait as long
PREVIEWED_CHARS = 200  # of a text that a preview shows
PURGED_WORDS = 16  # that are looked for in the database's file
WAIT_SECONDS = 30.0  # for a compaction that runs, or for readers of the log
_CLAIM = re.compile(r"(?<=\.)\s+Nothing was (?:changed|stored)[.;](\s+\w)?")


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What went, or would go: records by id ("r12"), those that only lost a part; documents and files by path;
    facts by their texts, in a preview only; how many journal lines, experiences, sessions, agents and logged
    searches. `backups` were made before and still hold it. `complete` is false where something is left to do,
    which a worker or the next start does; `left` says what."""

    id: int = 0
    preview: bool = False
    records: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    fact_count: int = 0
    lines: int = 0
    remade: int = 0
    paragraphs: int = 0
    experiences: int = 0
    sessions: int = 0
    agents: int = 0
    searches: int = 0
    files: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()
    complete: bool = True
    left: str = ""
    words: tuple[str, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return (
            not self.complete
            or any(
                (
                    self.records,
                    self.cut,
                    self.documents,
                    self.rewritten,
                    self.fact_count,
                    self.lines,
                    self.paragraphs,
                )
            )
            or bool(self.experiences or self.sessions or self.agents)
        )


class _RolledBack(Exception):
    """Ends a transaction of which nothing may stay."""


class Eraser:
    """Forget what one user's memory holds."""

    def __init__(self, parts: UserParts) -> None:
        self._parts = parts
        self.owner = parts.name
        self._database = parts.shared.database
        self._clock = parts.shared.clock
        self._folder = parts.shared.home.user_folder(parts.name)

    def preview(self, what: WhatToForget) -> ForgetReport:
        """Return what would go. Nothing is changed."""

        self._parts.sync_files()
        plan, erased = self._try(lambda tx: Planner(tx, self.owner).plan(what))
        texts = self._database.read(lambda tx: self._texts(tx, plan))
        return self._report(0, plan, erased, None, preview=True, texts=texts)

    def forget(self, what: WhatToForget, author: str) -> ForgetReport:
        """Forget it, and return what went. Where nothing is found, nothing is stored."""
        self._parts.flush_logs()
        self._parts.sync_files()

        def begin(tx: Transaction) -> int:
            plan = Planner(tx, self.owner).plan(what)
            return self._store(tx, plan, author) if plan else 0

        return self._begin(begin, author)

    def preview_plan(self, make: Callable[[Transaction], ErasurePlan]) -> ForgetReport:
        """Return what would go by a plan. Nothing is changed."""
        self._parts.flush_logs()
        self._parts.sync_files()
        plan = self._database.read(make)
        files = self._file_erasure().look(plan)
        plan, erased = self._try(lambda tx: plan)
        erased.recalls += self._database.read(lambda tx: _old_recalls(tx, self.owner, plan))
        return self._report(0, plan, erased, files, preview=True)

    def erase_plan(self, make: Callable[[Transaction], ErasurePlan], author: str) -> ForgetReport:
        """Forget what a plan names, and return what went. Where it names nothing, nothing is stored."""
        self._parts.flush_logs()
        self._parts.sync_files()
        old_files = self._file_erasure().look(self._database.read(make)).files

        def begin(tx: Transaction) -> int:
            plan = make(tx)
            found = plan or old_files or _old_recalls(tx, self.owner, plan)
            return self._store(tx, plan, author) if found else 0

        return self._begin(begin, author)

    def rewrite(self, texts: dict[int, str], author: str) -> ForgetReport:
        """Give records other texts, and make everything again that was made of them; "" forgets a record."""
        plan = ErasurePlan(records=dict(texts))
        return self._begin(lambda tx: self._store(tx, plan, author), author)

    def forget_user(self, author: str) -> ForgetReport:
        """Forget the whole user: every row, every file, every vector."""
        self._parts.flush_logs()
        plan = ErasurePlan(everything=True)
        with self._alone(wait=True):
            before = self._database.read(self._count_user)
            erasure_id = self._database.write(lambda tx: self._store(tx, plan, author))
            return self._carry_out(erasure_id, author, before)

    def preview_user(self) -> ForgetReport:
        """Return how much would go with the user."""
        return replace(self._database.read(self._count_user), preview=True)

    def resume(self) -> int:
        """Finish what was interrupted. Return how many erasures that were."""
        with self._alone(wait=False):
            return self._finish_pending()

    # The steps

    def _begin(self, store: Callable[[Transaction], int], author: str) -> ForgetReport:
        """Store a plan and carry it out; `store` returns its number, 0 where nothing is to be done. Earlier plans
        come first: what is left of a record depends on them."""
        with self._alone(wait=True):
            try:
                self._finish_pending()
            except TEMPORARY_ERRORS as error:
                log.warning("user %s: %s", self.owner, _waiting(error))
            erasure_id = self._database.write(store)
            return self._carry_out(erasure_id, author) if erasure_id else ForgetReport()

    def _carry_out(self, erasure_id: int, author: str, before: ForgetReport | None = None) -> ForgetReport:
        """Carry out a plan that was just stored. It stands: where something is in the way, the report says so, and
        the rest is done later. No error is raised, since it would say that nothing was changed. `before` is what
        to report of it then; left out, what the plan names."""
        try:
            report = self._run(erasure_id, author)
        except LifelongError as error:
            log.warning("user %s: %s", self.owner, _waiting(error))
            self._note_error(error)
            return replace(before or self._planned(erasure_id), complete=False, left=_waiting(error))
        self._note_error(None)
        return report

    def _planned(self, erasure_id: int) -> ForgetReport:
        """Return what goes by a stored plan, as far as that can be read now."""
        with suppress(LifelongError):
            row = self._database.read(
                lambda tx: tx.one("SELECT plan, report FROM erasures WHERE id = ?", erasure_id)
            )
            if row and row[0]:
                plan, total = ErasurePlan.load(row[0]), _load_rows(row[1])
                planned = plan.records.items()
                total.records = sorted({*total.records, *(id_ for id_, rest in planned if not rest)})
                total.cut = sorted({*total.cut, *(id_ for id_, rest in planned if rest)})
                return self._report(erasure_id, plan, total, None)
        return ForgetReport(erasure_id)

    def _note_error(self, error: LifelongError | None) -> None:
        """Keep in the user's notes, which health repeats, why something is not gone yet; none: nothing is left."""
        if error:
            self._parts.errors["forget"] = _waiting(error)
        else:
            self._parts.errors.pop("forget", None)

    def _finish_pending(self) -> int:
        rows = self._database.read(
            lambda tx: tx.all(
                "SELECT id, author FROM erasures WHERE owner = ? AND state = 'pending' ORDER BY id", self.owner
            )
        )
        done, obstacle = 0, None
        for erasure_id, author in rows:
            try:
                done += self._run(erasure_id, author, wait=False).complete
            except TEMPORARY_ERRORS as error:
                self._note_error(error)
                raise
            except LifelongError as error:
                log.warning("user %s: %s", self.owner, _waiting(error))
                obstacle = error
        self._note_error(obstacle)
        return done

    @contextmanager
    def _alone(self, *, wait: bool) -> Iterator[None]:
        """Keep every other process from forgetting something of this user until the block ends."""
        with file_lock(self._folder / "tmp" / "forget.lock", wait=wait) as free:
            if not free:
                raise StorageBusy("Another process is forgetting something of this user.")
            yield

    def _try(self, make: Callable[[Transaction], ErasurePlan]) -> tuple[ErasurePlan, ErasedRows]:
        """Return what would go from the database, by erasing it in a transaction of which nothing stays."""
        found: list[tuple[ErasurePlan, ErasedRows]] = []

        def work(tx: Transaction) -> None:
            plan = ErasurePlan.load(make(tx).dump())
            some = dict(islice(plan.records.items(), PREVIEWED_RECORDS))
            found.append((plan, self._rows(tx, "").erase(plan, some)))
            raise _RolledBack

        with suppress(_RolledBack):
            self._database.write(work)
        plan, erased = found[-1]
        erased.records = sorted(id_ for id_, rest in plan.records.items() if not rest)
        erased.cut = sorted(id_ for id_, rest in plan.records.items() if rest)
        return plan, erased

    def _run(self, erasure_id: int, author: str, *, wait: bool = True) -> ForgetReport:
        """Carry out a stored plan, as far as it is not done. Call it while `_alone`."""
        state = self._database.read(
            lambda tx: tx.one("SELECT state, plan, report FROM erasures WHERE id = ?", erasure_id)
        )
        if not state or state[0] == "done":
            return ForgetReport(erasure_id)
        plan, total = ErasurePlan.load(state[1]), _load_rows(state[2])
        if plan.everything:
            return self._erase_user(author, wait)
        if not state[1]:  # all is done but for the database's log
            return self._finish_purge(erasure_id, wait)
        self._erase_rows(erasure_id, plan, total, author)
        files = self._erase_files(erasure_id, plan)
        self._erase_derived(erasure_id, plan, files, total, author)
        self._erase_vectors(plan)
        report = self._report(erasure_id, plan, total, files)
        left = self._purge(plan.words, wait)
        if not left:
            self._database.write(lambda tx: self._drop_texts(tx, erasure_id, report))
            left = self._purge((), wait)
        if left:
            return replace(report, complete=False, left=left)
        self._database.write(lambda tx: self._finish(tx, erasure_id))
        return report

    def _erase_rows(self, erasure_id: int, plan: ErasurePlan, total: ErasedRows, author: str) -> None:
        """Erase from the database, a part at a time; what is done is taken out of the stored plan with it."""
        while True:
            some = self._next_records(plan)
            is_last = len(some) == len(plan.records)

            def work(
                tx: Transaction, some: dict[int, str] = some, is_last: bool = is_last
            ) -> tuple[ErasedRows, ErasurePlan]:
                rest, rows = ErasurePlan.load(plan.dump()), self._rows(tx, author)
                erased = rows.erase(rest, some)
                rest.records = {id_: left for id_, left in rest.records.items() if id_ not in some}
                rest.documents, rest.facts = [], []
                if is_last:
                    rows.erase_places(rest.sessions, rest.agents)
                    erased.recalls += rows.erase_recalls(rest.recalls_until)
                tx.run(
                    "UPDATE erasures SET plan = ?, report = ? WHERE id = ?",
                    *(rest.dump(), _dump_rows(total, erased), erasure_id),
                )
                return erased, rest

            erased, rest = self._database.write(work)
            _add(total, erased)
            for name in ErasurePlan.__dataclass_fields__:
                setattr(plan, name, getattr(rest, name))
            if is_last:
                return

    def _next_records(self, plan: ErasurePlan) -> dict[int, str]:
        """Return those of the plan's records that are erased next: as many as have few words together."""
        some = dict(islice(plan.records.items(), RECORDS_PER_WRITE))
        rows = self._database.read(
            lambda tx: tx.many(
                "SELECT id, length(data) FROM session_history WHERE id = ?", [(id_,) for id_ in some]
            )
        )
        sizes: dict[int, int] = dict(rows)
        totals = accumulate(sizes.get(id_, 0) for id_ in some)
        few = [id_ for id_, total in zip(some, totals, strict=True) if total <= CHARS_PER_WRITE]
        return {id_: some[id_] for id_ in few or [*some][:1]}

    def _erase_files(self, erasure_id: int, plan: ErasurePlan) -> ErasedFromFiles:
        """Erase from the files. What will go is stored first: once it is gone, nothing in the files tells what
        else was made of it."""
        deadline = time.monotonic() + WAIT_SECONDS

        def wait() -> bool:
            time.sleep(0.05)
            return time.monotonic() < deadline

        def note(found: ErasedFromFiles) -> None:
            plan.changed = sorted({*plan.changed, *plan.lines, *found.gone, *found.remade})
            plan.aged = sorted({*plan.aged, *found.aged})
            plan.files = sorted({*plan.files, *found.files})
            self._database.write(
                lambda tx: tx.run("UPDATE erasures SET plan = ? WHERE id = ?", plan.dump(), erasure_id)
            )

        return self._file_erasure().erase(plan, self.owner, self._clock(), wait, note)

    def _file_erasure(self) -> FileErasure:
        def progress(session_id: str) -> int:
            return self._database.read(lambda tx: JournalRows(tx).until(session_id)) or NO_LIMIT

        def summarize(session_id: str, first: int, last: int) -> JournalRecord | None:
            return summarize_turn(self._database, self.owner, session_id, first, last)

        journal = self._parts.journal
        return FileErasure(journal.every_file, summarize, progress, journal.zone)

    def _erase_derived(
        self, erasure_id: int, plan: ErasurePlan, files: ErasedFromFiles, total: ErasedRows, author: str
    ) -> None:
        """Erase what was made of the files' lines: their items, and experiences. Which items had vectors is stored
        with it."""
        if plan.files:
            self._database.write(lambda tx: count_erasure(tx, self.owner))  # others read the files again
            self._parts.sync_files()
        changed = sorted({*plan.changed, *plan.lines})

        def work(tx: Transaction) -> tuple[list[int], list[str], int]:
            count_erasure(tx, self.owner)
            rows, items = self._rows(tx, author), Items(tx, self.owner)
            lines = [line for line in changed if line not in {one.id for one in files.remade.values()}]
            experiences = {one for line in changed for one in ExperienceRows(tx, self.owner).made_of(line)}
            experiences |= {*plan.experiences}
            found = items.ids_of("journal", lines)
            found += _replaced(tx, self.owner, changed, plan)
            found += _aged(tx, self.owner, plan)
            found += [id_ for kind in ("journal", "note") for id_ in items.ids_of(kind, plan.paragraphs)]
            ids = sorted({*found, *items.ids_of("experience", experiences)})
            texts, shown = [one.text for one in items.get(ids).values()], rows.ids_shown(ids)
            rows.erase_experiences(experiences)
            erase_items(tx, self.owner, found, [f"journal:{line}" for line in (*lines, *plan.aged)])
            searches = rows.clean_log(shown, ())
            every = sorted({*plan.items, *ids})
            tx.run("UPDATE erasures SET plan = ? WHERE id = ?", replace(plan, items=every).dump(), erasure_id)
            return every, texts, searches

        plan.items, texts, searches = self._database.write(work)
        total.recalls += searches
        words = sorted({word for text in (*plan.sentences, *plan.words, *texts) for word in text_words(text)})
        for start in range(0, len(words), WORDS_PER_WRITE):
            some = words[start : start + WORDS_PER_WRITE]
            self._database.write(lambda tx, some=some: self._rows(tx, author).clean_words(some))  # type: ignore[misc]

    def _erase_vectors(self, plan: ErasurePlan) -> None:
        if not plan.items:
            return
        worker = self._parts.shared.index_worker
        for identity in self._database.read(lambda tx: IndexStates(tx).identities()):
            worker.vectors(self.owner).remove(worker.partition(self.owner, identity), plan.items)

    def _erase_user(self, author: str, wait: bool) -> ForgetReport:
        """Delete the rows of the user, a part at a time, so that others need not wait, then the folder. The row of
        the erasure goes last."""
        report = self._database.read(self._count_user)
        worker = self._parts.shared.index_worker
        for identity in self._database.read(lambda tx: IndexStates(tx).identities()):
            worker.vectors(self.owner).clear(worker.partition(self.owner, identity))
        self._erase_user_rows()
        self._parts.shared.drop_user(self.owner)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._folder.exists():
            raise StorageBusy(f"The files of the user {self.owner} could not be removed. Check their permissions.")
        self._erase_user_rows()  # what others wrote who had read the files
        if left := self._purge((self.owner,), wait):
            return replace(report, complete=False, left=left)
        self._database.write(lambda tx: finish_user(tx, self.owner, author, self._clock()))
        left = self._purge((), wait)
        return replace(report, complete=not left, left=left)

    def _erase_user_rows(self) -> None:
        while self._database.write(lambda tx: erase_some_of_user(tx, self.owner)):
            pass

    def _finish_purge(self, erasure_id: int, wait: bool) -> ForgetReport:
        if left := self._purge((), wait):
            return ForgetReport(erasure_id, complete=False, left=left)
        self._database.write(lambda tx: self._finish(tx, erasure_id))
        return ForgetReport(erasure_id)

    def _count_user(self, tx: Transaction) -> ForgetReport:
        counts = count_user(tx, self.owner)
        return ForgetReport(
            fact_count=counts["facts"],
            documents=(f"{counts['documents']:,} documents",) if counts["documents"] else (),
            records=(f"{counts['session_history']:,} records",) if counts["session_history"] else (),
            experiences=counts["experiences"],
            sessions=counts["sessions"],
            agents=counts["agents"],
            searches=counts["recalls"],
            files=tuple(path.relative_to(self._folder).as_posix() for path in list_files(self._folder)),
            backups=known_backups(tx),
            words=(self.owner,),
        )

    def _purge(self, words: Sequence[str], wait: bool) -> str:
        """Remove what is left in the database's file and log. Return what is left to do."""
        rarest = sorted(traceable(self._database, words), key=lambda word: -len(word))[:PURGED_WORDS]
        deadline = time.monotonic() + (WAIT_SECONDS if wait else 0)
        while not self._database.purge(rarest):
            if time.monotonic() > deadline:
                return "The database's log could not be emptied, since others read it. It is tried again."
            time.sleep(0.02)
        return ""

    # Rows of its own

    def _rows(self, tx: Transaction, author: str) -> RowErasure:
        return RowErasure(tx, self.owner, author, self._clock(), self._make_transcript)

    def _store(self, tx: Transaction, plan: ErasurePlan, author: str) -> int:
        return store_plan(tx, self.owner, plan, author, self._clock())

    def _drop_texts(self, tx: Transaction, erasure_id: int, report: ForgetReport) -> None:
        """Keep only the ids of the records that went: the plan held words."""
        tx.run("UPDATE erasures SET plan = '', report = ? WHERE id = ?", json.dumps(report.records), erasure_id)

    def _finish(self, tx: Transaction, erasure_id: int) -> None:
        tx.run(
            "UPDATE erasures SET state = 'done', done_at = ? WHERE id = ?",
            *(to_micros(self._clock()), erasure_id),
        )

    def _make_transcript(self, tx: Transaction, session_id: str, after: int, until: int) -> str:
        session = Sessions(tx).find(self.owner, session_id)
        agent = Agents(tx).find_row(session.agent_id) if session else None
        if not agent:
            return ""
        settings = self._parts.shared.settings
        records = History(tx).between(session_id, after, until)
        text = transcript(
            records,
            foreground=is_foreground(agent.kind),
            tool_result_chars=settings.collect.tool_result_chars,
            zone=self._parts.journal.zone,
        )
        return redact(text)

    def _texts(self, tx: Transaction, plan: ErasurePlan) -> tuple[str, ...]:
        """Return the beginnings of what would go, as a preview shows them."""
        rows = tx.many(
            "SELECT id, type, data FROM session_history WHERE id = ?",
            [(id_,) for id_ in sorted(plan.records)[:PREVIEWED_RECORDS]],
        )
        return tuple(f"r{row[0]} {' '.join(text_in(row[1], row[2]).split())[:PREVIEWED_CHARS]}" for row in rows)

    def _report(
        self,
        erasure_id: int,
        plan: ErasurePlan,
        erased: ErasedRows,
        files: ErasedFromFiles | None,
        *,
        preview: bool = False,
        texts: tuple[str, ...] = (),
    ) -> ForgetReport:
        return ForgetReport(
            erasure_id,
            preview,
            records=tuple(f"r{id_}" for id_ in erased.records),
            cut=tuple(f"r{id_}" for id_ in erased.cut),
            documents=tuple(erased.documents),
            rewritten=tuple(erased.rewritten),
            facts=tuple(erased.facts) if preview else (),
            texts=texts,
            fact_count=len(erased.facts),
            lines=len({*plan.changed, *files.aged, *plan.aged} - files.remade.keys())
            if files
            else len(plan.lines),
            remade=len(files.remade) if files else 0,
            paragraphs=len(plan.paragraphs),
            experiences=len(plan.experiences),
            sessions=len(plan.sessions),
            agents=len(plan.agents),
            searches=erased.recalls,
            files=tuple(sorted({*files.files, *plan.files})) if files else (),
            backups=self._database.read(known_backups),
            words=tuple(plan.words),
        )


def _waiting(error: LifelongError) -> str:
    """Say that something is not gone yet, why, and what to do. An error's word that nothing was changed, or
    stored, is left out: earlier steps of the erasure stand."""
    fault = _CLAIM.sub(lambda found: (found[1] or "").upper(), str(error)).rstrip(".")
    return f"What was to be forgotten is not all gone yet: {fault}. A worker or the next start does the rest."


def _replaced(tx: Transaction, owner: str, lines: Iterable[str], plan: ErasurePlan) -> list[int]:
    """Return the hidden items of earlier versions of lines and of summaries."""
    found = [
        row[0]
        for line in lines
        for row in tx.all(
            "SELECT id FROM items WHERE owner = ? AND kind = 'journal' AND ref >= ? AND ref < ?",
            *(owner, f"{line}@", f"{line}A"),
        )
    ]
    if plan.sentences or plan.words:
        for start, end in (("compaction-", "compaction."), ("LONGMEMORY.md#", "LONGMEMORY.md$")):
            rows = tx.all(
                "SELECT id FROM items WHERE owner = ? AND kind = 'journal' AND ref >= ? AND ref < ? "
                "AND gone IS NOT NULL",
                *(owner, start, end),
            )
            found += [row[0] for row in rows]
    return found


def _aged(tx: Transaction, owner: str, plan: ErasurePlan) -> list[int]:
    """Return the items of what went from the journal by its age, the hidden ones of earlier versions, too."""
    if not plan.journal_until:
        return []
    hidden = tx.all(
        "SELECT id, ref, thread, at FROM items WHERE owner = ? AND kind = 'journal' AND gone IS NOT NULL", owner
    )
    return Items(tx, owner).ids_of("journal", plan.aged) + [
        id_
        for id_, ref, thread, at in hidden
        if at < plan.journal_until or thread in plan.files or ref.startswith("compaction-")
    ]


def _old_recalls(tx: Transaction, owner: str, plan: ErasurePlan) -> int:
    """Return how many logged searches are older than a plan allows."""
    row = tx.one("SELECT count(*) FROM recalls WHERE owner = ? AND at < ?", owner, plan.recalls_until)
    return int(row[0]) if row else 0


def _add(total: ErasedRows, more: ErasedRows) -> None:
    for name in ("records", "cut", "documents", "rewritten", "facts", "experiences"):
        setattr(total, name, [*dict.fromkeys([*getattr(total, name), *getattr(more, name)])])
    total.recalls += more.recalls


def _dump_rows(total: ErasedRows, more: ErasedRows) -> str:
    both = ErasedRows(**asdict(total))
    _add(both, more)
    return json.dumps(asdict(both), ensure_ascii=False)


def _load_rows(text: str) -> ErasedRows:
    known = json.loads(text or "[]")
    return ErasedRows(**known) if isinstance(known, dict) else ErasedRows()


def resume_all(owners: Iterable[str], open_eraser: Callable[[str], Eraser]) -> int:
    """Finish what was interrupted, for these users. What fails is logged, and tried again."""
    done = 0
    for owner in owners:
        try:
            done += open_eraser(owner).resume()
        except LifelongError as error:
            log.warning("user %s: %s", owner, _waiting(error))
    return done
