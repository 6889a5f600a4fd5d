"""What deserves to last: the inbox, documents, the ledger and the journal."""

from __future__ import annotations

from lifelong.storage.migrations.base import Migration

STEPS = (
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
                organizer         TEXT   NOT NULL,
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
            # Derived from the bodies: the current facts, and under which keys each is found.
            """CREATE TABLE facts (
                owner       TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                fact       TEXT   NOT NULL,
                sentence    TEXT   NOT NULL,
                PRIMARY KEY (owner, document_id, fact)
            )""",
            """CREATE TABLE fact_keys (
                owner       TEXT   NOT NULL,
                key         TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                fact       TEXT   NOT NULL,
                at          BIGINT NOT NULL,
                PRIMARY KEY (owner, document_id, fact, key)
            )""",
            # Newest first, so that a key many facts share costs no more to look up than a rare one.
            "CREATE INDEX idx_fact_keys_key ON fact_keys (owner, key, at)",
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
)
