from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
SITE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "docs_site.py"))
nested: Callable[[str], str] = SITE["nested"]
commented: Callable[[str], str] = SITE["commented"]
plain_pipes: Callable[[str], str] = SITE["plain_pipes"]
prose: Callable[[str], str] = SITE["prose"]


def test_the_blocks_of_a_numbered_list_are_indented_as_python_markdown_needs_it() -> None:
    page = "1. First:\n\n   ```sh\n   a\n     b\n   ```\n\n2. Second.\n\nText.\n\n   three\n"
    assert nested(page).splitlines()[2:6] == ["    ```sh", "    a", "      b", "    ```"]
    assert nested(page).splitlines()[-1] == "   three"


def test_a_block_of_code_with_numbers_is_no_list() -> None:
    page = "```text\n1. First:\n   more\n```"
    assert nested(page) == page


def test_a_description_of_a_command_shows_its_lines_and_options_as_code() -> None:
    assert prose("Pass --yes, or `run --yes`, for <name>:\n\n  a:\n    b: 1\n\nEnd.") == (
        "Pass `--yes`, or `run --yes`, for &lt;name>:\n\n\n```text\na:\n  b: 1\n```\n\n\nEnd."
    )


def test_code_in_a_table_shows_its_pipes_without_a_backslash() -> None:
    assert plain_pipes("| `a \\| b` | c \\| d |\n`a \\| b`") == "| `a | b` | c \\| d |\n`a \\| b`"


def test_the_explanation_of_an_example_is_a_comment() -> None:
    assert commented("  a --b c    show it\n  a 'x == 1'") == "a --b c    # show it\na 'x == 1'"
