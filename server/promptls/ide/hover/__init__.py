"""Hover texts in Markdown, with one module for each kind of subject."""

from __future__ import annotations

from collections.abc import Callable

from promptls.ide.experiment_runs import ExperimentRuns
from promptls.ide.hover.header_keys import hover_header, hover_named
from promptls.ide.hover.markdown import Hover
from promptls.ide.hover.names import (
    hover_attribute,
    hover_block,
    hover_column,
    hover_key,
    hover_variable,
    hover_word,
)
from promptls.ide.hover.of_prompt import (
    assessment_texts,
    hover_example,
    hover_few_shot,
    hover_include,
    hover_part,
)
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.kind import Kind
from promptls.workspace.snapshot import Snapshot

__all__ = ["Hover", "hover"]


def hover(
    snapshot: Snapshot,
    path: str,
    offset: int,
    latest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]] = tuple,
) -> Hover | None:
    """Return the hover text at `offset` of the file at `path`; None if there is nothing to show."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return None
    return (
        hover_include(snapshot, path, template, offset, latest)
        or hover_word(snapshot, path, template, offset)
        or hover_block(snapshot, path, template, offset)
        or hover_attribute(path, template, offset)
        or hover_key(snapshot, path, template, offset, latest)
        or hover_variable(snapshot, path, template, offset, latest)
        or hover_column(path, template, offset, latest)
        or hover_named(snapshot, path, template, offset, latest)
        or hover_header(snapshot.kind(path), template, offset, latest, runs)
        or hover_example(template, offset, latest, runs, assessment_texts(snapshot, path, offset))
        or hover_few_shot(snapshot, path, offset)
        or hover_part(snapshot, path, template, offset, latest)
    )
