"""`lifelong forget`: what would go is shown, a person is asked, it goes, and that it is gone is proven."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifelong import Memory, User
from lifelong.serve.init import settings
from tests.command_line import Line
from tests.test_forget import files_with


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made") / "home"
    home.mkdir()
    (home / "lifelong.toml").write_text(settings(), encoding="utf-8")
    with Memory.open(home) as memory:
        mara = memory.agent(User("cli", "mara", "main"))
        memory.add("My sister Zelda works at Quuxcorp as a nurse.", agent=mara, speaker="Mara")
        memory.add("I live in Porto, near the river.", agent=mara, speaker="Mara")
        memory.end_session(mara)
        memory.organize()
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    shutil.copytree(made, home)
    monkeypatch.setenv("LIFELONG_HOME", str(home))
    return home


def test_a_dry_run_shows_what_would_go_and_changes_nothing(home: Path, line: Line) -> None:
    """S6: the records with their texts, the facts, the documents, the backups that will still hold it."""
    backup = home.parent / "before.db"
    line.done("backup", backup)
    shown = line.done("forget", "--about", "Zelda", "--dry-run").out
    assert "record r1                      My sister Zelda works at Quuxcorp as a nurse." in shown
    assert "fact                           My sister Zelda works at Quuxcorp as a nurse." in shown
    assert "document ~/memory/people/mara  is written again without it" in shown
    assert "In all: 1 record and 1 fact, with" in shown
    assert f"Backups that will still hold it, unless they were deleted: {backup}" in shown
    as_json = line.done("forget", "r1", "--dry-run", "--json").json
    assert as_json["proof"] is None
    assert as_json["report"]["preview"]
    assert as_json["report"]["records"] == ["r1"]
    assert "Quuxcorp" in line.done("search", "Zelda").out
    assert line.done("forgotten").out == "Nothing was forgotten so far.\n"


def test_what_is_named_goes_and_the_proof_is_one_line(home: Path, line: Line) -> None:
    """S6: what went from where, what was made again, which backups hold it, and that nothing is left. A backup in
    the home is named, and is not what is left."""
    (home / "backups").mkdir()
    line.done("backup", home / "backups" / "before.db")
    told = line.done("forget", "r1", "--yes").out
    went, again, backups, advice, proof = told.splitlines()[-5:]
    assert went.startswith("✓ Forgotten: 1 record, 1 fact and ")
    assert "1 document" in again
    assert "~/memory/people/mara" in again
    assert "MEMORY.md" in again
    assert str(home / "backups" / "before.db") in backups
    assert "lifelong backup FILE" in advice
    assert proof.startswith("✓ Looked for ")
    assert proof.endswith(": nothing is left.")
    (home / "backups" / "before.db").unlink()
    assert not files_with(home, "Quuxcorp")
    assert "r1 " in line.done("forgotten").out
    gone = line("forget", "r1", "--yes")
    assert (gone.code, "r1 was forgotten on" in gone.err) == (1, True)


def test_json_has_the_report_and_the_proof_without_the_words(home: Path, line: Line) -> None:
    """S6: the words that only the forgotten held are not repeated to a program, which may log them."""
    told = line.done("forget", "--matching", "Zelda Quuxcorp", "--yes", "--json")
    assert "Zelda" not in told.out
    assert told.json["report"]["records"] == ["r1"]
    assert told.json["report"]["complete"]
    assert told.json["proof"]["found"] == []
    assert told.json["proof"]["words"] > 0
    (stone,) = [one for one in line.done("forgotten", "--json").json if one["kind"] == "record"]
    assert (stone["ref"], stone["author"]) == ("r1", "person")


def test_without_a_proof_nothing_is_looked_for(home: Path, line: Line) -> None:
    """S6: --no-proof saves the time."""
    assert "Looked for" not in line.done("forget", "r1", "--yes", "--no-proof").out


def test_a_session_an_agent_a_document_and_a_range_of_time_can_be_named(home: Path, line: Line) -> None:
    """S6: as in Python."""
    (session,) = line.done("sessions", "list", "--json").json
    for words in (
        ["--session", session["id"]],
        ["--agent", "cli/mara/main"],
        ["memory/people/mara"],
        ["--since", "2020-01-01"],
    ):
        report = line.done("forget", *words, "--dry-run", "--json").json["report"]
        assert "r1" in report["records"], words
    assert "nothing to forget" in line.done("forget", "--until", "2020-01-01", "--yes").out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "Say what to forget: an id like r12, a document, or one of the options."),
        (["r1"], 2, "Nobody can be asked here. Look with --dry-run, then repeat it with --yes."),
        (["r1", "--everything"], 2, "--everything takes nothing beside it but --user."),
        (["--everything"], 2, "Nobody can be asked here."),
        (["r99", "--yes"], 1, "Nothing remembered has the id 'r99'."),
        (["--matching", "?!", "--yes"], 2, "has no word that could be looked for."),
        (["--session", "x", "--yes"], 1, "See: lifelong sessions list"),
        (["--agent", "a/b/c", "--yes"], 1, "See: lifelong agents"),
        (["--since", "2026-02-01", "--until", "2026-01-01", "--yes"], 2, "The range of time is empty"),
        (["memory/nowhere", "--yes"], 1, "No document of this user lies at ~/memory/nowhere."),
    ],
)
def test_what_cannot_be_forgotten_is_said(
    home: Path, line: Line, words: list[str], code: int, sentence: str
) -> None:
    """S6: the fault, then the next step; nothing goes."""
    answer = line("forget", *words)
    assert answer.code == code
    assert sentence in answer.err
    assert "Quuxcorp" in line.done("search", "Zelda").out


def at_a_terminal(answer: str, *words: str) -> tuple[int, str]:
    """What `lifelong` does where a person types this answer."""
    theirs, ours = pty.openpty()
    command = [sys.executable, "-m", "lifelong", *words]
    with subprocess.Popen(command, stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        os.close(ours)
        os.write(theirs, f"{answer}\n".encode())
        out, _ = ran.communicate(timeout=60)
    os.close(theirs)
    return ran.returncode, out


def test_a_person_is_asked_first(home: Path, line: Line) -> None:
    """S6: only a yes forgets, and what would go is shown before the question."""
    code, shown = at_a_terminal("", "forget", "r1")
    assert (code, shown.splitlines()[-1]) == (
        1,
        "Forget this for good? It cannot be undone. [y/N] Nothing was forgotten.",
    )
    assert "Quuxcorp" in shown
    code, shown = at_a_terminal("y", "forget", "r1")
    assert code == 0
    assert "nothing is left." in shown
    assert "Quuxcorp" not in line.done("list").out


def test_a_whole_user_goes_when_the_name_is_typed(home: Path, line: Line) -> None:
    """S6: what there is of the user is shown; another name forgets nothing; other users keep what they have."""
    line.done("add", "Bo likes herring.", "--user", "bo")
    everything = ("forget", "--everything", "--user", "bo")
    assert "would go for good: 1 record" in line.done(*everything, "--dry-run").out
    code, shown = at_a_terminal("y", *everything)
    assert (code, shown.splitlines()[-1].endswith("Nothing was forgotten.")) == (1, True)
    code, shown = at_a_terminal("bo", *everything)
    assert code == 0
    assert "✓ Forgotten: 1 record" in shown
    assert "nothing is left." in shown
    assert not files_with(home, "herring")
    assert line("list", "--user", "bo").code == 1
    assert "Quuxcorp" in line.done("list").out


def test_what_was_forgotten_and_comes_again_is_said_not_to_be_stored(home: Path, line: Line) -> None:
    """S6: with the day, and how to have it back; a time of its own makes it a new record."""
    said = ("add", "My locker code word is Quibblix.", "--at", "2026-03-02T09:00+00:00")
    id_ = line.done(*said).out.strip()
    line.done("forget", id_, "--yes")
    told = line.done(*said).out
    assert told.startswith("✗ Not stored: this was forgotten on 20")
    assert f"as {id_}, and stays forgotten. To have it back, add it without --at" in told
    again = line.done(*said, "--json").json
    assert (again["ids"], again["forgotten"][0]["ref"]) == ([], id_[1:])
    assert line.done("list", "--subject", "Quibblix", "--json").json == []
    assert line.done(*said[:2]).out.strip() not in ("", id_)


def test_a_user_who_was_forgotten_is_listed_without_the_name(home: Path, line: Line) -> None:
    """S6: when it was and by whom."""
    line.done("add", "I play the cello.", "--user", "zelda")
    line.done("forget", "--everything", "--user", "zelda", "--yes")
    (stone,) = line.done("forgotten", "--json").json
    assert (stone["kind"], stone["ref"], stone["author"]) == ("user", "", "person")
    assert "zelda" not in line.done("forgotten").out
