# The front door. `make help` lists the targets; `make demo` and `make test` work on a fresh clone with cargo, python3
# (3.10 or newer), node (20 or newer), a C compiler and make on the machine.
#
# What is made: .venv and .venv-* (Python environments), node_modules (in node, node/test/runtimes, examples/node,
# tests/interop, tests/conformance and tests/bench/node), and target/.
# Everything is built in the dev profile (opt-level 1), and the Rust tests, the Node addon and the C library name the same
# packages to cargo (TESTED): so they share one compilation of engine and dependencies. The Python module needs settings of
# its own and shares what it can. That is the least work in all; `make wheel` and `make bench` build for release.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest -q --tb=short
export VIRTUAL_ENV := $(VENV)
# No Python program that is started here writes its cache beside a source of somebody else's.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# In CI the lock file is the truth; at a desk cargo may extend it.
LOCKED := $(if $(CI),--locked,)
PYTHON_CODE := tools docs tests examples py ffi-c
# Without the Python crate, whose library would need a libpython to link against; pytest tests it.
TESTED := --workspace --exclude ferromcp-py

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) $(shell find core -name '*.rs' -o -name Cargo.toml)
PY_SOURCES := $(shell find py/src -name '*.rs') py/Cargo.toml py/pyproject.toml
# The official TypeScript clients.
INTEROP := $(patsubst %/package.json,%/node_modules/.ready,$(wildcard tests/interop/package.json tests/interop/*/package.json))
# The Node package's own tools, the other releases of Node, and the official conformance suite.
NODE_ENVIRONMENTS := $(patsubst %,%/node_modules/.ready,node node/test/runtimes tests/conformance)
NODE_SOURCES := $(shell find node/src node/ts -type f) node/Cargo.toml node/build.rs

.PHONY: help demo test test-all check fmt setup system-packages requirements clean

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: native ## serve an ordinary FastMCP file on the engine and call it with the official client, in both eras
	$(PY) examples/python/demo.py

test: ## every check and every test of every language, with a table of where the time went
	@MAKE="$(MAKE)" tools/stage.sh test setup check test-rust test-instructions test-c test-node test-python test-docs test-parity test-wheel test-blackbox test-interop test-conformance

test-all: ## what `test` does, and what takes longer: the conformance suite in all languages
	@MAKE="$(MAKE)" tools/stage.sh test-all test conformance

check: ## what is quick: formats, lints, types, and that generated files are up to date
	@MAKE="$(MAKE)" tools/stage.sh check check-rust check-python check-types check-generated check-tree

fmt: $(VENV)/.ready ## format all Rust and Python
	cargo fmt --all
	$(VENV)/bin/ruff format $(PYTHON_CODE)
	$(VENV)/bin/ruff check --fix-only --quiet $(PYTHON_CODE)

# --- Environments -----------------------------------------------------------------------------------------------------

setup: system-packages $(VENV)/.ready $(VENV)-mcp1/.ready $(NODE_ENVIRONMENTS) $(INTEROP) ## make the environments that the tests use

system-packages: ## install what the system lacks (root on Debian), else say what to install
	@tools/system_packages.sh

$(VENV)/.ready: requirements-dev.txt constraints.txt
	@tools/system_packages.sh
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet -r requirements-dev.txt -c constraints.txt
	@touch $@

# The first generation of the official Python SDK can't live beside the second.
$(VENV)-mcp1/.ready: tests/requirements/mcp1.txt
	$(PYTHON) -m venv $(VENV)-mcp1
	$(VENV)-mcp1/bin/python -m pip install --quiet -r $<
	@touch $@

%/node_modules/.ready: %/package.json %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --no-progress --loglevel=error
	@touch $@

# npm links a command only when its file is there already, so the package that the examples depend on is built first.
examples/node/node_modules/.ready: node/dist/.built

# --- What is built ----------------------------------------------------------------------------------------------------

.PHONY: native addon clib c-installed c-fixtures c-examples c-everything install wheel

native: $(VENV)/.native ## build the Python package into .venv (editable)

$(VENV)/.native: $(VENV)/.ready $(RUST_SOURCES) $(PY_SOURCES)
	$(VENV)/bin/maturin develop --quiet -m py/Cargo.toml $(LOCKED)
	@touch $@

addon: node/dist/.built ## build the Node addon and its TypeScript facade

node/dist/.built: node/node_modules/.ready $(RUST_SOURCES) $(NODE_SOURCES)
	cd node && npm run --silent build:ts && node build.mjs --quiet $(LOCKED) $(TESTED) --all-targets
	@touch $@

clib: ## build the C library into target/debug
	cargo build --quiet $(LOCKED) $(TESTED) --all-targets

# What black-box tests and the official clients call: the fixture servers and the examples in C and C++, on an installed tree
# of the library.
C_FIXTURES := $(CURDIR)/target/c-tests/fixture
C_FLAGS := -Wall -Wextra -Wpedantic -Werror -O1 -I$(C_FIXTURES)/installed/include
C_LIBRARY := -L$(C_FIXTURES)/installed/lib -lferromcp -Wl,-rpath,$(C_FIXTURES)/installed/lib -lpthread

COMPILE_C := cc -std=c99 -D_POSIX_C_SOURCE=200809L $(C_FLAGS)
COMPILE_CPP := c++ -std=c++17 $(C_FLAGS)

c-installed: clib
	ffi-c/install.sh debug $(C_FIXTURES)/installed

c-fixtures: c-installed
	$(COMPILE_C) tests/fixtures/native.c -o $(C_FIXTURES)/native-c $(C_LIBRARY)
	$(COMPILE_CPP) tests/fixtures/native.cpp -o $(C_FIXTURES)/native-cpp $(C_LIBRARY)
	$(COMPILE_C) tests/fixtures/http_native.c -o $(C_FIXTURES)/http-native-c $(C_LIBRARY)

c-examples: c-installed
	@mkdir -p $(C_FIXTURES)/examples
	for name in server own_loop tasks; do \
		$(COMPILE_C) examples/c/$$name.c -o $(C_FIXTURES)/examples/c_$$name $(C_LIBRARY); \
		$(COMPILE_CPP) examples/cpp/$$name.cpp -o $(C_FIXTURES)/examples/cpp_$$name $(C_LIBRARY); \
	done

c-everything: c-installed
	@mkdir -p $(C_FIXTURES)/examples
	$(COMPILE_C) examples/c/everything_server.c -o $(C_FIXTURES)/examples/c_everything_server $(C_LIBRARY)

PREFIX ?= /usr/local

install: ## build the C library for release and install it under PREFIX (DESTDIR is honoured)
	cargo build --release --quiet $(LOCKED) -p ferromcp-ffi
	ffi-c/install.sh release $(PREFIX)

wheel: $(VENV)/.ready ## build the release wheel into target/wheels
	$(VENV)/bin/maturin build --release -m py/Cargo.toml $(LOCKED)

# --- Checks -----------------------------------------------------------------------------------------------------------

.PHONY: check-rust check-python check-types check-generated check-tree

# Also what test-parity reads: rustdoc shows what the crates really export, whatever module it stands in.
RUSTDOC := RUSTDOCFLAGS="-D warnings" cargo doc --quiet $(LOCKED) --no-deps --all-features -p ferromcp -p ferromcp-engine

check-rust: ## rustfmt, rustdoc's links, and clippy, which also bans clocks, files, sockets and threads in the engine
	cargo fmt --all --check
	cargo clippy --quiet $(LOCKED) --workspace --all-targets -- -D warnings
	$(RUSTDOC)

check-python: $(VENV)/.ready ## ruff
	$(VENV)/bin/ruff format --check --quiet $(PYTHON_CODE)
	$(VENV)/bin/ruff check --quiet $(PYTHON_CODE)

check-types: $(VENV)/.native ## mypy --strict on the package and the tools, and the stubs against the native module
	cd py && $(VENV)/bin/mypy --strict
	$(VENV)/bin/mypy --strict tools
	cd py && $(VENV)/bin/stubtest ferromcp._native

check-generated: node/dist/.built ## the C header and the addon's types are what their sources give
	cargo test --quiet $(LOCKED) $(TESTED) --test header
	cargo test --quiet $(LOCKED) $(TESTED) --lib layout
	@diff -u node/ts/native.d.cts target/native.d.cts || { echo 'run "make stubs"'; exit 1; }

check-tree: $(VENV)/.ready ## one version everywhere, no machine's paths, rules in their places
	$(PY) tools/check_tree.py
	$(PY) tools/check_places.py

header: ## write ffi-c/include/ferromcp.h, the list of symbols, and the layout that the tests hold it against
	FERROMCP_WRITE=1 cargo test --quiet $(TESTED) --test header
	FERROMCP_WRITE=1 cargo test --quiet $(TESTED) --lib layout

stubs: node/dist/.built ## write node/ts/native.d.cts from the addon
	cp target/native.d.cts node/ts/native.d.cts

lock-python: ## write constraints.txt, from a new environment without constraints
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet -r requirements-dev.txt
	$(PY) tools/lock_python.py
	touch $(VENV)/.ready

# --- Tests ------------------------------------------------------------------------------------------------------------

.PHONY: test-rust test-instructions test-c test-node test-python test-docs test-parity test-wheel test-blackbox test-interop test-conformance conformance

test-rust: ## Rust tests: engine, runtime, doors
	cargo test --quiet --no-fail-fast $(LOCKED) $(TESTED)

test-instructions: ## instructions of one call, which must not rise by more than 5 % (figures of the tests' build)
	@tools/system_packages.sh
	$(PYTHON) tools/instructions.py --check --profile dev $(LOCKED)

test-c: clib $(VENV)/.ready ## C and C++ tests: plain, static, with sanitizers, under valgrind, and on an installed tree
	PYTHON=$(PY) ffi-c/tests/run.sh debug

test-node: node/dist/.built node/test/runtimes/node_modules/.ready ## Node tests, and the types as a program sees them
	cd node && npm test --silent

test-python: native ## tests of the Python package
	$(PYTEST) py/tests

test-docs: native addon clib ## the programs in the documents, the manifest of requirements, and the runner of `peers`
	$(PYTEST) docs tests/test_*.py tests/peers

test-parity: native addon clib ## the same public surface in every language, as tests/parity/surface.toml lists it
	$(RUSTDOC)
	$(PYTEST) tests/parity

test-wheel: $(VENV)/.ready ## the wheel, built as for publishing, in an environment with nothing else
	$(PY) tools/wheel_smoke.py $(LOCKED)

test-blackbox: native addon c-fixtures examples/node/node_modules/.ready ## real server processes over pipes
	$(PYTEST) tests/blackbox

test-interop: native addon c-examples c-fixtures $(VENV)-mcp1/.ready $(INTEROP) examples/node/node_modules/.ready ## the official clients against our servers and examples
	$(PYTEST) tests/interop

CONFORMANCE := tests/conformance/node_modules/.ready

test-conformance: native clib $(CONFORMANCE) ## the official conformance suite against the examples in Python and Rust
	$(PYTEST) tests/conformance
	$(PY) tests/conformance/run.py python rust

conformance: native addon c-everything $(CONFORMANCE) examples/node/node_modules/.ready ## the same in all languages, CONFORMANCEFLAGS for run.py
	$(PY) tests/conformance/run.py $(CONFORMANCEFLAGS)

test-pythons: native ## the Python tests under every Python that is installed, PYTHONSFLAGS for pytest (minutes for each)
	$(PY) tools/test_pythons.py $(PYTHONSFLAGS)

requirements: $(VENV)/.ready ## count the rows of the specification that tests prove, by chapter
	$(PY) tests/requirements.py

# --- Other people's tests ---------------------------------------------------------------------------------------------

.PHONY: peers

PEERS := $(CURDIR)/target/peers

peers: native $(PEERS)/venv/.ready $(PEERS)/.sources ## other SDKs' own tests, stock and on us (minutes; Python 3.11)
	$(PEERS)/venv/bin/python tests/peers/peers.py $(PEERFLAGS)

# With our package where it lies, as `native` builds it.
$(PEERS)/venv/.ready: tests/peers/requirements.txt constraints.txt
	$(PYTHON) -m venv --clear $(PEERS)/venv
	$(PEERS)/venv/bin/python -m pip install --quiet -r $< -c constraints.txt
	@echo $(CURDIR)/py/python > $$($(PEERS)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ferromcp.pth
	@touch $@

$(PEERS)/.sources: tests/peers/sources.txt | $(PEERS)/venv/.ready
	$(PEERS)/venv/bin/python -m pip download --quiet --no-deps --no-binary :all: --require-hashes --dest $(PEERS) -r $<
	@touch $@

# --- Measuring and searching --------------------------------------------------------------------------------------------

.PHONY: bench bench-http bench-instructions fuzz

bench: $(VENV)/.ready node/dist/.built ## ours beside the peers, in one run: ratios of CPU time (about fifteen minutes)
	$(PY) tests/bench/bench.py $(BENCHFLAGS)

bench-http: $(VENV)/.ready node/dist/.built ## the same over HTTP, and memory and open streams (about fifteen minutes)
	@tools/system_packages.sh bench-http
	$(PY) tests/bench/bench_http.py $(BENCHFLAGS)

bench-instructions: ## instructions of one call in the engine as released, held against the figures that are checked in
	@tools/system_packages.sh
	$(PYTHON) tools/instructions.py --check

# Seconds for each target.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS ?= bytes sequence tasks schema template
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1

fuzz: ## search for inputs that break the engine, FUZZ_SECONDS for each target (libFuzzer; needs a C++ compiler)
	RUSTFLAGS="$(COVERAGE)" CARGO_TARGET_DIR=target/fuzz cargo build --quiet --release --target $$(rustc -vV | sed -n 's/^host: //p') \
		--manifest-path core/engine/fuzz/Cargo.toml
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p target/fuzz/found/$$target; \
		target/fuzz/*/release/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix=target/fuzz/found/ target/fuzz/found/$$target core/engine/fuzz/corpus/$$target || exit 1; \
	done

clean: ## remove everything that was made
	rm -rf target .venv .venv-* node/node_modules node/dist node/*.node node/test/runtimes/node_modules examples/node/node_modules tests/interop/node_modules tests/conformance/node_modules tests/bench/node/node_modules py/python/ferromcp/*.so
