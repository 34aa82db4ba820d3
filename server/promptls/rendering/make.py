"""Make the rendering of a file of the workspace, with its token counts, and say what code that runs."""

from __future__ import annotations

import logging
import math
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import median_low
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.dialects.opencompass.vocabulary import COMPARING_RETRIEVERS, EMBEDDING_RETRIEVERS
from promptls.rendering.evaluation_asking import is_package_there
from promptls.rendering.file_rendering import (
    NO_SAMPLE,
    FileRendering,
    PartRange,
    RowTokens,
    TokenRange,
    brought_in,
    included_texts,
    parts_by_file,
    rendered_parts,
    template_texts,
)
from promptls.rendering.job import Kind as JobKind
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering, WhiteSpace
from promptls.rendering.samples import (
    Sample,
    branch_samples,
    default_sample,
    evaluation_job,
    given_samples,
    row_samples,
    rows_of_other_datasets,
)
from promptls.rendering.varying_prefix import PromptChange, first_change, other_data
from promptls.rendering.worker import CountingError, Limits, RenderWorker, limits_of
from promptls.security.processes import readable_variables, visible_variables
from promptls.security.trust import FolderCode
from promptls.semantic.evaluation_file import Evaluation, evaluation_of
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.settings.header import Header
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import upper_first
from promptls.tokens.tokenizer_files import is_tokenizer_file, resolve_encoding
from promptls.truncation.prefix_cache import CACHES
from promptls.workspace.contract import functions_path, included_part_names, inputs_of
from promptls.workspace.python_functions import functions_in
from promptls.workspace.settings import ProjectFile
from promptls.workspace.snapshot import Snapshot

RENDERED_KINDS = frozenset({Kind.PARTS, Kind.SECTION, Kind.OBJECT, Kind.EVALUATION})
JOB_KINDS: Final[dict[Kind, JobKind]] = {Kind.OBJECT: "prompt object", Kind.EVALUATION: "evaluation prompt"}
"""The values of `RenderJob.kind` for prompts other than lists of parts."""
UNLIMITED = -1
"""The token limit that Prompt Poet interprets as no limit."""


def job_for(
    snapshot: Snapshot,
    path: str,
    data: Mapping[str, Any],
    *,
    token_limit: int | None = None,
    truncation_step: int | None = None,
    with_stand_ins: bool = False,
) -> RenderJob:
    """Return the job that renders the file at `path` with `data`; limits default to header and settings.

    A `functions` file is ignored if the workspace is not trusted. `with_stand_ins` replaces missing functions
    that the template calls by stand-ins, so that a preview works before the calling program exists. Raises
    UsageError if the file does not exist.
    """
    template = snapshot.template(path)
    if template is None:
        raise UsageError("there is no such file", FilePlace(path))
    kind = snapshot.kind(path)
    header = template.declarations.settings
    settings = snapshot.project(path).settings
    trusted = snapshot.trusts(path)
    functions = functions_path(snapshot, path) if trusted else None
    return RenderJob(
        path=path,
        text=template.source.text,
        data=data,
        unsaved=snapshot.unsaved(),
        functions=functions,
        roots=snapshot.file_scope.roots,
        environment=visible_variables(readable_variables(settings.environment))
        if functions is not None
        else {},
        stand_ins=_stand_ins(snapshot, path, functions, data) if with_stand_ins else (),
        encoding=file_encoding(header, snapshot.project(path), path),
        token_limit=token_limit or header.token_limit or settings.token_limit or UNLIMITED,
        truncation_step=truncation_step or header.truncation_step or settings.truncation_step,
        kind=JOB_KINDS.get(kind, "parts template"),
        ragas_version=settings.ragas_version,
        trusted=trusted,
        evaluation=evaluation_job(snapshot, path) if kind is Kind.EVALUATION else None,
    )


def file_encoding(header: Header, project: ProjectFile, path: str | Path) -> str:
    """Return the encoding of the prompt at `path`; a tokenizer file is relative to what names it."""
    if header.encoding is not None:
        return resolve_encoding(header.encoding, Path(path).parent)
    return resolve_encoding(project.settings.encoding, project.root)


def _stand_ins(
    snapshot: Snapshot, path: str, functions: str | None, data: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the names that template and includes call, and that neither data nor functions provide."""
    given = {function.name for function in functions_in(functions) or ()} if functions else set()
    called = {
        name
        for included in snapshot.included(path)
        if (template := snapshot.template(included))
        for name in template.names.input_names & template.names.called_names - given - data.keys()
        if any(each.is_input and each.how == "call" for each in template.names.references_of(name))
    }
    return tuple(sorted(called))


def unique_part_names(snapshot: Snapshot, path: str) -> dict[str, tuple[str, ...]]:
    """Return the unique names of parts in each file included by the one at `path`, by path."""
    names = {other: _names(snapshot, other) for other in snapshot.included(path)}
    counts = Counter(name for its in names.values() for name in its)
    return {
        other: tuple([name for name in its if name is not None and counts[name] == 1])
        for other, its in names.items()
        if other != path and its
    }


def tokens_of(names: Iterable[str], rendering: Rendering) -> tuple[int, ...]:
    """Return the tokens of each rendered part that has one of the names, in their order."""
    selected = frozenset(names)
    return tuple([part.tokens for part in rendering.parts if part.name in selected])


def _names(snapshot: Snapshot, path: str) -> tuple[str | None, ...]:
    template = snapshot.template(path)
    return tuple([placed.part.name for placed in template.parts]) if template is not None else ()


log = logging.getLogger(__name__)

Render: TypeAlias = Callable[[RenderJob], Awaitable[Rendering | RenderFailure]]

MAX_FAILING = 5
"""The maximum number of failing samples and rows that are reported."""
MAX_WEIGHED_PARTS = 200
"""For a template with more parts, the tokens of rows are not counted per part."""
MAX_WEIGHING_SECONDS = 10.0
"""The time limit for rendering the rows of a dataset; the result covers those rendered until then."""


COMPARING_SECONDS = 60.0
"""Additional time for a prompt whose retriever compares rows, to load its packages and rows once."""


def limits_for(snapshot: Snapshot, path: str) -> Limits:
    """Return the limits for rendering the file, from its settings and the work of its retriever."""
    settings = snapshot.project(path).settings.rendering
    template = snapshot.template(path) if snapshot.kind(path) is Kind.EVALUATION else None
    evaluation = evaluation_of(template.source.whole) if template else None
    limits = limits_of(settings.timeout, settings.memory, trusted=snapshot.trusts(path))
    return replace(limits, seconds=limits.seconds + comparing_seconds(evaluation))


def comparing_seconds(evaluation: Evaluation | None) -> float:
    """Return the additional time for the work of the prompt's retriever."""
    compares = evaluation is not None and evaluation.retriever_class in COMPARING_RETRIEVERS
    return COMPARING_SECONDS if compares else 0


NOT_COUNTED: Final = ""
"""The encoding of renderings whose tokens do not matter: loading a vocabulary takes longer than rendering."""


async def render_file(
    worker: RenderWorker,
    snapshot: Snapshot,
    path: str,
    sample: Callable[[], Sample] | None = None,
    known: FileRendering | None = None,
    render: Render | None = None,
    encoding: str | None = None,
) -> FileRendering:
    """Return the rendering of the file at `path` with the result of `sample`, or with the default sample.

    If the sample cannot be read and `sample` raises UserError, the rendering is a failure. Token counts of
    `known`, an earlier rendering of the file, are reused. `render` returns the outcome of a job, by default
    that of the worker. Tokens are counted in `encoding`, by default in the file's; `NOT_COUNTED` counts none.
    """
    template = snapshot.template(path)
    assert template is not None
    try:
        chosen = sample() if sample else default_sample(snapshot, path)
    except UserError as failure:
        chosen = Sample(NO_SAMPLE, "the samples cannot be read", {})
        job = job_for(snapshot, path, {})
        outcome: Rendering | RenderFailure = RenderFailure("data", failure.message, path)
    else:
        job = job_for(snapshot, path, chosen.data, with_stand_ins=True)
        job = replace(job, encoding=encoding or job.encoding, counts=encoding != NOT_COUNTED)
        outcome = _at_its_name(await (render or worker.render)(job), job.path)
        if isinstance(outcome, RenderFailure):
            outcome = at_syntax_error(snapshot, outcome)
    has_no_encoding = isinstance(outcome, RenderFailure) and outcome.kind == "encoding"
    if encoding == NOT_COUNTED or has_no_encoding:
        return FileRendering(job, chosen, outcome)
    texts = dict.fromkeys([*template_texts(template), *included_texts(snapshot, path)])
    counted = _counts(known, job.encoding, texts)
    unknown = [text for text in texts if text not in counted]
    try:
        counted.update(zip(unknown, await worker.count(unknown, job.encoding), strict=True))
    except CountingError as error:
        log.warning("%s: %s", path, error)
    return FileRendering(job, chosen, outcome, counted)


def findings_need_counts(snapshot: Snapshot, path: str) -> bool:
    """Return whether a finding may depend on the token counts of the rendering."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.EVALUATION:
        return True
    header, project = template.declarations.settings, snapshot.project(path)
    if header.token_limit or project.settings.token_limit:
        return True
    # The special tokens of a tokenizer file are not known without it.
    return is_tokenizer_file(file_encoding(header, project, path))


def _at_its_name(outcome: Rendering | RenderFailure, path: str) -> Rendering | RenderFailure:
    """Return the outcome with its failure at `path`, even if that is not a file on disk."""
    if isinstance(outcome, RenderFailure) and outcome.path and not Path(path).is_absolute():
        return replace(outcome, path=path) if outcome.path.endswith(os.sep + path) else outcome
    return outcome


_MAX_SECONDS: Final = 3.0
"""The time limit for trying samples; the result covers those tried until then."""
_MAX_ROWS: Final = 30
"""The maximum number of rows in the ranges of parts."""


def at_syntax_error(snapshot: Snapshot, failure: RenderFailure) -> RenderFailure:
    """Return the failure; in a file whose Jinja has syntax errors, with the first one that is reported there.

    Jinja itself names only what it did not expect, which may be lines below an unclosed tag.
    """
    template = snapshot.template(failure.path or "")
    problems = template.syntax_problems if template is not None else ()
    first = next((problem for problem in problems if problem.language == "jinja"), None)
    if template is None or first is None:
        return failure
    line = template.source.line_column(first.span.start).line
    return replace(failure, message=f"{upper_first(first.message)}.", line=line)


async def weigh(
    worker: RenderWorker, snapshot: Snapshot, made: FileRendering, go_on: Callable[[], bool] = lambda: True
) -> FileRendering:
    """Return the same rendering with what other data results in: token counts, failures and white space.

    Samples and rows are tried while `go_on` returns true. The rows are those that can be chosen as samples,
    within the time limit. Nothing is tried if functions are stand-ins, since that would not be reliable.
    """
    path = made.job.path
    template = snapshot.template(path)
    if template is None or made.job.stand_ins or made.rendering is None:
        return replace(made, rows=None, failing=(), ranges=())
    foreign = included_part_names(snapshot, path)
    count_parts = partial(_part_counts, snapshot, template, foreign, path)
    samples_until = time.monotonic() + _MAX_SECONDS
    failing, white_space, others = await _other_samples(worker, snapshot, made, samples_until)
    cut_short = time.monotonic() > samples_until
    declared = (rendering for sample, rendering in others if sample.kind not in {"placeholders", "branch"})
    of_samples = list(map(count_parts, (made.rendering, *declared)))
    has_parts = snapshot.kind(path) is Kind.PARTS and len(template.parts) <= MAX_WEIGHED_PARTS
    counts: list[tuple[int, int, int]] = []
    of_rows: list[_PartCounts] = []
    deadline = time.monotonic() + MAX_WEIGHING_SECONDS
    samples = row_samples(snapshot, path)
    for sample in samples:
        if not go_on():
            return made
        if time.monotonic() > deadline:
            break
        job = replace(made.job, data=sample.data)
        outcome = await worker.render(job)
        if isinstance(outcome, RenderFailure):
            if len(failing) < MAX_FAILING:
                failing.append(FileRendering(job, sample, outcome))
            continue
        counts.append((sample.number, outcome.tokens, outcome.tokens_kept))
        if has_parts:
            of_rows.append(count_parts(outcome))
        if len(counts) <= _MAX_ROWS and sample.data != made.sample.data:
            of_samples.append(of_rows[-1] if has_parts else count_parts(outcome))
    limit = made.token_limit or math.inf
    return replace(
        made,
        rows=_row_tokens(samples[0].source, counts, of_rows, limit) if counts else None,
        failing=tuple(failing),
        cut_short=cut_short or time.monotonic() > deadline,
        other_white_space=white_space,
        change=await _change(worker, snapshot, made, [rendering for _, rendering in others]),
        ranges=tuple(_part_ranges(template, foreign, of_samples)) if len(of_samples) > 1 else (),
    )


def _row_tokens(
    dataset: str, counts: list[tuple[int, int, int]], of_parts: list[_PartCounts], limit: float
) -> RowTokens:
    """Return the counts of rows, each with its number and its tokens before and after truncation."""
    totals = [tokens for _, tokens, _ in counts]
    by_part = zip(*(each.own for each in of_parts), strict=True)
    by_name = {
        name: [each.named[name] for each in of_parts] for name in (of_parts[0].named if of_parts else ())
    }
    return RowTokens(
        dataset=dataset,
        rows=len(counts),
        over=tuple(number for number, tokens, _ in counts if tokens > limit),
        stuck=tuple(number for number, _, tokens in counts if tokens > limit),
        maximum=max(totals),
        total=TokenRange.of(totals),
        parts=tuple(TokenRange.of(its) if any(its) else None for its in by_part),
        included={name: TokenRange.of(its) for name, its in by_name.items() if any(its)},
    )


async def _other_samples(
    worker: RenderWorker, snapshot: Snapshot, made: FileRendering, deadline: float
) -> tuple[list[FileRendering], tuple[WhiteSpace, ...], list[tuple[Sample, Rendering]]]:
    """Return the failing renderings with other samples, the white space that all change, and the others.

    They are tried until the `deadline`. Of the rows of datasets, only failing renderings are returned.
    """
    if snapshot.kind(made.job.path) is Kind.EVALUATION:
        return [], (), []  # its samples are rows
    failing: list[FileRendering] = []
    renderings: list[tuple[Sample, Rendering]] = []
    white_space: list[WhiteSpace] = []
    try:
        given: Iterable[Sample] = given_samples(snapshot, made.job.path)
    except UserError:  # the rendering reports it
        return [], (), []
    if not given and made.sample.kind == "placeholders" and made.rendering is not None:
        given = branch_samples(snapshot, made.job.path, made.sample)
    others = [sample for sample in given if sample.kind != "row"]
    for sample in chain(others, rows_of_other_datasets(snapshot, made.job.path)):
        if sample.data == made.sample.data or time.monotonic() > deadline or len(failing) == MAX_FAILING:
            continue
        job = replace(made.job, data=sample.data)
        outcome = await worker.render(job)
        white_space += outcome.white_space
        if not isinstance(outcome, RenderFailure):
            renderings += [(sample, outcome)] if sample in others else []
        elif sample.kind != "branch" or not _is_blank(outcome):
            failing.append(FileRendering(job, sample, outcome))
    return failing, tuple(dict.fromkeys(white_space)), renderings


def _is_blank(failure: RenderFailure) -> bool:
    """Return whether nothing was rendered: the whole prompt is in conditions that do not apply."""
    return failure.kind == "parts" and failure.rendered_line is None


_MAX_CHANGED_SEGMENTS: Final = 20_000
"""The approximate maximum number of segments of a rendering that is compared with another one."""


async def _change(
    worker: RenderWorker, snapshot: Snapshot, made: FileRendering, others: Iterable[Rendering]
) -> PromptChange | None:
    """Return where the prompt differs between requests, if enough text is after it for a cache.

    It is compared with a rendering in which every input has another value, and with `others`.
    """
    path, readable = made.job.path, CACHES["openai"].readable
    template = snapshot.template(path)
    if made.rendering is None or template is None or snapshot.kind(path) is not Kind.PARTS:
        return None
    bytes_sent = sum(len(str(part.content).encode()) for part in made.rendering.parts)
    if not made.sample.data or not readable(bytes_sent):  # a token has at least one byte
        return None
    job = replace(made.job, with_source_map=True, max_segments=_MAX_CHANGED_SEGMENTS, counts=False)
    mapped = await worker.render(job)
    schemas = {each.name: each.schema for each in inputs_of(snapshot, path)}
    varied = await worker.render(replace(made.job, data=other_data(made.sample.data, schemas), counts=False))
    for other in (varied, *others):
        if isinstance(mapped, RenderFailure) or isinstance(other, RenderFailure):
            continue
        change = first_change(mapped, other)
        if change is None or not readable(len(change.fixed.encode())):
            continue
        encoding = file_encoding(template.declarations.settings, snapshot.project(path), path)
        try:
            (tokens,) = await worker.count([change.fixed], encoding)
        except CountingError:
            return None
        if readable(tokens):
            return change._replace(tokens=tokens)
    return None


def _counts(known: FileRendering | None, encoding: str, texts: Mapping[str, None]) -> dict[str, int]:
    if known is None or known.job.encoding != encoding:
        return {}
    return {text: known.template_tokens[text] for text in texts if text in known.template_tokens}


class _PartCounts(NamedTuple):
    """The tokens of a template's own parts, of included parts by their names, and of included files."""

    own: list[int]
    named: dict[str, int]
    files: dict[str, int]


def _part_counts(
    snapshot: Snapshot, template: Template, foreign: frozenset[str], path: str, rendering: Rendering
) -> _PartCounts:
    own = [sum(part.tokens for part in became) for became in rendered_parts(template, foreign, rendering)]
    names = [name for its in unique_part_names(snapshot, path).values() for name in its]
    by_file = parts_by_file(snapshot, path, rendering)
    files = {target: brought_in(snapshot, by_file, target) for target in by_file}
    return _PartCounts(
        own,
        {name: sum(tokens_of((name,), rendering)) for name in names},
        {target: sum(part.tokens for part in parts) for target, parts in files.items() if parts is not None},
    )


def _part_ranges(
    template: Template, foreign: frozenset[str], counts: list[_PartCounts]
) -> Iterator[PartRange]:
    """Yield the ranges of the parts that can be identified, and of included parts and files."""
    names = Counter(placed.part.name for placed in template.parts)
    for index, placed in enumerate(template.parts):
        name = placed.part.name
        # For a part that cannot be identified, it is unknown how often it was left out.
        if name is not None and names[name] == 1 and name not in foreign:
            yield _part_range(name, [each.own[index] for each in counts])
    for name in counts[0].named:
        yield _part_range(name, [each.named[name] for each in counts])
    for file in counts[0].files:
        if all(file in each.files for each in counts):
            yield _part_range(file, [each.files[file] for each in counts])


def _part_range(name: str, tokens: list[int]) -> PartRange:
    return PartRange(name, min(tokens), median_low(tokens), max(tokens), len(tokens))


def code_of_rendering(snapshot: Snapshot, paths: Iterable[str]) -> FolderCode:
    """Return the Python files and models that rendering the files at `paths` loads from their folders."""
    files = list(paths)
    python = dict.fromkeys(name for path in files for name in _functions(snapshot, path))
    models = dict.fromkeys(name for path in files for name in _sentence_models(snapshot, path))
    return FolderCode(tuple(python), tuple(models))


def _functions(snapshot: Snapshot, path: str) -> Iterator[str]:
    file = functions_path(snapshot, path)
    if file is not None and snapshot.exists(file):
        yield os.path.basename(file)  # noqa: PTH119 - also for a name that is invalid for a file


def _sentence_models(snapshot: Snapshot, path: str) -> Iterator[str]:
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is not Kind.EVALUATION or not is_package_there():
        return
    evaluation = evaluation_of(template.source.whole)
    if evaluation is not None and evaluation.retriever_class in EMBEDDING_RETRIEVERS:
        yield f"the sentence model of its {evaluation.retriever_class}"
