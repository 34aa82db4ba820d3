"""The rules, in a package for each subject. `lint.registry` loads those that are found here."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

_RULE: Final = re.compile(r"^@rule\(.*?^def (\w+)", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=1)
def rule_modules() -> dict[str, str]:
    """Return the module of each rule by the rule's name, sorted.

    No rule is loaded, which would take half a second: their names are read in the source.
    """
    found = {}
    for file in Path(__file__).parent.glob("*/*.py"):
        for function in _RULE.findall(file.read_text("utf-8")):
            found[function.replace("_", "-")] = f"{__name__}.{file.parent.name}.{file.stem}"
    return dict(sorted(found.items()))
