"""Many rows of one template to their messages. Runs in the worker's process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from promptls.rendering.execute import execute, execute_plainly
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.rows import RowMessages, RowsRendered


def execute_rows(job: RenderJob, rows: Iterable[Mapping[str, Any]]) -> RowsRendered:
    """The messages of each row in place of the job's data; no row's failure is another's."""
    began = time.perf_counter()
    outcomes = [_messages(_outcome(replace(job, data=row))) for row in rows]
    return RowsRendered(outcomes, time.perf_counter() - began)


def _outcome(job: RenderJob) -> Rendering | RenderFailure:
    # Only what fails is worth finding out where.
    return execute_plainly(job) or execute(job)


def _messages(outcome: Rendering | RenderFailure) -> RowMessages | RenderFailure:
    if isinstance(outcome, RenderFailure):
        return outcome
    return RowMessages(outcome.messages, outcome.tokens, outcome.tokens_kept, outcome.files)
