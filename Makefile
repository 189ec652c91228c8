# make test   environment, linters, types and the whole test-suite
# make demo   environment, then a translator learns English-French in two minutes and shows where it looked
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.developing
DEMO := .venv/.installed

.PHONY: demo test check fast format growth clean

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

demo: $(DEMO)
	$(BIN)/saccade demo

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# unit tests and the papers' equations: no laws, no training runs, no processes, no browser
fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/unit tests/reference

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

growth: $(STAMP)
	$(BIN)/python benchmarks/growth.py

# both reinstall only when what is installed could have changed
$(DEMO): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[images,serve]' -c constraints.txt
	touch $(DEMO)

$(STAMP): $(DEMO)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $(STAMP)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
