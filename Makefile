# foldline: every command of the project. `make` lists them.
#
# Needed on the machine: Python 3.11 or newer with venv, make, and a package index for pip.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m

# The first of these that runs, is new enough and can make a virtual environment is used;
# `make PYTHON=/path/to/python …` names one.
PYTHON ?= python3.11 python3.12 python3.13 python3.14 python3 python
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

# Python of a parent environment and settings of the user change nothing here.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all test-rest test-long test-guests test-browser teeth check lint types rooms words fix bench dist docs site lock clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) \
		| while IFS='|' read -r name text; do printf '%-18s %s\n' "$$name" "$$text"; done

demo: $(VENV)/.demo ## Replay a recorded session; needs no key, no network and no data
	@$(BIN)/foldline demo

test: $(VENV)/.dev ## Run the checks and all tests but the slow ones; four to eight minutes on two cores
	@$(call both,$(MAKE) --no-print-directory check,-m "not slow and not long and not browser",,true)

test-all: check test-rest ## Run every check, and every test with coverage; takes half an hour

test-rest: $(VENV)/.dev ## Run what `make test` leaves out: the other type checker, slow tests, coverage
	@export HYPOTHESIS_PROFILE=thorough; \
	$(call both,true,-m "not long and not browser",--cov --cov-report=,$(RUN) mypy)
	@$(RUN) coverage report
	@$(RUN) coverage report --include='src/foldline/history/*,src/foldline/reduction/*' \
		--fail-under=100

test-long: $(VENV)/.dev ## Run the tests that take minutes each
	@HYPOTHESIS_PROFILE=long $(RUN) pytest -m long --timeout=3600

test-guests: ## Run the tests inside each framework; GUESTS="langchain strands" names some
	@failed=; for guest in $(GUESTS); do \
		$(MAKE) --no-print-directory guest-$$guest || failed="$$failed $$guest"; \
	done; \
	test -z "$$failed" || { echo "failed inside:$$failed" >&2; exit 1; }

test-browser: $(VENV)/.dev ## Look at the page of a replay in Chromium, which has to be installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
		|| command -v google-chrome >/dev/null \
		|| { echo 'make: no chromium on the path; on Debian: apt-get install chromium' >&2; exit 1; }
	@$(RUN) pytest tests/browser

teeth: $(VENV)/.dev ## Plant bugs one by one and check that a test fails for each
	@$(RUN) tests.planted.bugs

check: lint types rooms words ## Run the static checks only

lint: $(VENV)/.dev
	@$(RUN) ruff check
	@$(RUN) ruff format --check

types: $(VENV)/.dev
	@$(BIN)/basedpyright

rooms: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo

words: $(VENV)/.dev
	@$(BIN)/interrogate src
	@$(BIN)/interrogate --whitelist-regex '^test_' tests
	@$(BIN)/codespell
	@$(BIN)/python tools/plain_words.py

fix: $(VENV)/.dev ## Correct style and format, as far as a tool can
	@$(RUN) ruff check --fix
	@$(RUN) ruff format

bench: $(VENV)/.dev ## Measure speed and memory
	@$(RUN) bench

dist: $(VENV)/.dev ## Build the wheel and the sdist
	@$(BIN)/hatchling build -d dist

docs: $(VENV)/.dev ## Write the pages that are made from the code
	@$(BIN)/python tools/cli_reference.py
	@$(BIN)/python tools/configuration_page.py
	@$(BIN)/python tools/errors_page.py
	@$(BIN)/python tools/public_names.py

site: $(VENV)/.dev ## Build the site of the documentation into build/site
	@rm -rf build/site
	@$(BIN)/zensical build --clean --strict

lock: $(VENV)/.dev ## Choose the newest allowed versions of all packages and pin them
	@$(COMPILE) --upgrade --group dev --extra crypto --extra llm --extra otel \
		--extra postgres --extra redis --extra workers --output-file requirements/dev.lock pyproject.toml
	@$(COMPILE) --upgrade --group build --constraints requirements/dev.lock \
		--output-file requirements/demo.lock pyproject.toml

	@for guest in $(GUESTS); do \
		$(COMPILE_GUEST) --upgrade --group guest --extra $$(echo $$guest | tr _ -) \
			--output-file requirements/guests/$$guest.lock pyproject.toml || exit 1; \
	done

clean: ## Delete everything that make made
	rm -rf $(VENV) $(GUEST_VENVS) build dist .cache .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Two processes, since the smallest machine has two cores. The first, whose output comes last, runs
# the static checks, then what starts and ends processes by the thousand and what goes over the same
# lines by the thousand, so that coverage is measured in the other one alone. Failures of both are
# named once more at the very end, where a log that was cut still shows them.
APART := tests/faults tests/properties tests/threads/crashes tests/threads/concurrency \
	tests/agent/crashes tests/agent/test_cancellation.py tests/replay/test_shared_data.py \
	tests/scenarios tests/threads/stores/test_network.py
PYTEST := $(RUN) pytest

# both,CHECKS BEFORE THE FIRST,ARGUMENTS,COVERAGE,CHECKS BEFORE THE OTHER
define both
{ $(1) && $(PYTEST) $(2) $(APART); } > $(VENV)/apart.log 2>&1 & \
apart=$$!; \
trap 'kill $$apart; exit 130' INT TERM; \
status=0; \
{ $(4) 2>&1 && $(PYTEST) $(2) $(3) $(APART:%=--ignore=%) 2>&1; echo $$? > $(VENV)/rest.status; } \
	| tee $(VENV)/rest.log; \
read status < $(VENV)/rest.status; \
wait $$apart || status=$$?; \
cat $(VENV)/apart.log; \
if [ "$$status" != 0 ]; then \
	grep -hE -A 3 '^(E  |FAILED|ERROR|make.*Error|.*: error: |Using --randomly-seed|_+ .* _+$$|Timeout)' \
		$(VENV)/rest.log $(VENV)/apart.log | tail -n 60; \
fi; \
exit $$status
endef

# Each framework has an environment of its own, since no two of them agree on versions. One takes up
# to 340 MB: `KEEP_GUESTS=` deletes it after its tests.
GUESTS ?= $(basename $(notdir $(wildcard requirements/guests/*.lock)))
GUEST_VENVS := .venv-guests
KEEP_GUESTS ?= yes

guest-%: $(GUEST_VENVS)/%/.done $(VENV)/.dev
	@echo 'Inside $*:'
	@$(GUEST_VENVS)/$*/bin/python -m pytest -q -c tests/integrations/pytest.ini --rootdir . \
		--confcutdir tests/integrations tests/integrations --guest $*
	@$(BIN)/basedpyright --project $(GUEST_VENVS)/$*/pyrightconfig.json
	@test -n "$(KEEP_GUESTS)" || rm -rf $(GUEST_VENVS)/$*

.PRECIOUS: $(GUEST_VENVS)/%/.done
$(GUEST_VENVS)/%/.done: requirements/guests/%.lock | $(VENV)/.dev
	@rm -rf $(GUEST_VENVS)/$* && $(BIN)/python -m venv $(GUEST_VENVS)/$*
	@$(BIN)/uv pip install --quiet --python $(GUEST_VENVS)/$* --system-certs --require-hashes \
		--requirement $<
	@sed 's/GUEST/$*/g' tests/integrations/types.json > $(GUEST_VENVS)/$*/pyrightconfig.json
	@touch $@

# No header and no index: a lock names packages and hashes, never a machine or a host. A
# package that is younger than a week is left out, since a poisoned one is found by then.
COMPILE = $(COMPILE_GUEST) --extra cli
COMPILE_GUEST = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--exclude-newer P7D --generate-hashes --no-strip-extras --no-header --annotation-style line --system-certs

# What is installed with dev.lock holds all of demo.lock in the same versions.
$(VENV)/.dev: requirements/dev.lock pyproject.toml
	@$(call install,requirements/dev.lock)
	@touch $(VENV)/.demo $@

$(VENV)/.demo: requirements/demo.lock pyproject.toml
	@$(call install,requirements/demo.lock)
	@touch $@

define install
set -e; \
if ! $(BIN)/python -c '$(USABLE)' 2>/dev/null; then \
	for python in $(PYTHON) none; do \
		if $$python -c '$(USABLE)' >/dev/null 2>&1; then break; fi; \
	done; \
	if [ "$$python" = none ]; then \
		echo 'make: no Python 3.11 or newer with venv and ensurepip; tried: $(PYTHON)' >&2; \
		exit 1; \
	fi; \
	rm -rf $(VENV); \
	$$python -m venv $(VENV); \
fi; \
echo 'Installing $(1) into $(VENV), once'; \
$(RUN) pip install --quiet --require-hashes --requirement $(1); \
$(RUN) pip install --quiet --no-deps --no-build-isolation --editable .
endef
