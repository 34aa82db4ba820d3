"""One job to its outcome. Runs in the worker's process: it imports Jinja, YAML and tiktoken."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from promptls.rendering.culprit import culprit_of
from promptls.rendering.function_failures import ended, with_function_line
from promptls.rendering.functions_file import load_functions
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderedPart, RenderedSection, RenderFailure, Rendering
from promptls.rendering.packed_map import PackedMap, packed_map
from promptls.rendering.source_map.leaf_words import turns_words
from promptls.rendering.source_map.parts import part_segments
from promptls.rendering.source_map.render import render_mapped
from promptls.rendering.source_map.rendered import RenderedMap
from promptls.rendering.source_map.stopped import item_words, line_outside, turns_at
from promptls.rendering.source_map.templates import CompiledGroups
from promptls.rendering.stand_in import stand_in
from promptls.rendering.values import as_text, is_boundless, plain
from promptls.systems.prompt_poet.counts import PartCount, count_part
from promptls.systems.prompt_poet.document import OTHER_REMEDY, REMEDIES, VALUES_HINT, read
from promptls.systems.prompt_poet.environment import CompiledTemplates
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart, joined, messages
from promptls.systems.prompt_poet.render import Prompt, RenderOptions, parse_parts, render
from promptls.systems.prompt_poet.truncation import NO_LIMIT, Truncation, truncate
from promptls.systems.ragas.file import load_json, ragas_text, read_ragas
from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.text.packed import is_json_file
from promptls.text.shortened import shortened
from promptls.tokens.counting import count, count_strictly

_compiled = CompiledGroups()
_compiled_plainly = CompiledTemplates()


class _Made(NamedTuple):
    """A prompt, and where it comes from: the map of its text, and the YAML node of that."""

    prompt: Prompt
    source_map: RenderedMap | None = None
    root: Any = None


def execute(job: RenderJob) -> Rendering | RenderFailure:
    """The outcome of `job`: every failure of the template, its data and its functions is an outcome."""
    started = time.perf_counter()
    functions: Mapping[str, Callable[..., Any]] = {}
    if job.functions is not None:
        loaded = load_functions(job.functions, job.unsaved)
        if isinstance(loaded, RenderFailure):
            return loaded
        functions = loaded
    stand_ins = {name: stand_in(name) for name in job.stand_ins}
    data = {**stand_ins, **functions, **job.data}
    try:
        if job.kind == "evaluation prompt":
            # It takes longer to load than all that other prompts need.
            from promptls.rendering.evaluation import render_evaluation

            return render_evaluation(job, data, started)
        made = _render(job, data)
    except PromptPoetError as error:
        return _failure(error, job)
    except PromptObjectError as error:
        return RenderFailure("prompt object", str(error), job.path)
    except Exception:
        raise
    except BaseException as error:  # noqa: BLE001 - a user's code may raise anything
        return ended(error, job)
    if isinstance(made, RenderFailure):
        return made
    return _boundless(job, made) or _rendering(job, made, started)


def execute_plainly(job: RenderJob) -> Rendering | None:
    """The rendering of a parts template without its source map, which takes half of the time.

    None where it fails, and where the job is for another kind of prompt: then `execute` says what there is.
    """
    started = time.perf_counter()
    if job.kind != "parts template" or job.with_source_map or job.stand_ins:
        return None
    functions = load_functions(job.functions, job.unsaved) if job.functions is not None else {}
    if isinstance(functions, RenderFailure):
        return None
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    try:
        made = _Made(
            render(
                job.path,
                {**functions, **job.data},
                unsaved=unsaved,
                options=options,
                compiled=_compiled_plainly,
            )
        )
    except BaseException:  # noqa: BLE001 - whatever it is, `execute` says it
        return None
    return None if _boundless(job, made) else _rendering(job, made, started)


def _render(job: RenderJob, data: Mapping[str, Any]) -> _Made | RenderFailure:
    """The prompt of `job`; raises PromptPoetError, or PromptObjectError."""
    if job.kind == "prompt object" and is_json_file(job.path):
        return _Made(_object_prompt(job, job.text, load_json(job.text), data, frozenset({job.path})))
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    try:
        rendered, source_map = render_mapped(
            job.path, data, unsaved=unsaved, options=options, compiled=_compiled
        )
    except PromptPoetError as error:
        return _stopped(_failure(error, job), error, job)
    if job.kind == "prompt object":
        document = read(rendered.text)
        prompt = _object_prompt(job, rendered.text, document.data, data, rendered.files)
        return _Made(prompt, source_map)
    root: Any = None

    def load(text: str) -> Any:
        nonlocal root
        loaded, root = read(text)
        return loaded

    try:
        parts = parse_parts(rendered.text, rendered.data, options, load)
    except PromptPoetError as error:
        return _placed(_failure(error, job), error, source_map)
    return _Made(Prompt(rendered.text, parts, rendered.files), source_map, root)


def _boundless(job: RenderJob, made: _Made) -> RenderFailure | None:
    """Why parts that YAML's aliases blow up are not shown; None where there are none."""
    for number, part in enumerate(made.prompt.parts):
        if is_boundless([part.content, part.name, part.role, part.truncation_priority]):
            message = (
                f"Part {number + 1} holds itself, or comes to millions of values, through its YAML aliases "
                "(`*name`). Write out what it is to hold, or quote the `*` of a text"
            )
            return RenderFailure("parts", message, job.path, _line_of_part(made, number))
    return None


def _line_of_part(made: _Made, number: int) -> int | None:
    """The 0-based line of the job's file that begins a part, where it is known."""
    if made.source_map is None or made.root is None or number >= len(made.root.value):
        return None
    at = made.source_map.index(made.root.value[number].start_mark.index)
    leaf = made.source_map.leaves[at] if at >= 0 else None
    return made.source_map.line(leaf.file.path, leaf.start) if leaf is not None and leaf.file else None


def _object_prompt(
    job: RenderJob, text: str, loaded: Any, data: Mapping[str, Any], files: frozenset[str]
) -> Prompt:
    prompt = read_ragas(loaded, job.ragas_version)
    part = PromptPart(name=prompt.name or "prompt", content=ragas_text(prompt, data))
    return Prompt(text, (part,), files)


def _placed(failure: RenderFailure, error: PromptPoetError, source_map: RenderedMap) -> RenderFailure:
    """The failure with the place in the template that made the text no YAML, or no list of parts."""
    culprit = culprit_of(error, source_map)
    if culprit is None:
        return failure
    if culprit.value is None and VALUES_HINT in failure.message:
        found = (remedy for words, remedy in REMEDIES.items() if words in failure.message)
        message = failure.message.replace(VALUES_HINT, next(found, OTHER_REMEDY))
        failure = replace(failure, message=message)
    where = [f"in {', '.join(culprit.turns)}"] if culprit.turns else []
    if culprit.value is not None:
        where.append(f"because of the value {shortened(culprit.value)}")
    return replace(
        _with_words(failure, where),
        path=culprit.path,
        line=culprit.line,
        span=culprit.span,
        value=culprit.value,
        mended=culprit.mended,
        whatever=culprit.whatever,
        turns=culprit.turns,
        include_line=culprit.include_line,
    )


def _stopped(failure: RenderFailure, error: PromptPoetError, job: RenderJob) -> RenderFailure:
    """The failure with the turns of loops in which the template stopped."""
    turns = turns_at(error.__cause__)
    outside = None if failure.path == job.path else line_outside(error.__cause__, job.path)
    if not turns:
        return replace(failure, include_line=outside)
    told, words = turns_words(turns), item_words(turns[-1])
    where = [f"in {', '.join(told)}", *([f"where {words}"] if words else [])]
    return replace(_with_words(failure, where), turns=told, include_line=outside)


def _with_words(failure: RenderFailure, where: Sequence[str]) -> RenderFailure:
    """The failure whose message says where it happened, too."""
    if not where:
        return failure
    sentence = " ".join(where)
    end = "" if failure.message.endswith((".", "?", "!")) else "."
    message = f"{failure.message}{end} It happened {sentence}."
    return replace(failure, message=message, reason=failure.message)


def _rendering(job: RenderJob, made: _Made, started: float) -> Rendering:
    """The rendering with counts and truncation; what fails from here on is one of its problems."""
    prompt = made.prompt
    problems: list[RenderFailure] = []
    counts = [_count(part, job.encoding, problems) for part in prompt.parts]
    if not prompt.parts:
        problems.append(RenderFailure("parts", "The prompt has no parts.", job.path))
    kept = _truncation(job, prompt.parts, [each.tokens for each in counts], problems)
    kept_parts = [prompt.parts[index] for index in kept.kept]
    string: str | None = None
    try:
        string = joined(kept_parts)
    except PromptPoetError as error:
        problems.append(_failure(error, job))
    indices = set(kept.kept)
    return Rendering(
        parts=tuple(
            _part(index, part, its_count, kept=index in indices)
            for index, (part, its_count) in enumerate(zip(prompt.parts, counts, strict=True))
        ),
        string=string,
        messages=plain(messages(kept_parts)),
        tokens=kept.tokens_before,
        tokens_kept=kept.tokens_after,
        text=prompt.text,
        seconds=time.perf_counter() - started,
        problems=tuple(problems),
        files=tuple(sorted(prompt.files)),
        source_map=_packed(made, job.most_segments) if job.with_source_map else None,
    )


def _packed(made: _Made, most_segments: int | None) -> PackedMap | None:
    if made.source_map is None:
        return None
    # Each piece of the text is a piece of some part's content as well.
    if most_segments is not None and made.source_map.has_more_leaves(most_segments / 2):
        return None
    parts = part_segments(made.source_map, made.root, made.prompt.parts)
    return packed_map(() if most_segments is not None else made.source_map.segments, parts)


def _count(part: PromptPart, encoding: str, problems: list[RenderFailure]) -> PartCount:
    """The count of one part; where Prompt Poet would fail, a problem says why.

    Words of special tokens are then counted as text; content that is no text counts 0.
    """
    try:
        return count_part(part, partial(count_strictly, encoding=encoding))
    except PromptPoetError as error:
        problems.append(RenderFailure(error.kind, error.message))
    try:
        return count_part(part, partial(count, encoding=encoding), allow_token_overrides=True)
    except PromptPoetError:
        return PartCount(0, (0,) * len(part.sections or ()))


def _truncation(
    job: RenderJob, parts: tuple[PromptPart, ...], tokens: list[int], problems: list[RenderFailure]
) -> Truncation:
    """What the job's limit leaves: everything where truncation fails, with the reason as a problem."""
    priorities = [part.truncation_priority for part in parts]
    step = job.truncation_step
    try:
        if step is None and job.token_limit != NO_LIMIT and sum(tokens) > job.token_limit > 0:
            message = "There is a token limit but no truncation step; shown as with a step of 1 token."
            problems.append(RenderFailure("truncation", message, job.path))
        return truncate(priorities, tokens, job.token_limit, 1 if step is None else step)
    except PromptPoetError as error:
        problems.append(_failure(error, job))
        return truncate(priorities, tokens, NO_LIMIT, None)


def _part(index: int, part: PromptPart, counted: PartCount, *, kept: bool) -> RenderedPart:
    """The part with its counts, ready for JSON."""
    # Preset tokens of a part leave its sections uncounted.
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


def _failure(error: PromptPoetError, job: RenderJob) -> RenderFailure:
    """The failure as an outcome; one that a user's function raised names the function's line too."""
    failure = RenderFailure(
        kind=error.kind,
        message=error.message,
        path=error.path or job.path,
        line=error.line,
        rendered_line=error.rendered_line,
        excerpt=error.excerpt,
    )
    return failure if job.functions is None else with_function_line(failure, error.__cause__, job.functions)
