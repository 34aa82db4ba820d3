"""An example: its tokens, and what the last runs made of the row that is like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from promptls.features.experiment_runs import ExperimentRuns
from promptls.features.hover.hover import Hover
from promptls.features.hover.result import result_text
from promptls.meaning.example import Example
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering, example_text
from promptls.text.counted import counted


def hover_example(
    template: Template,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
    worth: Sequence[str] = (),
) -> Hover | None:
    """What is known of the example at `offset`; `worth` says what leaving it out has told."""
    for number, example in enumerate(template.declarations.examples, start=1):
        if example.span.contains(offset):
            texts = [f"example {number}", *_tokens(example, number, newest)]
            for each in runs():
                texts += _last_result(template, number, example, each)
            return Hover(example.span, "\n\n".join([*texts, *worth]))
    return None


def _tokens(example: Example, number: int, newest: FileRendering | None) -> Iterator[str]:
    if newest is None:
        return
    tokens = newest.template_tokens.get(example_text(example))
    if tokens is not None:
        yield f"- written out: {counted(tokens, 'token')}, {newest.job.encoding}"
    if newest.rendering is not None and newest.sample.name == f"example {number}":
        yield f"- the prompt with it: {counted(newest.rendering.tokens, 'token')}"


def _last_result(template: Template, number: int, example: Example, runs: ExperimentRuns) -> Iterator[str]:
    """The newest result of the example, or of the row that has its inputs, in the runs of an experiment."""
    from promptls.experiments.example_results import example_result

    output = template.declarations.settings.output_key
    found = example_result(number, example.data, output, runs.newest_first)
    if found is not None:
        run, cells, _ = found
        yield result_text(run, cells, runs.name)
