# make demo: set up what is needed and run the main job.   make test: set up and run all tests.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
RUN := $(VENV)/bin

.PHONY: demo test lint bench clean

demo: $(READY)
	rm -rf demo-out
	$(RUN)/onesided demo --out demo-out

test: $(READY)
	$(RUN)/python -m pytest -n 2 --dist loadgroup -q

lint: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

bench: $(READY)
	for script in benchmarks/*.py; do echo "## $$script"; $(RUN)/python $$script || exit 1; done

$(READY): pyproject.toml experiments/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(RUN)/python -m pip install --quiet --editable ".[cli,polars,pandas,pyarrow,postgres,spark]" \
		--editable ./experiments --group dev
	touch $@

clean:
	rm -rf $(VENV) demo-out
