"""One job to its outcome. Runs in the worker's process: it imports Jinja, YAML and tiktoken."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from promptls.rendering.counted_rendering import MadePrompt, counted_rendering
from promptls.rendering.function_failures import ended
from promptls.rendering.functions_file import load_functions
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.source_map.render import render_mapped
from promptls.rendering.source_map.templates import CompiledGroups
from promptls.rendering.stand_in import stand_in
from promptls.rendering.told_failures import failure_of, placed_failure, stopped_failure
from promptls.rendering.values import is_boundless
from promptls.systems.prompt_poet.document import read
from promptls.systems.prompt_poet.environment import CompiledTemplates
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import PromptPart
from promptls.systems.prompt_poet.render import Prompt, RenderOptions, parse_parts, render
from promptls.systems.ragas.file import load_json, ragas_text, read_ragas
from promptls.systems.ragas.prompt_object import PromptObjectError
from promptls.text.packed import is_json_file

_compiled = CompiledGroups()
_compiled_plainly = CompiledTemplates()


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
        return failure_of(error, job)
    except PromptObjectError as error:
        return RenderFailure("prompt object", str(error), job.path)
    except Exception:
        raise
    except BaseException as error:  # noqa: BLE001 - a user's code may raise anything
        return ended(error, job)
    if isinstance(made, RenderFailure):
        return made
    return _boundless(job, made) or counted_rendering(job, made, started)


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
        made = MadePrompt(
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
    return None if _boundless(job, made) else counted_rendering(job, made, started)


def _render(job: RenderJob, data: Mapping[str, Any]) -> MadePrompt | RenderFailure:
    """The prompt of `job`; raises PromptPoetError, or PromptObjectError."""
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
        prompt = _object_prompt(job, rendered.text, document.data, data, rendered.files)
        return MadePrompt(prompt, source_map)
    root: Any = None

    def load(text: str) -> Any:
        nonlocal root
        loaded, root = read(text)
        return loaded

    try:
        parts = parse_parts(rendered.text, rendered.data, options, load)
    except PromptPoetError as error:
        return placed_failure(failure_of(error, job), error, source_map)
    return MadePrompt(Prompt(rendered.text, parts, rendered.files), source_map, root)


def _boundless(job: RenderJob, made: MadePrompt) -> RenderFailure | None:
    """Why parts that YAML's aliases blow up are not shown; None where there are none."""
    for number, part in enumerate(made.prompt.parts):
        if is_boundless([part.content, part.name, part.role, part.truncation_priority]):
            message = (
                f"Part {number + 1} holds itself, or comes to millions of values, through its YAML aliases "
                "(`*name`). Write out what it is to hold, or quote the `*` of a text"
            )
            return RenderFailure("parts", message, job.path, _line_of_part(made, number))
    return None


def _line_of_part(made: MadePrompt, number: int) -> int | None:
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
