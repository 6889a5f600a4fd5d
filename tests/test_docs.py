"""The pages are true: their examples run, their links lead somewhere, their tags are proven."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lifelong.settings import reference

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [p for p in PAGES if p.name != "configuration.md"], ids=page)
def test_the_examples_of_a_page_run_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        exec(compile(block, page(path), "exec"), names)


@pytest.mark.parametrize("path", PAGES, ids=page)
def test_the_links_of_a_page_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert link.startswith("http") or (path.parent / link).exists(), link


def test_the_configuration_page_is_what_the_model_says() -> None:
    """K1: every key is documented. `make docs` writes the page."""
    assert (ROOT / "docs/configuration.md").read_text(encoding="utf-8") == reference()


def test_every_promise_is_named_by_a_test() -> None:
    """An item of docs/spec.md without a test that names its tag is not done."""
    promised = set(
        re.findall(r"^- \*\*([A-Z]\d+)\*\*", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    assert promised
    assert {tag for tag in promised if not re.search(rf"\b{tag}\b", tests)} == set()


def test_the_commands_in_the_pages_are_there() -> None:
    """docs/cli.md has all of them; what another page calls exists."""
    from bench.reference import walk

    known = {word for _, name, _ in walk() for word in name.split()[1:2]}
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for command in re.findall(r"^\$ (?:\w+=\S+ )*lifelong ([a-z]\S*)", block, re.MULTILINE):
                assert command in known, f"{page(path)}: lifelong {command}"
