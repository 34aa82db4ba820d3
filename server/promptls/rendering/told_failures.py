"""Prompt Poet's failures as outcomes, with where they happened: in which template, line and turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptls.rendering.culprit import culprit_of
from promptls.rendering.function_failures import with_function_line
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.source_map.leaf_words import turns_words
from promptls.rendering.source_map.rendered import RenderedMap
from promptls.rendering.source_map.stopped import item_words, line_outside, turns_at
from promptls.systems.prompt_poet.document import OTHER_REMEDY, REMEDIES, VALUES_HINT
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.text.shortened import shortened


def failure_of(error: PromptPoetError, job: RenderJob) -> RenderFailure:
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


def placed_failure(failure: RenderFailure, error: PromptPoetError, source_map: RenderedMap) -> RenderFailure:
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


def stopped_failure(failure: RenderFailure, error: PromptPoetError, job: RenderJob) -> RenderFailure:
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
