"""How the tables came to be, step by step. A database is made, or brought up to date, by the steps it lacks.

A step that was released is never edited: a change is a new step. What the two databases spell differently
stands in `SPELLED`.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import NewerDatabase
from recollect.storage.base import Dialect, Transaction

SPELLED: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "{growing_id}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{bytes}": "BLOB",
        # Which items a word stands in, and no more: the text is elsewhere, and order and number are not asked for.
        "{full_text}": "CREATE VIRTUAL TABLE item_words USING fts5 "
        "(words, content='', contentless_delete=1, detail=none, tokenize='ascii')",
        "{full_text_index}": "",
    },
    "postgres": {
        "{growing_id}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{bytes}": "BYTEA",
        "{full_text}": "CREATE TABLE item_words (rowid BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL)",
        "{full_text_index}": "CREATE INDEX idx_item_words ON item_words USING gin (words)",
    },
}


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: tuple[str, ...]


MIGRATIONS = (
    Migration(
        1,
        "agents, sessions and their history",
        (
            """CREATE TABLE agents (
                id         TEXT   NOT NULL PRIMARY KEY,
                owner      TEXT   NOT NULL,
                kind       TEXT   NOT NULL,
                cache_key  TEXT   NOT NULL,
                descriptor TEXT   NOT NULL,
                state      TEXT   NOT NULL CHECK (state IN ('active', 'sleeping', 'dead')),
                created_at BIGINT NOT NULL,
                active_at  BIGINT NOT NULL,
                sleep_due  BIGINT,
                death_due  BIGINT,
                UNIQUE (owner, cache_key)
            )""",
            "CREATE INDEX idx_agents_sleep_due ON agents (sleep_due) WHERE sleep_due IS NOT NULL",
            "CREATE INDEX idx_agents_death_due ON agents (death_due) WHERE death_due IS NOT NULL",
            """CREATE TABLE sessions (
                id            TEXT   NOT NULL PRIMARY KEY,
                agent_id      TEXT   NOT NULL REFERENCES agents (id),
                created_at    BIGINT NOT NULL,
                ended_at      BIGINT,
                reset_message TEXT
            )""",
            # One active session an agent.
            "CREATE UNIQUE INDEX idx_sessions_active ON sessions (agent_id) WHERE ended_at IS NULL",
            "CREATE INDEX idx_sessions_agent ON sessions (agent_id, created_at)",
            """CREATE TABLE session_history (
                id          {growing_id},
                session_id  TEXT   NOT NULL REFERENCES sessions (id),
                type        TEXT   NOT NULL,
                provenance  TEXT   NOT NULL,
                at          BIGINT NOT NULL,
                recorded_at BIGINT NOT NULL,
                data        TEXT   NOT NULL
            )""",
            "CREATE INDEX idx_history_session ON session_history (session_id, id)",
            # Where turns were said to end. The journal reads it; rows are only ever added.
            """CREATE TABLE turns (
                session_id TEXT   NOT NULL REFERENCES sessions (id),
                until_id   BIGINT NOT NULL,
                ended_at   BIGINT NOT NULL,
                PRIMARY KEY (session_id, until_id)
            )""",
            # Outlives the record it names, so that a late retry cannot bring back what was forgotten.
            """CREATE TABLE append_keys (
                agent_id  TEXT   NOT NULL REFERENCES agents (id),
                key       TEXT   NOT NULL,
                record_id BIGINT NOT NULL,
                digest    TEXT   NOT NULL,
                PRIMARY KEY (agent_id, key)
            )""",
        ),
    ),
    Migration(
        2,
        "marks: what waits to be organized",
        (
            "ALTER TABLE sessions ADD COLUMN invalidated_at BIGINT",
            "ALTER TABLE sessions ADD COLUMN processed_until BIGINT",
            "CREATE INDEX idx_sessions_invalidated_at ON sessions (invalidated_at)",
        ),
    ),
    Migration(
        3,
        "the inbox: what was handed over",
        (
            # due_at: when a pending item is tried next, or when the lease on it ends; far away for one that
            # stands behind another of its agent. losses: how often its worker stopped without a word.
            """CREATE TABLE inbox (
                id           {growing_id},
                agent_id     TEXT   NOT NULL REFERENCES agents (id),
                type         TEXT   NOT NULL,
                text         TEXT   NOT NULL,
                session_id   TEXT   NOT NULL REFERENCES sessions (id),
                after_id     BIGINT NOT NULL,
                until_id     BIGINT NOT NULL,
                state        TEXT   NOT NULL CHECK (state IN ('pending', 'leased', 'done', 'dead')),
                attempts     BIGINT NOT NULL,
                losses       BIGINT NOT NULL,
                due_at       BIGINT,
                lease        TEXT,
                error        TEXT   NOT NULL,
                created_at   BIGINT NOT NULL,
                done_at      BIGINT,
                changeset_id BIGINT,
                CHECK ((due_at IS NOT NULL) = (state IN ('pending', 'leased'))),
                CHECK ((lease IS NOT NULL) = (state = 'leased')),
                CHECK (after_id < until_id)
            )""",
            "CREATE INDEX idx_inbox_due ON inbox (due_at, id) WHERE due_at IS NOT NULL",
            "CREATE INDEX idx_inbox_open ON inbox (agent_id, id) WHERE due_at IS NOT NULL",
            "CREATE INDEX idx_inbox_dead ON inbox (id) WHERE state = 'dead'",
            "CREATE INDEX idx_inbox_error ON inbox (id) WHERE error <> ''",
            # A record is handed over once: the second item that starts where one did is refused.
            "CREATE UNIQUE INDEX idx_inbox_range ON inbox (session_id, after_id)",
        ),
    ),
    Migration(
        4,
        "documents, their versions and what refers to what",
        (
            # One row an owner, taken by every commit: the changesets of an owner come one after the other.
            """CREATE TABLE trees (
                owner TEXT   NOT NULL PRIMARY KEY,
                at    BIGINT NOT NULL
            )""",
            """CREATE TABLE changesets (
                id            {growing_id},
                owner         TEXT   NOT NULL REFERENCES trees (owner),
                at            BIGINT NOT NULL,
                cause         TEXT   NOT NULL CHECK (cause IN ('run', 'edit', 'rollback')),
                author        TEXT   NOT NULL,
                note          TEXT   NOT NULL,
                session_id    TEXT   NOT NULL,
                after_id      BIGINT NOT NULL,
                until_id      BIGINT NOT NULL,
                inbox_id      BIGINT,
                brain         TEXT   NOT NULL,
                model         TEXT   NOT NULL,
                input_tokens  BIGINT NOT NULL,
                output_tokens BIGINT NOT NULL,
                cost          DOUBLE PRECISION NOT NULL,
                UNIQUE (owner, at)
            )""",
            # A row of `trees` or `documents` is never deleted. Deleted is a document with no open version.
            """CREATE TABLE documents (
                owner        TEXT   NOT NULL REFERENCES trees (owner),
                id           TEXT   NOT NULL,
                version      BIGINT NOT NULL CHECK (version > 0),
                valid_from   BIGINT NOT NULL,
                valid_to     BIGINT,
                parent_id    TEXT   NOT NULL CHECK (parent_id <> id),
                slug         TEXT   NOT NULL CHECK (slug <> '' AND slug = trim(slug) AND slug NOT LIKE '%/%'),
                title        TEXT   NOT NULL,
                description  TEXT   NOT NULL,
                body         TEXT   NOT NULL,
                changeset_id BIGINT NOT NULL REFERENCES changesets (id),
                closed_by    BIGINT REFERENCES changesets (id),
                PRIMARY KEY (owner, id, version),
                CHECK (valid_to > valid_from),
                CHECK ((valid_to IS NULL) = (closed_by IS NULL))
            )""",
            # parent_id is '' for a root, because a unique index takes every NULL for another one.
            "CREATE UNIQUE INDEX idx_documents_slug ON documents (owner, parent_id, slug) WHERE valid_to IS NULL",
            "CREATE UNIQUE INDEX idx_documents_current ON documents (owner, id) WHERE valid_to IS NULL",
            "CREATE INDEX idx_documents_children ON documents (owner, parent_id, valid_from)",
            "CREATE INDEX idx_documents_changeset ON documents (changeset_id)",
            "CREATE INDEX idx_documents_closed_by ON documents (closed_by) WHERE closed_by IS NOT NULL",
            """CREATE TABLE document_references (
                owner          TEXT   NOT NULL,
                source_id      TEXT   NOT NULL,
                source_version BIGINT NOT NULL,
                target_id      TEXT   NOT NULL,
                kind           TEXT   NOT NULL CHECK (kind IN ('parent', 'link', 'body')),
                PRIMARY KEY (owner, source_id, source_version, kind, target_id),
                FOREIGN KEY (owner, source_id, source_version) REFERENCES documents (owner, id, version)
            )""",
            "CREATE UNIQUE INDEX idx_references_parent ON document_references (owner, source_id, source_version) "
            "WHERE kind = 'parent'",
            "CREATE INDEX idx_references_target ON document_references (owner, target_id, kind)",
            # Derived from the bodies: the current claims, and under which keys each is found.
            """CREATE TABLE claims (
                owner       TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                claim       TEXT   NOT NULL,
                sentence    TEXT   NOT NULL,
                PRIMARY KEY (owner, document_id, claim)
            )""",
            """CREATE TABLE claim_keys (
                owner       TEXT   NOT NULL,
                key         TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                claim       TEXT   NOT NULL,
                at          BIGINT NOT NULL,
                PRIMARY KEY (owner, document_id, claim, key)
            )""",
            # Newest first, so that a key many claims share costs no more to look up than a rare one.
            "CREATE INDEX idx_claim_keys_key ON claim_keys (owner, key, at)",
        ),
    ),
    Migration(
        5,
        "the ledger: what models cost",
        (
            """CREATE TABLE ledger (
                id            {growing_id},
                at            BIGINT NOT NULL,
                owner         TEXT   NOT NULL,
                purpose       TEXT   NOT NULL,
                model         TEXT   NOT NULL,
                state         TEXT   NOT NULL CHECK (state IN ('started', 'done', 'failed')),
                input_tokens  BIGINT NOT NULL,
                output_tokens BIGINT NOT NULL,
                cost          DOUBLE PRECISION NOT NULL,
                estimated     BIGINT NOT NULL CHECK (estimated IN (0, 1)),
                inbox_id      BIGINT,
                error         TEXT   NOT NULL
            )""",
            "CREATE INDEX idx_ledger_at ON ledger (at)",
        ),
    ),
    Migration(
        6,
        "the journal: how far it has come, and what ran when",
        (
            # The last record of a session whose turn is in the journal, or has nothing for it.
            """CREATE TABLE journal_progress (
                session_id TEXT   NOT NULL PRIMARY KEY REFERENCES sessions (id),
                until_id   BIGINT NOT NULL
            )""",
            # The one home that writes the owner's turn summaries, where several share a database.
            """CREATE TABLE journals (
                owner    TEXT   NOT NULL PRIMARY KEY,
                home     TEXT   NOT NULL,
                began_at BIGINT NOT NULL
            )""",
            """CREATE TABLE schedules (
                owner       TEXT   NOT NULL,
                name        TEXT   NOT NULL,
                last_run_at BIGINT NOT NULL,
                PRIMARY KEY (owner, name)
            )""",
        ),
    ),
    Migration(
        7,
        "recall: what can be found, experiences, and what was asked",
        (
            # Derived: everything that can be found; `thread` is what it stands in: a
            # session, a document, a page, a worker. since/gone: when it came to be known and when it left;
            # until: when it stopped being true, and by_record what says so. text is empty for a turn: history has
            # it. stamp is null while nobody has made a vector of it.
            """CREATE TABLE items (
                id         {growing_id},
                owner      TEXT   NOT NULL,
                kind       TEXT   NOT NULL CHECK (kind IN ('turn', 'document', 'journal', 'note', 'experience')),
                ref        TEXT   NOT NULL,
                thread     TEXT   NOT NULL,
                agent_id   TEXT   NOT NULL,
                session_id TEXT   NOT NULL,
                record_id  BIGINT,
                speaker    TEXT   NOT NULL,
                trust      TEXT   NOT NULL,
                at         BIGINT NOT NULL,
                since      BIGINT NOT NULL,
                gone       BIGINT,
                until      BIGINT,
                by_record  BIGINT,
                text       TEXT   NOT NULL,
                stems      {bytes} NOT NULL,
                length     BIGINT NOT NULL,
                flags      BIGINT NOT NULL,
                nudge      DOUBLE PRECISION NOT NULL DEFAULT 0,
                pinned     BIGINT NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
                stamp      BIGINT
            )""",
            "CREATE UNIQUE INDEX idx_items_ref ON items (owner, kind, ref)",
            "CREATE INDEX idx_items_stamp ON items (owner, stamp) WHERE stamp IS NOT NULL",
            "CREATE INDEX idx_items_pending ON items (owner, id) WHERE stamp IS NULL",
            "CREATE INDEX idx_items_pinned ON items (owner, id) WHERE pinned = 1",
            "CREATE INDEX idx_items_thread ON items (owner, thread) WHERE kind <> 'turn'",
            "{full_text}",
            "{full_text_index}",
            """CREATE TABLE embedders (
                id       {growing_id},
                identity TEXT NOT NULL UNIQUE
            )""",
            """CREATE TABLE item_vectors (
                embedder_id BIGINT NOT NULL REFERENCES embedders (id),
                item_id     BIGINT NOT NULL,
                vector      {bytes} NOT NULL,
                PRIMARY KEY (embedder_id, item_id)
            )""",
            # One row an owner, taken by whoever stamps: stamps become visible in order. embedder_id made the vectors
            # that serve; coming_id makes the next ones, and has come to coming_until.
            """CREATE TABLE shelves (
                owner        TEXT   NOT NULL PRIMARY KEY,
                stamp        BIGINT NOT NULL,
                embedder_id  BIGINT REFERENCES embedders (id),
                coming_id    BIGINT REFERENCES embedders (id),
                coming_until BIGINT NOT NULL
            )""",
            # Turns that are not items yet: those of a database that is older than recall, or that is rebuilt.
            """CREATE TABLE unfiled (
                id       BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
                after_id BIGINT NOT NULL,
                until_id BIGINT NOT NULL
            )""",
            "INSERT INTO unfiled SELECT 1, 0, max(id) FROM session_history HAVING max(id) IS NOT NULL",
            """CREATE TABLE experiences (
                owner      TEXT   NOT NULL,
                id         TEXT   NOT NULL,
                text       TEXT   NOT NULL,
                category   TEXT   NOT NULL,
                session_id TEXT   NOT NULL,
                record     TEXT   NOT NULL,
                trust      TEXT   NOT NULL,
                at         BIGINT NOT NULL,
                entities   TEXT   NOT NULL,
                used       BIGINT NOT NULL,
                used_at    BIGINT NOT NULL,
                until      BIGINT,
                PRIMARY KEY (owner, id)
            )""",
            "CREATE INDEX idx_experiences_use ON experiences (owner, used, at)",
            # The vectors of experiences, where they live in the database; stamps as in `shelves`.
            """CREATE TABLE vector_scopes (
                id         {growing_id},
                owner      TEXT   NOT NULL,
                collection TEXT   NOT NULL,
                embedder   TEXT   NOT NULL,
                stamp      BIGINT NOT NULL,
                floor      BIGINT NOT NULL,
                UNIQUE (owner, collection, embedder)
            )""",
            """CREATE TABLE vectors (
                scope_id BIGINT NOT NULL REFERENCES vector_scopes (id),
                id       TEXT   NOT NULL,
                stamp    BIGINT NOT NULL,
                vector   {bytes},
                PRIMARY KEY (scope_id, id)
            )""",
            "CREATE INDEX idx_vectors_stamp ON vectors (scope_id, stamp)",
            "CREATE INDEX idx_vectors_removed ON vectors (scope_id, stamp) WHERE vector IS NULL",
            # What was asked, what came back, and what somebody thought of it.
            """CREATE TABLE recalls (
                id       {growing_id},
                owner    TEXT   NOT NULL,
                at       BIGINT NOT NULL,
                purpose  TEXT   NOT NULL CHECK (purpose IN ('search', 'tool', 'injection')),
                agent_id TEXT   NOT NULL,
                question TEXT   NOT NULL,
                hits     TEXT   NOT NULL
            )""",
            "CREATE INDEX idx_recalls_owner ON recalls (owner, id)",
            """CREATE TABLE feedback (
                id        {growing_id},
                owner     TEXT   NOT NULL,
                item      TEXT   NOT NULL,
                verdict   TEXT   NOT NULL CHECK (verdict IN ('useful', 'wrong', 'outdated')),
                recall_id BIGINT,
                at        BIGINT NOT NULL
            )""",
            "CREATE INDEX idx_feedback_item ON feedback (owner, item)",
            """CREATE TABLE pins (
                owner TEXT   NOT NULL,
                item  TEXT   NOT NULL,
                at    BIGINT NOT NULL,
                PRIMARY KEY (owner, item)
            )""",
        ),
    ),
)

LATEST = MIGRATIONS[-1].number

RECORDS = """CREATE TABLE IF NOT EXISTS recollect_migrations (
    number     BIGINT NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    applied_at BIGINT NOT NULL
)"""


def migrate(tx: Transaction, dialect: Dialect, now: int, where: str, until: int = LATEST) -> None:
    """Apply the steps that are missing, in order, in the caller's transaction. The caller keeps others out."""
    tx.run(RECORDS)
    done = applied(tx)
    check_version(done, where)
    for step in MIGRATIONS:
        if done < step.number <= until:
            for statement in step.sql:
                if spelled := _spelled(statement, dialect):
                    tx.run(spelled)
            tx.run("INSERT INTO recollect_migrations VALUES (?, ?, ?)", step.number, step.name, now)


def _spelled(statement: str, dialect: Dialect) -> str:
    for name, word in SPELLED[dialect].items():
        statement = statement.replace(name, word)
    return statement


def applied(tx: Transaction) -> int:
    row = tx.one("SELECT max(number) FROM recollect_migrations")
    return int(row[0]) if row and row[0] is not None else 0


def check_version(done: int, where: str) -> None:
    if done > LATEST:
        raise NewerDatabase(
            f"{where} is at version {done}; this recollect knows versions up to {LATEST}. "
            "Nothing was changed; upgrade recollect to open it."
        )
