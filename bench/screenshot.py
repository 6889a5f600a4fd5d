"""Take the picture of the page for the docs: the demo's memory, served, in headless Chromium.

`python -m bench.screenshot` writes docs/images/page.png.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "page.png"
WINDOW: ViewportSize = {"width": 1280, "height": 800}


def take(picture: Path = PICTURE) -> None:
    """Fill a home, serve it, and write the overview as a PNG."""
    lifelong = (sys.executable, "-m", "lifelong")
    with tempfile.TemporaryDirectory(prefix="lifelong-") as home:
        subprocess.run([*lifelong, "demo", "--home", home, "--json"], check=True, stdout=subprocess.DEVNULL)
        serve = [*lifelong, "serve", "--home", home, "--port", "0", "--no-worker"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            try:
                address = re.search(r"http://\S+", server.stdout.readline())
                assert address, "the server prints its address"
                _photograph(address[0], picture)
            finally:
                server.terminate()


def _photograph(address: str, picture: Path) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport=WINDOW)
        page.goto(address)
        page.get_by_text("Live", exact=True).wait_for()
        page.screenshot(path=picture)
        chromium.close()


if __name__ == "__main__":
    take()
