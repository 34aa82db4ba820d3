"""The recorded results of each real library.

The folder of each system contains a YAML file per topic, with cases by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent
LINE_LENGTH = 110
MAX_FLOW_LENGTH = 80
"""Collections of plain values up to this length are written on one line."""

_ESCAPED = frozenset("\x85\u2028\u2029")
"""Characters that are line breaks in YAML but not in an editor."""


@cache
def files(system: str) -> dict[Path, dict[str, Any]]:
    """Return the cases of each file of a system by name: the input and `expected`."""
    paths = sorted((FOLDER / system).glob("*.yaml"))
    return {path: yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader) for path in paths}


@cache
def cases(system: str) -> dict[str, Any]:
    """Return all cases of a system by their names, which are unique."""
    found: dict[str, Any] = {}
    for path, inside in files(system).items():
        twice = found.keys() & inside.keys()
        if twice:
            names = ", ".join(sorted(twice))
            raise ValueError(f"{path}: other files have cases with these names: {names}. Rename them.")
        found |= inside
    return found


def parameters(system: str) -> list[Any]:
    """Return the cases of a system for `pytest.mark.parametrize`."""
    return [pytest.param(case, id=name) for name, case in cases(system).items()]


def write(path: Path, inside: Mapping[str, Any]) -> None:
    """Write the cases of a file; its leading comment stays."""
    lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    comment = "".join(takewhile(lambda line: line.startswith("#"), lines))
    texts = [
        yaml.dump(
            {name: case},
            Dumper=_Dumper,
            width=LINE_LENGTH,
            allow_unicode=True,
            sort_keys=False,
        )
        for name, case in inside.items()
    ]
    path.write_text(f"{comment}\n" + "\n".join(texts), "utf-8", newline="\n")


class _Dumper(yaml.SafeDumper):
    """Writes multi-line texts as blocks, and small collections on one line."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    if not _ESCAPED.isdisjoint(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _sequence(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_is_small(items))


def _mapping(dumper: yaml.SafeDumper, items: dict[str, Any]) -> yaml.Node:
    is_small = _is_small([*items.values(), "".join(map(str, items))])
    return dumper.represent_mapping("tag:yaml.org,2002:map", items.items(), flow_style=is_small)


def _is_small(items: list[Any]) -> bool:
    is_plain = all(
        not item or (not isinstance(item, list | dict) and "\n" not in str(item)) for item in items
    )
    return is_plain and len("".join(map(str, items))) <= MAX_FLOW_LENGTH


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(dict, _mapping)
