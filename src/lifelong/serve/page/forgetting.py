"""Forgetting on the page: what would go, and, once a person says yes, what went and what the proof found."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from starlette.responses import Response

from lifelong.forget.erasure import ForgetReport
from lifelong.forget.preview import ForgetPreview
from lifelong.redaction import redact
from lifelong.serve.forgetting import joined, proof_sentence, store_what_waits, what_goes, what_is_made_again
from lifelong.serve.hidden_paths import file_name
from lifelong.serve.page.context import PageContext

MAX_SHOWN = 200  # of each kind, in a preview
TOMBSTONES_PER_PAGE = 100
NAMED = ("id", "session", "agent", "about", "matching")
"""The parameters that say what to forget."""


class Going(NamedTuple):
    """What goes, or is written again, of one kind: ids or paths, with the texts where there are any."""

    title: str
    total: int
    shown: list[tuple[str, str]]


def forget(page: PageContext) -> Response:
    """Show what would go, with a button that forgets it."""
    report = _named(page)(dry_run=True)
    return page.show(
        "forget.html",
        report=report,
        going=_going(report, with_paths=page.grant.is_admin),
        stays=report.stays[:MAX_SHOWN] if isinstance(report, ForgetPreview) else (),
        in_all=joined(what_goes(report)),
        given=[(name, page.text(name)) for name in NAMED],
        what=page.text("about") or page.text("matching") or page.text("id"),
    )


def forget_now(page: PageContext) -> Response:
    """Forget it, look for what is left of it, and show both."""
    report = _named(page)()
    proof = page.memory.admin.prove_forgotten(report)
    return page.show(
        "forget_report.html",
        report=report,
        went=joined(what_goes(report)),
        again=joined(what_is_made_again(report)),
        proof=proof,
        sentence=proof_sentence(proof),
    )


def forgotten(page: PageContext) -> Response:
    """List what was forgotten."""
    found = page.memory.admin.forgotten(page.end_of(TOMBSTONES_PER_PAGE) + 1)
    return page.show("forgotten.html", part=page.part(found, TOMBSTONES_PER_PAGE))


def _named(page: PageContext) -> partial[ForgetReport]:
    """Return the call that forgets what the request names."""
    store_what_waits(page.memory)
    return partial(
        page.memory.forget,
        *([page.text("id")] if page.text("id") else []),
        session=page.text("session") or None,
        agent=page.text("agent") or None,
        about=page.text("about"),
        matching=page.text("matching"),
    )


def _going(report: ForgetReport, *, with_paths: bool) -> list[Going]:
    backups = [path if with_paths else file_name(path) for path in report.backups]
    said = dict(text.partition(" ")[::2] for text in report.texts)
    kinds = (
        ("Records", [(one, redact(said.get(one, ""))) for one in report.records]),
        ("Records that lose a part", [(one, redact(said.get(one, ""))) for one in report.cut]),
        ("Facts", [("", text) for text in report.facts]),
        ("Documents, with every version", [(path, "") for path in report.documents]),
        ("Documents that are written again without it", [(path, "") for path in report.rewritten]),
        ("Backups that will still hold it, unless they were deleted", [(path, "") for path in backups]),
    )
    return [Going(title, len(found), found[:MAX_SHOWN]) for title, found in kinds if found]
