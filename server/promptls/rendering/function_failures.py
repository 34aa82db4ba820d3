"""What a function of the functions file did to a rendering, in words and with its line."""

from __future__ import annotations

import traceback
from dataclasses import replace
from pathlib import Path

from promptls.rendering.functions_file import line_in_functions
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure


def ended(error: BaseException, job: RenderJob) -> RenderFailure:
    """The failure for a function that raised what ends a process."""
    place, line = "", line_in_functions(error, job.functions) if job.functions is not None else None
    if line is not None and job.functions is not None:
        place = f" at line {line + 1} of {Path(job.functions).name}"
    called = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            at = template.get_corresponding_lineno(number)
            called = f", called at line {at} of {Path(template.filename).name}"
    told = f": {error}" if str(error) else ""
    message = (
        f"A function of the functions file ended the process{place}{called} "
        f"({type(error).__name__}{told}). Let it return a value, or raise an Exception."
    )
    return RenderFailure("functions", message, job.functions, line)


def with_function_line(failure: RenderFailure, error: BaseException | None, functions: str) -> RenderFailure:
    """The failure; where `error` came through the functions file, with the line there."""
    line = line_in_functions(error, functions)
    if line is None:
        return failure
    place, told = f"(line {line + 1} of {Path(functions).name})", str(error)
    if isinstance(error, RecursionError):
        return replace(failure, message=f"A function calls itself without end {place}.")
    if told and told in failure.message:
        return replace(failure, message=failure.message.replace(told, f"{told} {place}", 1))
    return replace(failure, message=f"{failure.message} {place}")
