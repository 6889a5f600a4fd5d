"""Every command with real input, with bad input, and as JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import pytest

from lifelong import AssistantMessage, Cron, Memory, Note, ToolResult, User, UserMessage
from lifelong.journal.records import Sensitivity
from lifelong.organize.inbox import Inbox
from lifelong.recall.experiences import Group
from lifelong.recall.feedback import Verdict
from lifelong.serve.caller_identity import caller
from lifelong.serve.cli import options
from lifelong.serve.init import make_home
from lifelong.serve.terminal import counted, not_indexed
from lifelong.types import ItemKind, ItemState
from tests.command_line import Line
from tests.model_servers import ModelServer, say

MARA = User("cli", "mara", "main")
SAID = ("I live in Lisbon.", "I'm allergic to nuts.", "My brother Marco Rossi works at Atlas.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as `lifelong init` makes it, with something organized in it."""
    place = make_home(tmp_path_factory.mktemp("made") / "home")
    with Memory.open(place.path) as memory:
        agent = memory.agent(MARA)
        for text in SAID:
            memory.append(agent, UserMessage(text, speaker="Mara"))
        memory.append(agent, AssistantMessage("I will keep that in mind."))
        memory.end_session(agent)
        memory.organize()
    return place.path


@pytest.fixture
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = shutil.copytree(made, tmp_path / "home")
    monkeypatch.setenv("LIFELONG_HOME", str(place))
    return place


def test_the_choices_are_those_of_the_library() -> None:
    """Help need not import the library to know them."""
    pairs = [
        (options.KindOption, ItemKind),
        (options.Sensitivity, Sensitivity),
        (options.Verdict, Verdict),
        (options.State, ItemState),
        (options.Group, Group),
    ]
    assert all(get_args(ours) == get_args(theirs) for ours, theirs in pairs)


# Collecting


def test_add_stores_what_was_said(home: Path, line: Line) -> None:
    """C7: from the line or from standard input, by an address, a cache key or an id, once for a key."""
    words = ("add", "I like tea.", "--agent", "cli/mara/main", "--speaker", "Mara", "--key", "k", "--json")
    first = line.done(*words).json
    assert first == line.done(*words).json, "a retry"
    assert first["agent"] == "/connectors/cli/mara/main"
    line.done("add", "--agent", "/cron/nightly", "--role", "note", piped="The disk is full.\n")
    with Memory.open(home) as memory:
        mara, cron = memory.agent(MARA), memory.agent(Cron("nightly"))
        assert memory.sessions.history(mara)[-1].record == UserMessage(
            "I like tea.", "Mara", at=memory.sessions.history(mara)[-1].at
        )
        assert memory.sessions.history(cron)[-1].record == Note(
            "The disk is full.", at=memory.sessions.history(cron)[-1].at
        )
    answer = line.done("add", "And milk.", "--agent", mara.id, "--at", "2026-03-05T10:00+01:00", "--end")
    assert answer.out == f"r{int(first['ids'][0][1:]) + 2}\n", "the id alone, for scripts"
    with Memory.open(home) as memory:
        assert memory.sessions.history(mara)[-1].at.isoformat() == "2026-03-05T09:00:00+00:00"
        assert memory.agents.get(mara).state == "sleeping"


MESSAGES = [
    {"role": "user", "content": "One.", "name": "Jonas"},
    {"role": "user", "content": "Two.", "timestamp": "2026-03-06T09:00:00Z"},
    {"role": "assistant", "content": "Three."},
]


@pytest.mark.parametrize(
    ("piped", "count"),
    [
        ("\n\n".join(map(json.dumps, MESSAGES)) + "\n", 3),
        (json.dumps(MESSAGES, indent=2), 3),
        (json.dumps(MESSAGES[0]), 1),
    ],
    ids=["JSON Lines", "a JSON list", "one JSON message"],
)
def test_add_takes_messages(home: Path, line: Line, piped: str, count: int) -> None:
    """C7, C11: --speaker and --at count where a message does not say."""
    words = ("--agent", "cli/mara/lines", "--speaker", "Mara", "--at", "2026-03-05T09:00Z", "--key", "k", "--json")
    first = line.done("add", *words, piped=piped).json["ids"]
    assert line.done("add", "-", *words, piped=piped).json["ids"] == first, "a retry"
    day = datetime(2026, 3, 5, 9, tzinfo=UTC)
    with Memory.open(home) as memory:
        stored = [one.record for one in memory.sessions.history(memory.agent(User("cli", "mara", "lines")))]
    wanted = [
        UserMessage("One.", "Jonas", at=day),
        UserMessage("Two.", "Mara", at=datetime(2026, 3, 6, 9, tzinfo=UTC)),
        AssistantMessage("Three.", at=day),
    ]
    assert stored == wanted[:count]


def test_add_stores_all_messages_or_none(home: Path, line: Line) -> None:
    """C7: the message that cannot be read is named."""
    for bad, why in (
        ('{"role": "nobody", "content": "x"}', "Message 2 has the unknown role 'nobody'"),
        ('{"role": "user"}', 'Message 2 has no "content"'),
        ('{"role": "user", "content": "\\ud800"}', "Write it in UTF-8"),
        ('{"role": "user", "content": "x", "timestamp": "noon"}', "Message 2"),
        ("[1]", "Message 2"),
        ("nonsense", "Line 2 is not JSON, so nothing was stored"),
    ):
        answer = line(
            "add", "--agent", "cli/mara/lines", "--json", piped='{"role": "user", "content": "x"}\n' + bad
        )
        assert answer.code == 2
        assert why in json.loads(answer.err)["message"]
    with Memory.open(home) as memory:
        assert memory.sessions.history(memory.agent(User("cli", "mara", "lines"))) == []


def test_messages_without_a_text_change_nothing(home: Path, line: Line) -> None:
    """C7, C11: no agent is made, and no session ends."""
    line.done("add", "I like tea.", "--agent", "cli/mara/main")
    empty = '{"role": "user", "content": ""}'
    for agent in ("cli/mara/main", "cli/nora/main"):
        answer = line("add", empty, "--end", "--agent", agent)
        assert answer.code == 2
        assert "so nothing was stored" in answer.err
    with Memory.open(home) as memory:
        assert not [one for one in memory.agents.list() if "nora" in one.cache_key]
        assert any(one.ended_at is None for one in memory.sessions.list(memory.agent(MARA)))


@pytest.mark.parametrize("text", ["[sic] I like tea.", "{name}, hello!", "[1, 2]", "[]", "{\n", "[" * 5000])
def test_a_text_that_only_looks_like_json_is_a_text(home: Path, line: Line, text: str) -> None:
    """C7."""
    line.done("add", "--agent", "cli/mara/main", piped=text)
    line.done("add", json.dumps(MESSAGES[0]), "--plain", "--agent", "cli/mara/main")
    with Memory.open(home) as memory:
        stored = [one.record for one in memory.sessions.history(memory.agent(MARA))[-2:]]
    assert [getattr(one, "text", "") for one in stored] == [text.strip("\n"), json.dumps(MESSAGES[0])]


@pytest.mark.parametrize(
    "text",
    ['{"role": "user", "content": "I like', '[{"role": "user"', '{\n "role": user\n}', "[{'role': 'user'}]"],
)
def test_broken_messages_are_not_stored_as_a_text(home: Path, line: Line, text: str) -> None:
    """C7: from standard input and on the line; --plain stores them."""
    for answer in (line("add", piped=text), line("add", text)):
        assert answer.code == 2
        assert "is not JSON, so nothing was stored" in answer.err
        assert "--plain" in answer.err
    with Memory.open(home) as memory:
        assert len(memory.list("record")) == 4
        line.done("add", text, "--plain")
        assert memory.list("record", limit=1)[0].text == text


def test_nothing_said_is_not_stored(home: Path, line: Line) -> None:
    """C7."""
    for words, piped in (([""], ""), (["   "], ""), ([], " \n"), (["", "--end"], "")):
        answer = line("add", *words, "--agent", "cli/mara/main", piped=piped)
        assert (answer.code, answer.err) == (
            2,
            "lifelong: There is no text. Write it on the line, or pipe it in.\n",
        )
    with Memory.open(home) as memory:
        assert len(memory.sessions.history(memory.agent(MARA))) == 4


def test_a_session_is_ended_and_organized(home: Path, line: Line) -> None:
    """C5, O1: and a receipt says how far a record has come."""
    assert "Nothing was due" in line.done("organize").out
    (record,) = line.done("add", "I like tea.", "--agent", "cli/mara/main", "--speaker", "Mara").out.split()
    assert line.done("receipt", record, "--json").json["stage"] == "stored"
    assert "cli/mara/main is over" in line.done("end-session", "--agent", "cli/mara/main").out
    with Memory.open(home) as memory:
        assert memory.agents.get(memory.agent(MARA)).state == "sleeping"
    assert line.done("organize", "--json").json == {
        "organized": 1,
        "failed": 0,
        "waiting": 0,
        "unindexed": 0,
    }
    assert f"{record} is searchable" in line.done("receipt", record).out
    assert "No agent" in line("end-session", "--agent", "cli/nobody/main").err
    assert "r999" in line("receipt", "r999").err or "999" in line("receipt", "r999").err


def test_organize_says_what_waits_and_why(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O6: a worker that was killed holds a transcript, or an attempt failed; hints name the same memory."""
    monkeypatch.delenv("LIFELONG_HOME")
    here = ("--home", home, "--user", "mara")
    line.done("add", "I like tea.", "--end", *here)
    now = datetime.now(UTC)
    later = now + timedelta(hours=1)
    at = f"{later.astimezone():%H:%M:%S}"
    with Memory.open(home, "mara") as memory:
        shared = memory._parts.shared
        shared.dispatcher.run(now, lambda: False)
        lease = shared.database.write(lambda tx: Inbox(tx).claim(tx.now(), later))
        assert lease
        held = line.done("organize", *here)
        assert held.out == f"1 transcript waits; a worker, which may have stopped, holds one until {at}.\n"
        assert line.done("organize", *here, "--json").json["waiting"] == 1
        shared.database.write(lambda tx: Inbox(tx).release(lease, "The model is busy.", now, later - now))
        assert line.done("organize", *here).out == f"1 transcript waits; the next attempt is at {at}.\n"
        retried = line.done("inbox", "retry", lease.item.id, *here).out
        assert (
            f"1 transcript waits to be organized again. Run: lifelong organize --home {home} --user mara"
            in retried
        )
    organized = line.done("organize", *here).out
    assert f"Organized 1 transcript. See: lifelong documents tree --home {home} --user mara" in organized
    nothing = line.done("organize", *here).out
    assert (
        "Nothing was due. What was said is organized when its session ends: lifelong end-session --home" in nothing
    )


def test_what_is_counted_is_in_the_right_number() -> None:
    assert [counted(number, "item") for number in (0, 1, 1200)] == ["0 items", "1 item", "1,200 items"]
    assert not_indexed(1) == "1 item is not in the index yet"
    assert not_indexed(2) == "2 items are not in the index yet"


def test_init_describes_every_key(home: Path) -> None:
    """K1: above each key, as docs/configuration.md does."""
    lines = (home / "lifelong.toml").read_text().splitlines()
    above = {line.lstrip("# ").partition(" = ")[0]: lines[at - 1] for at, line in enumerate(lines)}
    assert above["turn_threshold"] == (
        "# A session is marked when more than this many of its records wait to be organized."
    )
    assert above["journal_enabled"] == "# Keep a journal: MEMORY.md, a file a day, LONGMEMORY.md."
    assert "# None" not in lines


def test_a_document_needs_no_description(home: Path) -> None:
    """O18: left out, a new one has none, and one that is changed keeps its own."""
    with Memory.open(home) as memory:
        made = memory.documents.write(slug="atlas", title="Atlas", body="It ships in May.")
        assert made.description == ""
        described = memory.documents.write(
            document_id=made.id, expected_version=1, slug="atlas", title="Atlas", body="x", description="A ship."
        )
        kept = memory.documents.write(
            document_id=made.id, expected_version=described.version, slug="atlas", title="Atlas", body="y"
        )
        assert kept.description == "A ship."


def test_the_names_of_the_stages_work_as_verbs(home: Path, line: Line) -> None:
    """`append` and `recall` are not in the help, and do the same."""
    line.done("append", "I drink oolong.", "--agent", "cli/mara/main")
    assert line.done("recall", "oolong", "-k", 1).out == line.done("search", "oolong", "-k", 1).out
    shown = line.done("--help").out
    assert "append" not in shown
    assert "  recall" not in shown


def test_the_caller_is_the_same_person_everywhere(home: Path, line: Line) -> None:
    """C0: at the command line, over MCP and from a hook."""
    told = line.done("add", "Good morning!", "--json").json["agent"]
    assert told == f"/connectors/lifelong/{caller('mcp', 'default', 'x').user_id}/main"
    with Memory.open(home) as memory:
        assert told == memory.agent().cache_key


def test_add_says_what_is_wrong(home: Path, line: Line) -> None:
    assert "No agent of this user is called 'nobody'" in line("add", "x", "--agent", "nobody").err
    assert "See: lifelong agents" in line("add", "x", "--agent", "/permanent/none").err
    assert "must not be empty" in line("add", "x", "--agent", "a//b").err
    assert "not UTF-8" in line("add", "--agent", "a/b/c", piped=b"\xff\xfe").err
    assert line("add", "x", "--role", "nobody").code == 2
    assert line("add", "x", "--at", "noon").code == 2
    assert "in the future: 2099-01-01" in line("add", "x", "--at", "2099-01-01").err
    assert "in the future" in line("add", "x", "--agent", "cli/new/one", "--at", "2099-01-01").err
    assert "cli/mara/main" in line.done("agents").out
    assert "cli/new/one" not in line.done("agents").out


def test_list_says_that_a_filter_leaves_nothing(home: Path, line: Line) -> None:
    """R11."""
    assert "Nothing matches. Leave out a filter." in line.done("list", "--since", "2099-01-01").out


def test_a_new_user_begins_with_add_only(home: Path, line: Line) -> None:
    """C0, K3: a typing mistake makes no user."""
    assert "'work'" in line("stats", "--user", "work").err
    line.done("add", "I work on Atlas.", "--agent", "cli/mara/main", "--user", "work")
    assert line.done("stats", "--user", "work", "--json").json["agents"] == 1
    assert [hit["text"] for hit in line.done("search", "Atlas", "--user", "work", "--json").json] == [
        "I work on Atlas."
    ]
    line.done("documents", "write", "plan", "Ship it.", "--user", "plans")
    assert "Ship it." in line.done("documents", "read", "plan", "--user", "plans").out
    assert "cannot name a user" in line("stats", "--user", "../x").err


# Recalling


def test_search_narrows_and_explains(home: Path, line: Line) -> None:
    """R2: by kind, agent and time."""
    hits = line.done("search", "Who is allergic to nuts?", "--kind", "record", "--kind", "fact", "--json").json
    assert {one["kind"] for hit in hits for one in (hit, *hit["sources"])} == {"record", "fact"}
    assert any("nuts" in hit["text"] for hit in hits)
    facts = line.done("search", "Who is allergic to nuts?", "--kind", "fact", "--json").json
    assert {one["kind"] for hit in facts for one in (hit, *hit["sources"])} == {"fact"}
    shown = line.done("search", "Who is allergic to nuts?", "--explain", "--agent", "cli/mara/main").out
    assert "r2" in shown
    assert "+" in shown
    assert line.done("search", "nuts", "--since", "2099-01-01", "--json").json == []
    assert line.done("search", "nuts", "--until", "2001-01-01", "--as-of", "2001-01-01", "--json").json == []
    assert line("search", "nuts", "--kind", "dream").code == 2
    assert line("search").code == 2
    assert line("search", "nuts", "-k", 0).code == 2


def test_what_is_remembered_is_listed_corrected_pinned_and_judged(home: Path, line: Line) -> None:
    """R11, R10: what a person can do about it."""
    listed = line.done("list", "--kind", "record", "--json").json
    assert [hit["text"] for hit in listed][-1] == SAID[0]
    assert SAID[0] in line.done("list", "--subject", "Lisbon").out
    page = line.done("list", "--kind", "record", "-n", 1, "--before", listed[0]["id"], "--json").json
    assert page == listed[1:2]
    line.done("pin", "r2")
    assert SAID[1] in line.done("context", "--agent", "cli/mara/main", "--tokens", 500).out
    assert line.done("unpin", "r2", "--json").json == {"id": "r2", "pinned": False}
    told = line.done("correct", "r1", "I live in Porto.", "--json").json
    assert told["text"] == "I live in Porto."
    assert "useful" in line.done("feedback", told["id"], "useful").out
    assert "Nothing remembered has the id" in line("pin", "r999").err
    assert line("feedback", "r1", "splendid").code == 2
    assert "no agent" in line("context", "--agent", "x/y/z").err.lower()


def test_outdated_says_what_ended_and_how_to_take_it_back(home: Path, line: Line) -> None:
    """R10: a fact of two sentences ends with both; the command that is shown brings both back."""
    said = "I have a nut allergy, hazelnuts are the worst. I drink my coffee black."
    line.done("add", said, "--agent", "cli/mara/main", "--speaker", "Mara", "--end")
    line.done("organize")
    (fact,) = [hit for hit in line.done("list", "--kind", "fact", "--json").json if "hazelnuts" in hit["text"]]
    told = line.done("feedback", fact["id"], "outdated").out
    assert "coffee black. None of this is current any more." in " ".join(told.split())
    assert f"lifelong feedback {fact['id']} useful" in told
    assert "hazelnuts" not in line.done("context").out
    assert len(line.done("feedback", fact["id"], "useful").out.splitlines()) == 1
    assert "hazelnuts" in line.done("context").out


def test_a_context_says_why_each_line_is_there(home: Path, line: Line) -> None:
    """R8: and unpin takes a line out of the core."""
    explained = line.done("context", "Write a haiku.", "--explain").out
    assert "nuts" in explained
    assert "(core: allergy)" in explained
    assert "(core" not in line.done("context", "Write a haiku.").out
    line.done("unpin", "r2")
    assert "(core: allergy)" not in line.done("context", "Write a haiku.", "--explain").out


def test_a_listed_item_is_a_line_where_there_is_room(home: Path, line: Line) -> None:
    """R11: it begins with the id, and has the date and the words."""
    found = line.done("list", "--json").json
    for hit, one in zip(found, line.done("list").out.splitlines(), strict=True):
        assert one.split()[:2] == [hit["id"], hit["at"][:10]]
        assert hit["text"] in one


@pytest.mark.parametrize("words", [["search", "Where does Mara live?"], ["list"]], ids=" ".join)
def test_a_hit_is_shown_with_its_text_and_what_says_the_same(
    home: Path, line: Line, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """R2, R11, R14: the whole of a short text in a narrow terminal, too, and each source by its id."""
    found = line.done(*words, "--json").json
    assert any(hit["sources"] for hit in found) or words == ["list"]
    for columns in ("200", "80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = line.done(*words).out
        text = " ".join(shown.split())
        for hit in found:
            assert f"{hit['id']} {hit['at'][:10]}" in text
            assert hit["text"] in text
            assert all(source["id"] in shown for source in hit["sources"])


def test_a_hit_says_what_to_know_of_it(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """R2, R11: what has ended, what comes from a web page; and the query's words of a long text are seen."""
    long = f"{'We talked about nothing much. ' * 40}The boat is called Gaivota. {'And so on. ' * 40}"
    with Memory.open(home) as memory:
        web = ToolResult("Casa do Fado costs 84 EUR a night.", "browse", provenance="web")
        memory.append_many(memory.agent(MARA), [web, UserMessage(long, "Mara")])
    (page,) = [one for one in line.done("search", "Casa do Fado").out.splitlines() if "84 EUR" in one]
    assert page.endswith("(from the web)")
    monkeypatch.setenv("COLUMNS", "100")
    shown = line.done("search", "What is the boat called?", "-k", 1).out
    assert "boat is called Gaivota" in shown
    assert all(len(one) <= 100 for one in shown.splitlines())
    line.done("correct", "r1", "I live in Porto.")
    assert "(ended " in line.done("list", "--subject", "Lisbon").out


def test_about_shows_everything_of_a_name(home: Path, line: Line) -> None:
    """R7: facts that hold, then those that ended; relations; records."""
    for text in ("Ana is my sister and lives in Faro.", "My sister Ana sails a Laser dinghy."):
        line.done("add", text, "--agent", "cli/mara/main", "--speaker", "Mara", "--end")
    line.done("organize")
    (lisbon,) = line.done("list", "--kind", "fact", "--subject", "Lisbon", "--json").json
    line.done("correct", lisbon["id"], "Mara lives in Porto.")
    found = line.done("about", "mara", "--json").json
    assert (found["name"], found["path"]) == ("Mara", "~/memory/people/mara")
    ended = [fact["until"] is not None for fact in found["facts"]]
    assert ended == sorted(ended)
    assert {True, False} == {*ended}
    assert "Mara lives in Porto." in [fact["text"] for fact in found["facts"]]
    assert [one["name"] for one in found["relations"]] == ["Ana"]
    assert SAID[1] in [one["text"] for one in found["records"]]
    shown = line.done("about", "Mara").out
    assert shown.startswith("Mara  ~/memory/people/mara\n")
    assert shown.index("Facts") < shown.index("Related to") < shown.index("Recent records")
    assert "Nothing is known about 'Zzz'" in line.done("about", "Zzz").out


def test_users_are_listed_with_what_they_have(home: Path, line: Line) -> None:
    """C0."""
    line.done("add", "I work on Atlas.", "--user", "work")
    found = {one["user"]: one for one in line.done("users", "--json").json}
    assert {*found} == {"default", "work"}
    assert found["work"] == {"user": "work", "agents": 1, "sessions": 1, "documents": 0, "items": 1}
    assert "work" in line.done("users").out


# Documents


def test_documents_are_read_written_compared_and_taken_back(home: Path, line: Line) -> None:
    """O18, O20: a path with or without `~/`, or as a shell hands it over."""
    for path in ("memory/people/mara", "~/memory/people/mara", str(Path("~/memory/people/mara").expanduser())):
        assert "Lisbon" in line.done("documents", "read", path).out
    found = line.done("documents", "read", "memory/people/mara", "--json").json["document"]
    assert line.done("documents", "read", found["id"], "--body").out.rstrip("\n") == found["body"]
    assert "mara" in line.done("documents", "tree").out
    assert line.done("documents", "read", "~").out == "~/memory\n"
    assert line.done("documents", "read", "~", "--json").json == {"document": None, "children": ["~/memory"]}
    assert [one["path"] for one in line.done("documents", "tree", "memory/people", "--json").json][-1] == found[
        "path"
    ]
    line.done("documents", "write", "memory/atlas", "We ship in May.", "--title", "Atlas")
    stale = line("documents", "write", "memory/atlas", "We ship in June.")
    assert "--version 1" in stale.err
    made = line.done(
        "documents", "write", "memory/atlas", "--version", 1, "--json", piped="We ship in June.\n"
    ).json
    assert (made["version"], made["title"], made["body"]) == (2, "Atlas", "We ship in June.")
    assert "+We ship in June." in line.done("documents", "diff", "memory/atlas").out
    assert line.done("documents", "diff", "memory/atlas", 2, 2).out == "The two versions are the same.\n"
    versions = line.done("documents", "history", "memory/atlas", "--json").json
    assert [one["version"] for one in versions] == [2, 1]
    assert "now" in line.done("documents", "history", "memory/atlas").out
    assert "Undone" in line.done("documents", "rollback", versions[0]["changeset_id"]).out
    assert "We ship in May." in line.done("documents", "read", "memory/atlas").out
    assert line.done("documents", "history", "-n", 1, "--json").json[0]["cause"] == "rollback"
    before = found["valid_from"]
    assert line.done("documents", "rollback", "--to", before, "--json").json["changeset"]
    assert "nothing to undo" in line.done("documents", "rollback", "--to", before).out
    assert "documents tree" in line("documents", "read", "memory/people/mara", "--as-of", "2001-01-01").err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["documents", "read", "no/where"], 1, "See: lifelong documents tree"),
        (["documents", "read", "../../etc/passwd"], 1, "lifelong: "),
        (["documents", "write", "no/where", "x"], 2, "Make that first: lifelong documents write no"),
        (["documents", "write", "/", "x"], 2, "A slug must not be empty"),
        (["add", "x", "--agent", "a/b"], 1, "a new one is named like cli/mara/main. See: lifelong agents"),
        (["documents", "write", "d0123456789", "x"], 1, "See: lifelong documents tree"),
        (["documents", "write", "memory/new", "x", "--version", "3"], 2, "Leave --version out"),
        (["documents", "diff", "memory", "1", "9"], 2, "lifelong: "),
        (["documents", "rollback"], 2, "Name a changeset"),
        (["documents", "rollback", "1", "--to", "2026-01-01"], 2, "Name a changeset"),
        (["documents", "rollback", "999"], 1, "See: lifelong documents history"),
        (["sessions", "show", "nothing"], 1, "See: lifelong sessions list"),
        (["inbox", "retry", "999"], 1, "See: lifelong inbox list"),
        (["inbox", "release", "999"], 1, "See: lifelong inbox list"),
        (["inbox", "release"], 2, "Name one item, or --all"),
        (["inbox", "list", "--state", "lost"], 2, "pending, leased, done, dead"),
        (["notes", "show", "../x"], 2, "cannot be"),
        (["notes", "store", "w", "../x", "text"], 2, "cannot be"),
        (["experiences", "add", "short"], 2, "at least 20 characters"),
        (["journal", "remember", " "], 2, "nothing to remember"),
        (["journal", "remember", "x", "--category", "a b"], 2, "cannot be a category"),
        (["serch", "x"], 2, "Did you mean 'search'"),
        (["documents", "reed", "x"], 2, "'read'? See: lifelong documents --help"),
        (["health", "--nonsense"], 2, "See: lifelong health --help"),
        (["ledger", "--limit", "0"], 2, "--limit"),
        (["search", "tea", "--top-k", "0"], 2, "it must be at least 1."),
        (["search", "tea", "--top-k", "few"], 2, "it must be a whole number."),
        (["context", "--tokens", "-1"], 2, "it must be at least 0."),
        (["list", "--kind", "turn"], 2, "'--kind': 'turn' is not one of 'record', 'fact'"),
        (
            ["documents", "--home", "x"],
            2,
            "--home stands after the command, as in: lifelong documents tree --home",
        ),
        (["--user", "work", "list"], 2, "--user stands after the command, as in: lifelong list --user"),
        (["about", " "], 2, "There is no name"),
        (["add", ""], 2, "There is no text"),
        (["add", '{"role": "user", "content": ""}'], 2, "so nothing was stored"),
        (["correct", "r1", ""], 2, "lifelong: "),
        (["search", ""], 2, "There is no question"),
        (["add", "x", "--at", "0001-01-01T00:00+14:00"], 2, "The year 1 is out of range"),
        (["add", "x", "--at", "soon"], 2, "is not a time"),
        (["inbox", "release", "99999999999999999999"], 2, "An inbox item cannot have the id"),
        (["token", "create", "--user", "ingrid", "--scope", "admin"], 2, "An admin token is for the whole home"),
        (["receipt", "banana"], 2, "Unknown record id 'banana'. Use an id like r33."),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_bad_input_is_one_sentence(home: Path, line: Line, words: list[str], code: int, sentence: str) -> None:
    """S3: nothing is changed, and nothing leaves its folder."""
    answer = line(*words)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("lifelong: ")
    assert sentence in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    told = json.loads(line(*words, "--json").err)
    assert sentence.removeprefix("lifelong: ") in told["message"]


def test_documents_are_consolidated(home: Path, line: Line) -> None:
    """S7, O21: first what would be done, in sentences; then done, with the command that undoes it."""
    twice = "I like trains. [Mara, 2026-02-01, r1]\n\nI like trains. [Mara, 2026-02-02, r2]"
    line.done("documents", "write", "memory/likes", twice)
    planned = line.done("documents", "consolidate", "--dry-run").out
    assert "Merge f" in planned
    assert "in ~/memory/likes: it cites r1, r2." in planned
    assert "~/memory/likes  version 1" in line.done("documents", "read", "memory/likes").out
    undo = line.done("documents", "consolidate").out.rpartition("To undo it: lifelong ")[2].split()
    assert (
        line.done("documents", "read", "memory/likes", "--body").out
        == "I like trains. [Mara, 2026-02-01, r1, r2]\n"
    )
    assert "nothing to tidy" in line.done("documents", "consolidate").out
    line.done(*undo)
    assert line.done("documents", "read", "memory/likes", "--body").out.strip() == twice
    assert line.done("documents", "consolidate", "--json").json["changeset"]


# The rest


def test_the_journal_is_shown_written_and_compacted(home: Path, line: Line) -> None:
    """R6: `remember` writes to the page of today."""
    line.done("journal", "remember", "Deploys happen on Tuesdays.", "--category", "decision")
    newest = line.done("journal", "show", "--json", "-n", 1).json[0]
    assert (newest["text"], newest["category"]) == ("Deploys happen on Tuesdays.", "decision")
    assert "Deploys" in line.done("journal", "show", "--day", newest["timestamp"]).out
    assert "Nothing was compacted" in line.done("journal", "compact").out
    assert line.done("journal", "compact", "--force", "--json").json["ran"] in (True, False)
    assert "compacted" in line.done("journal", "show", "--long").out


def test_a_secret_of_the_journal_is_not_printed(home: Path, line: Line) -> None:
    """S4."""
    secret = "The password is hunter2-Xk39vQ."
    assert "marked as a secret" in line.done("journal", "remember", secret).out
    for words in (["journal", "show"], ["journal", "show", "--json"]):
        assert "hunter2" not in line.done(*words).out


def test_experiences_relations_and_notes(home: Path, line: Line) -> None:
    """R5, R7, R9."""
    told = "Marco Rossi mended the nightly backup of Atlas: the disk was full."
    assert line.done("experiences", "add", told, "--category", "learned", "--json").json["added"]
    assert "known already" in line.done("experiences", "add", told).out
    assert told in line.done("experiences", "list", "--category", "learned").out
    assert told in line.done("experiences", "query", "backups", "--by", "category").out
    assert line.done("experiences", "query", "backups", "--json").json[0]["text"] == told
    assert "Atlas" in line.done("relations").out
    assert "Marco Rossi" in line.done("relations", "Atlas").out
    assert line.done("relations", "Atlas", "--json").json["entity"] == "Atlas"
    assert "Nothing is related to 'Zzz'" in line.done("relations", "Zzz").out
    assert "No worker keeps notes yet" in line.done("notes", "list").out
    line.done("notes", "store", "tester", "suite", piped="The suite takes seven minutes.")
    assert line.done("notes", "list", "--json").json[0]["worker"] == "tester"
    assert line.done("notes", "show", "tester").out == "The suite takes seven minutes.\n"
    assert line.done("notes", "show", "tester", "--json").json["notes"] == "The suite takes seven minutes."


def test_notes_are_compacted_and_restored(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O33, K1: by a model, above the threshold of the settings; undone from the archive. What cannot be done says
    why, and what to do."""
    answer = line("notes", "compact", "nobody")
    assert answer.code == 2
    assert "nobody keeps no notes. See: lifelong notes list" in answer.err
    line.done("notes", "store", "tester", "suite", "The suite takes 7 minutes.")
    assert "Nothing was compacted: no model is configured" in line.done("notes", "compact", "tester").out
    assert "There is nothing to restore" in line.done("notes", "restore", "tester").out
    with ModelServer([say("The suite takes 7 minutes, not 9."), say("The suite takes 7 minutes.")]) as server:
        monkeypatch.setenv("LIFELONG_MODELS_MODEL", "openai:gpt-4o-mini")
        monkeypatch.setenv("LIFELONG_MODELS_API_KEY", "x")
        monkeypatch.setenv("LIFELONG_MODELS_BASE_URL", server.base_url("openai"))
        assert "no more than 16,000 bytes" in line.done("notes", "compact", "tester").out
        line.done("notes", "store", "tester", "again", "The suite takes 7 minutes. It takes 7 minutes.")
        assert "2 notes of tester were compacted, from 72 to 27 bytes" in (
            line.done("notes", "compact", "tester", "--force").out
        )
    assert line.done("notes", "show", "tester").out == "The suite takes 7 minutes.\n"
    assert sorted(line.done("notes", "restore", "tester", "--json").json["restored"]) == ["again", "suite"]
    assert "It takes 7 minutes." in line.done("notes", "show", "tester").out


def test_what_is_off_says_how_to_switch_it_on(tmp_path: Path, line: Line) -> None:
    """K2."""
    Memory.open(tmp_path).close()
    assert "journal_enabled = true" in line("journal", "show", "--home", tmp_path).err
    assert "experience_store_enabled" in line("experiences", "list", "--home", tmp_path).err


def test_agents_sessions_and_receipts(home: Path, line: Line) -> None:
    """O6: how far each record has come."""
    assert line.done("agents", "--json").json[-1]["descriptor"]["user_id"] == "mara"
    assert "cli/mara/main" in line.done("agents").out
    assert "memory-agent" not in line.done("agents").out
    assert "memory-agent" in line.done("agents", "--all").out
    (session,) = line.done("sessions", "list", "--json").json
    assert session["id"] in line.done("sessions", "list", "--agent", "cli/mara/main").out
    for name in (session["id"], "cli/mara/main", session["agent_id"]):
        shown = line.done("sessions", "show", name).out
        assert SAID[0] in shown
        assert "searchable" in shown
    told = line.done("sessions", "show", session["id"], "--after", 3, "--json").json
    assert [one["record_id"] for one in told["receipts"]] == [4]
    assert line.done("inbox", "list", "--json").json[0]["state"] == "done"
    assert " r4 " in line.done("inbox", "list").out
    assert line.done("inbox", "list", "--state", "dead").out.startswith("There is nothing in it")
    assert line.done("inbox", "retry", "--json").json == {"retried": 0}
    assert line.done("inbox", "release", "--all", "--json").json == {"released": 0}


def test_a_name_that_is_known_from_relations_alone_begins_with_it(home: Path, line: Line) -> None:
    assert line.done("about", "Atlas").out.startswith("Atlas")


def test_warnings_are_in_the_error_that_a_program_reads(home: Path, tmp_path: Path) -> None:
    """Standard error is JSON alone."""
    home.chmod(0o777)
    words = ("documents", "read", "no/where", "--json", "--home", str(home))
    run = subprocess.run([sys.executable, "-m", "lifelong", *words], capture_output=True, text=True, check=False)
    home.chmod(0o700)
    told = json.loads(run.stderr)
    assert told["error"] == "DocumentNotFound"
    assert any("Others may write to" in warning for warning in told["warnings"])


def test_health_stats_ledger_doctor_verify_and_rebuild(home: Path, line: Line) -> None:
    """O6: health, and what can be counted."""
    assert line.done("health", "--json").json["status"] == "green"
    assert "green" in line.done("health").out
    assert line.done("stats", "--json").json["items"]["record"] == 4
    assert "4 record" in line.done("stats").out
    assert line.done("ledger", "--json").json == []
    assert "No model was called" in line.done("ledger").out
    told = line.done("doctor").out
    assert told.startswith("✓")
    left = line.done("doctor", "--json").json["unindexed"]
    assert left == line.done("health", "--json").json["unindexed"]
    assert ("the index is complete" in told) == (left == 0), "it agrees with health"
    assert line.done("verify", "--json").json == {"sound": True, "faults": []}
    assert line.done("rebuild", "--json").json == {"rebuilt": True}
    assert "the index is complete" in line.done("doctor").out
    assert line.done("worker", "--once", "--json").json["organized"] == 0


def test_the_doctor_says_what_is_worth_a_remark(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O6: also to programs; nothing is wrong."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("LIFELONG_MODELS_MODEL", "anthropic:claude-haiku-4-5")
    told = line.done("doctor", "--json").json
    assert (told["sound"], told["problems"]) == (True, [])
    assert told["remarks"]


def test_red_health_and_the_doctor_exit_with_1(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O6: what waits too long is a thing that is wrong."""
    line.done("add", "I like tea.", "--agent", "cli/mara/main", "--end")
    monkeypatch.setenv("LIFELONG_WORKER_OVERDUE_SECONDS", "0.001")
    assert line("health").code == 1
    answer = line("doctor", "--json")
    assert answer.code == 1
    assert "Is a worker running?" in answer.json["problems"][0]


def test_serve_and_mcp_check_before_they_begin(home: Path, tmp_path: Path, line: Line) -> None:
    """S8: off loopback without a token nothing is served."""
    refused = line("serve", "--host", "0.0.0.0", "--port", 0)
    assert refused.code == 2
    assert refused.err.startswith("lifelong: ")
    assert "There is no memory at" in line("serve", "--home", tmp_path / "none").err
    assert "There is no memory at" in line("mcp", "--home", tmp_path / "none").err
    assert line("mcp", "--agent", "me").code == 2
    assert line("serve", "--port", 99999).code == 2


def test_a_hook_never_stops_its_host(home: Path, tmp_path: Path, line: Line) -> None:
    """S3: 2 would keep a person from working, whatever is wrong."""
    for words, why in (
        (["--home", str(tmp_path / "none")], "There is no memory at"),
        (["--nonsense"], "No such option"),
        (["--user", "../x"], "cannot name a user"),
    ):
        answer = line("hook", *words, piped='{"hook_event_name": "SessionStart"}')
        assert answer.code == 0
        assert why in (json.loads(answer.out)["systemMessage"] if answer.out else answer.err)


HOSTILE = "Ma\x1b]0;owned\x07ra\x9b2J\u202e\u2066 \x1b[31m[red]likes[/red] [link=x]tea[/link]\r\x08"


def test_hostile_text_commands_no_terminal(home: Path, line: Line) -> None:
    """R2, S3: wherever stored text is shown, and in what an error repeats of it."""
    agent = f"/connectors/cli/{quote(HOSTILE, safe='')}/main"
    line.done("add", HOSTILE, "--agent", agent, "--speaker", HOSTILE, "--end")
    line.done(
        "documents",
        "write",
        "memory/tea",
        HOSTILE,
        "--title",
        HOSTILE,
        "--description",
        HOSTILE,
        "--note",
        HOSTILE,
    )
    line.done("journal", "remember", HOSTILE)
    line.done("experiences", "add", HOSTILE, "--entity", HOSTILE)
    line.done("notes", "store", "tester", "tea", HOSTILE)
    assert line("worker", "--once", "--json").code == 0
    reading = [
        *(["list"], ["search", "tea"], ["search", HOSTILE], ["context"], ["agents"], ["relations"]),
        *(["sessions", "list"], ["sessions", "show", agent], ["documents", "tree"], ["documents", "history"]),
        *(
            ["documents", "read", "memory/tea"],
            ["documents", "history", "memory/tea"],
            ["documents", "diff", "memory/tea"],
        ),
        *(
            ["journal", "show"],
            ["experiences", "list"],
            ["experiences", "query", "tea"],
            ["notes", "show", "tester"],
        ),
        *(["inbox", "list"], ["health"], ["stats"], ["relations", HOSTILE]),
        *(["add", "x", "--agent", HOSTILE], ["documents", "read", HOSTILE], ["sessions", "show", HOSTILE]),
    ]
    for words in (*reading, *([*words, "--json"] for words in reading)):
        answer = line(*words)
        shown = answer.out + answer.err
        assert not {c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066"} - {*"\n\t"}, (
            words
        )
        if answer.code == 0 and "likes" in shown:
            assert "[red]likes" in shown or "%5Bred%5Dlikes" in shown, f"{words}: it is no markup"


def test_organize_says_why_nothing_can_be_embedded(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: what is wrong with the settings, and what to do."""
    with Memory.open(tmp_path) as memory:
        memory.add("I live in Lisbon.")
    monkeypatch.setenv("LIFELONG_EMBEDDINGS_PROVIDER", "fastembed")
    monkeypatch.setenv("LIFELONG_EMBEDDINGS_MODEL", "bge-smal")
    said = line.done("organize", "--home", str(tmp_path)).out
    assert "1 item is not in the index yet. New items are found by their words only" in said
    assert "Unknown embeddings.model 'bge-smal'. The nearest known: BAAI/bge-small-en" in said


def test_a_limit_that_the_help_allows_is_taken(home: Path, line: Line) -> None:
    """R11: the most that --help names for each command, and no more."""
    for words, most in ((("list",), 10_000), (("about", "Mara"), 1_000), (("relations",), 1_000)):
        assert f"<={most}" in line.done(words[0], "--help").out.replace("x<=", "<=")
        line.done(*words, "-n", most)
        assert line(*words, "-n", most + 1).code == 2
