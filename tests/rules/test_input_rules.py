"""What the rules about variables and functions say, case by case."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import cases
from support.fixture import check_findings, check_fix

HEAD = "{#---\ninput_keys: [text]\n---#}\n"
BLOCK = "- name: a\n  content: |\n"


def declared(line: str) -> str:
    """A file that declares the input `text` and reads it, with one more line."""
    return f"{HEAD}{BLOCK}    {{{{ escape_special_characters(text) }}}}\n{line}"


FOUND = cases("input_rules_found")


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_with_names_is_found(fixture: str) -> None:
    check_findings(fixture)


SILENT = cases("input_rules_silent")
RULES = (
    "reserved-input",
    "undefined-variable",
    "undeclared-input",
    "unknown-function",
    "shadowed-variable",
    "wrong-arguments",
    "unescaped-multiline-input",
    "unquoted-input",
    "unused-input",
    "unused-variable",
)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_names_that_are_right(fixture: str) -> None:
    for rule in RULES:
        check_findings(fixture, rule)


READING = "- name: a\n  content: '{{ text }}{{ locale }}'\n"
DECLARATIONS = {
    "a block list": ("  - text", "  - text\n  - locale"),
    "a block mapping": ("  text:\n    type: string", "  text:\n    type: string\n  locale: {}"),
    "a block mapping without types": ("  text:", "  text:\n  locale: {}"),
    "a list in brackets": ("  [text]", "  [text, locale]"),
    "an empty list": ("  []", "  [locale]"),
    "a mapping in braces": ("  {text: {type: string}}", "  {text: {type: string}, locale: {}}"),
    "an empty mapping": ("  {}", "  {locale: {}}"),
}


@pytest.mark.parametrize(("before", "after"), DECLARATIONS.values(), ids=DECLARATIONS)
def test_an_input_is_declared_in_the_way_of_the_others(before: str, after: str) -> None:
    check_fix(
        f"{{#---\ninput_keys:\n{before}\n---#}}\n{READING}",
        f"{{#---\ninput_keys:\n{after}\n---#}}\n{READING}",
        "Add `locale` to `input_keys`",
    )


@pytest.mark.parametrize(
    ("written", "mended", "title"),
    [
        ("    {{ b }}\n", "    {{ escape_special_characters(b) }}\n", "Escape it"),
        ("    {{ b | trim }}\n", "    {{ escape_special_characters(b | trim) }}\n", "Escape it"),
        ("    {{- (b ~ c) -}}\n", "    {{- escape_special_characters((b ~ c)) -}}\n", "Escape it"),
        ("      {{ b }}\n", "      {{ b | indent(6) }}\n", "Indent its lines"),
    ],
)
def test_an_input_is_escaped(written: str, mended: str, title: str) -> None:
    check_fix(BLOCK + written, BLOCK + mended, title)


def test_a_plain_value_becomes_a_block() -> None:
    check_fix(
        "- name: a\n  content: Dear {{ b }},\n  role: user\n",
        "- name: a\n  content: |\n    Dear {{ escape_special_characters(b) }},\n  role: user\n",
        "Write it as a block, escaped",
    )


def test_functions_of_a_python_file_are_known(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from functools import lru_cache\n"
        "def fit(text, width=80, *, end='…'): ...\n"
        "@lru_cache\ndef kept(text): ...\n"
        "try:\n    def made(text): ...\nexcept ValueError:\n    pass\n",
        "utf-8",
    )
    check_findings(
        "{#---\nfunctions: tools.py\n---#}\n- name: a\n  content: |\n"
        "    {{ fit() }}\n"
        "       ^^^ wrong-arguments: `fit` lacks the argument `text`\n"
        "    {{ fit(1, 2, '') }}\n"
        "                 ^^ wrong-arguments: `fit` takes at most 2 arguments, and 3 are given\n"
        "    {{ fit(1, widht=2) }}\n"
        "              ^^^^^ wrong-arguments: `fit` has no argument `widht`; did you mean `width`?\n"
        "    {{ fti(1) }}\n"
        "       ^^^ unknown-function: nothing provides the function `fti`; did you mean `fit`?\n"
        "    {{ fit(1, end='') }}{{ kept(1, 2) }}{{ made() }}\n",
        root=tmp_path,
    )


def test_nothing_is_unknown_where_the_functions_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def fit(:\n", "utf-8")
    check_findings(
        "{#---\nfunctions: tools.py\ninput_keys: []\n---#}\n- name: a\n  content: '{{ fit() }}'\n",
        root=tmp_path,
    )
