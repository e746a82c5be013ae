# Every target installs what it needs; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
PYTHON ?= python3
VENV := build/venv
BIN := $(VENV)/bin
SOURCES := app webhooks certs tests bench

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk -F':.*?## ' '{printf "  %-12s %s\n", $$1, $$2}'

$(VENV)/.installed: requirements-dev.lock
	@echo "Installing the locked Python packages into $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

.PHONY: venv
venv: $(VENV)/.installed ## Install the locked Python packages

.PHONY: lock
lock: venv ## Resolve the dependencies anew into the lock files
	$(BIN)/python -m venv build/uv && build/uv/bin/pip install --quiet uv==0.13.9
	unset PIP_FIND_LINKS; for e in "requirements.lock" "--extra dev -o requirements-dev.lock"; do \
	  set -- $$e; [ $$# -gt 1 ] || set -- -o $$1; \
	  build/uv/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --no-emit-index-url \
	    --custom-compile-command "make lock" "$$@" pyproject.toml; done
	unset PIP_FIND_LINKS; cd bench/kopf_peer && ../../build/uv/bin/uv pip compile --quiet --generate-hashes \
	  --python-version 3.11 --no-emit-index-url --custom-compile-command "make lock" \
	  -o requirements.lock requirements.in

.PHONY: lint
lint: venv ## Formatting, lint, types, layers
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: venv ## Format and fix what can be fixed
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

.PHONY: unit
unit: venv ## The tests that need no cluster
	$(BIN)/python -m pytest tests/unit

.PHONY: test
test: lint ## All tests: unit, a real API server, a real cluster
	$(BIN)/python -m pytest tests

# A context of your kubeconfig, to use the cluster that you have.
CONTEXT ?=

.PHONY: demo
demo: venv ## A Kubernetes cluster with the operator and an etcd cluster (CONTEXT=… uses yours)
	@$(BIN)/python -m tests.cluster.demo up --context "$(CONTEXT)"

.PHONY: demo-down
demo-down: venv ## Remove what `make demo` made
	@$(BIN)/python -m tests.cluster.demo down --context "$(CONTEXT)"

# Names of benchmarks; all of them without.
ONLY ?=

.PHONY: bench
bench: venv ## Benchmarks: a table, and build/bench.json (ONLY=name… runs some)
	$(BIN)/python -m bench $(ONLY)

# What its faults are drawn from (any, without), and for how many seconds.
SEED ?=
DURATION ?= 600

.PHONY: chaos
chaos: venv ## Random faults under a cluster in use; did it lose anything? (SEED=…, DURATION=600)
	$(BIN)/python -m bench.chaos --seconds $(DURATION) $(if $(SEED),--seed $(SEED))
