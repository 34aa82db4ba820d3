"""Hover of examples and dataset rows: what the last runs made of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.ide.experiments import ExperimentRuns, known_worths
from promptls.ide.hover.hover import Hover, code
from promptls.rendering.file_rendering import FileRendering, example_text
from promptls.semantic.header import Example
from promptls.semantic.template import Template
from promptls.text.escape import markdown_prose, markdown_text
from promptls.text.format import plural
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_MAX_RESPONSE: Final = 400
_MAX_REASON: Final = 200


def result_text(run: RunSummary, cells: Mapping[str, str], experiment: str) -> str:
    """Return the result in one line of the run's table, in Markdown."""
    stale = ", stale" if run.stale else ""
    model = code(cells.get("model") or "")
    lines = [f"{code(experiment)}, last run {code(run.name)} with {model}{stale}:", ""]
    if cells.get("error"):
        lines.append(f"- failed: {markdown_text(cells['error'])}")
    else:
        lines.append(f"- answer: {code(_cut(cells.get('response') or '', _MAX_RESPONSE))}")
    if cells.get("problem"):
        lines.append(f"- {markdown_text(cells['problem'])}")
    for metric in run.metrics:
        score, reason = cells.get(metric.name), cells.get(f"{metric.name}_reason")
        if score:
            why = f": {markdown_text(_cut(reason, _MAX_REASON))}" if reason else ""
            lines.append(f"- {markdown_text(metric.name)} {code(score)}{why}")
    return "\n".join(lines)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def hover_example(
    template: Template,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
    worth: Sequence[str] = (),
) -> Hover | None:
    """Return what is known of the example at `offset`; `worth` says what leaving it out has told."""
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
        yield f"- written out: {plural(tokens, 'token')}, {newest.job.encoding}"
    if newest.rendering is not None and newest.sample.name == f"example {number}":
        yield f"- the prompt with it: {plural(newest.rendering.tokens, 'token')}"


def _last_result(template: Template, number: int, example: Example, runs: ExperimentRuns) -> Iterator[str]:
    """Yield the latest result of the example, or of the row with the same inputs, in an experiment's runs."""
    from promptls.experiments.examples import example_result

    output = template.declarations.settings.output_key
    found = example_result(number, example.data, output, runs.newest_first)
    if found is not None:
        run, cells, _ = found
        yield result_text(run, cells, runs.name)


def hover_few_shot(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """Return what is known of the example at `offset`; None if nothing is."""
    found = [each for each in known_worths(snapshot, path) if each.example.span.contains(offset)]
    if not found:
        return None
    example = found[0].example
    texts = [f"example {example.number}", *worth_texts(snapshot, path, offset)]
    return Hover(example.span, "\n\n".join(texts))


def worth_texts(snapshot: Snapshot, path: str, offset: int) -> list[str]:
    """Return the verdicts on the example at `offset`, one for each experiment that left it out."""
    return [
        f"left out of {code(each.experiment)}{', stale' if each.stale else ''}: {markdown_prose(each.words)}"
        for each in known_worths(snapshot, path)
        if each.example.span.contains(offset)
    ]


class RowHover(NamedTuple):
    """What is known of a row that begins on the line `line` and ends before the line `end`, both from 0."""

    line: int
    end: int
    markdown: str


def hover_row(dataset: Path, line: int, runs: Iterable[ExperimentRuns]) -> RowHover | None:
    """Return what `runs` say of the row of the dataset that `line`, from 0, is a part of; None for nothing.

    Runs over another dataset, or over this one before it was changed, say nothing.
    """
    from promptls.datasets.known import row_lines

    lines = row_lines(dataset)
    numbers = list(lines)
    place = bisect_right(list(lines.values()), line) - 1
    if place < 0:
        return None
    number = numbers[place]
    texts = [text for each in runs if (text := _text(dataset, number, each)) is not None]
    end = lines[numbers[place + 1]] if place + 1 < len(numbers) else lines[number] + 1
    return RowHover(lines[number], end, "\n\n".join([f"row {number}", *texts])) if texts else None


def _text(dataset: Path, number: int, runs: ExperimentRuns) -> str | None:
    """Return the newest results of the row in the runs of one experiment."""
    from promptls.experiments.examples import known_table
    from promptls.experiments.row_choice import is_of_examples
    from promptls.experiments.verdicts import unchanged_dataset

    for run in runs.newest_first:
        if is_of_examples(run.rows_chosen) or unchanged_dataset(run) != dataset:
            continue
        found = [cells for cells in known_table(run).rows if cells.get("row_number") == str(number)]
        if found:
            return "\n\n".join(result_text(run, cells, runs.name) for cells in found)
    return None
