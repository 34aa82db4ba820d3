"""Turn a job into its outcome. Runs in the worker's process: it imports Jinja, YAML and tiktoken."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import yaml

from promptls.dialects.prompt_poet.document import read
from promptls.dialects.prompt_poet.environment import CompiledTemplates
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import (
    NO_LIMIT,
    PartCount,
    PromptPart,
    Truncation,
    count_part,
    join_contents,
    messages,
    truncate,
)
from promptls.dialects.prompt_poet.template_rendering import RenderedParts, RenderOptions, parse_parts, render
from promptls.dialects.ragas.prompt_object import PromptObjectError
from promptls.dialects.ragas.saved_prompt import load_json, ragas_text, read_ragas
from promptls.rendering.error_places import (
    exit_failure,
    failure_of,
    origin_at,
    placed_failure,
    stopped_failure,
)
from promptls.rendering.functions_file import StandIn, load_functions
from promptls.rendering.job import RenderJob, RowMessages, RowsRendered, as_text, is_boundless, plain
from promptls.rendering.outcome import (
    PackedMap,
    RenderedPart,
    RenderedSection,
    RenderFailure,
    Rendering,
    WhiteSpace,
    packed_map,
)
from promptls.rendering.source_map.compiled_templates import CompiledGroups, render_mapped
from promptls.rendering.source_map.mapping import RenderedMap
from promptls.rendering.source_map.part_origins import part_segments
from promptls.rendering.source_map.white_space import changed_white_space, joined_parts
from promptls.text.filenames import is_json_file
from promptls.tokens import count, count_strictly


class MadePrompt(NamedTuple):
    """A prompt and its origin: the source map of its text, and the YAML node of the text."""

    prompt: RenderedParts
    source_map: RenderedMap | None = None
    root: Any = None


def counted_rendering(job: RenderJob, made: MadePrompt, started: float) -> Rendering:
    """Return the rendering with counts and truncation; failures in either are added to its problems.

    `started` is the start of the job, in `time.perf_counter` seconds.
    """
    prompt = made.prompt
    problems: list[RenderFailure] = []
    counts = [_count(part, job, problems) for part in prompt.parts]
    if not prompt.parts:
        problems.append(RenderFailure("parts", "The prompt has no parts.", job.path))
    truncation = _truncation(job, prompt.parts, [each.tokens for each in counts], problems)
    retained = [prompt.parts[index] for index in truncation.kept]
    string: str | None = None
    try:
        string = join_contents(retained)
    except PromptPoetError as error:
        problems.append(failure_of(error, job))
    indices = set(truncation.kept)
    return Rendering(
        parts=tuple(
            _part(index, part, its_count, kept=index in indices)
            for index, (part, its_count) in enumerate(zip(prompt.parts, counts, strict=True))
        ),
        string=string,
        messages=plain(messages(retained)),
        tokens=truncation.tokens_before,
        tokens_kept=truncation.tokens_after,
        text=prompt.text,
        seconds=time.perf_counter() - started,
        problems=tuple(problems),
        files=tuple(sorted(prompt.files)),
        source_map=_pack(made, job.max_segments) if job.with_source_map else None,
        white_space=tuple(dict.fromkeys(_white_space(job, made))),
    )


def _white_space(job: RenderJob, made: MadePrompt) -> Iterator[WhiteSpace]:
    """Yield the white space of the template that is stripped, added or missing, if its origin is known."""
    if made.source_map is not None and made.root is not None:
        yield from joined_parts(made.source_map, job.path, job.text)
        yield from changed_white_space(made.source_map, made.root, job.path)


def _pack(made: MadePrompt, max_segments: int | None) -> PackedMap | None:
    if made.source_map is None:
        return None
    # Each piece of the text is also a piece of the content of a part.
    if max_segments is not None and made.source_map.has_more_leaves(max_segments / 2):
        return None
    parts = part_segments(made.source_map, made.root, made.prompt.parts)
    return packed_map(() if max_segments is not None else made.source_map.segments, parts)


def _count(part: PromptPart, job: RenderJob, problems: list[RenderFailure]) -> PartCount:
    """Return the token count of one part; if Prompt Poet would fail, add a problem.

    Special tokens are then counted as text; content that is not a string counts 0.
    """

    def strictly(text: str) -> int:
        return count_strictly(text, job.encoding) if job.counts or "<|" in text else 0

    try:
        return count_part(part, strictly)
    except PromptPoetError as error:
        problems.append(RenderFailure(error.kind, error.message))
    try:
        return count_part(part, partial(count, encoding=job.encoding), allow_token_overrides=True)
    except PromptPoetError:
        return PartCount(0, (0,) * len(part.sections or ()))


def _truncation(
    job: RenderJob, parts: tuple[PromptPart, ...], tokens: list[int], problems: list[RenderFailure]
) -> Truncation:
    """Return the parts within the job's limit, or all parts and a problem if truncation fails."""
    priorities = [part.truncation_priority for part in parts]
    step = job.truncation_step
    try:
        if step is None and job.token_limit != NO_LIMIT and sum(tokens) > job.token_limit > 0:
            message = "There is a token limit but no truncation step; shown as with a step of 1 token."
            problems.append(RenderFailure("truncation", message, job.path))
        return truncate(priorities, tokens, job.token_limit, 1 if step is None else step)
    except PromptPoetError as error:
        problems.append(failure_of(error, job))
        return truncate(priorities, tokens, NO_LIMIT, None)


def _part(index: int, part: PromptPart, counted: PartCount, *, kept: bool) -> RenderedPart:
    # The sections of a part with preset tokens are not counted.
    counts = counted.sections or (0,) * len(part.sections or ())
    return RenderedPart(
        index=index,
        name=as_text(part.name),
        role=as_text(part.role),
        content=plain(part.content),
        tokens=counted.tokens,
        truncation_priority=plain(part.truncation_priority),
        kept=kept,
        sections=tuple(
            RenderedSection(as_text(section.name), section.content, tokens)
            for section, tokens in zip(part.sections or (), counts, strict=True)
        ),
    )


_compiled = CompiledGroups()
_compiled_plainly = CompiledTemplates()


def execute(job: RenderJob) -> Rendering | RenderFailure:
    """Return the outcome of `job`; failures of the template, its data or its functions are outcomes."""
    started = time.perf_counter()
    functions = load_functions(job.functions, job.unsaved)
    if isinstance(functions, RenderFailure):
        return functions
    stand_ins = {name: StandIn(name) for name in job.stand_ins}
    data = {**stand_ins, **functions, **job.data}
    try:
        if job.kind == "evaluation prompt":
            # Loading it takes longer than loading everything that other prompts need.

            from promptls.rendering.evaluation_rendering import render_evaluation

            return render_evaluation(job, data, started)
        made = _render(job, data)
    except PromptPoetError as error:
        return failure_of(error, job)
    except PromptObjectError as error:
        return RenderFailure("prompt object", str(error), job.path)
    except Exception:
        raise  # a mistake of promptls, which the worker reports as one
    except BaseException as error:  # noqa: BLE001 - a user's code may raise anything
        return exit_failure(error, job)
    if isinstance(made, RenderFailure):
        return made
    return _boundless(job, made) or counted_rendering(job, made, started)


def execute_plainly(job: RenderJob) -> Rendering | None:
    """Return the rendering of a parts template without its source map, which is twice as fast.

    Return None if it fails, or if the job is for a different kind of prompt; use `execute` then.
    """
    started = time.perf_counter()
    if job.kind != "parts template" or job.with_source_map or job.stand_ins:
        return None
    functions = load_functions(job.functions, job.unsaved)
    if isinstance(functions, RenderFailure):
        return None
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    try:
        made = MadePrompt(
            render(
                job.path,
                {**functions, **job.data},
                unsaved=unsaved,
                options=options,
                compiled=_compiled_plainly,
            )
        )
    except BaseException:  # noqa: BLE001 - `execute` reports it, whatever it is
        return None
    return None if _boundless(job, made) else counted_rendering(job, made, started)


def _render(job: RenderJob, data: Mapping[str, Any]) -> MadePrompt | RenderFailure:
    """Return the prompt of `job`; raises PromptPoetError, or PromptObjectError."""
    if job.kind == "prompt object" and is_json_file(job.path):
        return MadePrompt(_object_prompt(job, job.text, load_json(job.text), data, frozenset({job.path})))
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    try:
        rendered, source_map = render_mapped(
            job.path, data, unsaved=unsaved, options=options, compiled=_compiled
        )
    except PromptPoetError as error:
        return stopped_failure(failure_of(error, job), error, job)
    if job.kind == "prompt object":
        document = read(rendered.text)
        try:
            prompt = _object_prompt(job, rendered.text, document.data, data, rendered.files)
        except PromptObjectError as error:
            line = _line_of_object(source_map, document.root, error, job.path)
            return RenderFailure("prompt object", str(error), job.path, line)
        return MadePrompt(prompt, source_map)
    root: Any = None

    def load(text: str) -> Any:
        nonlocal root
        loaded, root = read(text)
        return loaded

    try:
        parts = parse_parts(rendered.text, rendered.data, options, load)
    except PromptPoetError as error:
        failure = placed_failure(failure_of(error, job), error, source_map)
        return replace(failure, white_space=tuple(joined_parts(source_map, job.path, job.text)))
    return MadePrompt(RenderedParts(rendered.text, parts, rendered.files), source_map, root)


def _boundless(job: RenderJob, made: MadePrompt) -> RenderFailure | None:
    """Return a failure if parts are too large because of YAML aliases, or None."""
    for index, part in enumerate(made.prompt.parts):
        if is_boundless([part.content, part.name, part.role, part.truncation_priority]):
            message = (
                f"Part {index + 1} contains itself, or expands to millions of values, through its YAML "
                "aliases (`*name`). Write out the value, or quote the `*` of a text"
            )
            return RenderFailure("parts", message, job.path, _line_of_part(made, index, job.path))
    return None


def _line_of_part(made: MadePrompt, number: int, path: str) -> int | None:
    """Return the 0-based line of the job's file where a part begins, if known."""
    if made.source_map is None or made.root is None or number >= len(made.root.value):
        return None
    return _line_at(made.source_map, made.root.value[number].start_mark.index, path)


def _line_of_object(source_map: RenderedMap, root: Any, error: PromptObjectError, path: str) -> int | None:
    """Return the 0-based line of the job's file with the value that Ragas refuses, if known."""
    node = root
    at = [error.key] if error.example is None else ["examples", error.example, error.key]
    for step in at:
        if isinstance(step, int) and isinstance(node, yaml.SequenceNode):
            node = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), node)
    return None if node is root else _line_at(source_map, node.start_mark.index, path)


def _line_at(source_map: RenderedMap, offset: int, path: str) -> int | None:
    """Return the 0-based line of the file at `path` that produced the character at `offset`, if any did."""
    origin = origin_at(source_map, offset)
    return origin.line if origin is not None and origin.path == path else None


def _object_prompt(
    job: RenderJob, text: str, loaded: Any, data: Mapping[str, Any], files: frozenset[str]
) -> RenderedParts:
    prompt = read_ragas(loaded, job.ragas_version)
    part = PromptPart(name=prompt.name or "prompt", content=ragas_text(prompt, data))
    return RenderedParts(text, (part,), files)


def execute_rows(job: RenderJob, rows: Iterable[Mapping[str, Any]]) -> RowsRendered:
    """Return the messages for each row in place of the job's data; a failing row does not affect others."""
    began = time.perf_counter()
    outcomes = [_messages(_outcome(replace(job, data=row))) for row in rows]
    return RowsRendered(outcomes, time.perf_counter() - began)


def _outcome(job: RenderJob) -> Rendering | RenderFailure:
    # The source map is needed only to locate a failure.
    return execute_plainly(job) or execute(job)


def _messages(outcome: Rendering | RenderFailure) -> RowMessages | RenderFailure:
    if isinstance(outcome, RenderFailure):
        return outcome
    return RowMessages(outcome.messages, outcome.tokens, outcome.tokens_kept, outcome.files)
