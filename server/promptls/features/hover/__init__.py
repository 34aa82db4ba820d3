"""What is known of the thing under the cursor, in Markdown. One kind of thing a file."""

from __future__ import annotations

from collections.abc import Callable

from promptls.features.experiment_runs import ExperimentRuns
from promptls.features.hover.attribute import hover_attribute
from promptls.features.hover.block import hover_block
from promptls.features.hover.column import hover_column
from promptls.features.hover.example import hover_example
from promptls.features.hover.few_shot import hover_few_shot, worth_texts
from promptls.features.hover.header_key import hover_header
from promptls.features.hover.hover import Hover
from promptls.features.hover.include import hover_include
from promptls.features.hover.jinja_word import hover_word
from promptls.features.hover.key import hover_key
from promptls.features.hover.named_value import hover_named
from promptls.features.hover.part import hover_part
from promptls.features.hover.variable import hover_variable
from promptls.meaning.kind import Kind
from promptls.rendering.file_rendering import FileRendering
from promptls.workspace.snapshot import Snapshot

__all__ = ["Hover", "hover"]


def hover(
    snapshot: Snapshot,
    path: str,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]] = tuple,
) -> Hover | None:
    """What is known of what stands at `offset` in the file at `path`; None where there is nothing to say."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return None
    return (
        hover_include(snapshot, path, template, offset, newest)
        or hover_word(snapshot, path, template, offset)
        or hover_block(snapshot, path, template, offset)
        or hover_attribute(path, template, offset)
        or hover_key(snapshot, path, template, offset, newest)
        or hover_variable(snapshot, path, template, offset, newest)
        or hover_column(path, template, offset, newest)
        or hover_named(snapshot, path, template, offset, newest)
        or hover_header(snapshot.kind(path), template, offset, newest, runs)
        or hover_example(template, offset, newest, runs, worth_texts(snapshot, path, offset))
        or hover_few_shot(snapshot, path, offset)
        or hover_part(snapshot, path, template, offset, newest)
    )
