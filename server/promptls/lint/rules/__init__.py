"""The rules, in a package for each subject. `lint.registry` loads those that are found here."""

from __future__ import annotations

from functools import lru_cache
from pkgutil import walk_packages


@lru_cache(maxsize=1)
def rule_modules() -> dict[str, str]:
    """Return the module of each rule by the rule's name, sorted; no rule is loaded."""
    modules = (each.name for each in walk_packages(__path__, f"{__name__}.") if not each.ispkg)
    return dict(sorted((name.rpartition(".")[2].replace("_", "-"), name) for name in modules))
