"""OpenTelemetry (F5): what is traced and counted, that no text is in it, and that it is free where it is off.

It wraps classes for as long as a process lives, so each test has a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.conftest import until
from tests.model_servers import ModelServer, refuse, say

SAID = "I am allergic to walnuts."

IN_MEMORY = """
import json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

from lifelong import Memory, LifelongError

settings = json.loads(sys.argv[2])
with Memory.open(sys.argv[1], user="mara-the-user", telemetry={"enabled": True}, **settings) as memory:
    with Memory.open(sys.argv[1] + "-other", telemetry={"enabled": True}) as other:
        other.add("Another home in the same process.")
    memory.add("I am allergic to walnuts.")
    memory.add(["I live in Lisbon.", "My sister is Ana."])
    memory.search("walnuts")
    memory.context("walnuts")
    try:
        memory.search("walnuts" * 1_000_000)
    except LifelongError:
        pass
    memory.end_session()
    memory.organize()
    figures = json.loads(reader.get_metrics_data().to_json())
print(json.dumps({"spans": [json.loads(one.to_json()) for one in spans.get_finished_spans()], "metrics": figures}))
"""


def run(script: str, *words: str | Path, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def points(metrics: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The points of each metric, by its name."""
    found = [
        metric
        for resource in metrics["resource_metrics"]
        for scope in resource["scope_metrics"]
        for metric in scope["metrics"]
    ]
    return {metric["name"]: metric["data"]["data_points"] for metric in found}


def test_everything_is_traced_and_counted_and_no_text_is_in_it(tmp_path: Path) -> None:
    got = run(IN_MEMORY, tmp_path / "home", '{"organize": {"organizer": "rules"}}')
    for private in ("walnut", "Lisbon", "Ana", "mara", "allergic", str(tmp_path)):
        assert private not in got
    spans, figures = json.loads(got)["spans"], points(json.loads(got)["metrics"])
    names = [span["name"] for span in spans]
    assert names.count("lifelong.add") == 3, "one for each, whatever is called within"
    assert {"lifelong.search", "lifelong.context", "lifelong.organize"} <= {*names}
    (context,) = (span for span in spans if span["name"] == "lifelong.context")
    within = [span for span in spans if span["parent_id"] == context["context"]["span_id"]]
    assert [span["name"] for span in within] == ["lifelong.search"]
    (failed,) = (span for span in spans if span["status"]["status_code"] == "ERROR")
    assert (failed["name"], failed["attributes"]["error.type"]) == ("lifelong.search", "InputError")
    assert failed["events"] == []
    assert [point["value"] for point in figures["lifelong.records"]] == [4]
    assert [point["value"] for point in figures["lifelong.failures"]] == [1]
    timed = {point["attributes"]["lifelong.operation"]: point for point in figures["lifelong.operation.duration"]}
    assert timed["search"]["count"] == names.count("lifelong.search")
    assert sum(timed["search"]["bucket_counts"]) == timed["search"]["count"]
    assert {*timed} == {"add", "search", "context", "organize"}
    assert [point["value"] for point in figures["lifelong.queue.depth"]] == [0], "of the home that is open"
    assert {"lifelong.queue.age", "lifelong.queue.dead", "lifelong.cost.today"} <= {*figures}


@pytest.mark.parametrize("answers", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_a_call_of_a_model_is_traced_with_what_it_cost(tmp_path: Path, answers: bool) -> None:
    with ModelServer(lambda asked: say("NOTHING TO KEEP") if answers else refuse(400)) as server:
        settings = {
            "organize": {"organizer": "llm"},
            "models": {
                "model": "openai:gpt-5",
                "base_url": server.base_url("openai"),
                "api_key": "sk-x",
                "input_usd_per_million": 1_000.0,
                "output_usd_per_million": 1_000.0,
                "run_budget_usd": 1_000,
                "daily_cap_usd": 1_000,
            },
        }
        got = json.loads(run(IN_MEMORY, tmp_path / "home", json.dumps(settings)))
    calls = [span for span in got["spans"] if span["name"] == "lifelong.model"]
    runs = {span["context"]["span_id"]: span for span in got["spans"] if span["name"] == "lifelong.organize"}
    assert calls
    assert all(call["parent_id"] in runs for call in calls)
    figures = points(got["metrics"])
    spent = sum(point["value"] for point in figures["lifelong.model.cost"])
    assert spent == pytest.approx(sum(call["attributes"]["lifelong.cost_usd"] for call in calls))
    assert spent == pytest.approx(figures["lifelong.cost.today"][0]["value"])
    assert (spent > 0) is answers
    assert {call["status"]["status_code"] for call in calls} == {"UNSET" if answers else "ERROR"}


OFF = """
import sys
from lifelong import Memory
with Memory.open(sys.argv[1]) as memory:
    memory.add("I live in Lisbon.")
    memory.organize()
    memory.context("Lisbon")
    assert memory.search("Lisbon")
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry", "lifelong.telemetry"))))
"""


def test_nothing_is_imported_where_it_is_off(tmp_path: Path) -> None:
    assert run(OFF, tmp_path).strip() == "[]"


MISSING = """
import sys
sys.modules[sys.argv[2]] = None
from lifelong import Memory
from lifelong.errors import ConfigError
try:
    Memory.open(sys.argv[1], telemetry={"enabled": True})
except ConfigError as error:
    print(error)
"""


@pytest.mark.parametrize("missing", ["opentelemetry", "opentelemetry.exporter.otlp.proto.http.trace_exporter"])
def test_a_package_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    """Other packages bring parts of OpenTelemetry, and not the rest."""
    assert "pip install 'lifelong[otel]'" in run(MISSING, tmp_path, missing)


# A collector


class Collector:
    """An OTLP receiver on loopback."""

    def __init__(self) -> None:
        self.spans: dict[str, list[Any]] = {}
        self.metrics: set[str] = set()
        self.services: set[str] = set()

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
                self._note(sent)
                for span in (span for scope in sent.scope_spans for span in scope.spans):
                    self.spans.setdefault(span.name, []).append(span)
        else:
            for figures in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self._note(figures)
                self.metrics |= {metric.name for scope in figures.scope_metrics for metric in scope.metrics}

    def _note(self, sent: Any) -> None:
        self.services |= {one.value.string_value for one in sent.resource.attributes if one.key == "service.name"}


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["content-length"]))
            collector.take(self.path, gzip.decompress(body) if self.headers["content-encoding"] else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_and_its_worker_send_to_a_collector(tmp_path: Path) -> None:
    """A request below its caller's span, the add below the request; the run of the worker; the figures."""
    caller = "0af7651916cd43dd8448eb211c80319c"
    with collecting() as (collector, address):
        environment = {
            "LIFELONG_STORAGE_SYNCHRONOUS": "normal",
            "LIFELONG_TELEMETRY_ENABLED": "true",
            "LIFELONG_TELEMETRY_ENDPOINT": address,
            "LIFELONG_TELEMETRY_INTERVAL_SECONDS": "0.5",
            "LIFELONG_WORKER_TICK_SECONDS": "0.1",
            "LIFELONG_COLLECT_IDLE_AFTER": "0.2",
            "LIFELONG_ORGANIZE_ORGANIZER": "rules",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        (tmp_path / "lifelong.toml").touch()
        server = subprocess.Popen(
            [sys.executable, "-m", "lifelong", "serve", "--home", str(tmp_path), "--port", "0"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout
            port = int(server.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {"content-type": "application/json", "traceparent": f"00-{caller}-b7ad6b7169203331-01"}
            connection.request("POST", "/api/v1/add", json.dumps({"text": SAID}), headers)
            answer = connection.getresponse()
            assert answer.status < 300, answer.read()
            answer.read()
            connection.request("GET", "/api/v1/nothing/walnuts")
            assert connection.getresponse().status == 404
            connection.close()
            until(lambda: "lifelong.organize" in collector.spans and "lifelong.queue.depth" in collector.metrics)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
    assert server.returncode == 0
    (request,) = collector.spans["POST /api/v1/add"]
    (added,) = collector.spans["lifelong.add"]
    assert request.trace_id.hex() == added.trace_id.hex() == caller
    assert added.parent_span_id == request.span_id
    assert "GET" in collector.spans, "an address without a route is not shown"
    assert "lifelong.operation.duration" in collector.metrics
    assert collector.services == {"lifelong"}
    assert "walnut" not in f"{collector.spans}"


@pytest.mark.soak
def test_a_collector_that_is_not_there_holds_up_nobody(tmp_path: Path) -> None:
    (tmp_path / "lifelong.toml").touch()
    ran = subprocess.run(
        [sys.executable, "-m", "lifelong", "add", SAID, "--home", str(tmp_path), "--json"],
        env={
            **os.environ,
            "LIFELONG_TELEMETRY_ENABLED": "true",
            "LIFELONG_TELEMETRY_ENDPOINT": "http://127.0.0.1:9",
            "LIFELONG_TELEMETRY_TIMEOUT_SECONDS": "0.2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["ids"] == ["r1"]
