"""What comes back: items, their words and vectors, experiences, and what was asked."""

from __future__ import annotations

from lifelong.storage.migrations.base import Migration

STEPS = (
    Migration(
        7,
        "recall: what can be found, experiences, and what was asked",
        (
            # Derived: everything that can be found; `thread` is what it stands in: a
            # session, a document, a page, a worker. since/gone: when it came to be known and when it left;
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
            # One row an owner, locked by whoever numbers items: numbers become visible in order. version: how
            # often all was made again. embedder_id made the vectors that serve; next_embedder_id makes the next
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
            # Since when a worker has been handing the session over; and how long the lease on an item lasts.
            "ALTER TABLE sessions ADD COLUMN in_hand_since BIGINT",
            "ALTER TABLE inbox ADD COLUMN lease_length BIGINT",
        ),
    ),
)
