"""The pages are true: examples run, links work, promises are proven; and they are written in plain English."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bench.reference import NAMESPACES, python, walk

import lifelong
from lifelong import AsyncMemory, Memory, Store, namespaces
from lifelong.settings import Settings, reference

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "bench/DATA.md"])
FIRST_PAGES = ("README.md", "getting-started.md")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)

DIALECT = """
shelf shelves stamp stamps stamped era eras lead leads kernel kernels mend mends mended mending clothe clothed
brain brains claim claims profile profiles parcel parcels handover hand-over recollect tongues voices deeds wish
wishes gist unfiled anew behold whoever remarks tidings hitherto thereof whereof
""".split()
"""Words that a reader would have to look up; ARCHITECTURE.md's glossary has the plain ones."""
INVERSIONS = (
    *(r"\bfor to\b", r"\bof which that\b", r"\bis nobody's\b"),
    r"(?<![Tt]here )(?<![Tt]his )\b(is|are) no\b(?! longer)",
)


def page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, *languages: str) -> list[str]:
    return [block for name, block in FENCED.findall(path.read_text(encoding="utf-8")) if name in languages]


def prose(path: Path) -> str:
    """Return a page without its code, its code spans and the addresses of its links."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`]*`", "`…`", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


# Examples


@pytest.mark.parametrize(
    "path", [p for p in PAGES if p.name != "configuration.md" and p.parent.name != "adapters"], ids=page
)
def test_the_examples_of_a_page_run_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the first pages run each on its own, because readers copy one of them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with ExitStack() as opened:  # what a page leaves open would go on with a home that is gone
        for block in blocks(path, "python"):
            names = {"__name__": "__main__"} | ({} if path.name in FIRST_PAGES else names)
            try:
                exec(compile(block, page(path), "exec"), names)
            finally:
                for one in names.values():
                    if isinstance(one, Memory | Store):
                        opened.callback(one.close)


def test_examples_import_nothing_that_only_tests_have() -> None:
    assert [
        page(path) for path in PAGES if re.search("lifelong.testing|pytest", "".join(blocks(path, "python")))
    ] == []


def test_the_first_example_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    example, printed = blocks(readme, "python")[0], blocks(readme, "text")[0]
    ran = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, printed), ran.stderr
    assert len([line for line in example.splitlines() if line]) <= 12


# Links and commands


@pytest.mark.parametrize("path", PAGES, ids=page)
def test_the_links_of_a_page_work(path: Path) -> None:
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", path.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        target = path.parent / link if link else path
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{link}#{anchor}"


def headings(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_commands_in_the_pages_are_there() -> None:
    """docs/cli.md has all of them; what another page calls exists, in a block as in a sentence."""
    known = {name.removeprefix("lifelong ") for _, name, _ in walk()}
    groups = {name.partition(" ")[0] for name in known if " " in name}
    called = re.compile(r"(?:^\$ |^|`)(?:\w+=\S+ )*lifelong ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", re.MULTILINE)
    for path in PAGES:
        text = "\n".join(blocks(path, "console", "sh")) + "\n".join(
            re.findall(r"`[^`\n]+`", FENCED.sub("", path.read_text()))
        )
        for verb, second in called.findall(text):
            command = f"{verb} {second}" if verb in groups and second else verb
            assert command in known | groups, f"{page(path)}: lifelong {command}"


@pytest.mark.parametrize("path", PAGES, ids=page)
def test_the_files_that_a_page_names_are_there(path: Path) -> None:
    """`storage/base.py` is below src/lifelong, `tests/…` and `bench/…` below the root."""
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.py)[:`]", path.read_text(encoding="utf-8"))
    assert [one for one in named if not any((ROOT / where / one).exists() for where in ("", "src/lifelong"))] == []


def test_the_architecture_names_every_folder_and_module_of_the_package() -> None:
    layout = blocks(ROOT / "ARCHITECTURE.md", "")[1]
    package = ROOT / "src/lifelong"
    modules = {path.name for path in package.glob("*.py")} - {"__main__.py"}
    folders = {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {one for one in modules | folders if not re.search(rf"(?<![\w/]){re.escape(one)}", layout)} == set()


def test_the_settings_that_pages_name_are_there() -> None:
    sections = {name: set(keys) for name, keys in Settings().model_dump().items()}
    named = re.compile(rf"`({'|'.join(sections)})\.([a-z]\w+)`")
    for path in PAGES:
        for section, key in named.findall(path.read_text(encoding="utf-8")):
            assert key in sections[section], f"{page(path)}: {section}.{key}"


def test_the_extras_that_pages_install_are_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    for path in PAGES:
        for named in re.findall(r"pip install '?[\w.]*\[([\w,]+)\]", path.read_text(encoding="utf-8")):
            assert set(named.split(",")) <= set(extras), f"{page(path)}: {named}"


def test_the_readme_names_every_page() -> None:
    """Whatever is written can be found from the first page."""
    linked = set(re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {page(path) for path in PAGES} - linked == {"README.md"}


# Generated pages


def test_the_configuration_page_is_what_the_model_says() -> None:
    """K1: every key is documented. `make docs` writes the page."""
    assert (ROOT / "docs/configuration.md").read_text(encoding="utf-8") == reference()


def test_the_python_reference_is_what_the_docstrings_say() -> None:
    """`make docs` writes the page."""
    assert (ROOT / "docs/python-reference.md").read_text(encoding="utf-8") == python()


def test_every_public_name_is_in_the_python_reference() -> None:
    text = (ROOT / "docs/python-reference.md").read_text(encoding="utf-8")
    assert [
        name for name in lifelong.__all__ if not re.search(rf"^### {name}$|`{name}`", text, re.MULTILINE)
    ] == []


def test_every_public_call_is_in_the_python_reference(tmp_path: Path) -> None:
    """All of Memory and Store, and of whatever hangs on a memory."""
    sections = dict(re.findall(r"^### (\S+).*?\n(.*?)(?=^#{2,3} )", python(), re.DOTALL | re.MULTILINE))
    with Memory.open(tmp_path, continuity={"experience_store_enabled": True}) as memory:
        hanging = {
            name
            for name in dir(memory)
            if not name.startswith("_") and type(getattr(memory, name)).__module__.startswith("lifelong.")
        }
    assert hanging - {"store", "home", "settings"} == set(NAMESPACES)
    for title, kind in [("Store", Store), ("Memory", Memory)]:
        assert set(public(kind)) <= described(sections[title])
    for name, (kind, _) in NAMESPACES.items():
        if kind.__module__ == namespaces.__name__:
            assert set(public(kind)) <= described(sections[f"memory.{name}"])
    assert set(public(AsyncMemory)) >= set(public(Memory)) - {"close", "closed"}


def test_the_python_reference_shows_examples_as_code_and_lists_the_namespaces() -> None:
    text = python()
    for example in ("with Store.open(", "with Memory.open(", "async with await AsyncMemory.open("):
        assert f"```py\n{example}" in text
    memory = text.partition("### Memory\n")[2].partition("\n####")[0]
    assert [name for name in NAMESPACES if f"[`{name}`](#memory{name})" not in memory] == []


def test_every_call_in_the_python_reference_says_what_it_does() -> None:
    empty = re.findall(r"^#### `(\w+).*`\n\n\n", python(), re.MULTILINE)
    assert empty == []


def public(kind: type) -> Iterator[str]:
    for name, member in inspect.getmembers_static(kind):
        if not name.startswith("_") and not inspect.ismemberdescriptor(member):
            yield name


def described(section: str) -> set[str]:
    return set(re.findall(r"^#### `(\w+)", section, re.MULTILINE))


# Words


@pytest.mark.parametrize("path", PAGES, ids=page)
def test_a_page_is_in_plain_english(path: Path) -> None:
    text = prose(path)
    found = [word for word in DIALECT if re.search(rf"(?<![\w-]){word}(?![\w-])", text, re.IGNORECASE)]
    found += [match[0] for pattern in INVERSIONS if (match := re.search(pattern, text))]
    assert found == []


def test_every_promise_is_named_by_a_test() -> None:
    """An item of docs/spec.md without a test that names its tag is not done."""
    promised = set(
        re.findall(r"^- \*\*([A-Z]\d+)\*\*", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    assert promised
    assert {tag for tag in promised if not re.search(rf"\b{tag}\b", tests)} == set()
