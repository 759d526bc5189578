# Each target makes a virtual environment in the clone with the newest Python that really starts,
# installs the package into it and runs. After that nothing is fetched again, and a rebuild
# happens only when a source has changed.
#
#   make demo     the main job on real schedules: tables, pictures, a report
#   make test     every test that needs no browser
#   make lab      the notebooks, in JupyterLab
#   make docs     the site, with the notebooks executed
#   make help     the other targets
#
# PYTHON=/path/to/python3 takes that interpreter, VENV=folder another folder than .venv,
# ARGS='...' goes to the program that the target runs (make test ARGS='-k cron -x').

VENV := .venv
PYTHON :=
ARGS :=

# The source folder resonate_lab/ must not be imported in place of the installed package.
export PYTHONSAFEPATH := 1
unexport PYTHONPATH PYTHONHOME

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq install
SOURCES := _fastcron.pyx setup.py MANIFEST.in $(shell find resonate_lab -name '*.py' -o -name '*.pyi' -o -name '*.toml')

NOTEBOOKS := $(wildcard notebooks/*.ipynb)

.PHONY: help demo test test-browser test-node lab notebooks docs pictures bench lint sanitize \
    fuzz fuzz-http clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo          the main job on real schedules: tables, pictures, a report'
	@echo 'make test          every test that needs no browser'
	@echo 'make test-browser  the notebook page and its widgets in headless Chromium'
	@echo 'make test-node     the TypeScript SDK over HTTP, on Node 22 (both come from npm)'
	@echo 'make lab           the notebooks, in JupyterLab'
	@echo 'make notebooks     each executed, as a page that needs no kernel: build/notebooks/'
	@echo 'make docs          the site, warnings as errors, links checked: build/site/index.html'
	@echo 'make pictures      the pictures of the README drawn anew'
	@echo 'make bench         the figures of the README, beside those of other evaluators'
	@echo 'make lint          ruff, mypy, cython-lint, and the stub against the compiled core'
	@echo 'make sanitize      the core under the address and undefined-behaviour sanitizers (gcc)'
	@echo 'make fuzz          10,000,000 hostile bytes through Engine.send, every law asked'
	@echo 'make fuzz-http     100,000 hostile requests over HTTP, every law asked'
	@echo 'make clean         remove the environment and all that was built'

demo: $(VENV)/built
	$(PY) -m resonate_lab demo $(ARGS)

test: $(VENV)/built $(VENV)/has-test
	$(PY) -m pytest -n auto --dist worksteal $(ARGS)
	@echo 'Two kinds of tests stand apart: make test-browser needs Chromium, make test-node npm'

test-browser: $(VENV)/built $(VENV)/has-test $(VENV)/has-browser
	$(PY) -m pytest -m browser $(wildcard tests/test_browser*.py) $(ARGS)

test-node: $(VENV)/built $(VENV)/has-test build/typescript/done
	$(PY) -m pytest -m node tests/test_typescript.py $(ARGS)

build/typescript/done:
	@command -v npm >/dev/null || { echo 'make test-node needs npm: install Node.js (https://nodejs.org),' \
	    'of any version, for it fetches the Node 22 that the SDK asks for' >&2; exit 1; }
	npm install --silent --no-audit --no-fund --ignore-scripts=false --prefix build/typescript \
	    @resonatehq/sdk node@22
	@build/typescript/node_modules/.bin/node -e 'if (parseInt(process.versions.node) < 22) process.exit(1)' \
	    || { echo 'npm has not brought a Node that starts and is 22 or newer' >&2; exit 1; }
	@touch '$@'

lab: $(VENV)/built $(VENV)/has-lab
	$(PY) -m jupyterlab notebooks $(ARGS)

notebooks: build/notebooks/done

# All of them if the package is a new one, else those that have changed.
build/notebooks/done: $(NOTEBOOKS) tools/notebooks.py examples/public_fleet.csv \
    $(VENV)/built $(VENV)/has-docs
	$(PY) tools/notebooks.py build/notebooks \
	    $(filter %.ipynb,$(if $(filter-out %.ipynb,$?),$^,$?))
	@touch '$@'

# Built from a copy, in which the executed notebooks and new pictures stand beside the pages.
docs: build/notebooks/done
	@rm -rf build/site-source build/site
	@mkdir -p build/site-source/course
	@cp -R docs/. build/site-source
	@cp $(NOTEBOOKS:%=build/%) build/site-source/course
	$(PY) tools/pictures.py build/site-source/pictures
	$(PY) -m sphinx -W --keep-going -q -b html build/site-source build/site
	$(PY) tools/check_site.py build/site

pictures: $(VENV)/built
	$(PY) tools/pictures.py docs/pictures

bench: $(VENV)/built $(VENV)/has-bench
	PYTHONSAFEPATH= $(PY) benchmarks/run.py $(ARGS)

lint: $(VENV)/built $(VENV)/has-lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	PATH="$(VENV)/bin:$$PATH" $(PY) -m cython_lint.cython_lint _fastcron.pyx
	$(PY) -m mypy
	$(PY) -m mypy.stubtest --mypy-config-file pyproject.toml resonate_lab._fastcron

# A build of the core apart from the installed one, over the ground truth and 200,000 damaged texts.
SANITIZE := -fsanitize=address,undefined

sanitize: $(VENV)/has-build
	@rm -rf build/sanitized
	@CFLAGS='-g -fno-omit-frame-pointer -fno-sanitize-recover=all $(SANITIZE)' \
	    LDFLAGS='$(SANITIZE)' $(PY) setup.py -q build \
	    --build-base build/sanitized --build-lib build/sanitized/lib
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	    LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" PYTHONPATH=build/sanitized/lib \
	    $(PY) tests/fuzz_fastcron.py $(ARGS)

fuzz: $(VENV)/built
	$(PY) tests/fuzz_engine.py $(ARGS)

fuzz-http: $(VENV)/built $(VENV)/has-test
	PYTHONSAFEPATH= $(PY) tests/fuzz_http.py $(ARGS)

clean:
	rm -rf '$(VENV)' build dist demo-output *.egg-info .pytest_cache .mypy_cache .ruff_cache \
	    .hypothesis .benchmarks
	rm -f resonate_lab/*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

# --- how an environment comes about ---------------------------------------------------------

# An environment that does not start any more, or was made by another interpreter than the one
# asked for with PYTHON=, is made anew.
ifneq ($(shell '$(PY)' -c 'print(1)' 2>/dev/null),1)
.PHONY: $(VENV)/made-by
else ifneq ($(PYTHON),)
ifneq ($(shell cat '$(VENV)/made-by' 2>/dev/null),$(shell sh tools/find-python '$(PYTHON)' 2>/dev/null))
.PHONY: $(VENV)/made-by
endif
endif

# One that was made by hand is taken as it is, and given pip if it has none.
$(VENV)/made-by:
	@if [ -n '$(PYTHON)' ] || ! python=$$(sh tools/find-python '$(PY)' 2>/dev/null); then \
	    python=$$(sh tools/find-python $(if $(PYTHON),'$(PYTHON)')) || exit 1; \
	    echo "Making $(VENV) with $$python"; \
	    rm -rf '$(VENV)' && "$$python" -m venv '$(VENV)' || exit 1; \
	fi; \
	'$(PY)' -m pip --version >/dev/null 2>&1 || '$(PY)' -m ensurepip --default-pip || exit 1; \
	echo "$$python" >'$@'

$(VENV)/has-build $(VENV)/has-test $(VENV)/has-browser $(VENV)/has-lab $(VENV)/has-docs \
    $(VENV)/has-bench $(VENV)/has-lint: \
    $(VENV)/has-%: $(VENV)/made-by pyproject.toml
	@echo 'Installing what $* needs'
	@$(PY) tools/requirements.py $* >'$@.new' && $(PIP) -r '$@.new' && mv '$@.new' '$@'

# setuptools leaves modules that were deleted or renamed in build/, and would ship them again;
# the compiled core there is worth keeping unless the way of building has changed.
$(VENV)/built: $(VENV)/has-build $(SOURCES)
	@echo 'Building and installing resonate_lab'
	@$(if $(filter setup.py $(VENV)/has-build,$?),rm -rf build)
	@if [ -d build ]; then find build -path 'build/lib*' ! -name '*.so' -type f -exec rm -f {} +; fi
	@$(PIP) --no-build-isolation .
	@touch '$@'
