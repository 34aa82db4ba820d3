"""All rules by name, found by scanning the packages of `lint/rules`."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from promptls.lint.rule import Rule
from promptls.lint.rules import rule_modules

_LOADED: Final = [rule for name in {*rule_modules().values()} for rule in vars(import_module(name)).values()]

RULES: Final = tuple(sorted({each for each in _LOADED if isinstance(each, Rule)}, key=lambda rule: rule.name))
"""All rules, sorted by name."""

RULES_BY_NAME: Final[dict[str, Rule]] = {rule.name: rule for rule in RULES}
"""All rules by name."""
