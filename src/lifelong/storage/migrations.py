"""The numbered migrations that make the tables. A database is made, or brought up to date, by those it lacks.

A released migration is never edited: a change is a new one. Where the two databases differ, a migration has a
placeholder, and `DIALECT` has its text.
"""

from __future__ import annotations

from dataclasses import dataclass

from lifelong.errors import NewerDatabase
from lifelong.storage.base import Dialect, Transaction

FULL_TEXT = (
    "CREATE VIRTUAL TABLE item_words USING fts5 "
    "(words, content='', contentless_delete=1, detail=none, tokenize='ascii')"
)
"""Which items hold a word. The text is stored elsewhere, and positions and counts are not needed."""

DIALECT: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "{growing_id}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{bytes}": "BLOB",
        "{full_text}": FULL_TEXT,
        "{full_text_index}": "",
        "{by_bytes}": "",
    },
    "postgres": {
        "{growing_id}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{bytes}": "BYTEA",
        "{full_text}": "CREATE TABLE item_words (rowid BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL)",
        "{full_text_index}": "CREATE INDEX idx_item_words ON item_words USING gin (words)",
        "{by_bytes}": ' COLLATE "C"',
    },
}


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that bring a database from one version to the next."""

    number: int
    name: str
    sql: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
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
            # A record is dispatched once: the second item that starts where one did is refused.
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
    Migration(
        7,
        "recall: what can be found, experiences, and what was asked",
        (
            # Derived: everything that can be found; `thread` is its container: the session, document or file that
            # holds it. since/gone: when it came to be known, and when it is hidden; nudge: its feedback score;
            # until: when it stopped being true, and by_record what says so. text is empty for a turn: history has
            # it. sequence is null while it has no vector. public_id is what people name it by, by its
            # beginning; null for a turn, which goes by its number.
            """CREATE TABLE items (
                id         {growing_id},
                owner      TEXT   NOT NULL,
                kind       TEXT   NOT NULL CHECK (kind IN ('record', 'fact', 'journal', 'note', 'experience')),
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
                sequence   BIGINT,
                public_id  TEXT
            )""",
            "CREATE UNIQUE INDEX idx_items_ref ON items (owner, kind, ref)",
            "CREATE INDEX idx_items_at ON items (owner, at, id)",
            "CREATE INDEX idx_items_public_id ON items (owner, public_id) WHERE public_id IS NOT NULL",
            "CREATE INDEX idx_items_sequence ON items (owner, sequence) WHERE sequence IS NOT NULL",
            "CREATE INDEX idx_items_pending ON items (owner, id) WHERE sequence IS NULL",
            "CREATE INDEX idx_items_pinned ON items (owner, id) WHERE pinned = 1",
            "CREATE INDEX idx_items_thread ON items (owner, thread) WHERE kind <> 'record'",
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
            # One row an owner, locked while items are numbered: numbers become visible in order. version: how
            # often all was made again. embedder_id made the vectors in use; next_embedder_id makes the next
            # ones, and has come to next_embedded_until.
            """CREATE TABLE index_state (
                owner        TEXT   NOT NULL PRIMARY KEY,
                sequence     BIGINT NOT NULL,
                version      BIGINT NOT NULL,
                embedder_id  BIGINT REFERENCES embedders (id),
                next_embedder_id    BIGINT REFERENCES embedders (id),
                next_embedded_until BIGINT NOT NULL
            )""",
            # Derived: the records that the facts of current documents cite, and when each fact stopped being
            # true, by which record; 0: it holds.
            """CREATE TABLE citations (
                owner       TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                record_id   BIGINT NOT NULL,
                until       BIGINT NOT NULL,
                by_record   BIGINT NOT NULL,
                PRIMARY KEY (owner, document_id, record_id, until, by_record)
            )""",
            "CREATE INDEX idx_citations_record ON citations (owner, record_id)",
            # What is left to do: 1, turns that are not items yet; 2, items whose words are not in the index; 3,
            # documents that are not items yet, counted in the order of their ids.
            """CREATE TABLE rebuild_progress (
                id       BIGINT NOT NULL PRIMARY KEY CHECK (id IN (1, 2, 3)),
                after_id BIGINT NOT NULL,
                until_id BIGINT NOT NULL
            )""",
            "INSERT INTO rebuild_progress SELECT 1, 0, max(id) FROM session_history HAVING max(id) IS NOT NULL",
            "INSERT INTO rebuild_progress SELECT 3, 0, count(*) FROM documents "
            "WHERE NOT EXISTS (SELECT 1 FROM session_history) HAVING count(*) > 0",
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
            "CREATE INDEX idx_experiences_at ON experiences (owner, at)",
            "CREATE INDEX idx_experiences_record ON experiences (owner, record)",
            # The last line of the journal that was looked at for experiences.
            """CREATE TABLE extractions (
                owner  TEXT   NOT NULL PRIMARY KEY,
                record TEXT   NOT NULL,
                at     BIGINT NOT NULL
            )""",
            # The vectors of experiences, where they live in the database; stamps as sequence in `index_state`.
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
            # Items that a person corrected, and the record that says what is so instead.
            """CREATE TABLE corrections (
                owner     TEXT   NOT NULL,
                item      TEXT   NOT NULL,
                record_id BIGINT NOT NULL,
                at        BIGINT NOT NULL,
                PRIMARY KEY (owner, item, record_id)
            )""",
        ),
    ),
    Migration(
        8,
        "experiences that hold again, marked until they have vectors; indexes in the order that is asked for",
        (
            "DROP INDEX idx_fact_keys_key",
            "CREATE INDEX idx_fact_keys_key ON fact_keys (owner, key, at, document_id, fact)",
            "DROP INDEX idx_citations_record",
            "CREATE INDEX idx_citations_record ON citations (owner, record_id, until, by_record)",
            "CREATE INDEX idx_items_ended ON items (owner, kind, ref, until) WHERE until IS NOT NULL",
            "ALTER TABLE experiences ADD COLUMN without_vector BIGINT NOT NULL DEFAULT 0",
            "CREATE INDEX idx_experiences_without_vector ON experiences (owner) WHERE without_vector = 1",
        ),
    ),
    Migration(
        9,
        "which embedder's vectors of experiences serve, and which will",
        (
            """CREATE TABLE experience_vectors (
                owner    TEXT NOT NULL PRIMARY KEY,
                embedder TEXT NOT NULL,
                next_embedder TEXT NOT NULL
            )""",
        ),
    ),
    Migration(
        10,
        "since when it is known that something has ended",
        (
            # Of what ended before, the next best: when the word that ended it came.
            "ALTER TABLE items ADD COLUMN end_known BIGINT",
            "UPDATE items SET end_known = COALESCE("
            "(SELECT h.recorded_at FROM session_history h WHERE h.id = items.by_record), "
            "(SELECT min(f.at) FROM feedback f WHERE f.owner = items.owner AND f.verdict = 'outdated' "
            "AND f.item = items.kind || ':' || items.ref), until) WHERE until IS NOT NULL",
            "ALTER TABLE citations ADD COLUMN end_known BIGINT NOT NULL DEFAULT 0",
            "UPDATE citations SET end_known = COALESCE("
            "(SELECT h.recorded_at FROM session_history h WHERE h.id = citations.by_record), until)",
        ),
    ),
    Migration(
        11,
        "words with an apostrophe by their parts: all are read again",
        (
            "DELETE FROM rebuild_progress WHERE id = 2",
            "INSERT INTO rebuild_progress SELECT 2, 0, max(id) FROM items HAVING max(id) IS NOT NULL",
        ),
    ),
    Migration(
        12,
        "what a worker has in hand, so that others see when it is stuck",
        (
            # Since when a worker has been dispatching the session; and how long the lease on an item lasts.
            "ALTER TABLE sessions ADD COLUMN in_hand_since BIGINT",
            "ALTER TABLE inbox ADD COLUMN lease_length BIGINT",
        ),
    ),
    Migration(
        13,
        "vectors by owner and number, so that files can be made of them; what a search reads instead of all items",
        (
            # embedded: null while it waits for its vector, 1 where it has one, 0 where it can have none.
            "DROP INDEX idx_items_sequence",
            "ALTER TABLE items RENAME COLUMN sequence TO embedded",
            "UPDATE items SET embedded = CASE WHEN EXISTS (SELECT 1 FROM index_state s JOIN item_vectors v "
            "ON v.embedder_id = s.embedder_id WHERE s.owner = items.owner AND v.item_id = items.id) "
            "THEN 1 ELSE 0 END WHERE embedded IS NOT NULL",
            "CREATE INDEX idx_items_speaker ON items (owner, speaker)",
            # number: the order in which vectors become visible. Those from before count in the order of items.
            "ALTER TABLE item_vectors ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE item_vectors ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
            "DELETE FROM item_vectors WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = item_vectors.item_id)",
            "UPDATE item_vectors SET number = item_id, "
            "owner = (SELECT i.owner FROM items i WHERE i.id = item_vectors.item_id)",
            "CREATE INDEX idx_item_vectors_number ON item_vectors (owner, embedder_id, number)",
            # number: the newest that was handed out. version: which files of vectors count. size and first_item:
            # how many items are embedded, and the oldest; mean: of their vectors, and of how many; null: to be
            # computed by the index worker.
            "ALTER TABLE index_state RENAME COLUMN sequence TO number",
            "ALTER TABLE index_state ADD COLUMN size BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE index_state ADD COLUMN first_item BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE index_state ADD COLUMN mean {bytes}",
            "ALTER TABLE index_state ADD COLUMN mean_of BIGINT NOT NULL DEFAULT 0",
            "UPDATE index_state SET number = COALESCE((SELECT max(id) FROM items), 0), "
            "size = (SELECT count(*) FROM items i WHERE i.owner = index_state.owner AND i.embedded IS NOT NULL), "
            "first_item = COALESCE((SELECT min(id) FROM items i WHERE i.owner = index_state.owner "
            "AND i.embedded IS NOT NULL), 0)",
        ),
    ),
    Migration(
        14,
        "an experience has the vector of its item",
        (
            "DROP INDEX idx_experiences_without_vector",
            "ALTER TABLE experiences DROP COLUMN without_vector",
            "DROP TABLE experience_vectors",
            "DROP TABLE vectors",
            "DROP TABLE vector_scopes",
        ),
    ),
    Migration(
        15,
        "what a person took out of the core of contexts",
        (
            """CREATE TABLE unpins (
                owner TEXT   NOT NULL,
                item  TEXT   NOT NULL,
                at    BIGINT NOT NULL,
                PRIMARY KEY (owner, item)
            )""",
        ),
    ),
    Migration(
        16,
        "words as they are written, and by the stems of their languages and the parts of identifiers",
        (
            """CREATE TABLE words (
                owner TEXT NOT NULL,
                word  TEXT{by_bytes} NOT NULL,
                PRIMARY KEY (owner, word)
            )""",
            "DELETE FROM rebuild_progress WHERE id = 2",
            "INSERT INTO rebuild_progress SELECT 2, 0, max(id) FROM items HAVING max(id) IS NOT NULL",
        ),
    ),
    Migration(
        17,
        "what has ended is one table, and facts have numbers",
        (
            # Every fact that was ever in a document; number: what people name it by, as f12.
            "ALTER TABLE facts ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
            "INSERT INTO facts (owner, document_id, fact, sentence) SELECT owner, thread, "
            "substr(ref, length(thread) + 2), text FROM items i WHERE kind = 'fact' AND ref NOT LIKE '%@%' "
            "AND NOT EXISTS (SELECT 1 FROM facts f WHERE f.owner = i.owner AND f.document_id = i.thread "
            "AND f.fact = substr(i.ref, length(i.thread) + 2))",
            "UPDATE facts SET number = n.number FROM (SELECT owner, document_id, fact, row_number() "
            "OVER (PARTITION BY owner ORDER BY document_id, fact) AS number FROM facts) n "
            "WHERE n.owner = facts.owner AND n.document_id = facts.document_id AND n.fact = facts.fact",
            "CREATE UNIQUE INDEX idx_facts_number ON facts (owner, number)",
            "UPDATE items SET public_id = (SELECT 'f' || f.number FROM facts f WHERE f.owner = items.owner "
            "AND f.document_id = items.thread AND f.document_id || '#' || f.fact = items.ref) WHERE kind = 'fact'",
            # Derived from the documents, for facts, and from what people said, for the rest: since when it is no
            # longer true, since when that is known, and the record that says so.
            """CREATE TABLE ends (
                owner     TEXT   NOT NULL,
                kind      TEXT   NOT NULL,
                ref       TEXT   NOT NULL,
                until     BIGINT NOT NULL,
                known_at  BIGINT NOT NULL,
                by_record BIGINT,
                PRIMARY KEY (owner, kind, ref)
            )""",
            "INSERT INTO ends SELECT owner, kind, ref, until, COALESCE(end_known, until), by_record FROM items i "
            "WHERE until IS NOT NULL AND (kind = 'fact' OR EXISTS (SELECT 1 FROM corrections c "
            "WHERE c.owner = i.owner AND c.item = i.kind || ':' || i.ref) OR (kind <> 'record' AND EXISTS ("
            "SELECT 1 FROM feedback f WHERE f.owner = i.owner AND f.item = i.kind || ':' || i.ref "
            "AND f.verdict = 'outdated')))",
            "DROP INDEX idx_items_ended",
            "ALTER TABLE items DROP COLUMN until",
            "ALTER TABLE items DROP COLUMN by_record",
            "ALTER TABLE items DROP COLUMN end_known",
            "ALTER TABLE experiences DROP COLUMN until",
            # Derived: which fact cites which record, now or before; held: when it last did while it was true.
            "DROP TABLE citations",
            """CREATE TABLE citations (
                owner       TEXT   NOT NULL,
                document_id TEXT   NOT NULL,
                ref         TEXT   NOT NULL,
                record_id   BIGINT NOT NULL,
                cites       BIGINT NOT NULL CHECK (cites IN (0, 1)),
                held        BIGINT NOT NULL,
                PRIMARY KEY (owner, ref, record_id)
            )""",
            "CREATE INDEX idx_citations_record ON citations (owner, record_id)",
            "CREATE INDEX idx_citations_document ON citations (owner, document_id)",
            "INSERT INTO rebuild_progress SELECT 3, 0, count(*) FROM (SELECT DISTINCT owner, id FROM documents) d "
            "WHERE NOT EXISTS (SELECT 1 FROM rebuild_progress WHERE id IN (1, 3)) HAVING count(*) > 0",
        ),
    ),
    Migration(
        18,
        "what is made from a record does not count as another item with its words",
        (
            "DELETE FROM rebuild_progress WHERE id = 2",
            "INSERT INTO rebuild_progress SELECT 2, 0, max(id) FROM items HAVING max(id) IS NOT NULL",
            "UPDATE index_state SET mean = NULL, mean_of = 0, size = (SELECT count(*) FROM items i "
            "WHERE i.owner = index_state.owner AND i.embedded IS NOT NULL "
            "AND (i.kind = 'record' OR i.record_id IS NULL))",
        ),
    ),
    Migration(
        19,
        "what was forgotten, what is being forgotten, and which backups still hold it",
        (
            # Without a text: what went, when and on whose word. digest: of a record as it was said, with the key
            # of the database, so that it is known when it comes again.
            """CREATE TABLE tombstones (
                owner  TEXT   NOT NULL,
                kind   TEXT   NOT NULL,
                ref    TEXT   NOT NULL,
                digest TEXT   NOT NULL,
                at     BIGINT NOT NULL,
                author TEXT   NOT NULL,
                PRIMARY KEY (owner, kind, ref)
            )""",
            "CREATE INDEX idx_tombstones_digest ON tombstones (digest, owner)",
            "CREATE TABLE digest_keys (id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1), key TEXT NOT NULL)",
            # plan: what is left to do, emptied once it is done; report: how much went, without a text.
            """CREATE TABLE erasures (
                id      {growing_id},
                owner   TEXT   NOT NULL,
                at      BIGINT NOT NULL,
                author  TEXT   NOT NULL,
                state   TEXT   NOT NULL CHECK (state IN ('pending', 'done')),
                plan    TEXT   NOT NULL,
                report  TEXT   NOT NULL,
                done_at BIGINT
            )""",
            "CREATE INDEX idx_erasures_pending ON erasures (owner, id) WHERE state = 'pending'",
            "CREATE INDEX idx_append_keys_record ON append_keys (record_id)",
            # How often vectors were removed: what a process has in memory of them is read again.
            "ALTER TABLE index_state ADD COLUMN removals BIGINT NOT NULL DEFAULT 0",
            """CREATE TABLE backups (
                path TEXT   NOT NULL PRIMARY KEY,
                at   BIGINT NOT NULL
            )""",
        ),
    ),
    Migration(
        20,
        "what agents write may wait for a person, and whose word it is",
        (
            # payload: what would be written, as JSON.
            """CREATE TABLE reviews (
                id         {growing_id},
                owner      TEXT   NOT NULL,
                at         BIGINT NOT NULL,
                kind       TEXT   NOT NULL,
                author     TEXT   NOT NULL,
                reason     TEXT   NOT NULL,
                payload    TEXT   NOT NULL,
                state      TEXT   NOT NULL CHECK (state IN ('waiting', 'approved', 'refused')),
                decided_at BIGINT,
                decided_by TEXT   NOT NULL DEFAULT ''
            )""",
            "CREATE INDEX idx_reviews_state ON reviews (owner, state, id)",
            # trust: whose word a text is that cites nothing. approved_by: the person who let an agent's text in,
            # said_at: when the agent wrote it.
            "ALTER TABLE changesets ADD COLUMN trust TEXT NOT NULL DEFAULT 'user'",
            "ALTER TABLE changesets ADD COLUMN approved_by TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE changesets ADD COLUMN said_at BIGINT",
            "UPDATE changesets SET trust = 'agent' WHERE cause = 'edit' AND author <> 'person'",
            "ALTER TABLE items ADD COLUMN approved_by TEXT NOT NULL DEFAULT ''",
        ),
    ),
    Migration(
        21,
        "how often something of a user was forgotten",
        ("CREATE TABLE erasure_counts (owner TEXT NOT NULL PRIMARY KEY, count BIGINT NOT NULL)",),
    ),
    Migration(
        22,
        "whether a worker finished something lately; a rebuild that makes the items again in their places",
        (
            "CREATE INDEX idx_inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL",
            "ALTER TABLE rebuild_progress RENAME TO rebuild_progress_before",
            """CREATE TABLE rebuild_progress (
                id       BIGINT NOT NULL PRIMARY KEY CHECK (id IN (1, 2, 3, 4)),
                after_id BIGINT NOT NULL,
                until_id BIGINT NOT NULL
            )""",
            "INSERT INTO rebuild_progress SELECT id, after_id, until_id FROM rebuild_progress_before",
            "DROP TABLE rebuild_progress_before",
        ),
    ),
    Migration(
        23,
        "tokens of users, and what was changed with them",
        (
            # owner: whose it is; empty for a token of the home. digest: SHA-256, of 256 random bits.
            """CREATE TABLE tokens (
                id         TEXT   NOT NULL PRIMARY KEY,
                owner      TEXT   NOT NULL,
                scope      TEXT   NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
                name       TEXT   NOT NULL,
                digest     TEXT   NOT NULL,
                created_at BIGINT NOT NULL,
                used_at    BIGINT,
                revoked_at BIGINT
            )""",
            "CREATE INDEX idx_tokens_owner ON tokens (owner)",
            # Without a text: which token, in whose memory, which operation, which ids (JSON), and how it ended.
            """CREATE TABLE write_log (
                id        {growing_id},
                at        BIGINT NOT NULL,
                token     TEXT   NOT NULL,
                owner     TEXT   NOT NULL,
                operation TEXT   NOT NULL,
                targets   TEXT   NOT NULL,
                outcome   TEXT   NOT NULL CHECK (outcome IN ('done', 'refused', 'failed'))
            )""",
            "CREATE INDEX idx_write_log_owner ON write_log (owner, id)",
            "CREATE INDEX idx_write_log_token ON write_log (token, id)",
            "CREATE INDEX idx_write_log_at ON write_log (at)",
        ),
    ),
    Migration(
        24,
        "how often a session could not be dispatched",
        (
            "ALTER TABLE sessions ADD COLUMN dispatch_failures BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE sessions ADD COLUMN dispatch_error TEXT NOT NULL DEFAULT ''",
        ),
    ),
    Migration(
        25,
        "what an agent was given",
        ("CREATE INDEX idx_recalls_agent ON recalls (owner, agent_id, id)",),
    ),
    Migration(
        26,
        "where people play parts",
        (
            "CREATE INDEX idx_items_plays ON items (owner, record_id) WHERE kind = 'record' AND flags >= 256",
            "DELETE FROM rebuild_progress WHERE id = 2",
            "INSERT INTO rebuild_progress SELECT 2, 0, max(id) FROM items HAVING max(id) IS NOT NULL",
        ),
    ),
)

LATEST = MIGRATIONS[-1].number

RECORDS = """CREATE TABLE IF NOT EXISTS lifelong_migrations (
    number     BIGINT NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    applied_at BIGINT NOT NULL
)"""


def migrate(tx: Transaction, dialect: Dialect, now: int, where: str, until: int = LATEST) -> None:
    """Apply the missing migrations, in order, in the caller's transaction. The caller holds the lock."""
    tx.run(RECORDS)
    done = applied(tx)
    check_version(done, where)
    for step in MIGRATIONS:
        if done < step.number <= until:
            for statement in step.sql:
                if spelled := _translate(statement, dialect):
                    tx.run(spelled)
            tx.run("INSERT INTO lifelong_migrations VALUES (?, ?, ?)", step.number, step.name, now)


def _translate(statement: str, dialect: Dialect) -> str:
    for name, word in DIALECT[dialect].items():
        statement = statement.replace(name, word)
    return statement


def applied(tx: Transaction) -> int:
    row = tx.one("SELECT max(number) FROM lifelong_migrations")
    return int(row[0]) if row and row[0] is not None else 0


def check_version(done: int, where: str) -> None:
    if done > LATEST:
        raise NewerDatabase(
            f"{where} is at version {done}; this lifelong knows versions up to {LATEST}. "
            "Nothing was changed; upgrade lifelong to open it."
        )
