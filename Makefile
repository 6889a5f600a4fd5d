# Two commands do all the set-up: `make run` and `make test`. Both build .venv from nothing.
PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
PART   ?= all

.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE  # where it is set, every process that a test starts compiles all it imports again
.PHONY: help run test lint bench soak docs lock clean

help:  ## what there is to do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(READY)  ## see it work: a memory grows from sample conversations, then its page opens
	$(BIN)/lifelong demo --serve

test: lint  ## every test, on SQLite and on PostgreSQL (COVERAGE=--cov: with coverage)
	$(BIN)/pytest -n logical --dist worksteal $(COVERAGE)

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## figures, as ratios in one run: make bench PART=append
	$(BIN)/python -m bench $(PART)

soak: $(READY)  ## the long kills and loads
	TMPDIR=$${TMPDIR:-/tmp} $(BIN)/pytest -m soak -n logical --dist worksteal -o faulthandler_timeout=0

docs: $(READY)  ## write the pages that are generated
	$(BIN)/lifelong config --markdown > docs/configuration.md
	$(BIN)/python -m bench.reference cli > docs/cli.md
	$(BIN)/python -m bench.reference http > docs/http-reference.md
	$(BIN)/python -m bench.reference python > docs/python-reference.md

lock: $(READY)  ## pin what pyproject.toml asks for, with hashes
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --extra all --group dev \
	  --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements.lock

clean:  ## remove the environment and everything that is made
	rm -rf .venv .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage bench/results demo-home

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lifelong needs Python 3.11 or newer; name one with: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Building the environment in .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@
