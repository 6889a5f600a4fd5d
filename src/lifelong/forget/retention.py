"""Forget by age: what is older than the `retain_…_days` of the settings goes, as if a person had named it.

`retain_history_days` takes records with all that was made of them. The other limits concern their own kind only:
the journal's files, experiences, the log of searches. The journal's lines of a turn go with the turn's records.
"""

from __future__ import annotations

import logging
from dataclasses import fields
from datetime import datetime, timedelta
from typing import NamedTuple

from lifelong.forget.erasure import Eraser, ForgetReport
from lifelong.forget.plan import ErasurePlan, Planner, WhatToForget
from lifelong.storage.base import Transaction
from lifelong.types import Clock, to_micros

log = logging.getLogger("lifelong.forget")

AUTHOR = "retention"
"""On whose word it goes: tombstones say so."""


class RetentionLimits(NamedTuple):
    """How many days each kind is kept; None: for ever."""

    history: int | None
    journal: int | None
    experiences: int | None
    recall_log: int | None


class Retention:
    """Forget what is too old of one user's memory."""

    def __init__(self, eraser: Eraser, limits: RetentionLimits, clock: Clock) -> None:
        self._eraser = eraser
        self._limits = limits
        self._clock = clock

    def preview(self) -> ForgetReport:
        """Return what would go now. Nothing is changed."""
        return self._eraser.preview_plan(self._plan)

    def run(self) -> ForgetReport:
        """Forget what is too old, and return what went. Where nothing is, nothing is stored."""
        report = self._eraser.erase_plan(self._plan, AUTHOR)
        if said := describe(report):
            log.info("retention forgot %s of user %s", said, self._eraser.owner)
        return report

    def _plan(self, tx: Transaction) -> ErasurePlan:
        """Return all that is older than its limit, but for the journal's lines, which are in files."""
        limits, owner = self._limits, self._eraser.owner
        plan = ErasurePlan()
        if until := self._limit(limits.history):
            plan = Planner(tx, owner).plan(WhatToForget(until=until))
            plan.sessions = Planner(tx, owner).sessions_before(until)
        if until := self._limit(limits.experiences):
            rows = tx.all("SELECT id FROM experiences WHERE owner = ? AND at < ?", owner, to_micros(until))
            plan.experiences = sorted(row[0] for row in rows)
        if until := self._limit(limits.journal):
            plan.journal_until = to_micros(until)
        if until := self._limit(limits.recall_log):
            plan.recalls_until = to_micros(until)
        return plan

    def _limit(self, days: int | None) -> datetime | None:
        return self._clock() - timedelta(days=days) if days else None


COUNTED = {
    "records": "records",
    "cut": "parts of records",
    "documents": "documents",
    "fact_count": "facts",
    "lines": "journal lines",
    "experiences": "experiences",
    "sessions": "sessions",
    "searches": "logged searches",
}
"""How each part of a report is counted."""


def describe(report: ForgetReport) -> str:
    """Return how much went, in words; empty where nothing did."""
    found = {one.name: getattr(report, one.name) for one in fields(report) if one.name in COUNTED}
    counts = {name: value if isinstance(value, int) else len(value) for name, value in found.items()}
    return ", ".join(f"{count:,} {COUNTED[name]}" for name, count in counts.items() if count)
