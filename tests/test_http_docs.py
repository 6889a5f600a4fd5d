"""The pages about HTTP are true."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path

from bench.reference import http

from lifelong.serve.http.problems import STATUSES_ANYWHERE
from tests.conftest import absent
from tests.test_http_server import QUICK, Served

DOCS = Path(__file__).parent.parent / "docs"


def test_the_reference_is_what_the_api_is() -> None:
    """`make docs` writes the page."""
    assert (DOCS / "http-reference.md").read_text(encoding="utf-8") == http()


def test_every_link_within_the_reference_works() -> None:
    page = http()
    headings = [heading.lower() for heading in re.findall(r"^### (\w+)$", page, re.MULTILINE)]
    assert len(set(headings)) == len(headings)
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= set(headings)


def test_every_status_is_explained() -> None:
    table = re.findall(r"^\| ([\d, ]+) \|", (DOCS / "http.md").read_text(encoding="utf-8"), re.MULTILINE)
    explained = [int(status) for row in table for status in row.split(", ")]
    assert sorted(explained) == sorted(STATUSES_ANYWHERE)


def test_the_tour_runs(tmp_path: Path) -> None:
    """Every command of the page, in its order, with curl."""
    if not shutil.which("curl"):
        absent("curl is not installed")
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (DOCS / "http.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "lifelong.toml").write_text(QUICK)
    served = Served(tmp_path)
    try:
        script = "set -euxo pipefail\n" + "\n".join(blocks).replace(":8377", f":{served.port}")
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False)
        assert ran.returncode == 0, ran.stderr
    finally:
        served.end(signal.SIGKILL)
