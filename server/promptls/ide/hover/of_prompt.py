"""Hover of parts, includes and examples: tokens, share of the limit, latest results."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.datasets.dataset_files import row_lines
from promptls.dialects import KeyFact
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES, SECTION_KEYS
from promptls.ide.document_symbols import shown_path
from promptls.ide.experiment_runs import ExperimentRuns, known_assessments
from promptls.ide.hover.markdown import Hover, code, fact_text, sample_text
from promptls.ide.inlay_hints import limit_share, range_text
from promptls.rendering.file_rendering import (
    FileRendering,
    brought_in,
    example_text,
    parts_by_file,
    rendered_parts,
    template_text,
    varying,
)
from promptls.semantic.header import Example
from promptls.semantic.parts import chunk_items
from promptls.semantic.template import PlacedPart, Template
from promptls.syntax.yaml.nodes import Entry, Sequence, key_text
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.text.escape import markdown_prose, markdown_text
from promptls.text.format import first_of, plural, shorten_text
from promptls.text.positions import Span
from promptls.workspace.contract import included_part_names
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_NOT_COUNTED = "a part, whose tokens are not counted yet"
_WITH_TOKENS = frozenset({"name", "content", "sections"})


def hover_part(
    snapshot: Snapshot, path: str, template: Template, offset: int, latest: FileRendering | None
) -> Hover | None:
    """Return the hover text of the part whose key, name or role is at `offset`."""
    located = template.source.located(offset)
    for part in chunk_items(located.chunk).parts:
        placed = PlacedPart(located.start, part)
        if not placed.span.touches(offset):
            continue
        for entry in placed.part.entries:
            key = key_text(entry)
            key_span, value_span = (node.span.shifted(placed.start) for node in (entry.key, entry.value))
            if key_span.touches(offset):
                texts = [_fact(PART_KEYS, key)]
                if key in _WITH_TOKENS:
                    texts.append(_tokens(snapshot, path, template, placed, latest))
                return _hover(key_span, texts)
            if key == "name" and value_span.touches(offset):
                return _hover(value_span, [_tokens(snapshot, path, template, placed, latest) or _NOT_COUNTED])
            if key == "role" and value_span.touches(offset):
                return _hover(value_span, [ROLES.get(template.source.slice(value_span).strip("\"'"), "")])
            if key == "sections" and value_span.touches(offset):
                return _section_key(placed, entry, offset)
    return None


def _hover(span: Span, texts: list[str]) -> Hover | None:
    text = "\n\n".join(text for text in texts if text)
    return Hover(span, text) if text else None


def _fact(facts: Mapping[str, KeyFact], key: str | None) -> str:
    fact = facts.get(key or "")
    return fact_text(fact) if fact else ""


def _section_key(placed: PlacedPart, entry: Entry, offset: int) -> Hover | None:
    items = entry.value.items if isinstance(entry.value, Sequence) else ()
    for item in items:
        for each in item.entries if isinstance(item, MappingNode) else ():
            span = each.key.span.shifted(placed.start)
            if span.touches(offset):
                return _hover(span, [_fact(SECTION_KEYS, key_text(each))])
    return None


def _tokens(
    snapshot: Snapshot, path: str, template: Template, placed: PlacedPart, latest: FileRendering | None
) -> str:
    """Return the tokens of one part as a Markdown list; a sentence if they are unknown."""
    if latest is None:
        return ""
    lines = []
    in_template = latest.template_tokens.get(template_text(template, placed))
    if in_template is not None:
        lines.append(f"- template text: {plural(in_template, 'token')}")
    rendering = latest.rendering
    if rendering is None:
        message = markdown_prose(latest.failure.message) if latest.failure else ""
        lines.append(f"- the prompt does not render with {code(latest.sample.name)}: {message}")
        return "\n".join(lines)
    index = template.parts.index(placed)
    became = rendered_parts(template, included_part_names(snapshot, path), rendering)[index]
    if not became:
        lines.append(f"- rendered: is not known, or left out with {code(latest.sample.name)}")
    else:
        tokens = sum(part.tokens for part in became)
        parts = f" in {len(became)} parts" if len(became) > 1 else ""
        lines.append(f"- rendered: {plural(tokens, 'token')}{parts}{limit_share(tokens, latest)}")
        through = sum(part.tokens for part in rendering.parts if part.index <= became[-1].index)
        lines.append(
            f"- up to here: {plural(through, 'token')} of {rendering.tokens:,}{limit_share(through, latest)}"
        )
        if not all(part.kept for part in became):
            lines.append(f"- cut by the token limit of {latest.token_limit:,}")
    varied = varying(latest, placed.part.name)
    if varied is not None:
        lines.append(f"- varies: {range_text(varied)}")
    lines.append(f"\nwith {sample_text(latest.sample)}, {latest.job.encoding}")
    return "\n".join(lines)


def hover_include(
    snapshot: Snapshot, path: str, template: Template, offset: int, latest: FileRendering | None
) -> Hover | None:
    """Return the hover text of an include: the path of the file, its parts, and their tokens."""
    for reference in template.references:
        if not reference.span.touches(offset):
            continue
        target = snapshot.resolve(path, reference)
        if target is None:
            return Hover(reference.span, "no such file in the folders that an include may count from")
        included = snapshot.template(target)
        facts = [f"{reference.keyword} of {code(shown_path(snapshot, target))}"]
        if included is not None:
            facts += _included(snapshot, path, included, target, latest)
        if reference.alternatives:
            facts.append(f"the first that exists of {', '.join(map(code, reference.alternatives))}")
        return Hover(reference.span, "\n\n".join(facts))
    return None


def _included(
    snapshot: Snapshot, path: str, included: Template, target: str, latest: FileRendering | None
) -> Iterator[str]:
    """Yield the parts that an include adds, and the tokens of the file as written and as rendered."""
    shown = latest.last or latest if latest is not None else None
    parts = None
    is_current = latest is not None and latest.applies_to(included.source.text)
    if is_current and shown is not None and shown.rendering is not None:
        parts = brought_in(snapshot, parts_by_file(snapshot, path, shown.rendering), target)
    names = (
        [part.name for part in parts] if parts else [_written_name(included, each) for each in included.parts]
    )
    if names:
        yield f"{plural(len(names), 'part')}: {first_of([*map(code, names)], _MAX_NAMES)}"
    lines = []
    written = latest.template_tokens.get(included.source.text) if latest is not None else None
    if written is not None:
        lines.append(f"- template text: {plural(written, 'token')}")
    if parts and shown is not None:
        tokens = plural(sum(part.tokens for part in parts), "token")
        lines.append(f"- rendered: {tokens} with {code(shown.sample.name)}")
    if lines:
        yield "\n".join(lines)


def _written_name(template: Template, placed: PlacedPart) -> str:
    value = placed.part.value("name")
    written = (
        template.source.slice(value.span.shifted(placed.start)).strip("\"' ") if value is not None else ""
    )
    return placed.part.name or written or "a part without a name"


_MAX_NAMES: Final = 12
_MAX_RESPONSE: Final = 400
_MAX_REASON: Final = 200


def result_text(run: RunSummary, cells: Mapping[str, str], experiment: str) -> str:
    """Return one result of a run on one line, in Markdown."""
    stale = ", stale" if run.stale else ""
    model = code(cells.get("model") or "")
    lines = [f"{code(experiment)}, last run {code(run.name)} with {model}{stale}:", ""]
    if cells.get("error"):
        lines.append(f"- failed: {markdown_text(cells['error'])}")
    else:
        lines.append(f"- answer: {code(shorten_text(cells.get('response') or '', _MAX_RESPONSE))}")
    if cells.get("problem"):
        lines.append(f"- {markdown_text(cells['problem'])}")
    for metric in run.metrics:
        score, reason = cells.get(metric.name), cells.get(f"{metric.name}_reason")
        if score:
            why = f": {markdown_text(shorten_text(reason, _MAX_REASON))}" if reason else ""
            lines.append(f"- {markdown_text(metric.name)} {code(score)}{why}")
    return "\n".join(lines)


def hover_example(
    template: Template,
    offset: int,
    latest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
    assessments: Iterable[str],
) -> Hover | None:
    """Return the hover text of the example at `offset`; `assessments` are those of leave-one-out runs."""
    for number, example in enumerate(template.declarations.examples, start=1):
        if example.span.touches(offset):
            texts = [f"example {number}", *_count_text(example, number, latest)]
            for each in runs():
                texts += _last_result(template, number, example, each)
            return Hover(example.span, "\n\n".join([*texts, *assessments]))
    return None


def _count_text(example: Example, number: int, latest: FileRendering | None) -> Iterator[str]:
    if latest is None:
        return
    tokens = latest.template_tokens.get(example_text(example))
    if tokens is not None:
        yield f"- written out: {plural(tokens, 'token')}, {latest.job.encoding}"
    if latest.rendering is not None and latest.sample.name == f"example {number}":
        yield f"- the prompt with it: {plural(latest.rendering.tokens, 'token')}"


def _last_result(template: Template, number: int, example: Example, runs: ExperimentRuns) -> Iterator[str]:
    """Yield the latest result of the example, or of the row with the same inputs, in an experiment's runs."""
    from promptls.experiments.examples import example_result

    output = template.declarations.settings.output_key
    found = example_result(number, example.data, output, runs.with_examples)
    if found is not None:
        yield result_text(found.run, found.cells, runs.name)


def hover_few_shot(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """Return the hover text of the few-shot example at `offset`; None if nothing is known."""
    found = [each for each in known_assessments(snapshot, path) if each.example.span.touches(offset)]
    if not found:
        return None
    example = found[0].example
    texts = [f"example {example.number}", *assessment_texts(snapshot, path, offset)]
    return Hover(example.span, "\n\n".join(texts))


def assessment_texts(snapshot: Snapshot, path: str, offset: int) -> list[str]:
    """Return the leave-one-out verdicts on the example at `offset`, one for each experiment."""
    return [
        f"left out of {code(each.experiment)}{', stale' if each.stale else ''}: "
        f"{markdown_prose(each.message)}"
        for each in known_assessments(snapshot, path)
        if each.example.span.touches(offset)
    ]


class RowHover(NamedTuple):
    """The hover text of a row that begins on the line `line` and ends before the line `end`, both from 0."""

    line: int
    end: int
    markdown: str


def hover_row(dataset: Path, line: int, runs: Iterable[ExperimentRuns]) -> RowHover | None:
    """Return the latest results of the dataset row at the 0-based `line`; None if there are none.

    They come from the prompt with the latest run. Runs over another version of the dataset are ignored.
    """
    lines = row_lines(dataset)
    numbers = list(lines)
    place = bisect_right(list(lines.values()), line) - 1
    if place < 0:
        return None
    number = numbers[place]
    found = [result for each in runs if (result := _row_result(dataset, number, each)) is not None]
    latest = max((run.started, run.prompt) for run, _ in found)[1] if found else None
    texts = [text for run, text in found if run.prompt == latest]
    end = lines[numbers[place + 1]] if place + 1 < len(numbers) else lines[number] + 1
    return RowHover(lines[number], end, "\n\n".join([f"row {number}", *texts])) if texts else None


def _row_result(dataset: Path, number: int, runs: ExperimentRuns) -> tuple[RunSummary, str] | None:
    """Return the latest results of the row in the runs of one experiment."""
    from promptls.experiments.examples import known_table
    from promptls.experiments.row_choice import is_of_examples
    from promptls.experiments.verdicts import unchanged_dataset

    for run in runs.newest_first:
        if is_of_examples(run.rows_chosen) or unchanged_dataset(run) != dataset:
            continue
        found = [cells for cells in known_table(run.results).rows if cells.get("row_number") == str(number)]
        if found:
            return run, "\n\n".join(result_text(run, cells, runs.name) for cells in found)
    return None
