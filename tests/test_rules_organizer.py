"""Runs of the rules over conversations of every kind: every fact is a quote, and no run fails (SPEC O5, O8, O10,
O11, O12)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lifelong import Memory, Store
from lifelong.collect.descriptors import Descriptor
from lifelong.collect.transcript import without_injected
from lifelong.errors import DocumentInUse
from lifelong.organize.facts import MAX_PAGE_CHARS, parse_facts
from lifelong.testing import FakeClock
from lifelong.types import Document, Record
from tests import transcripts

Session = tuple[Descriptor, list[Record]]

_INSERTED = re.compile(r"(\[[^\[\]]*\])")
_MARKS = re.compile(r"(?:[-*+•>#|]+|\d{1,3}[.)]|\*\*|Inferred:|\s)+")
_users = itertools.count()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home", clock=FakeClock(), organize={"organizer": "rules"}) as store:
        yield store


def is_quote(text: str, said: str) -> bool:
    """Whether each part of a text that is not in square brackets was said, in this order and with nothing left
    out; white space and the marks of lists count for nothing, and `[…]` says that something is left out."""
    said = _MARKS.sub("", said)
    for part in text.split("[…]"):
        pieces = [_MARKS.sub("", piece) for piece in _INSERTED.split(part)]
        wanted = "".join(
            f"(?:{re.escape(piece)})?" if number % 2 else re.escape(piece) for number, piece in enumerate(pieces)
        )
        found = re.search(wanted, said)
        if not found:
            return False
        said = said[found.end() :]
    return True


def quoted_records(memory: Memory) -> Iterator[tuple[Document, str, str]]:
    """Every quote of a memory, with its document and the record that it cites first."""
    said = {
        one.id: getattr(one.record, "text", "")
        for session in memory.sessions.recent()
        for one in memory.sessions.history(session)
    }
    for document in memory.documents.walk():
        for fact in parse_facts(document.body):
            if fact.day:
                yield document, fact.text, without_injected(said[fact.records[0]])


def run(memory: Memory, session: Session) -> None:
    agent = memory.agent(session[0])
    memory.append_many(agent, session[1])
    memory.end_session(agent)
    done = memory.organize()
    assert not done.failed, [item.error for item in memory.inbox.list()]


def edit(memory: Memory, how: str, which: int) -> None:
    """Do to a document what a person might do by hand."""
    documents = [one for one in memory.documents.walk() if one.body]
    if not documents:
        return
    one = documents[which % len(documents)]
    body, title = one.body, one.title
    match how:
        case "remark":
            body = f"A remark of my own.\n\n{body}\n\n- and a list\n- of two"
        case "title":
            title = f"{title} Lund-Reis"
        case "reword":
            body = body.replace("Porto", "Faro").replace(". [", ", I think. [")
        case "crlf":
            body = body.replace("\n", "\r\n")
        case "list":
            body = "\n".join(f"- {part}" for part in body.split("\n\n"))
        case "empty":
            body = ""
        case "cite":
            body = re.sub(r"\br\d+", "r999999", body)
        case "strip":
            body = re.sub(r" \[[^\[\]]*\]", "", body)
        case "earlier":
            body = f"## Earlier\n\n{body}"
        case "fill":
            body = body + "\n\n" + "\n\n".join(f"Remark number {n} by hand." for n in range(MAX_PAGE_CHARS // 20))
        case "delete":
            with suppress(DocumentInUse):
                memory.documents.delete(one.id, one.version)
            return
    if (body, title) != (one.body, one.title):
        memory.documents.write(
            document_id=one.id,
            expected_version=one.version,
            slug=one.slug,
            title=title,
            description=one.description,
            body=body,
        )


EDITS = ("none", "none", "none", "remark", "title", "reword", "crlf", "list", "empty", "cite", "strip", "earlier")
steps = st.lists(
    st.tuples(transcripts.sessions, st.sampled_from((*EDITS, "fill", "fill", "delete")), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)


LONG = [
    pytest.param(part, 300, marks=pytest.mark.soak, id=f"300 conversations, part {part}") for part in range(1, 4)
]


@pytest.mark.parametrize(("part", "conversations"), [pytest.param(0, 40, id="40 conversations"), *LONG])
def test_no_run_fails_and_every_fact_is_a_quote(store: Store, part: int, conversations: int) -> None:
    """O5, O8, O10, O11, O12: property; some three transcripts a conversation, and edits by hand between them."""
    runs = 0

    @seed(part)
    @settings(
        max_examples=conversations,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(steps)
    def check(steps: Sequence[tuple[Session, str, int]]) -> None:
        nonlocal runs
        memory = store.user(f"u{next(_users)}")
        edited = False
        for session, how, which in steps:
            run(memory, session)
            runs += 1
            if not edited:
                for document, text, said in quoted_records(memory):
                    assert is_quote(text, said), (document.path, text, said)
            edit(memory, how, which)
            edited = edited or how != "none"
        assert memory.admin.health().status == "green", memory.admin.health()
        assert not memory.inbox.list("pending", "leased", "dead")

    check()
    print(f"{runs} runs")
