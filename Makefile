# One command per check; `make test` and `make slow` are what continuous integration runs.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# `make test EXTRAS=test` installs less, and says which tests that leaves out.
EXTRAS ?= dev
STAMP := $(VENV)/.installed-$(EXTRAS)
DEMO := $(VENV)/.demo
# `make release WEIGHTS=DIR`: a folder of run directories that go into the release.
WEIGHTS ?=
COMMA := ,

.PHONY: help setup versions demo docs gallery test slow attacks release format lint type browser coq ocaml kernel-checker coqchk unit portable fuzz clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $(STAMP)

versions: ## install the newest packages that pyproject.toml allows, and pin them for the checks
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	{ head -1 constraints.txt; $(BIN)/pip freeze --exclude-editable | sed 's/+[a-z0-9.]*$$//'; } > $(VENV)/pins
	cp $(VENV)/pins constraints.txt && touch $(STAMP)

setup: $(STAMP) ## create .venv and install krohn with its development tools

# No torch and no tools: what the demo needs is some 100 MB, and there at once where all is installed.
$(DEMO): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test $(STAMP) -nt pyproject.toml || $(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $(DEMO)

demo: $(DEMO) ## the main job on a small example
	$(BIN)/python -m krohn.cli.demo

docs: $(STAMP) ## the site, in site/
	$(BIN)/python -m sphinx -W --keep-going -q docs site

gallery: $(STAMP) ## the gallery page that the site holds
	$(BIN)/python -m krohn explore --gallery --out docs/gallery/explorer.html

quick: $(STAMP) ## formatter, linter, architecture and the tests of what changed: under a minute for a small change
	$(BIN)/python tools/quick.py

test: lint type unit ## what a change can break, in some six minutes on two cores; make slow has the rest

format: $(STAMP) ## rewrite the sources in the house format
	$(BIN)/ruff format src tests benchmarks tools research examples
	$(BIN)/ruff check --fix src tests benchmarks tools research examples

lint: $(STAMP) ## formatter and linter, nothing is rewritten
	$(BIN)/ruff format --check src tests benchmarks tools research examples
	$(BIN)/ruff check src tests benchmarks tools research examples

type: $(STAMP) ## strict type check
	$(BIN)/mypy

browser: ## Chromium for the tests of pages, where it may be installed
	@command -v chromedriver >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; fi || true
	@command -v chromedriver >/dev/null || echo "no Chromium here and no right to install it: tests of pages are skipped (apt-get install chromium chromium-driver)"

coq: ## Coq and Flocq for the tests of certificates, where they may be installed
	@command -v coqc >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -qq && apt-get install -qq -y --no-install-recommends coq libcoq-flocq >/dev/null; fi || true
	@command -v coqc >/dev/null || echo "no Coq here and no right to install it: certificates are not checked (apt-get install coq libcoq-flocq)"

ocaml: ## OCaml and zarith for the program made of the checker, where they may be installed
	@command -v ocamlfind >/dev/null || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
	then apt-get update -qq && apt-get install -qq -y --no-install-recommends ocaml-nox ocaml-findlib libzarith-ocaml-dev >/dev/null; fi || true
	@command -v ocamlfind >/dev/null || echo "no OCaml here and no right to install it: krohn-kernel is not built (apt-get install ocaml-nox ocaml-findlib libzarith-ocaml-dev)"

kernel-checker: $(STAMP) coq ocaml ## krohn-kernel, the verified checker as a program: krohn verify --kernel uses it (three minutes, once)
	built="$$($(BIN)/python -m krohn.coq.program)" && cp "$$built" $(BIN)/krohn-kernel && echo "$(BIN)/krohn-kernel"

coqchk: $(STAMP) coq ## Coq's second checker goes through the compiled development (minutes; needs no certificate)
	rm -rf $(VENV)/.formulas && mkdir $(VENV)/.formulas && cp src/krohn/coq/theories/Formulas.v $(VENV)/.formulas
	built="$$($(BIN)/python -c 'from krohn.coq.coqc import development; print(development())')" && \
	coqc -q -Q "$$built" Krohn -Q $(VENV)/.formulas Krohn $(VENV)/.formulas/Formulas.v && \
	coqchk -silent -o -Q "$$built" Krohn -Q $(VENV)/.formulas Krohn \
	Krohn.Program Krohn.Formulas

unit: $(STAMP) ## the tests of a change
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not attack"

slow: $(STAMP) browser coq ocaml ## Coq, browser, site, notebooks, Ray, wheel, fuzz, kept bytes, scripts of tools, campaigns
	$(BIN)/python tests/golden/portable.py --small
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not attack"

attacks: $(STAMP) browser coq ocaml ## the longest attacks on checker and Coq, and samples that make slow leaves out: before a release, and after a change there
	$(BIN)/python -m pytest -n 2 --dist worksteal -m attack

portable: $(STAMP) ## the kept bytes under other settings: vector instructions, BLAS, threads, locale (about 15 minutes)
	$(BIN)/python tests/golden/portable.py

fuzz: $(STAMP) ## 5,000 seeded command lines and damaged files, each judged (about half an hour)
	$(BIN)/python research/fuzz.py --count 5000

release: ## wheel, source archive, checksums and notes in dist/, ready to upload; WEIGHTS=DIR adds the runs in DIR
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[release$(if $(WEIGHTS),$(COMMA)train)]'
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear $(VENV)/.empty  # installs, and does the main job, where there is neither compiler nor torch
	$(VENV)/.empty/bin/pip install --quiet --disable-pip-version-check --only-binary :all: dist/*.whl
	cd $(VENV)/.empty && bin/krohn compile S4 --length 16 --out s4 > s4.txt && bin/krohn verify s4 --dtype float32
	rm -rf $(VENV)/.empty
	awk '/^## /{n++} n==1' CHANGELOG.md > dist/NOTES.md
	$(if $(WEIGHTS),$(BIN)/python tools/release_weights.py $(WEIGHTS) dist)
	cd dist && find . -type f ! -name SHA256SUMS ! -name NOTES.md | sort | sed 's|^\./||' | xargs sha256sum > SHA256SUMS && cat SHA256SUMS

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist
