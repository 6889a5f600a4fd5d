"""The signs and units of the numbers in a text."""

from __future__ import annotations

import re

from recollect.recall.words import fold

_NEGATIVE = re.compile(r"(?<![^\s(:=])[-\u2212](\d[\d.,]*)")
_CURRENCY = re.compile(r"([€$£¥])\s?\d")
_UNIT = re.compile(
    r"\d[\s-]?(%|[€$£¥]|°\s?[cfk]?\b|(?:[munpkcd]?[smgl]|[kmgtp]i?b(?:it)?|min|h|hrs?|km|mi|ft|in|lbs?|oz|hz|[kmg]hz|[kmg]?w"
    r"|kwh|m?v|m?a|k|px|percent|euros?|dollars?|pounds?|sec|seconds?|minutes?|hours?)\b)"
)
_UNITS = {
    **dict.fromkeys(("percent",), "%"),
    **dict.fromkeys(("euro", "euros"), "€"),
    **dict.fromkeys(("dollar", "dollars"), "$"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
}


def measures(text: str) -> set[str]:
    """The signs and units of numbers: -5 and 5 are two, so are 30 s and 30 ms, 5 % and 5 €."""
    folded = fold(text)
    found = {_UNITS.get(unit, unit) for unit in _UNIT.findall(folded)}
    return found | set(_CURRENCY.findall(folded)) | {f"-{number}" for number in _NEGATIVE.findall(folded)}
