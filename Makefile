# Everything a contributor runs. Needs Python 3.10 or newer; the rest is installed into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Tests start processes and wait for them: two workers a core keep both cores of a small machine busy.
WORKERS ?= 4
# TensorRT is often in an environment of its own: GPU_PYTHON=python3 make test-gpu
GPU_PYTHON ?= $(BIN)/python
DEMO := .cache/demo
# Exact versions of everything that is installed here; CONSTRAINTS= takes the newest instead.
CONSTRAINTS ?= requirements.lock
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))

DEV_EXTRAS := ort,plots,frames,xlsx,gpu,grpc,postgres,storage,serve,convert
# All of pyproject.toml but cu12, which contradicts cu13.
LOCKED_EXTRAS := ort plots xlsx images detection yaml frames notebook convert postgres storage serve gpu grpc ray trt cu13 cupti

.DEFAULT_GOAL := help
.PHONY: help audit demo docs dist test test-docs test-pages test-plugins test-quick coverage test-newest test-oldest lock lint format mutate bench-loop bench-start bench-statistics test-gpu bench-gpu bench-explore bench-validate bench-store bench-serve faults fuzz reference clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.run: pyproject.toml $(CONSTRAINTS) $(wildcard native/*)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	$(PIP) --group build # pinned too, so the package is built without an environment of its own
	$(PIP) --no-build-isolation --editable '.[ort,plots]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) --no-build-isolation --editable '.[$(DEV_EXTRAS)]' --group dev
	@touch $@

lock: pyproject.toml ## Write the newest versions that fit together into requirements.lock
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	.cache/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.10 \
	  --custom-compile-command 'make lock' --group build --group dev --group docs --group mutation --group plugins --group release \
	  $(addprefix --extra ,$(LOCKED_EXTRAS)) pyproject.toml --output-file requirements.lock

audit: ## Ask for known weaknesses of the versions in requirements.lock
	$(PYTHON) -m venv .cache/audit
	.cache/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	.cache/audit/bin/pip-audit --requirement requirements.lock --no-deps --disable-pip --progress-spinner off

demo: $(VENV)/.run ## Measure two small sample models and write a report
	@$(BIN)/enginescope bench --store $(DEMO)
	@$(BIN)/enginescope report --store $(DEMO) --output $(DEMO)/report latest~1 latest > $(DEMO)/files.txt
	@echo
	@echo "report: $(CURDIR)/$(DEMO)/report/report.html"

test: lint $(VENV)/.dev ## Lint, type-check and run every test but those of test-pages and test-docs
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not documentation and not browser'

test-pages: $(VENV)/.dev ## Run the tests that look at pages in Chromium
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'browser and not documentation'

test-docs: $(VENV)/.dev ## Run the commands and the notebooks of the documentation, and build the site
	$(PIP) --group docs
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m documentation

test-plugins: $(VENV)/.run ## Install the packages of the folders plugins and examples/plugins, and run their tests
	$(PIP) --group dev --group plugins
	$(PIP) --no-build-isolation --no-deps $(patsubst %/pyproject.toml,--editable ./%,$(wildcard plugins/*/pyproject.toml examples/plugins/pyproject.toml))
	$(BIN)/python -m pytest plugins examples/plugins

test-quick: $(VENV)/.dev ## Run the tests that take no more than a few seconds each
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow and not browser'

docs: $(VENV)/.dev ## Build the documentation site into build/site; a warning is an error
	$(PIP) --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site: $(CURDIR)/build/site/index.html"

dist: $(VENV)/.dev ## Build the wheels and the source archive into dist, and check them
	$(PIP) --group release
	rm -rf dist
	$(BIN)/python .ci/sbom.py
	$(BIN)/python .ci/build_dist.py dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py dist

coverage: $(VENV)/.dev ## Run the quick tests; fail if they cover fewer lines than pyproject.toml demands
	COVERAGE_CORE=sysmon $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow and not browser' \
	  --cov --cov-report=

mutate: $(VENV)/.dev ## Show how many mutants of the code that judges the tests kill (hours)
	$(PIP) --group mutation
	$(BIN)/mutmut run --max-children 2
	$(BIN)/mutmut results

test-newest: ## Run the quick tests with the newest versions that pyproject.toml allows
	$(MAKE) test-quick CONSTRAINTS= VENV=.cache/venv-newest

test-oldest: ## Run the quick tests with the oldest versions that pyproject.toml allows
	$(MAKE) test-quick CONSTRAINTS=.cache/oldest.txt VENV=.cache/venv-oldest

.cache/oldest.txt: pyproject.toml
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	.cache/lock/bin/uv pip compile --quiet --resolution lowest-direct \
	  --python $(PYTHON) --group build --group dev \
	  $(addprefix --extra ,$(LOCKED_EXTRAS)) pyproject.toml --output-file $@

lint: $(VENV)/.dev ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reference: $(VENV)/.dev ## Write the pages of docs/reference that are made from the code
	$(BIN)/python -m tests.docs.reference

notebooks: $(VENV)/.dev ## Run the notebooks and keep their outputs
	$(BIN)/python -m tests.notebook.execute

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-loop: $(VENV)/.run ## Compare the measurement loop with a hand-written one
	$(BIN)/python benchmarks/loop_cost.py

bench-start: $(VENV)/.run ## Compare the start of the command line with a bare import of click
	$(BIN)/python benchmarks/cold_start.py

bench-statistics: $(VENV)/.dev ## Show how often intervals cover the truth and verdicts are right
	$(BIN)/python benchmarks/statistics/tables.py $(STATISTICS_ARGS)

test-gpu: ## Run the tests that need a GPU and TensorRT, with the Python at hand
	$(GPU_PYTHON) -m pytest -m gpu tests/gpu -p no:cacheprovider

bench-gpu: ## Compare throughput with trtexec, or with a hand-written loop
	$(GPU_PYTHON) benchmarks/gpu_loop.py $(GPU_ARGS)

bench-explore: $(VENV)/.run ## Show what large plans cost, beside the limits and trex
	$(BIN)/python benchmarks/explore/table.py $(EXPLORE_ARGS)
	$(BIN)/python benchmarks/explore/page.py

bench-validate: $(VENV)/.dev ## Show what comparing the answers to 5,000 pictures takes
	$(BIN)/python benchmarks/validate.py $(VALIDATE_ARGS)

bench-store: $(VENV)/.dev ## Show what listing 10,000 runs and the page of 2,000 cells take
	$(BIN)/python benchmarks/store.py $(STORE_ARGS)
	$(BIN)/python benchmarks/suite_page.py

bench-serve: $(VENV)/.dev ## Show how a server with 10,000 runs answers 16 clients
	$(BIN)/python benchmarks/serve/load.py $(SERVE_ARGS)

fuzz: $(VENV)/.dev ## Mutate files of every format (30 minutes); fail at a traceback, 5 s or 1 GiB
	$(BIN)/python -m tests.fuzz $(or $(FUZZ_ARGS),--seconds 1800)

faults: $(VENV)/.dev ## Kill, fill, damage and flood (680 events); fail if an acknowledged result is lost
	$(BIN)/python -m tests.faults $(FAULTS_ARGS)

clean: ## Remove the environment and everything built
	rm -rf $(VENV) .cache build dist .mypy_cache .pytest_cache .ruff_cache
