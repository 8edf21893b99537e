# make demo: set up what is needed and run the main job.   make test: set up and run the tests.
# make docs: set up what is needed, build the site in site/ and run its tutorials as notebooks.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
RUN := $(VENV)/bin
# Tests are kept as they were compiled, whatever the shell says: collecting them again takes a third less.
PYTEST := PYTHONDONTWRITEBYTECODE= $(RUN)/python -m pytest

DOCS_FROM := mkdocs.yml $(wildcard *.md) benchmarks/RESULTS.md \
	$(shell find docs src proofs/src service/src scripts -type f -not -path '*/__pycache__/*')

.PHONY: demo test test-heavy test-slow golden lint lock bench bench-growth mutants docs pages clean

demo: $(READY)
	rm -rf demo-out
	$(RUN)/onesided demo --out demo-out

test: $(READY)
	$(PYTEST) -n 2 --dist loadgroup -q -m "not heavy"

# What needs a JVM, a browser, dozens of programs or minutes, and the experiments; .ci/run runs these
# too. Three processes on two cores: the one with Spark's tests mostly waits for it.
test-heavy: $(READY)
	$(PYTEST) -n 3 --dist loadgroup -q -m heavy

# Every document of golden/ against what the code says; make test compares a share of them.
golden: $(READY)
	$(RUN)/python scripts/golden.py check

# Hours: every long form, as .ci/long runs them.
test-slow: $(READY)
	$(PYTEST) -n 2 --dist loadgroup -q --slow

lint: $(READY)
	$(RUN)/python scripts/lines.py
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

bench: $(READY)
	for script in benchmarks/*.py; do echo "## $$script"; $(RUN)/python $$script || exit 1; done

# How cost grows with rows, keys, people, places, entries and steps; 20 minutes on an idle machine.
bench-growth: $(READY)
	$(RUN)/python benchmarks/growth.py --write

# Small mistakes in the shipped code that onesided verify must see: 200, as in the long form of
# the tests (pytest --slow proofs/tests/test_mutants.py); make test-heavy plants the first twelve.
mutants: $(READY)
	$(RUN)/python benchmarks/mutants.py

# The site with its tutorials run as notebooks, on their pages' code as it stands.
docs: pages
	$(RUN)/python scripts/notebooks.py site/tutorials

# The site is built strictly: a dead link fails.
pages: site/.built

site/.built: $(READY) $(DOCS_FROM)
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --quiet
	touch $@

$(READY): requirements.lock scripts/install.sh $(wildcard pyproject.toml */pyproject.toml)
	scripts/install.sh $(VENV) $(PYTHON)
	touch $@

# The newest release of everything, but for those that scripts/lock.py holds back.
lock: $(READY)
	$(RUN)/python -m pip install --quiet uv
	$(RUN)/python scripts/lock.py

clean:
	rm -rf $(VENV) demo-out site
