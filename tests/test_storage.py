"""One contract, every database (DESIGN: one suite in lifelong.testing, run on each)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifelong.storage.base import Database
from lifelong.storage.postgres import Postgres
from lifelong.storage.sqlite import SQLite
from lifelong.testing import DatabaseContract


class TestSQLite(DatabaseContract):
    @pytest.fixture
    def database(self, tmp_path: Path) -> Iterator[Database]:
        database = SQLite(tmp_path / "lifelong.db")
        yield database
        database.close()


class TestPostgres(DatabaseContract):
    @pytest.fixture
    def database(self, postgres_storage: dict[str, Any]) -> Iterator[Database]:
        database = Postgres(postgres_storage["url"], schema=postgres_storage["schema_name"])
        yield database
        database.close()
