"""Rendering for the command line, and the modules that the server's side loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import Rendering
from promptls.rendering.worker import render_once

MakeJob = Callable[..., RenderJob]


def test_rendering_once_needs_no_event_loop(make_job: MakeJob) -> None:
    outcome = render_once(make_job("- {name: a, content: b}"))
    assert isinstance(outcome, Rendering)
    assert outcome.string == "b"


def test_the_servers_side_imports_no_engine() -> None:
    code = (
        "import sys, promptls.rendering.worker, promptls.rendering.worker;"
        "print([name for name in ('jinja2', 'yaml', 'tiktoken', 'pydantic') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_worker_starts_without_what_only_some_jobs_need() -> None:
    heavy = "('pydantic', 'numpy', 'promptls.semantic', 'promptls.datasets')"
    code = f"import sys, promptls.rendering.process; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
