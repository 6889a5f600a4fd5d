"""Every command with real input, with bad input, and as JSON."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import pytest

from lifelong import AssistantMessage, Cron, Memory, Note, User, UserMessage
from lifelong.journal.records import Sensitivity
from lifelong.recall.experiences import Group
from lifelong.recall.feedback import Verdict
from lifelong.serve.caller_identity import caller
from lifelong.serve.cli import options
from lifelong.serve.init import begin
from lifelong.types import ItemKind, ItemState
from tests.command_line import Line

MARA = User("cli", "mara", "main")
SAID = ("I live in Lisbon.", "I'm allergic to nuts.", "My brother Marco Rossi works at Atlas.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as `lifelong init` makes it, with something organized in it."""
    place = begin(tmp_path_factory.mktemp("made") / "home")
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
        (options.Kind, ItemKind),
        (options.Sensitivity, Sensitivity),
        (options.Verdict, Verdict),
        (options.State, ItemState),
        (options.Group, Group),
    ]
    assert all(get_args(ours) == get_args(theirs) for ours, theirs in pairs)


# Collecting


def test_append_stores_what_is_said(home: Path, line: Line) -> None:
    """C7: from the line or from standard input, by an address, a cache key or an id, once for a key."""
    words = ("append", "I like tea.", "--agent", "cli/mara/main", "--speaker", "Mara", "--key", "k", "--json")
    first = line.done(*words).json
    assert first == line.done(*words).json, "a retry"
    assert first["agent"] == "/connectors/cli/mara/main"
    line.done("append", "--agent", "/cron/nightly", "--role", "note", piped="The disk is full.\n")
    with Memory.open(home) as memory:
        mara, cron = memory.agent(MARA), memory.agent(Cron("nightly"))
        assert memory.sessions.history(mara)[-1].record == UserMessage(
            "I like tea.", "Mara", at=memory.sessions.history(mara)[-1].at
        )
        assert memory.sessions.history(cron)[-1].record == Note(
            "The disk is full.", at=memory.sessions.history(cron)[-1].at
        )
    answer = line.done("append", "And milk.", "--agent", mara.id, "--at", "2026-03-05T10:00+01:00", "--end")
    assert answer.out == f"✓ Stored r{first['ids'][0] + 2} of /connectors/cli/mara/main.\n"
    with Memory.open(home) as memory:
        assert memory.sessions.history(mara)[-1].at.isoformat() == "2026-03-05T09:00:00+00:00"
        assert memory.agents.get(mara).state == "sleeping"


def test_append_takes_lines_all_or_none(home: Path, line: Line) -> None:
    """C7."""
    lines = [
        {"role": "user", "text": "One.", "speaker": "Mara", "key": "1"},
        {"type": "tool_call", "name": "search", "arguments": {"q": "tea"}, "at": "2026-03-05T09:00:00Z"},
    ]
    words = ("append", "--jsonl", "--agent", "cli/mara/lines", "--json")
    assert len(line.done(*words, piped="\n".join(map(json.dumps, lines)) + "\n\n").json["ids"]) == 2
    for bad, why in (
        ('{"role": "nobody", "text": "x"}', "'nobody' is no role. Use one of: user, assistant"),
        ('{"type": "nobody", "text": "x"}', "'nobody' is no role. Use one of: user, assistant"),
        ('{"role": "user"}', "Line 2 cannot be taken, so none was stored. It has no text."),
        ('{"role": "user", "text": " "}', "It has no text."),
        ('{"role": "user", "text": 5}', "Line 2 cannot be taken, so none was stored. Its text must be text."),
        ('{"role": "user", "text": "\\ud800"}', "Write it in UTF-8"),
        ('{"role": "user", "text": "x", "at": "noon"}', "is no time"),
        ('{"role": "user", "text": "x", "at": 5}', "'5' is no time. Write it like 2026-03-05"),
        ('{"role": "user", "words": "x"}', "It has no use for 'words'"),
        ('{"role": "user", "text": "x", "key": 7}', "key"),
        ("[1]", "no JSON object"),
        ("nonsense", "no JSON"),
        ("", "no record"),
    ):
        answer = line(*words, piped='{"role": "user", "text": "lost?"}\n' + bad if bad else "")
        assert answer.code == 1
        assert why in json.loads(answer.err)["message"]
    assert line("append", "x", "--jsonl").code == 2
    assert line("append", "--jsonl", "--key", "k", piped='{"text": "x"}').code == 2
    with Memory.open(home) as memory:
        assert len(memory.sessions.history(memory.agent(User("cli", "mara", "lines")))) == 2


def test_what_is_said_of_all_lines_counts_where_a_line_says_nothing(home: Path, line: Line) -> None:
    """C7."""
    said = """{"text": "One."}
    {"text": "Two.", "speaker": "Jonas", "at": "2026-03-06T09:00Z"}
    {"role": "note", "text": "x"}"""
    told = ("--speaker", "Mara", "--role", "user", "--at", "2026-03-05T09:00Z")
    line.done("append", "--jsonl", "--agent", "cli/mara/lines", *told, piped=said)
    with Memory.open(home) as memory:
        one, two, note = (
            one.record for one in memory.sessions.history(memory.agent(User("cli", "mara", "lines")))
        )
    assert one == UserMessage("One.", "Mara", at=datetime(2026, 3, 5, 9, tzinfo=UTC))
    assert two == UserMessage("Two.", "Jonas", at=datetime(2026, 3, 6, 9, tzinfo=UTC))
    assert note == Note("x", "Mara", at=datetime(2026, 3, 5, 9, tzinfo=UTC))


def test_nothing_said_is_not_stored(home: Path, line: Line) -> None:
    """C7: `--end` alone only ends the talk."""
    for words, piped in (([""], ""), (["   "], ""), ([], " \n"), (["", "--end"], "")):
        answer = line("append", *words, "--agent", "cli/mara/main", piped=piped)
        assert (answer.code, answer.err) == (
            1,
            "lifelong: There is no text. Write it on the line, or pipe it in.\n",
        )
    line.done("append", "Good morning!", "--agent", "cli/mara/main")
    assert line.done("append", "--end", "--agent", "cli/mara/main").out.endswith("is over.\n")
    assert "No agent" in line("append", "--end", "--agent", "cli/nobody/main").err
    with Memory.open(home) as memory:
        assert memory.agents.get(memory.agent(MARA)).state == "sleeping"
        assert len(memory.sessions.history(memory.agent(MARA))) == 5


def test_whoever_calls_is_the_same_person_everywhere(home: Path, line: Line) -> None:
    """C0: at the command line, over MCP and from a hook."""
    told = line.done("append", "Good morning!", "--json").json["agent"]
    assert told == f"/connectors/cli/{caller('mcp', 'default', 'x').user_id}/main"


def test_append_says_what_is_wrong(home: Path, line: Line) -> None:
    assert "No agent of this user is called 'nobody'" in line("append", "x", "--agent", "nobody").err
    assert "See: lifelong agents" in line("append", "x", "--agent", "/permanent/none").err
    assert "must not be empty" in line("append", "x", "--agent", "a//b").err
    assert "no UTF-8" in line("append", "--agent", "a/b/c", piped=b"\xff\xfe").err
    assert line("append", "x", "--role", "nobody").code == 2
    assert line("append", "x", "--at", "noon").code == 2


def test_a_new_user_begins_with_append_only(home: Path, line: Line) -> None:
    """C0, K3: a typing mistake makes no user."""
    assert "'work'" in line("status", "--user", "work").err
    line.done("append", "I work on Atlas.", "--agent", "cli/mara/main", "--user", "work")
    assert line.done("status", "--user", "work", "--json").json["totals"]["agents"] == 1
    assert [hit["text"] for hit in line.done("recall", "Atlas", "--user", "work", "--json").json] == [
        "I work on Atlas."
    ]
    line.done("doc", "write", "plan", "Ship it.", "--user", "plans")
    assert "Ship it." in line.done("doc", "read", "plan", "--user", "plans").out
    assert "cannot name a user" in line("status", "--user", "../x").err


# Recalling


def test_recall_narrows_and_explains(home: Path, line: Line) -> None:
    """R2: by kind, agent and time."""
    hits = line.done("recall", "Who is allergic to nuts?", "--kind", "record", "--kind", "fact", "--json").json
    assert {hit["kind"] for hit in hits} == {"record", "fact"}
    assert any("nuts" in hit["text"] for hit in hits)
    shown = line.done("recall", "Who is allergic to nuts?", "--explain", "--agent", "cli/mara/main").out
    assert "r2" in shown
    assert "+" in shown
    assert line.done("recall", "nuts", "--since", "2099-01-01", "--json").json == []
    assert line.done("recall", "nuts", "--until", "2001-01-01", "--as-of", "2001-01-01", "--json").json == []
    assert line("recall", "nuts", "--kind", "dream").code == 2
    assert line("recall").code == 2
    assert line("recall", "nuts", "-k", 0).code == 2


def test_what_is_remembered_is_listed_corrected_pinned_and_judged(home: Path, line: Line) -> None:
    """R11, R10: what a person can do about it."""
    listed = line.done("list", "--kind", "record", "--json").json
    assert [hit["text"] for hit in listed][-1] == SAID[0]
    assert SAID[0] in line.done("list", "--subject", "Lisbon").out
    page = line.done("list", "--kind", "record", "-n", 1, "--before", listed[0]["id"], "--json").json
    assert page == listed[1:2]
    line.done("pin", "r2")
    assert SAID[1] in line.done("context", "--agent", "cli/mara/main", "--tokens", 500).out
    assert line.done("pin", "r2", "--remove", "--json").json == {"id": "r2", "pinned": False}
    told = line.done("correct", "r1", "I live in Porto.", "--json").json
    assert told["text"] == "I live in Porto."
    assert "useful" in line.done("feedback", told["id"], "useful").out
    assert "Nothing remembered has the id" in line("pin", "r999").err
    assert line("feedback", "r1", "splendid").code == 2
    assert "no agent" in line("context", "--agent", "x/y/z").err.lower()


@pytest.mark.parametrize("words", [["recall", "Where does Mara live?"], ["list"]], ids=" ".join)
def test_ids_can_be_copied_from_a_narrow_terminal(
    home: Path, line: Line, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """R2: each stands in a line, whole."""
    ids = [hit["id"] for hit in line.done(*words, "--json").json]
    assert {one[0] for one in ids} >= {"r", "f"}
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        shown = line.done(*words).out.splitlines()
        assert [one for one in shown if one and not one.startswith(" ")] == ids


# Documents


def test_documents_are_read_written_compared_and_taken_back(home: Path, line: Line) -> None:
    """O18, O20: a path with or without `~/`, or as a shell hands it over."""
    for path in ("memory/people/mara", "~/memory/people/mara", str(Path("~/memory/people/mara").expanduser())):
        assert "Lisbon" in line.done("doc", "read", path).out
    found = line.done("doc", "read", "memory/people/mara", "--json").json["document"]
    assert line.done("doc", "read", found["id"], "--body").out.rstrip("\n") == found["body"]
    assert "mara" in line.done("doc", "tree").out
    assert line.done("doc", "read", "~").out == "~/memory\n"
    assert line.done("doc", "read", "~", "--json").json == {"document": None, "children": ["~/memory"]}
    assert [one["path"] for one in line.done("doc", "tree", "memory/people", "--json").json][-1] == found["path"]
    line.done("doc", "write", "memory/atlas", "We ship in May.", "--title", "Atlas")
    stale = line("doc", "write", "memory/atlas", "We ship in June.")
    assert "--version 1" in stale.err
    made = line.done("doc", "write", "memory/atlas", "--version", 1, "--json", piped="We ship in June.\n").json
    assert (made["version"], made["title"], made["body"]) == (2, "Atlas", "We ship in June.")
    assert "+We ship in June." in line.done("doc", "diff", "memory/atlas").out
    assert line.done("doc", "diff", "memory/atlas", 2, 2).out == "The two are the same.\n"
    versions = line.done("doc", "history", "memory/atlas", "--json").json
    assert [one["version"] for one in versions] == [2, 1]
    assert "it holds" in line.done("doc", "history", "memory/atlas").out
    assert "Taken back" in line.done("doc", "rollback", versions[0]["changeset_id"]).out
    assert "We ship in May." in line.done("doc", "read", "memory/atlas").out
    assert line.done("doc", "history", "-n", 1, "--json").json[0]["cause"] == "rollback"
    before = found["valid_from"]
    assert line.done("doc", "rollback", "--to", before, "--json").json["changeset"]
    assert "nothing to take back" in line.done("doc", "rollback", "--to", before).out
    assert "doc tree" in line("doc", "read", "memory/people/mara", "--as-of", "2001-01-01").err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["doc", "read", "no/where"], 1, "See: lifelong doc tree"),
        (["doc", "read", "../../etc/passwd"], 1, "lifelong: "),
        (["doc", "write", "no/where", "x"], 1, "Make that first: lifelong doc write no"),
        (["doc", "write", "/", "x"], 1, "A slug must not be empty"),
        (["append", "x", "--agent", "a/b"], 1, "a new one is named like cli/mara/main. See: lifelong agents"),
        (["doc", "write", "0123456789abcdef" * 2, "x"], 1, "See: lifelong doc tree"),
        (["doc", "write", "memory/new", "x", "--version", "3"], 1, "Leave --version out"),
        (["doc", "diff", "memory", "1", "9"], 1, "lifelong: "),
        (["doc", "rollback"], 2, "Name a changeset"),
        (["doc", "rollback", "1", "--to", "2026-01-01"], 2, "Name a changeset"),
        (["doc", "rollback", "999"], 1, "See: lifelong doc history"),
        (["sessions", "show", "nothing"], 1, "See: lifelong sessions list"),
        (["inbox", "retry", "999"], 1, "See: lifelong inbox list"),
        (["inbox", "list", "--state", "lost"], 2, "pending, leased, done, dead"),
        (["notes", "show", "../x"], 1, "cannot be"),
        (["notes", "store", "w", "../x", "text"], 1, "cannot be"),
        (["experiences", "add", "short"], 1, "at least 20 characters"),
        (["journal", "remember", " "], 1, "nothing to remember"),
        (["journal", "remember", "x", "--category", "a b"], 1, "cannot be a category"),
        (["recal", "x"], 2, "Did you mean 'recall'?"),
        (["doc", "reed", "x"], 2, "'read'? See: lifelong doc --help"),
        (["status", "--nonsense"], 2, "See: lifelong status --help"),
        (["ledger", "--limit", "0"], 2, "--limit"),
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
    assert "there already" in line.done("experiences", "add", told).out
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


def test_what_is_off_says_how_to_switch_it_on(tmp_path: Path, line: Line) -> None:
    """K2."""
    Memory.open(tmp_path).close()
    assert "journal_enabled = true" in line("journal", "show", "--home", tmp_path).err
    assert "experience_store_enabled" in line("experiences", "list", "--home", tmp_path).err


def test_agents_sessions_and_receipts(home: Path, line: Line) -> None:
    """O6: how far each record has come."""
    assert line.done("agents", "--json").json[-1]["descriptor"]["user_id"] == "mara"
    assert "/connectors/cli/mara/main" in line.done("agents").out
    (session,) = line.done("sessions", "list", "--json").json
    assert session["id"] in line.done("sessions", "list", "--agent", "cli/mara/main").out
    for name in (session["id"], "cli/mara/main", session["agent_id"]):
        shown = line.done("sessions", "show", name).out
        assert SAID[0] in shown
        assert "searchable" in shown
    told = line.done("sessions", "show", session["id"], "--after", 3, "--json").json
    assert [one["record_id"] for one in told["receipts"]] == [4]
    assert line.done("inbox", "list", "--json").json[0]["state"] == "done"
    assert line.done("inbox", "list", "--state", "dead").out.startswith("There is nothing in it")
    assert line.done("inbox", "retry", "--json").json == {"retried": 0}


def test_status_ledger_doctor_verify_and_rebuild(home: Path, line: Line) -> None:
    """O6: health, and what can be counted."""
    told = line.done("status", "--json").json
    assert told["health"]["status"] == "green"
    assert told["totals"]["items"]["record"] == 4
    assert "4 record" in line.done("status").out
    assert line.done("ledger", "--json").json == []
    assert "No model was called" in line.done("ledger").out
    assert line.done("doctor").out.startswith("✓")
    assert line.done("verify", "--json").json == {"sound": True, "faults": []}
    assert line.done("rebuild", "--json").json == {"rebuilt": True}
    assert line.done("worker", "--once", "--json").json["organized"] == 0


def test_the_doctor_says_what_is_worth_a_remark(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O6: also to programs; nothing is wrong."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("LIFELONG_MODELS_MODEL", "anthropic:claude-haiku-4-5")
    told = line.done("doctor", "--json").json
    assert (told["sound"], told["problems"]) == (True, [])
    assert told["remarks"]


def test_a_red_status_and_the_doctor_exit_with_1(home: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """O6: what waits too long is a thing that is wrong."""
    line.done("append", "I like tea.", "--agent", "cli/mara/main", "--end")
    monkeypatch.setenv("LIFELONG_WORKER_OVERDUE_SECONDS", "0.001")
    assert line("status").code == 1
    answer = line("doctor", "--json")
    assert answer.code == 1
    assert "Is a worker running?" in answer.json["problems"][0]


def test_serve_and_mcp_check_before_they_begin(home: Path, tmp_path: Path, line: Line) -> None:
    """S8: off loopback without a token nothing is served."""
    refused = line("serve", "--host", "0.0.0.0", "--port", 0)
    assert refused.code == 1
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
        assert (answer.code, answer.out) == (0, "")
        assert why in answer.err


HOSTILE = "Ma\x1b]0;owned\x07ra\x9b2J\u202e\u2066 \x1b[31m[red]likes[/red] [link=x]tea[/link]\r\x08"


def test_hostile_text_commands_no_terminal(home: Path, line: Line) -> None:
    """R2, S3: wherever stored text is shown, and in what an error repeats of it."""
    agent = f"/connectors/cli/{quote(HOSTILE, safe='')}/main"
    line.done("append", HOSTILE, "--agent", agent, "--speaker", HOSTILE, "--end")
    line.done(
        "doc", "write", "memory/tea", HOSTILE, "--title", HOSTILE, "--description", HOSTILE, "--note", HOSTILE
    )
    line.done("journal", "remember", HOSTILE)
    line.done("experiences", "add", HOSTILE, "--entity", HOSTILE)
    line.done("notes", "store", "tester", "tea", HOSTILE)
    assert line("worker", "--once", "--json").code == 0
    reading = [
        *(["list"], ["recall", "tea"], ["recall", HOSTILE], ["context"], ["agents"], ["relations"]),
        *(["sessions", "list"], ["sessions", "show", agent], ["doc", "tree"], ["doc", "history"]),
        *(["doc", "read", "memory/tea"], ["doc", "history", "memory/tea"], ["doc", "diff", "memory/tea"]),
        *(
            ["journal", "show"],
            ["experiences", "list"],
            ["experiences", "query", "tea"],
            ["notes", "show", "tester"],
        ),
        *(["inbox", "list"], ["status"], ["relations", HOSTILE]),
        *(["append", "x", "--agent", HOSTILE], ["doc", "read", HOSTILE], ["sessions", "show", HOSTILE]),
    ]
    for words in (*reading, *([*words, "--json"] for words in reading)):
        answer = line(*words)
        shown = answer.out + answer.err
        assert not {c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066"} - {*"\n\t"}, (
            words
        )
        if answer.code == 0 and "likes" in shown:
            assert "[red]likes" in shown or "%5Bred%5Dlikes" in shown, f"{words}: it is no markup"
