"""What each operation of the API needs: a token that may read, write or administer."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from lifelong.memory import DEFAULT_USER
from lifelong.serve.operation import operation_of
from lifelong.tokens import Scope
from lifelong.validation import is_user_name

READS = frozenset(("search", "context", "query_experiences"))
"""Operations that change nothing, and are sent with POST because they take a body."""

ADMIN = frozenset(
    (
        *("create_token", "list_tokens", "revoke_token", "list_writes"),
        *("organize", "check", "verify", "rebuild", "backup"),
    )
)
"""Operations that are about the home, or take long enough to be in everybody's way."""

ID_PARAMETERS = ("agent_id", "session_id", "document_id", "changeset_id", "item_id", "review", "token_id")
"""The parameters in addresses that the log of writes keeps. The others may be words."""

SCOPE_KEY = "x-scope"
"""What the OpenAPI document calls the scope of an operation."""


def scope_of(name: str, method: str) -> Scope:
    """Return what an operation needs. What is not listed, and not a GET, changes something."""
    if name in ADMIN:
        return "admin"
    return "read" if method == "GET" or name in READS else "write"


async def authorize(request: Request) -> None:
    """Refuse what the sender may not do. Note what is to be changed, for the log of writes."""
    name, operation = request.scope["route"].name, operation_of(request.scope)
    operation.targets += [request.path_params[one] for one in ID_PARAMETERS if one in request.path_params]
    scope = scope_of(name, request.method)
    user = request.query_params.get("user", operation.grant.user or DEFAULT_USER)
    changes = request.method != "GET" and name not in READS
    operation.begin(name if changes else "", scope, user if scope != "admin" and is_user_name(user) else "")


def describe_scopes(document: dict[str, Any]) -> None:
    """Say in an OpenAPI document what each operation needs."""
    for methods in document["paths"].values():
        for method, operation in methods.items():
            operation[SCOPE_KEY] = scope_of(operation["operationId"], method.upper())
