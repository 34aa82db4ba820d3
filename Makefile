# The tasks of a checkout. Each runs its own setup first; completed steps are not repeated.
# Downloads are cached by pip and npm, and in $PROMPTLS_CACHE (~/.cache/promptls).

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BIN := .venv/bin
EXAMPLE := examples/support_triage

# The steps of `test` depend on each other, and their output must not be interleaved.
.NOTPARALLEL:
.PHONY: help demo test test-editors test-quick test-python test-thorough coverage oracle fuzz benchmark lint format setup setup-editors test-node vsix vscode lock audit docs pictures release-check clean

help: ## list the tasks
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 28

demo: setup ## check, render and run the example prompts with the embedded model
	@scripts/demo.sh $(EXAMPLE)

test: lint docs test-python test-node ## linters, type checkers, the documentation site, and all tests except those of `test-editors`

test-editors: setup-editors ## the tests in VS Code, Neovim, Emacs, Vim and Kate, of installation and of Ray
	@printf '\nTests in editors, of installations and on Ray\n'
	@$(BIN)/pytest --numprocesses 2 --dist loadfile -m "(install or ray) and not editor"
	@# Alone, because Playwright leaves its event loop in the process. A failing test is repeated once and reported:
	@# a slow machine meets races in the editors themselves.
	@$(BIN)/pytest --numprocesses 2 --dist loadfile --reruns 1 -m editor

test-quick: setup ## the fast Python tests (one minute): no processes, editors or models
	@$(BIN)/pytest --numprocesses 2 --quiet -m "not thorough and not editor and not model and not install" \
		$(addprefix tests/,text syntax dialects semantic workspace tokens truncation datasets metrics api \
			lint format convert ide programs results_view docgen grammars test_architecture.py)

test-python: setup ## the Python tests, except those of `test-editors`
	@printf '\nPython tests\n'
	@$(BIN)/pytest --numprocesses 2 --dist worksteal --quiet -m "not editor and not install and not ray"

test-thorough: setup ## the Python tests with five times as many generated texts
	@PROMPTLS_THOROUGH_TESTS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal --quiet -m "not editor and not install and not ray"

coverage: setup ## the Python tests, with the coverage of each module and its processes (also in htmlcov/)
	@$(BIN)/pytest --numprocesses 2 --quiet -m "not editor and not install and not ray" \
		--cov --cov-report=term:skip-covered --cov-report=html

oracle: setup ## run the real Prompt Poet, Ragas and OpenCompass again, and compare with tests/oracle
	@PYTHONPATH=tests $(BIN)/python -m oracle.ask

fuzz: setup ## send 100,000 random messages to the server, and compare it with a fresh one
	@PYTHONPATH=tests $(BIN)/python tests/robustness/random_session.py

benchmark: setup ## measure typing and rendering, compared with other servers and Prompt Poet
	@$(BIN)/python tests/benchmarks/keystrokes.py --peers
	@$(BIN)/python tests/benchmarks/workspace.py
	@$(BIN)/python tests/benchmarks/memory.py
	@$(BIN)/python tests/benchmarks/library.py
	@$(BIN)/python tests/benchmarks/ragas_prompts.py
	@$(BIN)/python tests/benchmarks/preview.py
	@$(BIN)/python tests/benchmarks/experiments.py
	@$(BIN)/python tests/benchmarks/panel_opening.py

lint: setup ## ruff, mypy, ESLint and Prettier
	@printf '\nLint and types\n'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; scripts/lint-node.sh && wait $$types

format: setup ## format the Python files with ruff, and the VS Code client with Prettier
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@scripts/lint-node.sh format

test-node: setup ## the tests of the VS Code client, of its pages and of the grammars
	@scripts/test-node.sh

vsix: setup ## build vscode-client/promptls.vsix
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/build-extension.sh

vscode: setup ## open the example in VS Code, or in code-server if there is no `code`
	@scripts/vscode.sh $(EXAMPLE) triage_v2.yml.j2

lock: ## write the lock files of the extension's packages and the embedded model, with hashes
	@scripts/lock.sh

audit: ## look up known vulnerabilities of the extension's packages
	@scripts/audit.sh

docs: setup ## build the documentation site into site/; dead links are errors
	@printf '\nDocumentation site\n'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

pictures: setup ## take the pictures of the documentation in a real VS Code
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/pictures.py

release-check: setup ## build wheel, sdist and extension, and install each in a clean environment
	@scripts/release-check.sh

setup: ## create .venv with promptls, its test tools and the embedded model; build the preview pages
	@scripts/setup-python.sh
	@scripts/build-pages.sh

setup-editors: setup
	@scripts/setup-editors.sh

clean: ## remove the files that the tasks created in this checkout
	@rm -rf .venv dist site test-artifacts .mypy_cache .ruff_cache .pytest_cache .import_linter_cache htmlcov .coverage
	@rm -rf vscode-client/node_modules vscode-client/out vscode-client/web/dist server/promptls/pages \
		vscode-client/wheel vscode-client/pictures \
		vscode-client/LICENSE vscode-client/CHANGELOG.md vscode-client/THIRD_PARTY_NOTICES.txt
