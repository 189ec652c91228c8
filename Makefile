# make test   environment, linters, type checks and all tests
# make demo   environment, then a translator learns English-French in two minutes and shows its attention
# make site   the documentation as pages: build/site/index.html
# make release   dist/ with the wheel and the sdist, the wheel tried in a clean environment
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.developing
DEMO := .venv/.installed
LOWEST := .venv-lowest
# `make fast CONSTRAINTS=/dev/null` tests the newest versions of all dependencies
CONSTRAINTS ?= constraints.txt

# the processes that tests start need not compile saccade again
test fast test-lowest test-ray: export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check fast test-lowest test-ray release site format growth clean

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal

demo: $(DEMO)
	$(BIN)/saccade demo

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# unit tests and the papers' equations: no property tests, training runs, processes or browser
fast: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/unit tests/reference

# The fast tests with the lowest versions that pyproject.toml allows. torch from PyPI brings gigabytes of CUDA libraries;
# `make test-lowest TORCH=` leaves torch at the version of constraints.txt. schemathesis needs a newer rich than we do.
TORCH ?= lowest
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py $(if $(TORCH),,--without torch --without triton) > $(LOWEST)/constraints.txt
	$(if $(TORCH),,grep -E "^(torch|triton)==" constraints.txt >> $(LOWEST)/constraints.txt)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt \
	  -e '.[hub,images,metrics,scenes,serve,sound,zstd]' entmax hypothesis pytest pytest-timeout pytest-xdist triton
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal tests/unit tests/reference -W default::DeprecationWarning \
	  --ignore tests/unit/serve/test_openapi.py

# bulk prediction by Ray and with Parquet, 530 MB more; about five minutes
RAY := .venv-ray
test-ray:
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[ray]' \
	  pytest pytest-timeout hypothesis
	$(RAY)/bin/python -m pytest -v tests/ray tests/unit/bulk tests/process/test_bulk.py

release: $(STAMP)
	tools/release.sh $(BIN)/python

site: $(STAMP)
	$(BIN)/python -m sphinx -b html -q -W --keep-going -c docs -d build/doctrees . build/site

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

growth: $(STAMP)
	$(BIN)/python benchmarks/growth.py

# both reinstall only after a change of pyproject.toml or constraints.txt
$(DEMO): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch -c $(CONSTRAINTS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[images,serve]' -c $(CONSTRAINTS)
	touch $(DEMO)

$(STAMP): $(DEMO)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c $(CONSTRAINTS)
	touch $(STAMP)

clean:
	rm -rf .venv $(LOWEST) $(RAY) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
