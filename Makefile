# `make` alone lists what there is. PYTHON picks the interpreter the environment is made with.
PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test lint format bench bench-runner zero pipelines results tune mini clean

help:  ## this list
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

install: $(STAMP)  ## make .venv, with everything at the versions of constraints.txt

$(STAMP): pyproject.toml constraints.txt
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[test]" --constraint constraints.txt
	touch $@

demo: $(STAMP)  ## three prompts under four strategies, here and now: a picture in out/demo
	$(PY) -m athena compare "a photo of seven apples on the grass" "a photo of eight donuts on a table" \
	    "a photo of six mushrooms on the ground" --seed 8 --judge mini-judge --allow-inexact --out out/demo

test: lint  ## lint, types and every test
	$(PY) -m pytest

lint: $(STAMP)  ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(STAMP)  ## let ruff mend what it can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(STAMP)  ## what ATHENA costs over the bare pipeline
	$(PY) benchmarks/speed.py

bench-runner: $(STAMP)  ## what the benchmark's own machinery costs, and a report of 100,000 records
	$(PY) benchmarks/runner.py

results: $(STAMP)  ## the paper's table on the embedded models: docs/results/mini.md (hours; it resumes)
	$(PY) benchmarks/results.py $(FAMILIES)

TUNED := mini-sdxl mini-sd3 mini-flux
tune: $(STAMP)  ## search the embedded models' settings on their tuning split: out/tuned/*/preset.json (hours; it resumes)
	for family in $(or $(FAMILIES),$(TUNED)); do \
	    $(PY) -m athena tune --model $$family --dataset mini --trials 30 --batch-size 32 --out out/tuned/$$family || exit; \
	done

pipelines: $(STAMP)  ## hold every pipeline diffusers maps to the conformance suite
	$(PY) benchmarks/pipelines.py

zero: $(STAMP)  ## an estimate of nothing: "no apples" or "one apples" as the control prompt
	$(PY) benchmarks/zero.py

mini: $(STAMP)  ## train the embedded models again, all of them (hours)
	$(PY) -m athena.mini.train all

clean:  ## drop caches; .venv stays
	rm -rf .pytest_cache .ruff_cache .mypy_cache build dist
