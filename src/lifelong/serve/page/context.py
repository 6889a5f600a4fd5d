"""One visit to the page: whose memory it looks at, what it asks, and what it is shown."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import Generic, TypeVar
from urllib.parse import urlencode, urlsplit
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
from lifelong.errors import InputError, LifelongError
from lifelong.memory import DEFAULT_USER, Memory, Store
from lifelong.redaction import redact
from lifelong.serve.error_hints import first_sentence
from lifelong.serve.http import problems
from lifelong.serve.http.guard import COOKIE, is_page
from lifelong.types import Agent
from lifelong.validation import validate_position, validate_time

VIEWS = (
    ("o", "/", "Overview"),
    ("r", "/recall", "Recall"),
    ("d", "/documents", "Documents"),
    ("c", "/changesets", "Changes"),
    ("j", "/journal", "Journal"),
    ("e", "/experiences", "Experiences"),
    ("l", "/relations", "Relations"),
    ("s", "/sessions", "Sessions"),
    ("i", "/inbox", "Inbox"),
)
"""What there is to see: the key that goes there after `g`, the path, the name."""

SAID = {
    "useful": "Noted: it was of use. It is found a little earlier from now on.",
    "wrong": "Noted: it is wrong. It is found later from now on.",
    "outdated": "Noted: it is outdated, and has ended.",
    "later": "Noted: it is found later from now on. It stays as it was said; to end what was learned, correct it.",
    "pinned": "Pinned: it is in every context from now on.",
    "unpinned": "The pin is off.",
    "corrected": "Corrected. Your word is found from now on; what it corrects has ended.",
    "undone": "Rolled back. This is the changeset that did it; it can be rolled back, too.",
    "nothing": "There was nothing to undo: it has been undone, or was changed since.",
    "retried": "Queued again. A worker takes it up next.",
    "none": "Nothing had failed, so there was nothing to retry.",
}
"""What a visit can be told about the one before it. Only these: an address cannot put words on the page."""

SORRY = {
    404: "It is not there",
    409: "Something else came first",
    422: "That cannot be taken",
    502: "The model gave no answer",
    503: "Not at the moment",
    507: "There is no room left",
}


NOWHERE = "There is nothing at this address."


def shortened(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


TEMPLATES = Environment(
    loader=PackageLoader("lifelong.serve.page"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
TEMPLATES.filters |= {"clean": redact, "quoted": shlex.quote, "shortened": shortened}

Look = Callable[["Visit"], Response]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A stretch of a list, what comes before it, and how long the list is, where that is known."""

    shown: Sequence[T]
    skipped: int
    listed: int
    of: int | None
    more: bool


@dataclass
class Visit:
    """A request, and the memory it is about."""

    store: Store
    path: str
    query: QueryParams
    form: Mapping[str, str] = field(default_factory=dict)
    has_login: bool = False

    @property
    def user(self) -> str:
        return self.query.get("user") or DEFAULT_USER

    @property
    def view(self) -> str:
        """The path of the view that this one belongs to."""
        return {"/browse": "/recall", "/compare": "/documents"}.get(self.path, self.path)

    @cached_property
    def memory(self) -> Memory:
        return self.store.existing_user(self.user)

    @cached_property
    def zone(self) -> tzinfo:
        """The journal's: a day here is a day there."""
        return ZoneInfo(self.memory.settings.continuity.time_zone)

    # What is asked

    def text(self, name: str) -> str:
        """A field of the form, or of the address; empty where there is none."""
        return (self.form.get(name) or self.query.get(name) or "").strip()

    def number(self, name: str, otherwise: int = 0) -> int:
        given = self.text(name)
        try:
            return validate_position(int(given), name) if given else otherwise
        except ValueError:
            raise InputError(f"{given!r:.200} is no number. Follow a link of the page instead.") from None

    def time(self, name: str, *, days: int = 0) -> datetime | None:
        """A time or a day, in the user's zone where it has none of its own. `days` are added to a bare day."""
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
            raise InputError(f"{given!r:.200} is no time. Write it as 2026-03-05 or 2026-03-05T14:30.") from None

    def until(self, listed: int) -> int:
        """How far into a list of which so many are shown at once this visit looks."""
        return self.number("skip") + listed

    def part(self, found: Sequence[T], listed: int, of: int | None = None) -> Part[T]:
        """What of a list this visit looks at. `found` is the list, or its beginning."""
        skipped, until = self.number("skip"), self.until(listed)
        return Part(found[skipped:until], skipped, listed, of, (len(found) if of is None else of) > until)

    # What is shown

    def show(self, template: str, **values: object) -> Response:
        about = {"zone": self.zone, "users": self.store.users()}
        return self.render(template, 200, **about, **values)

    def render(self, template: str, status: int, **values: object) -> Response:
        """What needs no memory to be shown."""
        known = {"visit": self, "url": self.url, "when": self.when, "day": self.day, "views": VIEWS}
        said = SAID.get(self.query.get("said", ""), "")
        html = TEMPLATES.get_template(template).render({**known, "said": said, **values})
        return HTMLResponse(html, status, {"Cache-Control": "no-store"})

    def url(self, path: str, anchor: str = "", **query: object) -> str:
        """An address on the page, in the same user, without what is empty."""
        given = {name: value for name, value in query.items() if value not in (None, "", [], ())}
        if self.user != DEFAULT_USER:
            given.setdefault("user", self.user)
        asked = urlencode(given, doseq=True)
        return path + (f"?{asked}" if asked else "") + (f"#{anchor}" if anchor else "")

    @property
    def back(self) -> str:
        """This address, for a form to return to."""
        return self.turned(self.number("skip"))

    def turned(self, skip: int) -> str:
        """This address, at another stretch of its list."""
        kept = [(name, value) for name, value in self.query.multi_items() if name not in ("said", "skip")]
        asked = urlencode([*kept, *([("skip", skip)] if skip > 0 else [])])
        return f"{self.path}?{asked}" if asked else self.path

    def go(self, path: str, anchor: str = "", **query: object) -> Response:
        return RedirectResponse(self.url(path, anchor, **query), 303)

    def return_with(self, said: str) -> Response:
        """Back to where the form stood, and nowhere else."""
        to = urlsplit(self.text("back"))
        path = to.path if to.path in {view[1] for view in VIEWS} | {"/browse"} else "/"
        asked = [*QueryParams(to.query).multi_items(), ("said", said)]
        anchor = self.text("at")
        return RedirectResponse(f"{path}?{urlencode(asked)}" + (f"#{anchor}" if anchor.isalnum() else ""), 303)

    def when(self, moment: datetime | None) -> Markup:
        return self._time(moment, "%b %Y, %H:%M")

    def day(self, moment: datetime | None) -> Markup:
        return self._time(moment, "%b %Y")

    def _time(self, moment: datetime | None, form: str) -> Markup:
        if moment is None:
            return Markup("")
        there = self.there(moment)
        shown = f"{there.day} {there.strftime(form)}"
        return Markup('<time datetime="{}">{}</time>').format(there.isoformat(), shown)

    def there(self, moment: datetime) -> datetime:
        """The time in the user's zone; as it is where that lies before the first year or after the last."""
        try:
            return moment.astimezone(self.zone)
        except (OverflowError, ValueError):
            return moment


def route(store: Store, path: str, look: Look, method: str = "GET") -> Route:
    """A route of the page. The look runs in a thread; what lifelong refuses is told on a page of its own."""

    async def answer(request: Request) -> Response:
        visit = Visit(store, request.url.path, request.query_params, has_login=COOKIE in request.cookies)
        try:
            form = await request.form(max_files=0, max_fields=50) if method == "POST" else {}
        except HTTPException:
            return _sorry(visit, InputError("This form cannot be read. Send it from the page, without a file."))
        visit.form = {name: value for name, value in form.items() if isinstance(value, str)}
        return await run_in_threadpool(_answer, visit, look)

    return Route(path, answer, methods=[method], name=f"page:{path}")


def _answer(visit: Visit, look: Look) -> Response:
    try:
        return look(visit)
    except LifelongError as error:
        return _sorry(visit, error)


def _sorry(visit: Visit, error: LifelongError) -> Response:
    status = problems.status_of(error)
    told = first_sentence(error) if status == 404 else str(error)
    if status == 500:
        problems.note(error)
        told = problems.INSIDE
    return _apology(visit.store, status, told, has_login=visit.has_login)


def _apology(store: Store, status: int, told: str, *, has_login: bool) -> Response:
    """Without a user: it may be what is not there."""
    elsewhere = Visit(store, "", QueryParams(), has_login=has_login)
    title = SORRY.get(status, "It did not work")
    return elsewhere.render("error.html", status, zone=UTC, users=(), title=title, error=told)


def lost(store: Store) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What an application tells whoever is where nothing is: a person by a page, a program by a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException) or not is_page(request.scope):
            return problems.answer(error)
        told = NOWHERE if error.status_code == 404 else f"{error.detail}. This address is for the page's forms."
        return _apology(store, error.status_code, told, has_login=COOKIE in request.cookies)

    return answer


def called(agent: Agent) -> str:
    """What a person calls an agent."""
    match agent.descriptor:
        case User(connector, user_id, channel_id):
            return f"{user_id} ({connector}, {channel_id})"
        case System(tag):
            return tag
        case other:
            return getattr(other, "name", "") or other.id
