"""How edits land, all or none, and how a changeset is undone: by edits that land as another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime

from lifelong.errors import DocumentInUse, DocumentNotFound, InputError, StaleWrite
from lifelong.organize.diffing import same, undone
from lifelong.organize.document_rows import MEMORY_ID, DocumentRows
from lifelong.organize.draft import Draft, stale
from lifelong.organize.edits import NOT_YET, Edit, Edited, known
from lifelong.organize.fact_index import FactIndex
from lifelong.organize.facts import Lead, paragraphs, parse_fact, parse_facts, restated
from lifelong.storage.base import Transaction
from lifelong.types import Changeset, Document


def commit(tx: Transaction, draft: Draft, told: Changeset) -> Changeset | None:
    """Land the draft's edits in the caller's transaction, as the changeset that is told, which gets its id, and a
    later time if others landed meanwhile; none where nothing changed (then nothing is written). Takes the owner's
    row of `trees`, and checks under it all that was checked when the edits were made. `StaleWrite`: somebody else
    changed one of the documents first."""
    if not draft.changes:
        return None
    rows = DocumentRows(tx, draft.owner)
    at = rows.lock(told.at)
    root_is_there = bool(rows.place(MEMORY_ID))
    edits = {e.id: e for e in draft.changes if not (root_is_there and draft.only_makes_root(e))}
    seen = Edited(tx, draft.owner, edits)
    for edit in edits.values():
        _check_base(rows, edit)
    try:
        for edit in edits.values():
            seen.check(edit)
    except (InputError, DocumentNotFound, DocumentInUse) as error:
        if told.cause == "rollback":
            raise
        raise StaleWrite(f"The documents changed since they were read. {error}") from error
    written = [(edit.after, seen.references_of(edit.after)) for edit in edits.values() if edit.after]
    changeset = rows.open_changeset(replace(told, at=at))
    rows.close([edit.id for edit in edits.values() if edit.before], changeset)
    rows.insert(written, changeset)
    landed = {edit.id: seen.find(edit.id) for edit in edits.values()}
    _index(rows.leads, draft, landed, at)
    if draft.file:
        for document_id, document in landed.items():
            draft.file(tx, draft.owner, document_id, document, at)
    return changeset


def rebase(tx: Transaction, draft: Draft) -> bool:
    """Lay the draft's edits over what others have landed since, paragraph by paragraph. Says whether that was
    possible: where both changed the same, or speak of the same, or a document came or went, the draft stays as
    it is."""
    rows = DocumentRows(tx, draft.owner)
    moved: dict[str, Edit] = {}
    for edit in draft.changes:
        current = rows.find(edit.id)
        if (current.version if current else 0) == edit.base:
            continue
        if not (current and edit.before and edit.after):
            return False
        wanted, stuck = undone(edit.after, edit.before, current)
        if stuck or _speak_of_the_same(draft, edit, current):
            return False
        moved[edit.id] = _edit(rows, edit.id, current, wanted)
    draft.edits |= moved
    return True


def _speak_of_the_same(draft: Draft, edit: Edit, current: Document) -> bool:
    """Whether facts that came on the two sides share a key: one might contradict the other, or repeat it."""
    assert edit.before, "a new document has no other side"
    assert edit.after, "nor has one that goes"
    old = known(edit.before)
    ours, theirs = (
        {key for digest, one in known(side).items() if digest not in old for key in draft.keys_of(one.sentence)}
        for side in (edit.after, current)
    )
    return not ours.isdisjoint(theirs)


def end_corrected(draft: Draft, by: Mapping[int, int], now: datetime) -> tuple[Draft, int]:
    """A draft of which no fact holds that cites what a person corrected since it was begun; `by` names for each
    such record the one that says what is so instead. A fact that held before only loses the citation. And how
    many end. What was given stays as it is: landing may be tried again."""
    draft, count = copy(draft), 0
    draft.edits = dict(draft.edits)
    for edit in draft.changes:
        body = edit.after.body if edit.after else ""
        held = {one.text for one in parse_facts(edit.before.body) if one.current} if edit.before else set()
        for paragraph in paragraphs(body):
            fact = parse_fact(paragraph)
            if not fact or not fact.current or by.keys().isdisjoint(fact.records):
                continue
            records = tuple(record for record in fact.records if record not in by)
            if records and fact.text in held:
                body = restated(body, paragraph, replace(fact, records=records), None)
                continue
            last = max(by[record] for record in fact.records if record in by)
            body = restated(body, paragraph, None, fact.ended(now, last))
            count += 1
        if edit.after and body != edit.after.body:
            draft.edits[edit.id] = replace(edit, after=replace(edit.after, body=body))
    draft.edits = {edit.id: edit for edit in _real(draft.edits.values())}
    return draft, count


def _check_base(rows: DocumentRows, edit: Edit) -> None:
    """The edit was made on what is there now."""
    last = rows.last(edit.id)
    current = last if last and not last.valid_to else None
    if (last.version if last else 0) == edit.base and bool(current) == bool(edit.before):
        return
    by = ""
    if last and (told := rows.changeset_at(last.valid_to or last.valid_from)):
        by = f", by changeset {told.id} of {told.author} at {told.at.isoformat(timespec='seconds')}"
    named = edit.before or edit.after
    assert named, "an edit has one side at least"
    raise stale(named, edit.before, current and replace(current, path=named.path), by)


def _index(leads: FactIndex, draft: Draft, landed: Mapping[str, Document | None], at: datetime) -> None:
    """Bring the fact keys of documents up to what they say."""
    said = {
        (document.id, digest): one.sentence
        for document in landed.values()
        if document
        for digest, one in known(document).items()
    }
    stored = leads.of(landed)
    leads.drop(stored - said.keys())
    new = [Lead(*fact, sentence) for fact, sentence in said.items() if fact not in stored]
    leads.insert([(lead, draft.keys_of(lead.sentence)) for lead in new], at)


# Undoing


def undo(tx: Transaction, owner: str, changeset: Changeset) -> tuple[list[Edit], str]:
    """The edits that take a changeset back, and a note that says what they leave: where later changes stand
    on top, these stay, and so does what they were made on."""
    rows = DocumentRows(tx, owner)
    ended, begun = ({d.id: d for d in side} for side in rows.changed_by(changeset))
    left: list[str] = []
    edits: dict[str, Edit] = {}
    for document_id in {**begun, **ended}:
        current = rows.find(document_id)
        wanted, stuck = _taken_back(ended.get(document_id), begun.get(document_id), current)
        edits[document_id] = _edit(rows, document_id, current, wanted)
        left += [f"{(current or begun[document_id]).path}: {one}" for one in stuck]
    left += _keep_what_is_used(Edited(tx, owner, edits), edits, begun)
    left += _let_go_of_lost(Edited(tx, owner, edits), edits)
    note = f"Undoes changeset {changeset.id}."
    return _real(edits.values()), note + (
        f" Left as it is, since it changed later: {'; '.join(left)}." if left else ""
    )


def return_to(tx: Transaction, owner: str, time: datetime) -> tuple[list[Edit], str]:
    """The edits that make the whole tree what it was at that time."""
    rows = DocumentRows(tx, owner)
    then, now = ({d.id: d for d in rows.walk(as_of=as_of)} for as_of in (time, None))
    edits = [_edit(rows, one, now.get(one), then.get(one)) for one in {**now, **then}]
    return _real(edits), f"Returns to {time.isoformat()}."


def _taken_back(
    before: Document | None, after: Document | None, current: Document | None
) -> tuple[Document | None, list[str]]:
    """What the document should be without the change from `before` to `after`, and what stays of it."""
    if after is None:
        return (current, ["it was brought back"]) if current else (before, [])
    if current is None:
        return None, ["it was deleted"] if before else []
    if current.version == after.version:
        return before, []
    wanted, stuck = undone(before, after, current)
    emptied = before is None and not wanted.body.strip() and same(replace(current, body=after.body), after)
    return (None if emptied else wanted), stuck


def _keep_what_is_used(seen: Edited, edits: dict[str, Edit], begun: dict[str, Document]) -> list[str]:
    """A document that should go but is the parent of others, or linked to, stays without its text."""
    kept: list[str] = []
    going = [edit for edit in edits.values() if edit.before and not edit.after]
    while used := [edit for edit in going if seen.users(edit.id)]:
        for edit in used:
            assert edit.before, "only what is there can go"
            going.remove(edit)
            bare, _ = undone(None, begun[edit.id], edit.before)
            edits[edit.id] = Edit(edit.id, edit.before, replace(bare, version=edit.base + 1))
            kept.append(f"{edit.before.path} is in use")
    return kept


def _let_go_of_lost(seen: Edited, edits: dict[str, Edit]) -> list[str]:
    """What comes back drops links to what is gone; without its parent it cannot come back."""
    dropped: list[str] = []
    for edit in list(edits.values()):
        if not (after := edit.after):
            continue
        if after.parent_id and not seen.place(after.parent_id):
            raise InputError(
                f"{after.path} cannot come back: its parent was deleted. Undo the changeset that deleted it first."
            )
        links = tuple(link for link in after.links if seen.place(link))
        if links != after.links:
            dropped.append(f"{after.path} no longer links to what was deleted")
            edits[edit.id] = replace(edit, after=replace(after, links=links))
    return dropped


def _edit(rows: DocumentRows, document_id: str, current: Document | None, wanted: Document | None) -> Edit:
    if wanted:
        last = current or rows.last(document_id)
        version = last.version + 1 if last else 1
        wanted = replace(wanted, version=version, valid_from=NOT_YET, valid_to=None, changeset_id=0)
    return Edit(document_id, current, wanted)


def _real(edits: Iterable[Edit]) -> list[Edit]:
    """Those that change something."""
    return [e for e in edits if (e.before or e.after) and not (e.before and e.after and same(e.before, e.after))]
