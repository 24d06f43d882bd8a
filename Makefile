# The two commands that matter: `make demo` and `make test`. Both set themselves up.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SOURCES := $(shell find src -type f -not -path '*/__pycache__/*')

# Without kept bytecode, each of the many processes of the tests would compile torch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-light test-lowest docs package bench clean

demo: $(VENV)/installed
	$(PY) -m readlet demo
	@echo
	@echo "To have readlet on the PATH of this shell: source $(VENV)/bin/activate"
	@echo "or from any folder: export PATH=\"$(CURDIR)/$(VENV)/bin:\$$PATH\""

# Tests run against the installed package, so a file missing from the wheel is found here. Types
# are checked beside them, since mypy uses one core only; what it found is printed at the end.
test: $(VENV)/installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy > $(VENV)/types.txt & \
	  $(PY) -m pytest -n 2 --dist worksteal; tests=$$?; \
	  wait $$!; types=$$?; cat $(VENV)/types.txt; exit $$((tests || types))

# What needs no torch, in an environment without it, from the built wheel.
LIGHT := $(VENV)/light
LIGHT_TESTS := tests/test_light.py tests/inference/test_frozen_models.py::test_reader[exported] \
  $(addprefix tests/data/test_,squad.py flat_files.py check.py) tests/evaluation/test_squad.py \
  $(addprefix tests/inference/test_,baseline.py document_files.py) \
  $(addprefix tests/cli/test_,ask.py data.py) tests/text/test_words.py

test-light: $(LIGHT)/installed
	$(LIGHT)/bin/python -m pytest -n 2 --dist worksteal $(LIGHT_TESTS)

# The same tests with the lowest versions that pyproject.toml allows, and then those of training,
# with torch for CPUs; needs uv.
LOWEST := $(VENV)/lowest
LOWEST_INSTALL := uv pip install --quiet --python $(LOWEST) --resolution lowest-direct
TRAIN_TESTS := $(addprefix tests/,training/test_train.py models/test_encoder.py \
  export/test_export_folder.py)

test-lowest:
	uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(LOWEST_INSTALL) ".[serve,documents,parquet]" --group test
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal $(LIGHT_TESTS)
	$(LOWEST_INSTALL) --torch-backend cpu ".[train,serve,documents,parquet]" --group test
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal $(TRAIN_TESTS)

# The source archive, and the wheel that is built from it.
package: $(VENV)/created
	rm -rf dist
	$(PY) -m pip install --quiet -c constraints.txt build
	$(PY) -m build --no-isolation --outdir dist .

# The site, in build/docs; a warning is an error.
docs: $(VENV)/installed-dev
	$(PY) -m sphinx -W --keep-going -q -j 2 docs build/docs

bench: $(VENV)/installed-dev
	$(PY) benchmarks/rates.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Readlet needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet -c constraints.txt hatchling
	touch $@

# Modules are compiled when they are imported: of thousands, few are.
$(VENV)/dependencies: pyproject.toml constraints.txt $(VENV)/created
	$(PY) -m pip install --quiet --no-compile --no-build-isolation -c constraints.txt ".[train]"
	touch $@

$(VENV)/dependencies-dev: pyproject.toml constraints.txt $(VENV)/created
	$(PY) -m pip install --quiet -c constraints.txt pip  # dependency groups need 25.1
	$(PY) -m pip install --quiet --no-compile --no-build-isolation -c constraints.txt \
	  ".[all]" --group dev
	touch $@ $(VENV)/dependencies

$(VENV)/installed: $(VENV)/dependencies $(SOURCES)
	$(PY) -m pip install --quiet --no-build-isolation --no-deps --force-reinstall .
	touch $@

$(VENV)/installed-dev: $(VENV)/dependencies-dev $(SOURCES)
	$(PY) -m pip install --quiet --no-build-isolation --no-deps --force-reinstall .
	touch $@ $(VENV)/installed

$(LIGHT)/installed: pyproject.toml constraints.txt $(VENV)/created $(SOURCES)
	rm -rf $(LIGHT)
	$(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(LIGHT)/wheel .
	$(PYTHON) -m venv $(LIGHT)
	$(LIGHT)/bin/python -m pip install --quiet -c constraints.txt pip
	$(LIGHT)/bin/python -m pip install --quiet --no-compile -c constraints.txt \
	  "$$(echo $(LIGHT)/wheel/*.whl)[serve,documents]" --group test
	touch $@
