"""All rules by name, of the modules in the packages of `lint/rules`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from promptls.lint import rules
from promptls.lint.rule import Rule, defined_rules

for _file in Path(rules.__path__[0]).glob("*/[!_]*.py"):
    import_module(f"{rules.__name__}.{_file.parent.name}.{_file.stem}")

RULES_BY_NAME: Final[dict[str, Rule]] = dict(sorted(defined_rules.items()))
"""All rules by name, sorted."""

RULES: Final = tuple(RULES_BY_NAME.values())
"""All rules, sorted by name."""
