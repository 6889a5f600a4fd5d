"""The audit: what should not be in a memory is found, and what only looks like it is not (R11, S4, S7, O11)."""

from __future__ import annotations

import json
import shlex
from datetime import date
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lifelong import Memory, Store
from lifelong.collect.tombstones import Tombstones
from lifelong.forget.audit import Audit, Finding, FindingKind
from lifelong.organize.consolidation import LONG_CHARS
from lifelong.organize.facts import MAX_PAGE_CHARS
from lifelong.serve.http.app import create_app
from lifelong.storage.base import Transaction
from lifelong.testing import FakeClock
from lifelong.text.changes import contradicts
from lifelong.text.dates import planned_day
from tests.command_line import Line
from tests.conftest import OpenMemory, on_sqlite

PASSWORD = "hunter2-Xy9"
SAID = date(2026, 2, 1)


@pytest.fixture
def mara(open_memory: OpenMemory) -> Memory:
    """A memory with twenty records, r1 to r20, that facts may cite. It is 24 February 2026."""
    memory = open_memory("mara", continuity={"journal_enabled": True})
    memory.add([{"role": "user", "content": f"Something that Mara said, number {n}."} for n in range(20)])
    return memory


def write(memory: Memory, slug: str, *facts: str, title: str = "") -> None:
    """Write a page below ~/memory, a paragraph for each fact."""
    memory.documents.write(
        slug=slug, title=title or slug, description="", body="\n\n".join(facts), parent_path="~/memory"
    )


def found(memory: Memory, kind: FindingKind) -> list[Finding]:
    return [one for one in memory.admin.audit().findings if one.kind == kind]


def id_of(memory: Memory, word: str) -> str:
    return next(hit.id for hit in memory.list("fact") if word in hit.text)


def test_a_memory_without_faults_is_clean(mara: Memory) -> None:
    """R11: what was said, organized and journaled in the usual way gives no finding."""
    mara.add("I'm vegetarian, and my sister Elin lives in Coimbra. We always book the train, never the bus.")
    mara.end_session()
    mara.organize()
    audit = mara.admin.audit()
    assert audit.clean
    assert audit == Audit("mara", {}, (), audit.documents, audit.facts, audit.lines)
    assert audit.documents > 1
    assert audit.facts
    assert audit.lines


def test_an_empty_memory_is_clean(memory: Memory) -> None:
    """R11: nothing is made by looking."""
    assert memory.admin.audit() == Audit("default", {}, (), 0, 0, 0)
    assert memory.admin.stats().documents == 0


# Duplicates


def test_what_stands_twice_is_found_and_consolidated(mara: Memory) -> None:
    """S7: the fix that is offered for what stands twice is the consolidation, and it works."""
    write(mara, "a", "I like slow trains. [Mara, 2026-02-01, r1]", "I like tea. [Mara, 2026-02-01, r1]")
    write(mara, "b", "I like slow trains! [Mara, 2026-02-02, r2]")
    (one,) = found(mara, "duplicate")
    assert one.path == "~/memory/b"
    assert id_of(mara, "slow trains.") in one.problem
    assert one.fix == "documents consolidate"
    mara.documents.consolidate()
    assert not found(mara, "duplicate")


def test_what_says_the_same_in_other_words_is_found(mara: Memory) -> None:
    """R11: a paraphrase of the same speaker is a duplicate, and the older one is offered to end."""
    write(mara, "a", "Elin is scared of big dogs in the park. [Mara, 2026-02-01, r1]")
    write(mara, "b", "In the park, Elin is afraid of big dogs. [Mara, 2026-02-02, r2]")
    (one,) = found(mara, "duplicate")
    assert one.id == id_of(mara, "scared")
    assert one.fix == f"feedback {one.id} outdated"
    mara.feedback(one.id, "outdated")
    assert not found(mara, "duplicate")


@on_sqlite
@pytest.mark.parametrize(
    "other",
    [
        "I like slow trains. [Tom, 2026-02-02, r2]",
        "I don't like slow trains. [Mara, 2026-02-02, r2]",
        "I like slow buses. [Mara, 2026-02-02, r2]",
        "I like slow trains. [Mara, 2026-01-02, r2, until 2026-02-01 by r1]",
    ],
    ids=["another speaker", "denied", "another thing", "ended"],
)
def test_what_is_not_the_same_is_no_duplicate(mara: Memory, other: str) -> None:
    """R11: another speaker, a negation, another thing, or what has ended is not a duplicate."""
    write(mara, "a", "I like slow trains. [Mara, 2026-02-01, r1]", other)
    assert not found(mara, "duplicate")


# Contradictions


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Porto. [Mara, 2026-01-03, r1]", "I live in Lisbon. [Mara, 2026-02-03, r2]"),
        ("lives in Porto. [r1]", "lives in Lisbon. [r2]"),
        (
            "The rent budget for the flat is 1,200 euros. [Mara, 2026-01-03, r1]",
            "The rent budget for the flat is 1,400 euros. [Mara, 2026-02-03, r2]",
        ),
        (
            "The standup of the team is at 9:30. [Mara, 2026-01-03, r1]",
            "The standup of the team is at 9:45. [Mara, 2026-02-03, r2]",
        ),
        (
            "The release of Harbor is on 20 March. [Mara, 2026-01-03, r1]",
            "The release of Harbor is now on 27 March. [Mara, 2026-02-03, r2]",
        ),
    ],
    ids=["home", "prose", "number", "time", "date"],
)
def test_what_hardly_holds_together_is_found(mara: Memory, older: str, newer: str) -> None:
    """O11: two current facts of one speaker that give different values are shown, and the older one is offered
    to end."""
    mara.documents.write(slug="people", title="People", description="", body="", parent_path="~/memory")
    mara.documents.write(
        slug="mara", title="Mara", description="", body=f"{older}\n\n{newer}", parent_path="~/memory/people"
    )
    (one,) = found(mara, "contradiction")
    was, says = (text.rpartition(" [")[0] for text in (older, newer))
    assert one.id == id_of(mara, was)
    assert says in one.problem
    assert one.fix == f"feedback {one.id} outdated"
    mara.feedback(one.id, "outdated")
    assert not found(mara, "contradiction")


@on_sqlite
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Porto. [Mara, 2026-01-03, r1]", "I live in Lisbon. [Tom, 2026-02-03, r2]"),
        (
            "The dentist is on 12 January at 9:30. [Mara, 2026-01-03, r1]",
            "The dentist is on 12 March at 9:30. [Mara, 2026-02-03, r2]",
        ),
        ("Bruno trains on Mondays. [Mara, 2026-01-03, r1]", "Bruno trains on Thursdays. [Mara, 2026-02-03, r2]"),
        ("I closed ticket 112 today. [Mara, 2026-01-03, r1]", "I closed ticket 113 today. [Mara, 2026-02-03, r2]"),
        (
            "Dinner with the team on 12 March at 19:30. [Mara, 2026-01-03, r1]",
            "Dinner with the team on 19 March at 20:00. [Mara, 2026-02-03, r2]",
        ),
        ("Room 12 has 20 seats. [Mara, 2026-01-03, r1]", "Room 14 has 30 seats. [Mara, 2026-02-03, r2]"),
        (
            "The load test on db-1 took 30 minutes. [Mara, 2026-01-03, r1]",
            "The load test on db-2 took 45 minutes. [Mara, 2026-02-03, r2]",
        ),
        (
            "The flat in Arroios costs 1,250 euros. [2026-01-03, r1, from web]",
            "The flat in Arroios costs 1,300 euros. [2026-02-03, r2, from web]",
        ),
        (
            "The first run took 30 minutes and was fine. [Mara, 2026-01-03, r1]",
            "The first run took 35 minutes and was fine. [Mara, 2026-02-03, r2]",
        ),
        (
            "I live in Porto. [Mara, 2026-01-03, r1, until 2026-02-03 by r2]",
            "I live in Lisbon. [Mara, 2026-02-03, r2]",
        ),
    ],
    ids=[
        "another speaker",
        "two appointments",
        "two days",
        "two tickets",
        "two dinners",
        "two rooms",
        "two machines",
        "data",
        "what happened",
        "ended",
    ],
)
def test_what_holds_together_is_no_contradiction(mara: Memory, older: str, newer: str) -> None:
    """O11: what may both be true is left alone."""
    write(mara, "notes", older, newer)
    assert not found(mara, "contradiction")


def test_prose_about_different_people_is_no_contradiction(mara: Memory) -> None:
    """O11: prose is compared on its own page only."""
    assert not contradicts("Tom lives in Lisbon.", "Mara lives in Porto.")
    assert contradicts("Mara lives in Lisbon.", "Mara lives in Porto.")
    assert not contradicts("Mara lives in Lisbon.", "Mara lives in a flat in Lisbon.")


# Sources


def test_a_fact_whose_records_are_gone_is_found(mara: Memory) -> None:
    """O9: a fact that cites what does not exist, or is another user's, rests on nothing."""
    (theirs,) = mara.store.user("tom").add("I like coffee.")
    write(
        mara,
        "a",
        "I like trains. [Mara, 2026-02-01, r9999]",
        f"I like boats. [Mara, 2026-02-01, r1, {theirs}]",
        "I like tea. [Mara, 2026-02-01, r1]",
        "My own words, without a source.",
    )
    trains, boats = found(mara, "no source")
    assert (trains.id, boats.id) == (id_of(mara, "trains"), id_of(mara, "boats"))
    assert "r9999, which does not exist, and on nothing else" in trains.problem
    assert f"{theirs}, which does not exist, and on other records, too" in boats.problem
    assert trains.fix == f'correct {trains.id} "WHAT IS TRUE"'
    mara.correct(trains.id, "I like night trains.")
    assert [one.id for one in found(mara, "no source")] == [boats.id]


def test_a_fact_whose_records_were_forgotten_is_offered_to_be_forgotten(mara: Memory) -> None:
    """S6: a fact that rests on a forgotten record is found, and forgetting it works."""
    write(mara, "a", "I like trains. [Mara, 2026-02-01, r900]")
    now = mara._clock()
    mara._parts.shared.database.write(lambda tx: Tombstones(tx, "mara").add("record", ["900"], "person", now))
    (one,) = found(mara, "no source")
    assert "r900, which was forgotten" in one.problem
    assert one.fix == f"forget {one.id}"
    mara.forget(one.id)
    assert not found(mara, "no source")


# Plans


@pytest.mark.parametrize(
    "plan",
    [
        "The dentist is on 12 February at 9:30. [Mara, 2026-02-01, r1]",
        "We fly to Porto tomorrow [2 February 2026]. [Mara, 2026-02-01, r1]",
        "Zahnarzt am 12. Februar um halb zehn. [Mara, 2026-02-01, r1]",
        "La cita con el dentista es el 12 de febrero. [Mara, 2026-02-01, r1]",
        "Le rendez-vous chez le dentiste est le 12 février. [Mara, 2026-02-01, r1]",
        "I'm in Porto from 3 February to 10 February. [Mara, 2026-02-01, r1]",
    ],
)
def test_a_plan_whose_day_is_past_is_found(mara: Memory, plan: str, clock: FakeClock) -> None:
    """O10: a current fact about a day that was to come, and has passed, is shown."""
    write(mara, "a", plan)
    (one,) = found(mara, "stale plan")
    assert one.id == id_of(mara, plan.split()[-6])
    assert one.fix == f'correct {one.id} "HOW IT TURNED OUT"'
    mara.correct(one.id, "That was fine.")
    assert not found(mara, "stale plan")


@on_sqlite
@pytest.mark.parametrize(
    "fact",
    [
        "The dentist is on 12 March at 9:30. [Mara, 2026-02-01, r1]",
        "The dentist is on 24 February at 9:30. [Mara, 2026-02-01, r1]",
        "We met Owen on 12 January. [Mara, 2026-02-01, r1]",
        "We moved the office on 12 February 2025. [Mara, 2026-02-01, r1]",
        "Elin's birthday is on 12 February. [Mara, 2026-02-01, r1]",
        "From 12 February the shop opens at nine. [Mara, 2026-02-01, r1]",
        "Priya Anand, plays chess. 12 February. [Mara, 2026-02-01, r1]",
        "I got the job at Corva, I start on 12 February. [Mara, 2026-02-01, r1]",
        "The dentist is on 12 February. [Mara, 2026-02-01, r1, until 2026-02-03 by r2]",
    ],
    ids=["to come", "today", "before", "year", "birthday", "from then on", "bare", "job", "ended"],
)
def test_what_is_no_plan_or_not_past_is_not_stale(mara: Memory, fact: str) -> None:
    """O10: what is still to come, comes again, goes on, or had happened is left alone."""
    write(mara, "a", fact)
    assert not found(mara, "stale plan")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("dentist on May 21st", date(2026, 5, 21)),
        ("release on 2026-05-09", date(2026, 5, 9)),
        ("Prüfung am 4.6.", date(2026, 6, 4)),
        ("next week [the week of 9 February 2026]", date(2026, 2, 15)),
        ("from next week [the week of 9 February 2026] on", None),
        ("ab dem 3. Juni", None),
        ("on 31 February", None),
        ("version 3.9.4 is out", None),
        ("we met on 3 December", None),
    ],
)
def test_the_day_of_a_plan(text: str, day: date | None) -> None:
    """O10: which day a sentence of 1 February 2026 plans something for."""
    assert planned_day(text, SAID) == day


# Secrets


def test_a_secret_in_a_file_is_found_and_not_shown(mara: Memory) -> None:
    """S4: a secret that somebody wrote by hand to the journal or a note is found; it is not repeated."""
    mara.journal.remember("The train was late.")
    folder = mara.home.user_folder("mara")
    with (folder / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write(f"\nThe password of the router is {PASSWORD}\n")
    notes = folder / "workers" / "monitor" / "memory"
    notes.mkdir(parents=True)
    (notes / "keys.md").write_text(f"password = {PASSWORD}\n", encoding="utf-8")
    audit = mara.admin.audit()
    assert [(one.kind, one.path) for one in audit.findings] == [
        ("secret", "MEMORY.md"),
        ("secret", "workers/monitor/memory/keys.md"),
    ]
    assert PASSWORD not in repr(audit)
    assert all("password" in one.problem for one in audit.findings)
    for one in audit.findings:
        mara.forget(one.fix.removeprefix("forget "))
    assert mara.admin.audit().clean
    assert PASSWORD not in (folder / "MEMORY.md").read_text(encoding="utf-8")


def test_a_secret_in_a_document_is_found_and_not_shown(mara: Memory) -> None:
    """S4: a secret in a row that did not come through the redaction, as of an older version, is found in facts and
    titles."""
    write(mara, "a", "The door is PLACEHOLDER and it sticks. [Mara, 2026-02-01, r1]", title="Door PLACEHOLDER")

    def spoil(tx: Transaction) -> None:
        for column in ("body", "title"):
            tx.run(
                f"UPDATE documents SET {column} = replace({column}, 'PLACEHOLDER', ?) WHERE owner = 'mara'",
                f"password: {PASSWORD}",
            )

    mara._parts.shared.database.write(spoil)
    mara.admin.rebuild()
    mara.organize()
    audit = mara.admin.audit()
    assert ("secret", "~/memory/a", "forget ~/memory/a") in [(one.kind, one.id, one.fix) for one in audit.findings]
    assert PASSWORD not in repr(audit)


def test_what_speaks_of_a_secret_or_hides_it_is_none(mara: Memory) -> None:
    """S4: a redacted secret, talk about passwords, and what a person marked as secret are left alone."""
    write(mara, "a", "The password is [secret: password]. [Mara, 2026-02-01, r1]", "I forgot my password again.")
    mara.journal.remember(f"The password of the router is {PASSWORD}", sensitivity="secret")
    assert not found(mara, "secret")


# Pages


def test_a_long_page_is_found_and_split(mara: Memory) -> None:
    """S7: a page that a consolidation splits is found; one that is merely full is not."""
    facts = [
        f"I keep number {n:04} of my list, {'and so on ' * 12}here. [Mara, 2026-01-{n % 28 + 1:02}, r{n % 20 + 1}]"
        for n in range(60)
    ]
    full = 0
    while sum(len(one) + 2 for one in facts[:full]) <= MAX_PAGE_CHARS:
        full += 1
    write(mara, "full", *facts[:full])
    assert not found(mara, "long page")
    write(mara, "long", *facts[full:])
    (one,) = found(mara, "long page")
    assert (one.id, one.fix) == ("~/memory/long", "documents consolidate")
    mara.documents.consolidate()
    assert not found(mara, "long page")


def test_a_page_that_a_persons_own_text_makes_long_is_left_to_them(mara: Memory) -> None:
    """S7: a consolidation does not split a person's own text, so it is not offered."""
    write(mara, "long", "My own words. " * (LONG_CHARS // 10))
    (one,) = found(mara, "long page")
    assert "by hand" in one.problem
    assert one.fix == "documents read memory/long --body"


# All together


def test_an_audit_changes_nothing_and_keeps_to_its_user(mara: Memory) -> None:
    """C0: nothing of one user is in another's audit, and looking changes no row."""
    write(mara, "a", "I like slow trains. [Mara, 2026-02-01, r1]", "I like slow trains. [Mara, 2026-02-02, r2]")
    before = [(one.path, one.version, one.body) for one in mara.documents.walk()]
    assert mara.admin.audit().counts == {"duplicate": 1}
    assert [(one.path, one.version, one.body) for one in mara.documents.walk()] == before
    assert mara.store.user("tom").admin.audit().clean


def test_what_there_was_no_time_for_is_said(mara: Memory) -> None:
    """R11: an audit is bounded in time, and says what it left out instead of calling it clean."""
    write(mara, "a", "I like trains. [Mara, 2026-02-01, r9999]")
    audit = mara.admin.audit(max_seconds=0)
    assert audit.clean
    assert "There was no time to look for every contradiction: allow more seconds." in audit.left_out
    told: list[str] = []
    mara.admin.audit(progress=lambda part, done, total: told.append(part))
    assert {"reading documents", "looking for each duplicate"} <= set(told)


def test_the_doctor_shows_findings_with_commands_that_work(tmp_path: Path, line: Line) -> None:
    """R11: `lifelong doctor --memory` counts first, then shows each finding with a command; exit 1, then 0."""
    home = tmp_path / "home"
    with Store.open(home) as store:
        mara = store.user("mara")
        mara.add("One thing that was said.")
        twice = ("I like slow trains. [Mara, 2026-02-01, r1]", "I like slow trains! [Mara, 2026-02-02, r1]")
        write(mara, "a", *twice)
        store.organize()
    answer = line("doctor", "--memory", "--home", home)
    assert answer.code == 1
    assert "1 finding in 2 facts" in answer.out
    assert answer.out.index("duplicate  1") < answer.out.index("is said again in")
    assert "The memory of default is tidy" in answer.out
    fix = next(one.strip() for one in answer.out.splitlines() if one.startswith("    lifelong "))
    assert fix == f"lifelong documents consolidate --home {shlex.quote(str(home))} --user mara"
    (default, mara_audit) = line("doctor", "--memory", "--json", "--home", home).json["memory"]
    assert (default["user"], default["counts"]) == ("default", {})
    assert mara_audit["counts"] == {"duplicate": 1}
    assert mara_audit["findings"][0]["fix"] == "documents consolidate"
    line.done(*shlex.split(fix)[1:])
    assert "The memory of mara is tidy" in line.done("doctor", "--memory", "--home", home).out
    assert "memory" not in json.loads(line.done("doctor", "--json", "--home", home).out)


def test_http_and_the_page_show_the_audit(tmp_path: Path) -> None:
    """R11: the audit is a route and a page, and stored text stays text."""
    with Store.open(tmp_path / "home") as store:
        memory = store.user()
        memory.add("One thing that was said.")
        write(memory, "a", "I like <b>slow</b> trains. [Mara, 2026-02-01, r9999]")
        client = TestClient(create_app(store), base_url="http://127.0.0.1")
        answer = client.get("/api/v1/admin/audit").json()
        assert answer["counts"] == {"no source": 1}
        assert answer["findings"][0]["id"] == "f1"
        page = client.get("/audit").text
        assert "I like &lt;b&gt;slow&lt;/b&gt; trains." in page
        assert "lifelong correct f1" in page
        assert 'href="/audit"' in client.get("/").text
