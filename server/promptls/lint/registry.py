"""All rules by name, of the modules in the packages of `lint/rules`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Final

from promptls.lint import rules
from promptls.lint.rule import Rule, defined_rules

for _module in walk_packages(rules.__path__, f"{rules.__name__}."):
    import_module(_module.name)

RULES_BY_NAME: Final[dict[str, Rule]] = dict(sorted(defined_rules.items()))

RULES: Final = tuple(RULES_BY_NAME.values())
