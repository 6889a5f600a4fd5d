"""How edits are committed, all or none, and how a changeset is undone: by edits that are committed as another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher

from lifelong.collect.erasures import check_erasures
from lifelong.collect.tombstones import Tombstones
from lifelong.errors import DocumentInUse, DocumentNotFound, InputError, StaleWrite
from lifelong.organize.document_rows import MEMORY_ID, DocumentRows
from lifelong.organize.draft import UNCOMMITTED, Draft, DraftRows, Edit, fields, same_content, stale_write
from lifelong.organize.facts import (
    Body,
    FactIndex,
    current_facts,
    fact_keys,
    paragraphs,
    parse_fact,
    parse_facts,
    replace_fact,
)
from lifelong.recall.feedback import FeedbackRows
from lifelong.recall.index_writer import index_document, ref_of, register_facts
from lifelong.storage.base import Transaction
from lifelong.types import Changeset, Document


def commit(tx: Transaction, draft: Draft, changeset: Changeset) -> Changeset | None:
    """Store the draft's edits and index them, in the caller's transaction. Return the given changeset with its id,
    and with a later time if others were committed meanwhile; none if nothing changed. Under the owner's lock, all
    that was checked when the edits were made is checked again. Raise `StaleWrite` if somebody else changed one of
    the documents first, `ErasedMeanwhile` if something was forgotten since the draft was begun."""
    if not draft.changes:
        return None
    rows = DocumentRows(tx, draft.owner)
    at = rows.lock(changeset.at)
    check_erasures(tx, draft.owner, draft.erasures)
    root_exists = bool(rows.location(MEMORY_ID))
    edits = {e.id: e for e in draft.changes if not (root_exists and draft.only_makes_root(e))}
    edited = DraftRows(tx, draft.owner, edits)
    for edit in edits.values():
        _check_base(rows, edit)
    _check_sources(tx, draft.owner, edits.values())
    try:
        for edit in edits.values():
            edited.check(edit)
    except (InputError, DocumentNotFound, DocumentInUse) as error:
        if changeset.cause == "rollback":
            raise
        raise StaleWrite(f"The documents changed since they were read. {error}") from error
    written = [(edit.after, edited.references_of(edit.after)) for edit in edits.values() if edit.after]
    changeset = rows.open_changeset(replace(changeset, at=at))
    rows.close([edit.id for edit in edits.values() if edit.before], changeset)
    rows.insert(written, changeset)
    committed = {edit.id: edited.find(edit.id) for edit in edits.values()}
    moved = register_facts(tx, draft.owner, committed, _renamed(edits.values()) | draft.moved)
    _update_keys(edited.fact_index, committed, at)
    for document_id, document in committed.items():
        index_document(tx, draft.owner, document_id, document, at, changeset)
    feedback = FeedbackRows(tx, draft.owner)
    feedback.move(moved)
    feedback.copy(draft.merged)
    return changeset


def rebase(tx: Transaction, draft: Draft) -> bool:
    """Apply the draft's edits to what others have committed since, paragraph by paragraph. Return whether that was
    possible: if both changed the same paragraph, or have new facts on the same subject, or a document was made or
    deleted, the draft stays as it is."""
    rows = DocumentRows(tx, draft.owner)
    rebased: dict[str, Edit] = {}
    for edit in draft.changes:
        current = rows.find(edit.id)
        if (current.version if current else 0) == edit.base:
            continue
        if not (current and edit.before and edit.after):
            return False
        wanted, stuck = revert(edit.after, edit.before, current)
        if stuck or _share_new_subject(edit.before, edit.after, current):
            return False
        rebased[edit.id] = _edit(rows, edit.id, current, wanted)
    draft.edits |= rebased
    return True


def _share_new_subject(before: Document, ours: Document, theirs: Document) -> bool:
    """Return whether new facts of the two sides share a key: one might contradict the other, or repeat it."""
    old = current_facts(before)
    our_keys, their_keys = (
        {
            key
            for digest, one in current_facts(side).items()
            if digest not in old
            for key in fact_keys(one.sentence)
        }
        for side in (ours, theirs)
    )
    return not our_keys.isdisjoint(their_keys)


def end_corrected(draft: Draft, by: Mapping[int, int], now: datetime) -> tuple[Draft, int]:
    """Return a copy of the draft in which every fact has ended that cites a record which a person corrected since
    the draft was begun, and how many ended. `by` names for each such record the one that corrects it. A fact that
    was current before only loses the citation. The given draft does not change, so that committing may be tried
    again."""
    draft, count = copy(draft), 0
    draft.edits = dict(draft.edits)
    for edit in draft.changes:
        body = edit.after.body if edit.after else ""
        old = {one.text for one in parse_facts(edit.before.body) if one.current} if edit.before else set()
        for paragraph in paragraphs(body):
            fact = parse_fact(paragraph)
            if not fact or not fact.current or by.keys().isdisjoint(fact.records):
                continue
            records = tuple(record for record in fact.records if record not in by)
            if records and fact.text in old:
                body = replace_fact(body, paragraph, replace(fact, records=records), None)
                continue
            last = max(by[record] for record in fact.records if record in by)
            body = replace_fact(body, paragraph, None, fact.ended(now, last))
            count += 1
        if edit.after and body != edit.after.body:
            draft.edits[edit.id] = replace(edit, after=replace(edit.after, body=body))
    draft.edits = {edit.id: edit for edit in _effective(draft.edits.values())}
    return draft, count


def _check_base(rows: DocumentRows, edit: Edit) -> None:
    """Raise unless the edit was made on the current version."""
    last = rows.last(edit.id)
    current = last if last and not last.valid_to else None
    if (last.version if last else 0) == edit.base and bool(current) == bool(edit.before):
        return
    by = ""
    if last and (other := rows.changeset_at(last.valid_to or last.valid_from)):
        by = f", by changeset {other.id} of {other.author} at {other.at.isoformat(timespec='seconds')}"
    named = edit.before or edit.after
    assert named, "an edit has at least one side"
    raise stale_write(named, edit.before, current and replace(current, path=named.path), by)


def _check_sources(tx: Transaction, owner: str, edits: Iterable[Edit]) -> None:
    """Raise `StaleWrite` if an edit adds a fact that cites what was forgotten meanwhile."""
    cited: set[int] = set()
    for edit in edits:
        before, after = (
            {record for fact in parse_facts(one.body) for record in fact.records} if one else set[int]()
            for one in (edit.before, edit.after)
        )
        cited |= after - before
    if cited and Tombstones(tx, owner).forgotten_records(cited):
        raise StaleWrite("Something that the new text cites was forgotten meanwhile. Read the documents again.")


def _renamed(edits: Iterable[Edit]) -> dict[str, str]:
    """Return the refs that facts had before their document got another title, which is a part of what some of them
    say, and those that they have now."""
    return {
        ref_of(edit.before, fact): ref_of(edit.after, fact)
        for edit in edits
        if edit.before and edit.after and edit.before.title != edit.after.title
        for fact in parse_facts(edit.after.body)
    }


def _update_keys(index: FactIndex, committed: Mapping[str, Document | None], at: datetime) -> None:
    current = {
        (document.id, digest): one.sentence
        for document in committed.values()
        if document
        for digest, one in current_facts(document).items()
    }
    index.set_keys(committed, current, at)


# Undoing


def undo(tx: Transaction, owner: str, changeset: Changeset) -> tuple[list[Edit], str]:
    """Return the edits that undo a changeset, and a note that says what they leave: later changes stay, and so
    does what they were made on."""
    rows = DocumentRows(tx, owner)
    ended, begun = ({d.id: d for d in side} for side in rows.changed_by(changeset))
    left: list[str] = []
    edits: dict[str, Edit] = {}
    for document_id in {**begun, **ended}:
        current = rows.find(document_id)
        wanted, stuck = _without_change(ended.get(document_id), begun.get(document_id), current)
        edits[document_id] = _edit(rows, document_id, current, wanted)
        left += [f"{(current or begun[document_id]).path}: {one}" for one in stuck]
    left += _keep_used(DraftRows(tx, owner, edits), edits, begun)
    left += _drop_lost_links(DraftRows(tx, owner, edits), edits)
    note = f"Undoes changeset {changeset.id}."
    return _effective(edits.values()), note + (
        f" Left as it is, since it changed later: {'; '.join(left)}." if left else ""
    )


def restore(tx: Transaction, owner: str, time: datetime) -> tuple[list[Edit], str]:
    """Return the edits that make all documents what they were at that time, and a note."""
    rows = DocumentRows(tx, owner)
    then, now = ({d.id: d for d in rows.walk(as_of=as_of)} for as_of in (time, None))
    edits = [_edit(rows, one, now.get(one), then.get(one)) for one in {**now, **then}]
    return _effective(edits), f"Returns to {time.isoformat()}."


def _without_change(
    before: Document | None, after: Document | None, current: Document | None
) -> tuple[Document | None, list[str]]:
    """Return what the document should be without the change from `before` to `after`, and what stays of it."""
    if after is None:
        return (current, ["it was brought back"]) if current else (before, [])
    if current is None:
        return None, ["it was deleted"] if before else []
    if current.version == after.version:
        return before, []
    wanted, stuck = revert(before, after, current)
    emptied = before is None and not wanted.body.strip() and same_content(replace(current, body=after.body), after)
    return (None if emptied else wanted), stuck


def _keep_used(rows: DraftRows, edits: dict[str, Edit], begun: dict[str, Document]) -> list[str]:
    """Keep, without its text, a document that should go but is the parent of others, or linked to."""
    kept: list[str] = []
    going = [edit for edit in edits.values() if edit.before and not edit.after]
    while used := [edit for edit in going if rows.dependents(edit.id)]:
        for edit in used:
            assert edit.before, "only a document that exists can go"
            going.remove(edit)
            bare, _ = revert(None, begun[edit.id], edit.before)
            edits[edit.id] = Edit(edit.id, edit.before, replace(bare, version=edit.base + 1))
            kept.append(f"{edit.before.path} is in use")
    return kept


def _drop_lost_links(rows: DraftRows, edits: dict[str, Edit]) -> list[str]:
    """Drop links of documents that come back to what is gone. Without its parent a document cannot come back."""
    dropped: list[str] = []
    for edit in list(edits.values()):
        if not (after := edit.after):
            continue
        if after.parent_id and not rows.location(after.parent_id):
            raise InputError(
                f"{after.path} cannot come back: its parent was deleted. Undo the changeset that deleted it first."
            )
        links = tuple(link for link in after.links if rows.location(link))
        if links != after.links:
            dropped.append(f"{after.path} no longer links to what was deleted")
            edits[edit.id] = replace(edit, after=replace(after, links=links))
    return dropped


def _edit(rows: DocumentRows, document_id: str, current: Document | None, wanted: Document | None) -> Edit:
    if wanted:
        last = current or rows.last(document_id)
        version = last.version + 1 if last else 1
        wanted = replace(wanted, version=version, valid_from=UNCOMMITTED, valid_to=None, changeset_id=0)
    return Edit(document_id, current, wanted)


def _effective(edits: Iterable[Edit]) -> list[Edit]:
    """Return those that change something."""
    return [
        e
        for e in edits
        if (e.before or e.after) and not (e.before and e.after and same_content(e.before, e.after))
    ]


# Reverting one change of a document


def revert(before: Document | None, after: Document, current: Document) -> tuple[Document, list[str]]:
    """Return `current` without what changed from `before` (none: the document was made) to `after`, and what could
    not be reverted because it was changed again since."""
    if before is None:
        body, stuck = _revert_body("", after.body, current.body)
        return replace(current, body=body), stuck
    reverted: dict[str, object] = {}
    body, stuck = _revert_body(before.body, after.body, current.body)
    for name, value in fields(before).items():
        if value == getattr(after, name):
            continue
        if getattr(current, name) == getattr(after, name):
            reverted[name] = value
        else:
            stuck.append(f"its {name.removesuffix('_id')}")
    return replace(current, body=body, **reverted), stuck  # type: ignore[arg-type]  # the fields' own values


def _revert_body(before: str, after: str, current: str) -> tuple[str, list[str]]:
    """Revert one change, paragraph by paragraph: those it added go, those it removed come back, and later changes
    stay."""
    if current == after:
        return before, []
    body = Body(current)
    stuck: list[str] = []
    for removed, added, preceding in _paragraph_changes(paragraphs(before), paragraphs(after)):
        lost = [one for one in added if one not in body.parts]
        stuck += [f"{one:.80}" for one in lost]
        if removed and lost:
            continue  # what replaced them was changed again: they would contradict it
        at = _position(body.parts, added, preceding)
        for one in [one for one in removed if one not in body.parts]:
            body.insert(at, one)
            at += 1
        for one in added:
            if one in body.parts[at:]:
                body.remove(body.parts.index(one, at))
            elif one in body.parts:
                body.remove(body.parts.index(one))
                at -= 1
    return str(body), stuck


def _paragraph_changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[list[str], list[str], list[str]]]:
    """Return what was removed, what was added in its place, and all that precedes it; the last change first."""
    found = []
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and i_end - i == j_end - j:
            found += [([old[i + n]], [new[j + n]], list(new[: j + n])) for n in range(i_end - i)]
        elif kind != "equal":
            found.append((list(old[i:i_end]), list(new[j:j_end]), list(new[:j])))
    return found[::-1]


def _position(body: Sequence[str], added: Sequence[str], preceding: Sequence[str]) -> int:
    """Return where the change is in `body`: at what it added, else after the nearest paragraph before it."""
    for one in added:
        if one in body:
            return body.index(one)
    return next((body.index(one) + 1 for one in reversed(preceding) if one in body), 0)
