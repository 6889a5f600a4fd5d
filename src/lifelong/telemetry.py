"""OpenTelemetry, where `telemetry.enabled` is true: traces and metrics of what this process does.

One seam: `instrument` wraps the methods in `_traced`, once in a process, so no stage knows about it, and nothing
of it is imported where it is off. Spans and metrics hold names of operations, counts, models, classes of errors:
no text, no name of a user, no id. Where the program has set providers of its own, those are used; else they are
made here, and send to an OTLP collector over HTTP.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from lifelong.collect.recorder import PastStored, Recorder
from lifelong.errors import ConfigError, LifelongError
from lifelong.models.ledger import FREE, NO_TOKENS, Cost, Ledger, Run, Tokens, day_of
from lifelong.organize.inbox import Inbox
from lifelong.organize.memory_agent import MemoryAgentRunner
from lifelong.recall.context import ContextBuilder
from lifelong.recall.search import Searcher
from lifelong.storage.base import Database
from lifelong.types import Clock

NOT_INSTALLED = "telemetry.enabled is true, but OpenTelemetry is not installed. Run: pip install 'lifelong[otel]'"

try:
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
except ImportError as missing:
    raise ConfigError(NOT_INSTALLED) from missing

if TYPE_CHECKING:
    from lifelong.settings import TelemetrySettings

log = logging.getLogger("lifelong")

NAME = "lifelong"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The limits between the buckets of durations."""


class Telemetry:
    """The instruments of this process."""

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self.tracer = tracer
        self.homes: WeakSet[WatchedHome] = WeakSet()
        self.durations = meter.create_histogram(
            "lifelong.operation.duration",
            unit="s",
            description="How long an operation took.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.failures = meter.create_counter("lifelong.failures", description="Operations that ended in an error.")
        self.records = meter.create_counter("lifelong.records", description="Records that were stored.")
        self.tokens = meter.create_counter("lifelong.model.tokens", description="Tokens that models used.")
        self.cost = meter.create_counter("lifelong.model.cost", unit="USD", description="What models cost.")
        for name, unit, words in GAUGES:
            meter.create_observable_gauge(name, [self._observe(name)], unit, words)

    @contextmanager
    def operation(self, name: str) -> Iterator[Span]:
        """Trace and time what is done inside it. Of an error only the class is kept: its message may quote."""
        attributes = {"lifelong.operation": name}
        started = time.perf_counter()
        with self.tracer.start_as_current_span(
            f"lifelong.{name}", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except BaseException as error:
                self._fail(span, name, type(error).__name__)
                raise
            finally:
                self.durations.record(time.perf_counter() - started, attributes)

    def model_call(self, call: ModelCall, tokens: Tokens, cost: Cost, *, failed: bool) -> None:
        """Trace a call of a model that has ended, and count what it used."""
        span = self.tracer.start_span("lifelong.model", start_time=call.started_ns, kind=SpanKind.CLIENT)
        span.set_attributes(
            {
                "gen_ai.request.model": call.model,
                "gen_ai.usage.input_tokens": tokens.input,
                "gen_ai.usage.output_tokens": tokens.output,
                "lifelong.purpose": call.purpose,
                "lifelong.cost_usd": cost.usd,
            }
        )
        if failed:
            self._fail(span, "model", "ModelError")
        span.end()
        self.durations.record((time.time_ns() - call.started_ns) / 1e9, {"lifelong.operation": "model"})
        model = {"gen_ai.request.model": call.model}
        self.tokens.add(tokens.input, {**model, "gen_ai.token.type": "input"})
        self.tokens.add(tokens.output, {**model, "gen_ai.token.type": "output"})
        self.cost.add(cost.usd, model)

    def _fail(self, span: Span, operation: str, kind: str) -> None:
        span.set_status(Status(StatusCode.ERROR, kind))
        span.set_attribute("error.type", kind)
        self.failures.add(1, {"lifelong.operation": operation, "error.type": kind})

    def _observe(self, gauge: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(options: CallbackOptions) -> Iterator[Observation]:
            for home in list(self.homes):
                try:
                    yield Observation(home.figures()[gauge])
                except LifelongError as error:  # closed, or out of reach for now
                    log.debug("the figures of a home could not be read: %s", error)

        return observe


GAUGES = (
    ("lifelong.queue.depth", "", "Transcripts that wait to be organized."),
    ("lifelong.queue.age", "s", "How long the oldest of them has waited."),
    ("lifelong.queue.dead", "", "Transcripts that failed for good."),
    ("lifelong.cost.today", "USD", "What models cost since midnight UTC."),
)


class WatchedHome:
    """What the gauges show of a home that is open."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def figures(self) -> dict[str, float]:
        """Return the value of each gauge now."""
        now = self._clock()
        (depth, oldest), dead, spent = self._database.read(
            lambda tx: (Inbox(tx).open(), Inbox(tx).dead(), Ledger(tx).spent_since(day_of(now)))
        )
        age = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
        return dict(zip((name for name, _, _ in GAUGES), (depth, age, dead, spent), strict=True))


class ModelCall(NamedTuple):
    """A call that was begun."""

    model: str
    purpose: str
    started_ns: int


_lock = threading.Lock()
_telemetry: Telemetry | None = None


def instrument(settings: TelemetrySettings, database: Database, clock: Clock) -> WatchedHome:
    """Trace this process from now on, and show the figures of a home for as long as what is returned is kept."""
    global _telemetry
    with _lock:
        if _telemetry is None:
            _telemetry = Telemetry(*_providers(settings))
            _wrap(_telemetry)
        home = WatchedHome(database, clock)
        _telemetry.homes.add(home)
    return home


def _providers(settings: TelemetrySettings) -> tuple[Tracer, Meter]:
    """Return what the program has set up for itself, or exporters of our own, which stay ours."""
    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    if not isinstance(tracers, trace.ProxyTracerProvider):
        return tracers.get_tracer(NAME), meters.get_meter(NAME)
    try:  # other packages bring the interface alone
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise ConfigError(NOT_INSTALLED) from missing

    base = settings.endpoint.rstrip("/")  # empty: from OTEL_EXPORTER_OTLP_ENDPOINT, or localhost
    resource = Resource.create({"service.name": NAME}).merge(OTELResourceDetector().detect())
    own_tracers = TracerProvider(resource=resource)
    spans = OTLPSpanExporter(f"{base}/v1/traces" if base else None, timeout=settings.timeout_seconds)
    own_tracers.add_span_processor(BatchSpanProcessor(spans))
    figures = OTLPMetricExporter(f"{base}/v1/metrics" if base else None, timeout=settings.timeout_seconds)
    reader = PeriodicExportingMetricReader(figures, export_interval_millis=settings.interval_seconds * 1_000)
    return own_tracers.get_tracer(NAME), MeterProvider([reader], resource).get_meter(NAME)


def _traced() -> Iterator[tuple[type, str, str, Callable[[Telemetry, Span, Any], None]]]:
    """Give the class, the method, the operation that it is, and what is noted of its result."""

    def added(telemetry: Telemetry, span: Span, result: Any) -> None:
        count = result.added if isinstance(result, PastStored) else 1 if isinstance(result, int) else len(result)
        span.set_attribute("lifelong.records", count)
        telemetry.records.add(count)

    def found(telemetry: Telemetry, span: Span, result: Any) -> None:
        span.set_attribute("lifelong.hits", len(result))

    def given(telemetry: Telemetry, span: Span, result: Any) -> None:
        span.set_attribute("lifelong.chars", len(result))

    def nothing(telemetry: Telemetry, span: Span, result: Any) -> None:
        pass

    for method in ("append", "append_many", "append_under", "append_past"):
        yield Recorder, method, "add", added
    yield Searcher, "search", "search", found
    yield ContextBuilder, "context", "context", given
    yield MemoryAgentRunner, "_organize", "organize", nothing  # one run; what fails there is raised there


def _wrap(telemetry: Telemetry) -> None:
    for kind, method, operation, note in _traced():
        setattr(kind, method, _timed(telemetry, getattr(kind, method), operation, note))
    _wrap_ledger(telemetry)


def _timed(
    telemetry: Telemetry,
    method: Callable[..., Any],
    operation: str,
    note: Callable[[Telemetry, Span, Any], None],
) -> Callable[..., Any]:
    @wraps(method)
    def timed(*args: Any, **given: Any) -> Any:
        with telemetry.operation(operation) as span:
            result = method(*args, **given)
            note(telemetry, span, result)
        return result

    return timed


def _wrap_ledger(telemetry: Telemetry) -> None:
    """Every call of a model is entered in the ledger when it begins and when it ends."""
    start, finish, fail = Run.start, Run.finish, Run.fail
    calls: dict[tuple[int, int], ModelCall] = {}

    @wraps(start)
    def started(run: Run, model: str, most: float) -> int:
        began = time.time_ns()
        call_id = start(run, model, most)
        calls[id(run), call_id] = ModelCall(model, run.purpose, began)
        return call_id

    def note(run: Run, call_id: int, tokens: Tokens, cost: Cost, *, failed: bool) -> None:
        if call := calls.pop((id(run), call_id), None):  # none: it began before anything was traced
            telemetry.model_call(call, tokens, cost, failed=failed)

    @wraps(finish)
    def finished(run: Run, call_id: int, tokens: Tokens, cost: Cost) -> None:
        note(run, call_id, tokens, cost, failed=False)
        finish(run, call_id, tokens, cost)

    @wraps(fail)
    def failed(run: Run, call_id: int, error: str, tokens: Tokens = NO_TOKENS, cost: Cost = FREE) -> None:
        note(run, call_id, tokens, cost, failed=True)
        fail(run, call_id, error, tokens, cost)

    for name, method in (("start", started), ("finish", finished), ("fail", failed)):
        setattr(Run, name, method)


# HTTP

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class RequestTracing:
    """ASGI middleware: a span for each request, below that of the caller if it sent one. It is named by the route
    and not by the address, which holds ids. `prefix` is where the routes begin that do not name it themselves."""

    def __init__(self, app: App, prefix: str = "") -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _telemetry is None:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with _telemetry.tracer.start_as_current_span(
            scope["method"],
            context=propagate.extract(headers),
            kind=SpanKind.SERVER,
            record_exception=False,
            attributes={"http.request.method": scope["method"]},
        ) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            try:
                await self._app(scope, receive, noting)
            finally:
                if route := getattr(scope.get("route"), "path", ""):
                    below = scope["path"].startswith(f"{self._prefix}/") and not route.startswith(self._prefix)
                    route = f"{self._prefix}{route}" if below else route
                    span.update_name(f"{scope['method']} {route}")
                    span.set_attribute("http.route", route)
