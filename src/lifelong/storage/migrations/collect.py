"""What was said: agents, sessions and their history."""

from __future__ import annotations

from lifelong.storage.migrations.base import Migration

STEPS = (
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
)
