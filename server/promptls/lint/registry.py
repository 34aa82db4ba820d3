"""All rules by name, found by scanning the packages of `lint/rules`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Final

from promptls.lint import rules
from promptls.lint.rule import Rule


def _found() -> tuple[Rule, ...]:
    """Return the `RULE` of each module, sorted by name."""
    modules = (each.name for each in walk_packages(rules.__path__, f"{rules.__name__}.") if not each.ispkg)
    return tuple(sorted((import_module(name).RULE for name in modules), key=lambda rule: rule.name))


RULES: Final = _found()
"""All rules, sorted by name."""

RULES_BY_NAME: Final = {rule.name: rule for rule in RULES}
"""All rules by name."""
