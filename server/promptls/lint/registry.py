"""All rules by name, found by scanning the packages of `lint/rules`."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from promptls.lint.rule import Rule
from promptls.lint.rules import rule_modules

RULES_BY_NAME: Final[dict[str, Rule]] = {
    name: import_module(module).RULE for name, module in rule_modules().items()
}
"""All rules by name."""

RULES: Final = tuple(RULES_BY_NAME.values())
"""All rules, sorted by name."""
