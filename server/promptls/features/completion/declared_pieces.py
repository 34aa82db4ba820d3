"""Whole examples and experiments, where a file declares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.features.completion.item import Item
from promptls.features.completion.parts import shown_snippet
from promptls.features.completion.request import Request
from promptls.features.completion.variables import declared_inputs
from promptls.syntax.yaml.place import ITEM, YamlPlace

_EXPERIMENT: Final = "dataset: ${2:rows.csv}\nmodels: [${3:local:smollm2}]\nmetrics: [${4:exact_match}]"
_RANK: Final = 5


def declared_items(request: Request, place: YamlPlace) -> Iterator[Item]:
    """An example with a value for each key, or an experiment, where one may begin."""
    label = _label(place.path)
    if not label or (place.path[-1] == ITEM and place.siblings):
        return
    lines = _lines(request, label)
    if not lines:
        return
    # Editors put the beginning of the place's line ahead of every further line.
    below = "\n" + " " * (place.column - place.indent)
    if place.path[-1] != ITEM and label == "example":
        lines = [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]
    first = "- " if lines[0].startswith("- ") else lines[0].partition(": ")[0].rstrip(":") + ": "
    plain = "name:" if label == "experiment" else first
    detail = "dataset, models, metrics" if label == "experiment" else "a value for each key"
    yield Item(label, "snippet", _RANK, text=plain, snippet=below.join(lines), detail=detail)


def declared_documentation(request: Request, path: tuple[str, ...], label: str) -> str:
    """What such a piece looks like, in Markdown; empty where there is none of this label."""
    return shown_snippet("\n".join(_lines(request, label))) if label and label == _label(path) else ""


def _label(path: tuple[str, ...]) -> str:
    if path in {("examples",), ("examples", ITEM)}:
        return "example"
    return "experiment" if path == ("experiments",) else ""


def _lines(request: Request, label: str) -> list[str]:
    if label == "experiment":
        return ["${1:name}:", *(f"  {line}" for line in _EXPERIMENT.split("\n"))]
    output = request.declarations.settings.output_key
    names = dict.fromkeys([*declared_inputs(request), *([output] if output else [])])
    if not all(name.isidentifier() for name in names):
        return []  # such a key may have to be quoted
    return [f"{name}: ${{{number}:{name}}}" for number, name in enumerate(names, 1)]
