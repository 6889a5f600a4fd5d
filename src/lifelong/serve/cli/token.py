"""`lifelong token`: who may reach the server, and what was changed with each token."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lifelong.serve.cli.options import Answer, LimitOption, command, hint, noun
from lifelong.serve.terminal import print_done, print_table, print_text

if TYPE_CHECKING:
    from lifelong.memory import Memory
    from lifelong.tokens import NewToken

verbs = typer.Typer()
token = noun("token", "Who may reach the server: make tokens, revoke them, and see what was changed with each.")

Scope = Literal["read", "write", "admin"]

OnlyUser = Annotated[
    str, typer.Option("--user", help="Only of this user.", metavar="NAME", show_default="of every user")
]


@command(token, for_home=True)
def create(
    memory: Memory,
    user: Annotated[
        str, typer.Option("--user", help="Whose memory it reaches; not needed for admin.", metavar="NAME")
    ] = "",
    scope: Annotated[Scope, typer.Option(help="read: look; write: also change; admin: the whole home.")] = "write",
    name: Annotated[str, typer.Option(help="What it is for, such as the program's name.", metavar="TEXT")] = "",
) -> Answer:
    """Make a token and print it. It is printed once: only its digest is stored.

    Example: lifelong token create --user mara --scope write --name laptop
    """
    tokens = memory.store.tokens
    is_first = not tokens.exist()
    made = tokens.create(user, scope, name)
    is_new_user = bool(user) and user not in memory.store.users()
    admin = hint("token create --scope admin", memory.home.path)
    return Answer(made, lambda: _print_new(made, is_first=is_first, is_new_user=is_new_user, admin=admin))


def _print_new(made: NewToken, *, is_first: bool, is_new_user: bool, admin: str) -> None:
    """Print the token alone on standard output, so that a shell can take it: TOKEN=$(lifelong token create …)."""
    sys.stdout.write(f"{made.secret}\n")
    reach = "the whole home" if made.scope == "admin" else f"the memory of {made.user}"
    remarks = [f"{made.id} has the scope {made.scope}, for {reach}. Keep the token: it is not shown again."]
    if is_new_user:
        remarks.append(f"{made.user} holds nothing yet, and begins with what is stored first.")
    if is_first:
        own = "" if made.scope == "admin" else f" For yourself: {admin}"
        remarks.append(f"From now on the servers of this home require a token, on loopback too.{own}")
    sys.stderr.write("".join(f"{remark}\n" for remark in remarks))


@command(token, "list", for_home=True)
def list_tokens(memory: Memory, user: OnlyUser = "") -> Answer:
    """List the tokens, the newest first, without their secrets. When one was last used is known to about an hour.

    Example: lifelong token list --user mara
    """
    found = memory.store.tokens.list(user or None)
    cells = [
        (one.id, one.user or "(all)", one.scope, one.name, one.created_at, one.used_at or "", one.revoked_at or "")
        for one in found
    ]
    columns = ("token", "user", "scope", "name", "made", "last used", "revoked")
    empty = f"There is none. Make one: {hint('token create', memory.home.path)} --user NAME"
    return Answer(found, lambda: print_table(columns, cells, empty))


@command(token, for_home=True)
def revoke(
    memory: Memory, token_id: Annotated[str, typer.Argument(help="Its id, like t1f0c2a9b3e.", metavar="ID")]
) -> Answer:
    """Have a token no longer accepted, at once, by every server of the home.

    Example: lifelong token revoke t1f0c2a9b3e
    """
    tokens = memory.store.tokens
    before = any(one.revoked_at for one in tokens.list() if one.id == token_id)
    done = tokens.revoke(token_id)
    if before:
        return Answer(done, lambda: print_text(f"{done.id} was revoked on {done.revoked_at:%Y-%m-%d} already."))
    return Answer(done, lambda: print_done(f"{done.id} is revoked."))


@command(token, for_home=True)
def log(
    memory: Memory,
    user: OnlyUser = "",
    token_id: Annotated[str, typer.Option("--token", help="Only with this token.", metavar="ID")] = "",
    limit: LimitOption = 50,
) -> Answer:
    """List what was changed through the server with tokens, the newest first: no text, only ids.

    Example: lifelong token log --user mara
    """
    found = memory.store.tokens.write_log(limit, user=user, token=token_id)
    cells = [
        (one.at, one.token, one.user or "(home)", one.operation, ", ".join(one.targets), one.outcome)
        for one in found
    ]
    columns = ("when", "token", "user", "operation", "ids", "outcome")
    return Answer(found, lambda: print_table(columns, cells, "Nothing was changed."))
