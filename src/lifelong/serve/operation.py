"""What the sender of a request may do, and what the request changes. Each face of the server checks it."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from lifelong.tokens import Grant, Outcome, Scope

_STATE = "lifelong.operation"


@dataclass(slots=True)
class Operation:
    """One request: what its sender may do, and, where it changes something, which operation it is, in whose
    memory, and the ids that it concerns."""

    grant: Grant
    name: str = ""
    user: str = ""
    targets: list[str] = field(default_factory=list)
    outcome: Outcome | None = None  # where the status of the answer does not tell it

    def begin(self, name: str, scope: Scope, user: str = "") -> None:
        """Begin what needs this scope; without a name, something that changes nothing. Raise `AccessDenied` where
        it is not granted."""
        self.name, self.user = name, user
        self.grant.check(scope, user)


def operation_of(scope: MutableMapping[str, Any]) -> Operation:
    """Return the operation of a request that came through the guard; one that may do all where there is none."""
    found = scope.get(_STATE)
    return found if isinstance(found, Operation) else Operation(Grant())


def begin(scope: MutableMapping[str, Any], grant: Grant) -> Operation:
    """Note what the sender of a request may do."""
    scope[_STATE] = operation = Operation(grant)
    return operation
