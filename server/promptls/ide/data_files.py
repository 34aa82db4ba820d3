"""Diagnostics and completion in the samples files and datasets that prompts name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from promptls.datasets.dataset_files import SUFFIXES
from promptls.ide.completion.in_json import json_place, key_item, value_item
from promptls.ide.completion.items import CompletionItem, CompletionList, Request, made, placed
from promptls.ide.completion.members import declared_inputs, read_inputs
from promptls.ide.completion.yaml_keys import key_items, named_keys
from promptls.ide.completion.yaml_values import value_items
from promptls.lint.rule import Finding, RelatedInformation
from promptls.lint.rules.experiments.named_datasets import missing_dataset_column, unknown_dataset
from promptls.lint.rules.header.data_for_inputs import invalid_sample
from promptls.lint.rules.header.example_values import invalid_example_output
from promptls.lint.runner import check
from promptls.semantic.kind import Kind
from promptls.syntax.yaml.expected import ITEM, YamlPlace, yaml_place
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

DATA_SUFFIXES: Final = frozenset({".json", ".yml", ".yaml", *SUFFIXES})
_SOURCE: Final = "sample"
_RULES: Final = frozenset(
    rule.name for rule in (invalid_sample, invalid_example_output, unknown_dataset, missing_dataset_column)
)


def findings_in_data(snapshot: Snapshot, path: str) -> tuple[Finding, ...] | None:
    """Return what prompts report about the data file at `path`, each once, in text order.

    None if no prompt of the workspace names the file.
    """
    prompts = tuple(_prompts_with_data(snapshot, path))
    found: dict[tuple[Span, str], Finding] = {}
    for prompt in prompts:
        for finding in check(snapshot, prompt):
            places = [each.span for each in finding.related if os.path.normpath(each.path) == path]
            if finding.rule not in _RULES or not places:
                continue
            span = places[-1]
            named = RelatedInformation(prompt, finding.span, "the prompt with this data")
            known = found.get((span, finding.message), replace(finding, span=span, fixes=(), related=()))
            found[span, finding.message] = replace(known, related=(*known.related, named))
    return tuple(sorted(found.values(), key=lambda finding: finding.span)) if prompts else None


def complete_sample(snapshot: Snapshot, path: str, offset: int) -> CompletionList | None:
    """Return the completions in a samples file: the inputs of the prompts that name it, and their values."""
    sample = snapshot.template(path)
    if sample is None:
        return None
    text = sample.source.text
    if path.lower().endswith(".json"):
        return _complete_json(snapshot, path, text, offset)
    place = yaml_place(text, offset)
    if place is None or place.what == "text":
        return None
    request = Request(snapshot, path, sample, Kind.OTHER, offset)
    return placed(request, _items(snapshot, path, place), place.word, 0, _SOURCE, place.path)


def _complete_json(snapshot: Snapshot, path: str, text: str, offset: int) -> CompletionList | None:
    place = json_place(text, offset)
    if place is None:
        return None
    what: Literal["key", "value"] = "key" if place.is_key else "value"
    found = _items(snapshot, path, YamlPlace(what, place.path, place.word, frozenset(place.keys)))
    items = (
        key_item(place, item.label, item.rank, item.detail, item.kind)
        if place.is_key
        else value_item(place, item)
        for item in found
    )
    return made(items, Span(place.word.start, offset), place.word, _SOURCE, place.path)


def _items(snapshot: Snapshot, path: str, place: YamlPlace) -> Iterator[CompletionItem]:
    for prompt in _prompts_with_data(snapshot, path):
        template = snapshot.template(prompt)
        if template is None:
            continue
        request = Request(snapshot, prompt, template, snapshot.kind(prompt), 0)
        names = {*declared_inputs(request), *read_inputs(request)}
        # The file is one sample, or has a name above each.
        is_one = not names.isdisjoint(place.path[:1] or place.siblings)
        inside = place.path if is_one else place.path[1:]
        if not is_one and not place.path and place.siblings:
            continue
        below = place._replace(path=("examples", ITEM, *inside))
        if place.what == "value":
            yield from value_items(request, below.path, in_header=True)
        elif inside:
            yield from key_items(request, below, in_header=True)
        else:
            yield from named_keys(place, dict.fromkeys(sorted(names), "input"), "field", 10)


def _prompts_with_data(snapshot: Snapshot, path: str) -> Iterator[str]:
    """Yield the prompts of the workspace that name the file at `path` as samples or dataset."""
    if Path(path).suffix.lower() not in DATA_SUFFIXES:
        return
    for prompt in sorted(snapshot.graph.paths):
        template = snapshot.template(prompt)
        if template is None or Path(path).name not in template.source.text:
            continue
        settings = template.declarations.settings
        named = (settings.samples, *(each.dataset for each in settings.experiments.values()))
        if any(name and os.path.normpath(Path(prompt).parent / name) == path for name in named):
            yield prompt
