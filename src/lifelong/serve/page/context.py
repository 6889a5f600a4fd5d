"""What every view of the page needs: whose memory it shows, the parameters of the request, and the templates."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lifelong.collect.descriptors import System, User
from lifelong.errors import AccessDenied, InputError, LifelongError
from lifelong.memory import DEFAULT_USER, Memory, Store
from lifelong.recall.items import public_id
from lifelong.redaction import redact
from lifelong.serve.error_hints import first_sentence
from lifelong.serve.hidden_paths import error_text, without_paths
from lifelong.serve.http import problems
from lifelong.serve.http.access import COOKIE
from lifelong.serve.http.guard import is_from_page, is_page
from lifelong.serve.operation import operation_of
from lifelong.tokens import Grant, Scope
from lifelong.types import Agent
from lifelong.validation import is_user_name, validate_position, validate_time

VIEWS = (
    ("o", "/", "Overview"),
    ("f", "/search", "Search"),
    ("d", "/documents", "Documents"),
    ("c", "/changesets", "Changes"),
    ("j", "/journal", "Journal"),
    ("e", "/experiences", "Experiences"),
    ("l", "/relations", "Relations"),
    ("s", "/sessions", "Sessions"),
    ("i", "/inbox", "Inbox"),
    ("r", "/review", "Review"),
)
"""The views: the key that goes there after `g`, the path, the name."""

PART_OF = {
    "/browse": "/search",
    "/forgotten": "/search",
    "/about": "/relations",
    "/compare": "/documents",
    "/edit": "/documents",
}
"""Views that are not in the navigation, and the one there that each belongs to."""

MESSAGES = {
    "useful": "Noted as useful. It ranks a little higher from now on.",
    "wrong": "Noted as wrong. It ranks lower from now on.",
    "outdated": "Noted as outdated. It has ended.",
    "ended": "Noted as outdated. All that it says has ended. To take this back, choose Useful; to keep a part "
    "of it, correct it to what is still true.",
    "lowered": "Noted as outdated. The record stays and ranks lower from now on. Correct it to end its facts.",
    "pinned": "Pinned: it is in every context from now on.",
    "unpinned": "Unpinned: it is not put into every context any more.",
    "corrected": "Corrected. Your text is found from now on; what it corrects has ended.",
    "saved": "Saved as a new version. The one before is in the history.",
    "same": "Nothing was changed, so there is no new version.",
    "undone": "Rolled back. This is the changeset that did it; it can be rolled back, too.",
    "nothing": "Nothing to undo: it was undone before, or the documents changed since.",
    "retried": "Queued again. A worker takes it next.",
    "released": "Released. Another worker takes it next.",
    "none": "Nothing to retry: nothing had failed.",
    "approved": "Approved. It is remembered from now on, as the agent's word that you approved.",
    "edited": "Approved in your words. They are remembered from now on.",
    "refused": "Refused. It is not remembered; the decision is kept.",
    "forgotten": "Approved. It was forgotten.",
}
"""What the page says about the form that was sent before, by the parameter `done`. Only these, so that an address
cannot put words on the page."""

ERROR_TITLES = {
    403: "Only a person may do that",
    404: "Not found",
    409: "It changed meanwhile",
    422: "That cannot be used",
    502: "The model gave no answer",
    503: "Not available at the moment",
    507: "The disk is full",
}

TARGETS = ("id", "item", "review", "document", "changeset", "session", "agent")
"""The fields of forms that name what is changed, for the log of writes."""

CAUSE_LABELS = {"run": "organized"}
"""What the page calls the causes of changesets, where it differs."""


def shortened(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()} …"


TEMPLATES = Environment(
    loader=PackageLoader("lifelong.serve.page"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
TEMPLATES.filters |= {"redacted": redact, "quoted": shlex.quote, "shortened": shortened}
TEMPLATES.filters["journal_id"] = lambda ref: public_id("journal", ref)
TEMPLATES.filters["cause"] = lambda cause: CAUSE_LABELS.get(cause, cause)

View = Callable[["PageContext"], Response]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of a list: what is shown, how many come before it, and how long the list is, where that is known."""

    shown: Sequence[T]
    skipped: int
    per_page: int
    total: int | None
    more: bool


@dataclass
class PageContext:
    """A request to the page, and the memory it shows."""

    store: Store
    path: str
    query: QueryParams
    form: Mapping[str, str] = field(default_factory=dict)
    has_login: bool = False
    from_page: bool = False
    """Whether a form of this page sent it, and not a program."""
    grant: Grant = field(default_factory=Grant)

    @cached_property
    def user(self) -> str:
        return self.query.get("user") or self.grant.user or self.store.main_user()

    @property
    def home(self) -> str:
        """The folder of the home, for commands that a person may copy: a placeholder for who may not know it."""
        return str(self.store.home.path) if self.grant.is_admin else "FOLDER"

    @property
    def names_user(self) -> bool:
        """Whether the links of this page name the user: also the default one, where another would be shown."""
        return self.user != DEFAULT_USER or "user" in self.query

    @property
    def view(self) -> str:
        """The path of the view in the navigation that this one belongs to."""
        return PART_OF.get(self.path, self.path)

    @cached_property
    def memory(self) -> Memory:
        return self.store.user(self.user) if self.grant.user else self.store.existing_user(self.user)

    @cached_property
    def zone(self) -> tzinfo:
        """The journal's time zone, so that days begin at the same time here and there."""
        return ZoneInfo(self.memory.settings.continuity.time_zone)

    def visible(self, result: T) -> T:
        """Return a result without what only those may see who look after the home."""
        return without_paths(result, self.store, self.grant)

    # Parameters

    def text(self, name: str) -> str:
        """Return a field of the form or of the address; empty where there is none."""
        return (self.form.get(name) or self.query.get(name) or "").strip()

    def number(self, name: str, default: int = 0) -> int:
        given = self.text(name)
        try:
            return validate_position(int(given), name) if given else default
        except ValueError:
            raise InputError(f"{given!r:.200} is not a number. Follow a link of the page instead.") from None

    def time(self, name: str, *, days: int = 0) -> datetime | None:
        """Return a time or a day, in the page's zone where it names none. `days` are added to a bare day."""
        given = self.text(name)
        try:
            found = datetime.fromisoformat(given) if given else None
            if found is None:
                return None
            if len(given) <= len("2026-03-05"):
                found += timedelta(days=days)
            return validate_time(found if found.tzinfo else found.replace(tzinfo=self.zone), name)
        except InputError:
            raise
        except (ValueError, OverflowError):
            raise InputError(f"{given!r:.200} is not a time. Write 2026-03-05 or 2026-03-05T14:30.") from None

    def end_of(self, per_page: int) -> int:
        """Return where the part of a list ends that this request shows."""
        return self.number("skip") + per_page

    def part(self, found: Sequence[T], per_page: int, total: int | None = None) -> Part[T]:
        """Return the part of a list that this request shows. `found` is the list, or its beginning."""
        skipped, end = self.number("skip"), self.end_of(per_page)
        more = (len(found) if total is None else total) > end
        return Part(found[skipped:end], skipped, per_page, total, more)

    # Answers

    def show(self, template: str, **values: object) -> Response:
        """Render a template with what every page of a user has."""
        users = [self.grant.user] if self.grant.user else self.store.users()
        about = {"zone": self.zone, "users": users, "waiting": self.memory.reviews.count()}
        return self.render(template, 200, **about, **values)

    def render(self, template: str, status: int, **values: object) -> Response:
        """Render a template that needs no memory."""
        known = {"page": self, "url": self.url, "when": self.when, "day": self.day, "views": VIEWS, "waiting": 0}
        message = MESSAGES.get(self.query.get("done", ""), "")
        html = TEMPLATES.get_template(template).render({**known, "message": message, **values})
        return HTMLResponse(html, status, {"Cache-Control": "no-store"})

    def parts(self) -> Any:
        """Return the macros of `parts.html`, for what is not rendered by a template."""
        known = {"page": self, "url": self.url, "when": self.when, "day": self.day, "views": VIEWS}
        return TEMPLATES.get_template("parts.html").make_module(known)

    def url(self, path: str, anchor: str = "", **query: object) -> str:
        """Return an address on the page, of the same user, without empty parameters."""
        given = {name: value for name, value in query.items() if value not in (None, "", [], ())}
        if self.names_user:
            given.setdefault("user", self.user)
        query_string = urlencode(given, doseq=True)
        return path + (f"?{query_string}" if query_string else "") + (f"#{anchor}" if anchor else "")

    @property
    def back(self) -> str:
        """This address, for a form to return to."""
        return self.at_part(self.number("skip"))

    def at_part(self, skip: int) -> str:
        """Return this address, at another part of its list."""
        kept = [(name, value) for name, value in self.query.multi_items() if name not in ("done", "skip", "user")]
        user = [("user", self.user)] if self.names_user else []
        query_string = urlencode([*kept, *user, *([("skip", skip)] if skip > 0 else [])])
        return f"{self.path}?{query_string}" if query_string else self.path

    def go(self, path: str, anchor: str = "", **query: object) -> Response:
        return RedirectResponse(self.url(path, anchor, **query), 303)

    def return_with(self, done: str) -> Response:
        """Redirect to where the form was, and nowhere else, with a message."""
        return RedirectResponse(self.return_address(done), 303)

    def return_address(self, done: str = "") -> str:
        """Return where the parameters `back` and `at` lead: to a view of the page, and nowhere else."""
        wanted, _, query = self.text("back").partition("#")[0].partition("?")
        path = wanted if wanted in {view[1] for view in VIEWS} | {"/browse", "/about"} else "/"
        kept = [(name, value) for name, value in QueryParams(query).multi_items() if name != "done"]
        query_string = urlencode([*kept, *([("done", done)] if done else [])])
        anchor = self.text("at")
        return f"{path}{'?' if query_string else ''}{query_string}" + (f"#{anchor}" if anchor.isalnum() else "")

    def when(self, moment: datetime | None) -> Markup:
        return self._time(moment, "%b %Y, %H:%M")

    def day(self, moment: datetime | None) -> Markup:
        return self._time(moment, "%b %Y")

    def _time(self, moment: datetime | None, form: str) -> Markup:
        if moment is None:
            return Markup("")
        local = self.local_time(moment)
        shown = f"{local.day} {local.strftime(form)}"
        return Markup('<time datetime="{}">{}</time>').format(local.isoformat(), shown)

    def local_time(self, moment: datetime) -> datetime:
        """Return the time in the page's zone; unchanged where that is before the first year or after the last."""
        try:
            return moment.astimezone(self.zone)
        except (OverflowError, ValueError):
            return moment


def route(store: Store, path: str, view: View, method: str = "GET", scope: Scope | None = None) -> Route:
    """Return a route of the page. The view runs in a thread; errors of lifelong are shown on a page. It needs a
    token of this `scope`; where none is given, a form needs one to write."""
    needed: Scope = scope or ("read" if method == "GET" else "write")

    async def answer(request: Request) -> Response:
        operation = operation_of(request.scope)
        page = PageContext(store, request.url.path, request.query_params, has_login=COOKIE in request.cookies)
        page.grant = operation.grant
        page.from_page = is_from_page(request.headers)
        try:
            form = await request.form(max_files=0, max_fields=50) if method == "POST" else {}
        except HTTPException:
            return _error_page(page, InputError("The form cannot be read. Send it from the page, without a file."))
        page.form = {name: value for name, value in form.items() if isinstance(value, str)}
        operation.targets += [page.form[name] for name in TARGETS if name in page.form]

        def begin_and_show(page: PageContext) -> Response:
            name = "" if method == "GET" else f"page {path}"
            operation.begin(name, needed, page.user if is_user_name(page.user) else "")
            return view(page)

        return await run_in_threadpool(_answer, page, begin_and_show)

    return Route(path, answer, methods=[method], name=f"page:{path}")


def _answer(page: PageContext, view: View) -> Response:
    try:
        return view(page)
    except LifelongError as error:
        return _error_page(page, error)


def _error_page(page: PageContext, error: LifelongError) -> Response:
    status = problems.status_of(error)
    message = first_sentence(error) if status == 404 else str(error)
    if not page.grant.is_admin:
        message = error_text(error, "http", page.store, page.grant)
    if status == 500:
        problems.log_error(error)
        message = problems.INTERNAL_ERROR
    title = "Not with this token" if isinstance(error, AccessDenied) else ""
    return _show_error(page.store, status, message, title, has_login=page.has_login)


def _show_error(store: Store, status: int, message: str, title: str = "", *, has_login: bool) -> Response:
    """Show an error without a user, because the user may be what does not exist."""
    page = PageContext(store, "", QueryParams(), has_login=has_login)
    page.user = DEFAULT_USER
    title = title or ERROR_TITLES.get(status, "That did not work")
    return page.render("error.html", status, zone=UTC, users=(), title=title, error=message)


def answer_not_found(store: Store) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers where there is no route: a page for a person, a problem for a program."""

    async def answer(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException) or not is_page(request.scope):
            return problems.answer(error)
        message = f"{error.detail}. This address is for the page's forms."
        if error.status_code == 404:
            message = "There is nothing at this address."
        return _show_error(store, error.status_code, message, has_login=COOKIE in request.cookies)

    return answer


def agent_name(agent: Agent) -> str:
    """Return what a person calls an agent."""
    match agent.descriptor:
        case User(connector, user_id, channel_id):
            return f"{user_id} ({connector}, {channel_id})"
        case System(tag):
            return tag
        case other:
            return getattr(other, "name", "") or other.id
