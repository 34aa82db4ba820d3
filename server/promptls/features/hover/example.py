"""An example: its tokens, and what the last runs made of the row that is like it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from promptls.features.experiment_runs import ExperimentRuns
from promptls.features.hover.hover import Hover, code
from promptls.meaning.header import Example
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering, counted, example_text
from promptls.text.failure import Failure

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_MOST_ROWS: Final = 5000
_MOST_RESPONSE: Final = 400


def hover_example(
    template: Template,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
) -> Hover | None:
    """What is known of the example at `offset`."""
    for number, example in enumerate(template.declarations.examples, start=1):
        if example.span.contains(offset):
            texts = [f"example {number}", *_tokens(example, number, newest)]
            for each in runs():
                texts += _last_result(template, example, each)
            return Hover(example.span, "\n\n".join(texts))
    return None


def _tokens(example: Example, number: int, newest: FileRendering | None) -> Iterator[str]:
    if newest is None:
        return
    tokens = newest.template_tokens.get(example_text(example))
    if tokens is not None:
        yield f"- written out: {counted(tokens)}, {newest.job.encoding}"
    if newest.rendering is not None and newest.sample.name == f"example {number}":
        yield f"- the prompt with it: {counted(newest.rendering.tokens)}"


def _last_result(template: Template, example: Example, runs: ExperimentRuns) -> Iterator[str]:
    """The results of the row that has the example's inputs, in the last run of an experiment."""
    if runs.last is None:
        return
    output = template.declarations.settings.output_key
    inputs = {key: _cell(value) for key, value in example.data.items() if key != output}
    for row in _rows(runs.last):
        if inputs and all(row.get(f"row_{key}", row.get(key)) == value for key, value in inputs.items()):
            stale = ", stale" if runs.last.stale else ""
            model = code(row.get("model", ""))
            yield f"{code(runs.name)}, last run {code(runs.last.name)} with {model}{stale}:"
            if row.get("error"):
                yield f"- failed: {row['error']}"
                continue
            scores = [f"{metric.name} {code(row.get(metric.name, ''))}" for metric in runs.last.metrics]
            response = row.get("response", "")
            cut = response if len(response) <= _MOST_RESPONSE else f"{response[:_MOST_RESPONSE]}…"
            yield "\n".join([f"- answer: {code(cut)}", *(f"- {score}" for score in scores)])


def _rows(run: RunSummary) -> list[dict[str, str]]:
    """The first lines of a run's table; none where that is gone, which showing the results reports."""
    from promptls.experiments.history import row_results

    try:
        return list(islice(row_results(run), _MOST_ROWS))
    except (Failure, OSError, ValueError):
        return []


def _cell(value: Any) -> str:
    """A value as a data set's cell has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
