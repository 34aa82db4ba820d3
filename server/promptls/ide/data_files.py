"""Diagnostics of prompts about the samples files and datasets that they name, reported in those files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from promptls.datasets.dataset_files import SUFFIXES
from promptls.lint.rule import Finding, RelatedInformation
from promptls.lint.rules.experiments.named_datasets import missing_dataset_column, unknown_dataset
from promptls.lint.rules.header.data_for_inputs import invalid_sample
from promptls.lint.rules.header.example_values import invalid_example_output
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

DATA_SUFFIXES: Final = frozenset({".json", ".yml", ".yaml", *SUFFIXES})
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


def _prompts_with_data(snapshot: Snapshot, path: str) -> Iterator[str]:
    """Yield the prompts of the workspace that name the file at `path` as samples or dataset."""
    if Path(path).suffix.lower() not in DATA_SUFFIXES:
        return
    for prompt in sorted(snapshot.graph.paths):
        template = snapshot.template(prompt)
        if template is None or Path(path).name not in template.source.text:
            continue
        settings = template.declarations.settings
        named = (settings.samples, *(each.dataset for each in (settings.experiments or {}).values()))
        if any(name and os.path.normpath(Path(prompt).parent / name) == path for name in named):
            yield prompt
