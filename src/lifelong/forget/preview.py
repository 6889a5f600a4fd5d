"""What a dry run shows: what would go, and what says the same or names the same person and would stay."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from lifelong.forget.erasure import ForgetReport
from lifelong.forget.plan import Staying


@dataclass(frozen=True, slots=True)
class ForgetPreview(ForgetReport):
    """What would go. `stays` is what a person may want to name, too: replies that repeat what goes, and what has
    only the first name of the person."""

    stays: tuple[Staying, ...] = ()

    @classmethod
    def of(cls, report: ForgetReport, stays: tuple[Staying, ...]) -> Self:
        """Return a report with what stays."""
        return cls(**{one.name: getattr(report, one.name) for one in fields(report)}, stays=stays)
