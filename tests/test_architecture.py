from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from promptls.docgen.generated_files import stale_files
from promptls.lint.registry import RULES

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "server" / "promptls"


def test_packages_import_only_what_is_below_them() -> None:
    lint_imports = shutil.which("lint-imports", path=os.pathsep.join([str(Path(sys.executable).parent)]))
    assert lint_imports is not None
    checked = subprocess.run(
        [lint_imports, "--config", "pyproject.toml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_no_two_modules_import_each_other() -> None:
    measures = runpy.run_path(str(ROOT / "scripts/house.py"))
    trees = {file: ast.parse(file.read_text("utf-8")) for file in PACKAGE.rglob("*.py")}
    assert measures["import_cycles"](trees) == []


def test_every_package_has_a_section_and_every_section_a_package() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    page = (ROOT / "server/ARCHITECTURE.md").read_text("utf-8")
    described = {
        name
        for line in page.splitlines()
        if line.startswith("**`")
        for name in re.findall(r"\*\*`(\w+)/`", line)
    }
    assert described == packages


def test_every_module_that_the_architecture_names_exists() -> None:
    page = (ROOT / "server/ARCHITECTURE.md").read_text("utf-8")
    missing = [
        name
        for name in sorted(set(re.findall(r"`([\w/]+\.py)`", page)))
        if not (ROOT / name).is_file() and not any(PACKAGE.parent.rglob(name))
    ]
    assert missing == []


@pytest.mark.parametrize("page", ["server/ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_name_of_the_code_that_a_page_mentions_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    examples = "".join(re.findall(r"^ *```python\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE))
    mentioned = re.findall(r"`@?(?:\w+\.)?(\w+)`", text) + re.findall(r"(?<!def )\b(\w+)\(", examples)
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / ".github").rglob("*.yml")]
    known = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in sources)))
    assert sorted(set(mentioned) - known) == []


@pytest.mark.parametrize("page", ["server/ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_name_that_a_page_places_in_a_file_is_defined_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for names, file in re.findall(r"((?:`[\w.]+`(?:,| and)? ?)+) (?:in|of) `([\w/]+\.py)`", text):
        source = next(each for each in (PACKAGE / file, ROOT / file) if each.is_file()).read_text("utf-8")
        for name in re.findall(r"(\w+)`", names):
            definition = rf"(?:def|class) {name}\b|^\s*{name}\b.* = |^{name}: "
            assert re.search(definition, source, re.MULTILINE), (name, file)


def test_every_module_has_a_docstring() -> None:
    silent = [
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        if not ast.get_docstring(ast.parse(module.read_text("utf-8")))
    ]
    assert silent == []


def test_no_module_has_a_catch_all_name() -> None:
    shelves = {"utils", "helpers", "helper", "managers", "manager", "services", "service", "common", "misc"}
    found = [str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.stem in shelves]
    # Ragas has a module of this name, and programs import from it.
    assert found == ["utils.py"]


def test_every_module_of_rules_has_a_rule() -> None:
    modules = {module.stem for module in (PACKAGE / "lint" / "rules").glob("*/[!_]*.py")}
    assert modules == {rule.check.__module__.rpartition(".")[2] for rule in RULES}


def test_the_rules_are_sorted_by_name() -> None:
    assert [rule.name for rule in RULES] == sorted(rule.name for rule in RULES)


def test_the_server_starts_without_the_components_that_only_its_requests_need() -> None:
    heavy = {"pydantic", "tiktoken", "scipy", "httpx", "xllamacpp", "rich", "rapidfuzz"}
    heavy |= {"sacrebleu", "websockets"}
    code = "import sys, promptls.server.server; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert heavy & set(loaded.split()) == set()


def test_the_generated_files_are_those_of_the_declarations() -> None:
    stale = [str(path.relative_to(ROOT)) for path in stale_files(ROOT)]
    assert stale == [], "run `python -m promptls.docgen`"


def test_no_two_test_files_have_one_name() -> None:
    # pytest imports each by its name alone, and could collect only one of them.
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
