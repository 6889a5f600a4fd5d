"""The HTTP API, operation by operation, over a real home."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lifelong import errors
from lifelong.memory import Store
from lifelong.namespaces import Admin
from lifelong.serve.http import problems
from lifelong.serve.http.app import create_app
from tests.http_api import MARA, Api

ON = {"journal_enabled": True, "experience_store_enabled": True}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home", continuity=ON) as store:
        yield store


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Making an application takes longer than most tests do."""
    with (
        Store.open(tmp_path_factory.mktemp("shared")) as store,
        TestClient(create_app(store), base_url="http://localhost") as client,
    ):
        yield Api(client)


@pytest.fixture
def api(app: Api, store: Store) -> Api:
    app.served.state.store = store
    return app


def test_every_operation_is_tested(api: Api) -> None:
    source = "".join(
        Path(__file__).with_name(name).read_text("utf-8")
        for name in ("test_http.py", "test_review.py", "test_tokens.py")
    )
    assert {name for name in api.operations if f'"{name}"' not in source} == set()


def test_a_descriptor_has_one_agent(api: Api) -> None:
    """C3: asking twice gives the same agent."""
    made = api("get_or_make_agent", MARA)
    assert api("get_or_make_agent", MARA) == made
    assert made["descriptor"] == MARA
    assert api("list_agents") == [made]
    assert api("get_agent", agent_id=made["id"]) == made
    assert api("find_agent") == made


@pytest.mark.parametrize(
    "descriptor",
    [
        {"kind": "cron", "id": "1", "name": "nightly"},
        {"kind": "task", "id": "1"},
        {"kind": "system", "tag": "boot"},
        {"kind": "subagent", "id": "1", "parent_agent_id": "2", "name": "scout"},
        {"kind": "app", "id": "1", "parent_agent_id": "2", "name": "a", "system_prompt": "", "app_id": "3"},
        {"kind": "permanent", "id": "1", "name": "a", "description": "", "system_prompt": "Be kind."},
    ],
    ids=lambda descriptor: str(descriptor["kind"]),
)
def test_agents_of_every_kind(api: Api, descriptor: dict[str, str]) -> None:
    """C1: every kind goes in and comes out as it is."""
    assert api("get_or_make_agent", descriptor)["descriptor"] == descriptor


RECORDS: list[dict[str, Any]] = [
    {"type": "user_message", "text": "Hi", "speaker": "Mara", "provenance": "user", "at": "2026-03-05T12:00:00Z"},
    {
        "type": "assistant_message",
        "text": "Hello",
        "speaker": "",
        "provenance": "agent",
        "at": "2026-03-05T12:00:01Z",
    },
    {
        "type": "tool_call",
        "name": "look",
        "arguments": {"deep": [1, {"a": None}]},
        "call_id": "c",
        "provenance": "agent",
        "at": "2026-03-05T12:00:02Z",
    },
    {
        "type": "tool_result",
        "text": "seen",
        "name": "look",
        "call_id": "c",
        "failed": False,
        "provenance": "web",
        "at": "2026-03-05T12:00:03Z",
    },
    {"type": "note", "text": "aside", "speaker": "", "provenance": "agent", "at": "2026-03-05T12:00:04Z"},
    {
        "type": "system_message",
        "text": "boot",
        "summary": False,
        "provenance": "system",
        "at": "2026-03-05T12:00:05Z",
    },
]


def test_every_record_comes_back_as_it_went_in(api: Api) -> None:
    """C6, C7: all or none, in order, with provenance, time and speaker."""
    agent = api.agent()
    ids = api("add", {"records": RECORDS, "agent": agent})["ids"]
    (session,) = api("list_agent_sessions", agent_id=agent)
    history = api("get_history", session_id=session["id"])
    assert [f"r{one['id']}" for one in history] == ids
    assert [one["record"] for one in history] == RECORDS
    assert api("get_history", session_id=agent, after=history[-2]["id"]) == history[-1:]
    assert "## User" in api("get_transcript", session_id=session["id"])["text"]


def test_nothing_is_said_in_the_future(api: Api) -> None:
    """C11."""
    said = {"text": "The ferry leaves at nine.", "at": "2099-01-01T00:00:00Z"}
    assert "in the future: 2099-01-01" in api("add", said, status=422)["detail"]
    assert api("list_agents") == []


def test_a_batch_with_a_bad_record_stores_nothing(api: Api) -> None:
    """C7"""
    agent = api.agent()
    records = [{"type": "note", "text": text} for text in ("fine", "no\0t")]
    assert "NUL" in api("add", {"records": records, "agent": agent}, status=422)["detail"]
    assert api("list_agent_sessions", agent_id=agent) == []


def test_a_key_makes_a_retry_harmless(api: Api) -> None:
    """C7: the same key, the same id; with other content it is an error."""
    agent = api.agent()
    said = {"text": "once", "agent": agent, "key": "k"}
    first = api("add", said)
    assert api("add", said) == first
    api("add", {**said, "text": "twice"}, status=422)
    assert len(api("get_history", session_id=agent)) == 1


@pytest.mark.parametrize(
    "what",
    [
        {"text": "I moved to Lisbon.", "speaker": "Mara", "at": "2026-03-05T12:00:00Z"},
        {"messages": [{"role": "user", "content": "I moved to Lisbon."}]},
        {"messages": ["I moved to Lisbon."]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "I moved to Lisbon."}]}]},
        {"records": [{"type": "user_message", "text": "I moved to Lisbon."}]},
    ],
    ids=["text", "openai", "strings", "anthropic", "records"],
)
def test_messages_are_added_as_people_have_them(api: Api, what: dict[str, Any]) -> None:
    """C11: without an agent it is the user's default one; a user begins with the first thing that is added."""
    (record,) = api("add", what, user="new")["ids"]
    (hit,) = api("search", {"query": "Lisbon"}, user="new")
    assert (f"r{hit['record_id']}", hit["text"], hit["trust"]) == (record, "I moved to Lisbon.", "user")
    assert "I moved to Lisbon." in api("context", {}, user="new")["text"]
    api("end_session", user="new")
    assert api("organize", user="new")["finished"] == 1
    assert api("receipt", record=record, user="new")["stage"] == "searchable"
    api("add", {**what, "agent": MARA}, user="new")
    assert api("find_agent", user="new")["descriptor"] == MARA


def test_a_home_is_looked_after(api: Api, store: Store) -> None:
    """S1: the database and the index are checked, the index is rebuilt, a backup stays in its folder."""
    api.say(api.agent(), "Mara lives in Lisbon.")
    assert api("check") == []
    assert api("verify") == []
    assert api("audit")["findings"] == []
    api("rebuild")
    made = api("backup", {"name": "monday"})
    assert Path(made["path"]) == store.home.path / "backups" / "monday.db"
    assert made["bytes"] > 0
    assert api("backup", {})["path"] != made["path"]
    api("backup", {"name": "monday"}, status=422)
    assert "letters, digits, _ and -" in api("backup", {"name": "../monday"}, status=422)["detail"]


def test_sessions_end_and_go_on(api: Api) -> None:
    """C9: reset and compaction open a new session; sleep and the end of a turn say what they did."""
    agent = api.agent()
    first = api.say(agent, "one")
    assert api("end_turn", {"agent": agent})["until"] == first
    assert api("end_turn", {"agent": agent}) is None
    second = api("reset", {"message": "enough"}, agent_id=agent)
    api.say(agent, "two")
    third = api("compact_context", {"summary": "They counted."}, agent_id=agent)
    recent = api("list_sessions")
    assert [one["id"] for one in recent[:2]] == [third["id"], second["id"]]
    assert api("list_sessions", limit=1, before=third["id"]) == [recent[1]]
    assert api("get_session", session_id=second["id"])["ended_at"]
    api("end_session", {"agent": agent})
    assert api("get_agent", agent_id=agent)["state"] == "sleeping"
    assert api("receipt", record=f"r{first}")["session_id"] == recent[2]["id"]
    assert api("receipt", record=f"R{first}")["session_id"] == recent[2]["id"]


def test_a_record_is_found_at_once(api: Api) -> None:
    """R1, R2, R3: with its source; narrowed by kind, agent and time; explained when asked."""
    agent = api.agent()
    record = api.say(agent, "Mara lives in Lisbon, near the river.")
    (hit,) = api("search", {"query": "Where does Mara live?", "explain": True})
    assert (hit["record_id"], hit["agent_id"], hit["trust"]) == (record, agent, "user")
    assert hit["parts"]
    for narrow in ({"kinds": ["fact"]}, {"until": "2000-01-01T00:00:00Z"}, {"as_of": "2000-01-01T00:00:00Z"}):
        assert api("search", {"query": "Mara", **narrow}) == []
    assert len(api("search", {"query": "Mara", "agent": agent, "kinds": ["record"]})) == 1


def test_searches_are_logged_and_hits_get_feedback(api: Api) -> None:
    """R10, R11: the log, feedback, the list, a correction and a pin."""
    agent = api.agent()
    api.say(agent, "The launch is on Monday the 9th.")
    (hit,) = api("search", {"query": "When is the launch?"})
    (logged,) = api("list_recalls")
    assert logged["hits"] == [{"id": hit["id"], "score": hit["score"], "rank": 1}]
    assert api("get_recall", recall_id=logged["id"]) == logged
    judged = api("feedback", {"item": hit["id"], "verdict": "useful", "recall_id": logged["id"]})
    assert judged == {"ended": []}
    api("pin", {"item": hit["id"]})
    assert "Monday the 9th" in api("context", {"agent": agent})["text"]
    api("unpin", {"item": hit["id"]})
    assert "(pinned)" not in api("context", {"agent": agent, "message": "hello", "explain": True})["text"]
    corrected = api("correct", {"item": hit["id"], "text": "The launch is on Friday the 13th."})
    assert api("list", kind="record", subject="launch", limit=1)[0]["text"] == corrected["text"]
    api("pin", {"item": "r999"}, status=404)
    api("get_recall", recall_id=999, status=404)


def test_what_is_forgotten_is_shown_first_and_proven_then(api: Api) -> None:
    """S6: nothing goes unless `dry_run` is false; the answer has the report and the proof, but not the words; the
    tombstone has the author."""
    agent = api.agent()
    said = api.say(agent, "My sister Zelda works at Quuxcorp.")
    api.say(agent, "The launch is on Thursday.")
    shown = api("forget", {"about": "Zelda"})
    assert shown["proof"] is None
    assert shown["report"]["preview"]
    assert shown["report"]["texts"] == [f"r{said} My sister Zelda works at Quuxcorp."]
    assert api("list_forgotten") == []
    done = api("forget", {"about": "Zelda", "dry_run": False, "author": "mara"})
    assert done["report"]["records"] == [f"r{said}"]
    assert done["report"]["complete"]
    assert done["proof"]["found"] == []
    assert done["proof"]["words"] > 0
    assert "Quuxcorp" not in str(done)
    (stone,) = api("list_forgotten")
    assert (stone["kind"], stone["ref"], stone["author"]) == ("record", str(said), "mara")
    assert [hit["text"] for hit in api("list")] == ["The launch is on Thursday."]
    assert "was forgotten on" in api("forget", {"ids": [f"r{said}"]}, status=404)["detail"]
    dated = {"text": "Zelda left Quuxcorp.", "at": "2026-03-02T09:00:00Z"}
    (id_,) = api("add", dated, status=201)["ids"]
    api("forget", {"ids": [id_], "dry_run": False})
    again = api("add", dated, status=201)
    assert (again["ids"], again["forgotten"][0]["ref"]) == ([], id_[1:])
    assert "Say what to forget" in api("forget", {}, status=422)["detail"]
    assert api("forget", {"matching": "launch", "dry_run": False, "prove": False})["proof"] is None


def test_documents_are_written_with_the_version_that_was_read(api: Api) -> None:
    """O18, O20, O21: write, edit, stale write, as of, diff, versions, deletion."""
    made = api("make_document", {"slug": "trains", "title": "Trains", "body": "Fast.", "parent_path": "~/memory"})
    assert (made["path"], made["version"]) == ("~/memory/trains", 1)
    changed = api("edit_document", {"expected_version": 1, "append": "Quiet."}, document_id=made["id"])
    stale = {"expected_version": 1, "slug": "trains", "title": "Trains", "body": "Slow."}
    assert "version" in api("write_document", stale, document_id=made["id"], status=409)["detail"]
    fresh = {**stale, "expected_version": 2, "author": "mara", "note": "they are not"}
    assert api("write_document", fresh, document_id=made["id"])["version"] == 3
    whole = api("read_document_at", path="~/memory/trains")
    assert whole["document"]["body"] == "Slow."
    assert [one["kind"] for one in whole["references"]] == ["parent"]
    past = api("read_document", document_id=made["id"], as_of=changed["valid_from"])
    assert past["document"]["version"] == 2
    assert [one["version"] for one in api("list_versions", document_id=made["id"])] == [1, 2, 3]
    assert "+Slow." in api("diff_versions", document_id=made["id"], old=1, new=3)["text"]
    assert [one["path"] for one in api("list_documents")] == ["~/memory", "~/memory/trains"]
    assert [one["slug"] for one in api("list_roots")] == ["memory"]
    assert api("list_facts", document_id=made["id"]) == []
    assert api("list_changesets", limit=1)[0]["note"] == "they are not"
    api("delete_document", document_id=made["id"], expected_version=2, status=409)
    api("delete_document", document_id=made["id"], expected_version=3)
    api("read_document", document_id=made["id"], status=404)


def test_changesets_are_rolled_back(api: Api) -> None:
    """O21: one changeset, or to a time, as a new changeset."""
    made = api("make_document", {"slug": "a", "title": "A", "body": "One."})
    changed = api(
        "edit_document", {"expected_version": 1, "find": "One", "replace": "Two"}, document_id=made["id"]
    )
    newest = api("get_changeset", changeset_id=changed["changeset_id"])
    (change,) = api("list_changes", changeset_id=newest["id"])
    assert (change["before"]["body"], change["after"]["body"]) == ("One.", "Two.")
    assert api("rollback_changeset", changeset_id=newest["id"], author="mara")["cause"] == "rollback"
    assert api("read_document", document_id=made["id"])["document"]["body"] == "One."
    assert api("rollback_to_time", {"time": changed["valid_from"]})["cause"] == "rollback"
    assert api("read_document", document_id=made["id"])["document"]["body"] == "Two."
    api("get_changeset", changeset_id=999, status=404)


def test_documents_are_consolidated(api: Api) -> None:
    """S7, O21: what would be done, what was done, and the changeset that undoes it."""
    twice = "I like trains. [Mara, 2026-02-01, r1]\n\nI like trains. [Mara, 2026-02-02, r2]"
    api("add", {"text": "Hello."})
    made = api("make_document", {"slug": "preferences", "title": "P", "body": twice, "parent_path": "~/memory"})
    planned = api("consolidate_documents", dry_run=True)
    assert api("consolidate_documents", {"dry_run": True})["dry_run"]
    api("consolidate_documents", {"dryrun": True}, status=422)
    assert (planned["dry_run"], planned["changeset"], len(planned["merged"])) == (True, None, 1)
    done = api("consolidate_documents")
    assert (done["merged"], done["facts_before"], done["facts_after"]) == (planned["merged"], 2, 1)
    api("rollback_changeset", changeset_id=done["changeset"])
    assert api("read_document", document_id=made["id"])["document"]["body"] == twice


def test_the_journal_is_kept_and_compacted(api: Api) -> None:
    """O22, O24, O30"""
    line = api("remember", {"text": "Mara prefers trains.", "category": "user-preference"})
    assert [one["id"] for one in api("list_journal")] == [line["id"]]
    assert api("list_day", day=line["timestamp"][:10]) == api("list_journal")
    assert api("get_long_memory")["text"] == ""
    assert "Mara prefers trains." in api("get_journal_context")["text"]
    assert api("compact_journal")["ran"] is False
    assert api("compact_journal", force=True)["records_before"] == 1


def test_workers_keep_notes(api: Api) -> None:
    """O31, O32, S3: a key and a worker's name never leave their folder."""
    api("store_note", {"content": "Port 5432."}, worker="builder", key="database")
    assert api("load_notes", worker="builder")["text"] == "Port 5432."
    assert api("list_workers") == ["builder"]
    assert api("compact_notes", worker="builder")["ran"] is False
    assert api("compact_notes", worker="builder", force=True)["ran"] is False
    assert api("restore_notes", worker="builder") == {"restored": []}
    api("store_note", {"content": "x"}, worker="builder", key="%2e%2e", status=422)
    api("store_note", {"content": "x"}, worker="a.b", key="x", status=422)
    api("store_note", {"content": "x"}, worker="..%2f..", key="x", status=404)


def test_the_same_experience_is_kept_once(api: Api) -> None:
    """R5, R7, R9: added, found, listed; and who is related to whom."""
    told = {"text": "Tom and Priya went to the lake near Oslo in June.", "entities": ["Tom", "Priya"]}
    first = api("add_experience", told)["id"]
    assert api("add_experience", told)["id"] is None
    assert [one["id"] for one in api("list_experiences")] == [first]
    assert api("query_experiences", {"query": "Who went to the lake?"})[0]["id"] == first
    assert [one["name"] for one in api("get_relations", entity="Tom")["neighbours"]] == ["Priya"]
    assert set(api("list_entities")) >= {"Tom", "Priya"}


def test_what_is_off_says_how_to_switch_it_on(api: Api, tmp_path: Path) -> None:
    """K2"""
    with Store.open(tmp_path / "off") as store:
        api.served.state.store = store
        assert "journal_enabled" in api("list_journal", status=409)["detail"]
        assert "experience_store_enabled" in api("list_experiences", status=409)["detail"]


def test_the_queue_and_the_home_are_shown(api: Api, store: Store) -> None:
    """O5, O6: inbox, retry, receipts, health, stats, ledger, metrics."""
    agent = api.agent()
    record = api.say(agent, "My name is Mara and I live in Lisbon.")
    api("end_session", {"agent": agent})
    assert api("health")["marked"] == 1
    store.user().organize()
    assert api("receipt", record=record)["stage"] == "searchable"
    (item,) = api("list_inbox", state="done")
    assert api("list_inbox", state=["pending", "dead"]) == []
    assert api("retry_inbox") == {"retried": 0}
    api("retry_item", item_id=item["id"])
    api("retry_item", item_id=999, status=404)
    assert api("release_inbox") == {"released": 0}
    assert api("release_item", item_id=item["id"]) == {"released": 0}
    api("release_item", item_id=999, status=404)
    assert api("stats")["items"]["record"] == 1
    assert api("ledger") == []
    figures = api("metrics")
    assert 'lifelong_items{user="default",kind="record"} 1\n' in figures
    assert "lifelong_queue_depth 0\n" in figures
    assert 'lifelong_http_requests_total{status="404"}' in figures


def test_users_do_not_mix(api: Api) -> None:
    """C0, K3, R3: a user begins with its first agent; until then it is unknown, and none sees another's."""
    unknown = api("list_agents", user="beta", status=404)["detail"]
    assert unknown == "Unknown user 'beta'. A user begins with the first thing that is stored for it."
    bad = {**MARA, "user_id": ""}
    api("get_or_make_agent", bad, user="beta", status=422)
    api("list_agents", user="beta", status=404)
    ours, theirs = api.agent(), api.agent("beta")
    record = api.say(theirs, "The password of the safe is under the mat in Oslo.", user="beta")
    api.say(ours, "Nothing to see.")
    assert api("list_users") == ["beta", "default"]
    assert record not in {hit["record_id"] for hit in api("search", {"query": "safe in Oslo"})}
    assert api("search", {"query": "safe in Oslo"}, user="beta")[0]["record_id"] == record
    api("get_agent", agent_id=theirs, status=404)
    api("get_history", session_id=theirs, status=404)
    api("add", {"text": "x", "agent": theirs}, status=404)
    api("receipt", record=record, status=404)
    api("list_agents", user="../x", status=422)
    api("watch_events", user="gamma", status=404)


# Problems


def test_a_wrong_request_is_answered_with_its_faults(api: Api) -> None:
    api.agent()
    wrong = {"records": [{"type": "shout", "text": "x"}]}
    assert "shout" in api("add", wrong, status=422)["faults"][0]["what"]
    assert "timezone" in api("add", {"text": "x", "at": "2026-03-05T12:00:00"}, status=422)["detail"]
    typed = api.client.post("/api/v1/search", content='{"query": "tea"}', headers={"content-type": "text/plain"})
    assert "content-type: application/json" in typed.json()["detail"]
    assert "as text" in api("add", {"text": "x", "at": 0}, status=422)["detail"]
    for none_or_two in ({}, {"text": "x", "messages": [{"role": "user", "content": "x"}]}):
        assert ": body: Give exactly one of" in api("add", none_or_two, status=422)["detail"]
    unknown = {"messages": [{"role": "usr", "content": "x"}]}
    assert 'Did you mean "user"' in api("add", unknown, status=422)["detail"]
    for written in ("0", "20260305", "2026-03-05"):
        assert "ISO 8601" in api("list", since=written, status=422)["detail"]
    for written in ("0", "2026-03-05T00:00:00Z"):
        assert "ISO 8601" in api("list_day", day=written, status=422)["detail"]
    answer = api.client.post("/api/v1/search", content=b'{"query": "\\ud800"}')
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    answer = api.client.post("/api/v1/search", content=b"{")
    assert answer.json()["title"] == "Input error"
    answer = api.client.post("/api/v1/search", content=b"{", headers={"content-type": "application/json"})
    assert ": body: Not JSON, at character 2: Expecting" in answer.json()["detail"]
    for blank in ("", " \n"):
        assert "The text is empty. Give what was said." in api("add", {"text": blank}, status=422)["detail"]
    assert "Give the id of a record, such as r42." in api("receipt", record="zzz", status=422)["detail"]
    assert "a-z, 0-9, _ and -" in api("list", user="Mara Lopes", status=422)["detail"]


def test_faults_are_reported_within_bounds(api: Api) -> None:
    records = [{"type": "note", "text": 1} for _ in range(5_000)]
    faults = api("add", {"records": records}, status=422)["faults"]
    assert len(faults) == problems.MAX_FAULTS
    answer = api("search", {"query": "x", "y" * 100_000: 1}, status=422)
    assert len(answer["detail"]) < 1_000


def test_a_404_gives_advice_for_http(api: Api) -> None:
    """No advice that only a program in Python could follow."""
    agent = api.agent()
    for problem, advice in (
        (api("get_agent", agent_id="x", status=404), "GET /api/v1/agents"),
        (api("search", {"query": "x", "agent": "x"}, status=404), "GET /api/v1/agents"),
        (api("context", {"agent": "x"}, status=404), "GET /api/v1/agents"),
        (api("get_session", session_id="x", status=404), "GET /api/v1/sessions"),
        (api("get_history", session_id="x", status=404), "No session and no agent"),
        (api("get_recall", recall_id=7, status=404), "GET /api/v1/admin/recall_log"),
        (api("retry_item", item_id=7, status=404), "GET /api/v1/inbox"),
        (api("get_changeset", changeset_id=7, status=404), "GET /api/v1/changesets"),
        (api("read_document", document_id="x", status=404), "GET /api/v1/documents"),
        (api("list", since="0001-01-01T00:00:00+14:00", status=422), "0001-01-01T00:00:00+14:00"),
        (api("list", since="9999-01-01T00:00:00Z", status=422), "9999-01-01T00:00:00+00:00"),
    ):
        assert advice in problem["detail"]
        assert "memory." not in problem["detail"]
        assert "datetime" not in problem["detail"]
    assert api("search", {"query": "x", "agent": agent}) == []


def test_no_such_address_and_no_such_method(api: Api) -> None:
    assert api.client.get("/api/v1/nothing").json()["status"] == 404
    answer = api.client.put("/api/v1/search")
    assert (answer.json()["status"], answer.headers["allow"]) == (405, "POST")


def test_every_error_has_its_status() -> None:
    """Only what nobody can do anything about from outside is a 500."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    inner = {kind.__name__ for kind in kinds if problems.answer(kind()).status_code == 500}
    assert inner == {
        *("LifelongError", "StorageError", "StorageCorrupt", "ForeignDatabase", "NewerDatabase"),
        *("LeaseLost", "JournalError", "IndexCorrupt", "WrongKey"),
    }


def test_a_failed_page_says_nothing_of_the_inside(
    app: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(admin: Admin) -> None:
        raise errors.StorageCorrupt("page 7 of /home/mara/lifelong.db is damaged")

    monkeypatch.setattr(Admin, "health", fail)
    answer = app.client.get("/")
    assert answer.status_code == 500
    assert "mara" not in answer.text
    assert "in the server" in answer.text
    assert "/home/mara" in caplog.text


def test_a_failure_says_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "lifelong.serve"):
        answer = problems.answer(RuntimeError("/home/mara/secret"))
    assert answer.status_code == 500
    assert b"mara" not in bytes(answer.body)
    assert "/home/mara/secret" in caplog.text
