"""A prompt that was made, as a rendering: its parts counted and cut by the limit, with its source map."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderedPart, RenderedSection, RenderFailure, Rendering
from promptls.rendering.packed_map import PackedMap, packed_map
from promptls.rendering.source_map.parts import part_segments
from promptls.rendering.source_map.rendered import RenderedMap
from promptls.rendering.told_failures import failure_of
from promptls.rendering.values import as_text, plain
from promptls.systems.prompt_poet.counts import PartCount, count_part
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart, joined, messages
from promptls.systems.prompt_poet.render import Prompt
from promptls.systems.prompt_poet.truncation import NO_LIMIT, Truncation, truncate
from promptls.tokens.counting import count, count_strictly


class MadePrompt(NamedTuple):
    """A prompt, and where it comes from: the map of its text, and the YAML node of that."""

    prompt: Prompt
    source_map: RenderedMap | None = None
    root: Any = None


def counted_rendering(job: RenderJob, made: MadePrompt, started: float) -> Rendering:
    """The rendering with counts and truncation; what fails from here on is one of its problems.

    `started` is when the job began, on the clock of `time.perf_counter`.
    """
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
        problems.append(failure_of(error, job))
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


def _packed(made: MadePrompt, most_segments: int | None) -> PackedMap | None:
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
        problems.append(failure_of(error, job))
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
