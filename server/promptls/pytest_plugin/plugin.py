"""The plugin's entry point: options, the fixture `promptls`, and the collection of prompt files.

pytest loads this module in every session, so promptls is imported only when it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from promptls.pytest_plugin.prompt_tests import PromptTests, Runs

_ENDINGS: Final = (".yml.j2", ".yaml.j2")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the plugin's options."""
    group = parser.getgroup("promptls", "experiments of prompts")
    group.addoption(
        "--promptls",
        action="store_true",
        help="collect prompt files too: each threshold of an experiment is a test",
    )
    group.addoption("--promptls-model", metavar="MODEL", help="ask this model in place of the declared ones")
    group.addoption("--promptls-rows", metavar="ROWS", help="which rows are run, as `promptls run --rows`")
    group.addoption("--promptls-yes", action="store_true", help="run experiments whatever they cost")
    group.addoption(
        "--promptls-trust",
        action="store_true",
        help="run the experiments of prompt files in folders that `promptls trust` does not know",
    )
    parser.addini("promptls", "collect prompt files without `--promptls`", type="bool", default=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PromptTests | None:
    """Return the tests of a prompt file if the collection of prompt files is enabled."""
    if not file_path.name.endswith(_ENDINGS):
        return None
    config = parent.config
    if not (config.getoption("--promptls") or config.getini("promptls")):
        return None
    from promptls.pytest_plugin.prompt_tests import PromptTests

    collected: PromptTests = PromptTests.from_parent(parent, path=file_path)
    return collected


@pytest.fixture(scope="session")
def promptls(request: pytest.FixtureRequest) -> Runs:
    """Run experiments: `promptls.run("triage.yml.j2")` gives the scores of a finished run."""
    from promptls.pytest_plugin.prompt_tests import runs_of

    return runs_of(request.config)
