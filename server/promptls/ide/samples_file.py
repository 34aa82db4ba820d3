"""The diagnostics of a samples file, at their places in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from promptls.lint.rule import Finding, RelatedInformation
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

_SUFFIXES: Final = frozenset({".json", ".yml", ".yaml"})
_RULE: Final = "invalid-sample"


def prompts_with_samples(snapshot: Snapshot, path: str) -> Iterator[str]:
    """Yield the prompts of the workspace that name the file at `path` as their samples."""
    if Path(path).suffix not in _SUFFIXES:
        return
    for prompt in sorted(snapshot.graph.paths):
        template = snapshot.template(prompt)
        if template is None or Path(path).name not in template.source.text:
            continue
        named = template.declarations.settings.samples
        if named and os.path.normpath(Path(prompt).parent / named) == path:
            yield prompt


def findings_in_samples(snapshot: Snapshot, path: str, prompts: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return the findings of `prompts` about the samples file at `path`, each once, with its prompts."""
    found: dict[tuple[Span, str], Finding] = {}
    for prompt in prompts:
        for finding in check(snapshot, prompt):
            if finding.rule != _RULE:
                continue
            places = [each.span for each in finding.related if each.path == path]
            span = places[-1] if places else Span(0, 0)
            named = RelatedInformation(prompt, finding.span, "the prompt with these samples")
            known = found.get((span, finding.message), replace(finding, span=span, fixes=(), related=()))
            found[span, finding.message] = replace(known, related=(*known.related, named))
    return tuple(found.values())
