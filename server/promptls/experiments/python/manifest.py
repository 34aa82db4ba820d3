"""The manifest of a code-defined experiment's run."""

from __future__ import annotations

import platform
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptls
from promptls.experiments.git_state import git_state
from promptls.experiments.manifest import FORMAT, hash_of_file, hash_of_text, relative
from promptls.experiments.python.plan import PythonPlan
from promptls.experiments.results_folder import results_folder
from promptls.security.files import read_bytes

if TYPE_CHECKING:
    from promptls.experiments.python.prepare import PreparedPython


def python_manifest(prepared: PreparedPython, started: datetime) -> dict[str, Any]:
    """Return what is known of a run before its first row, all but its name `run`."""
    plan, request = prepared.plan, prepared.request
    folder = results_folder(plan.prompt)
    files = file_hashes(plan)
    path = plan.rows.path
    return {
        "format": FORMAT,
        "run": "",
        "experiment": plan.experiment.name,
        "written_in": relative(Path(plan.experiment.file), folder),
        "prompt": relative(plan.prompt, folder),
        "files": files,
        "prompt_hash": files[relative(plan.prompt, folder)],
        "rendered": {"rows": prepared.planned.rows, "failing": 0, "over_limit": 0, "tokens": 0},
        "dataset": {
            "path": relative(path, folder) if path is not None else None,
            "sha256": hash_of_file(path) if path is not None else None,
            "rows": plan.rows.choice.text or None,
        },
        "models": [{"name": plan.model_name}],
        "settings": {
            "metrics": list(plan.metrics),
            "model": plan.requested_model,
            "seed": plan.arguments.get("seed"),
            "repeats": plan.repeats,
            "concurrency": request.concurrency,
            "timeout": request.timeout,
            "engine": plan.engine,
        },
        "git": git_state(plan.prompt.parent),
        "versions": {"promptls": promptls.__version__, "python": platform.python_version()},
        "started": started.isoformat(timespec="seconds"),
        "continues": prepared.retried.name if prepared.retried is not None else None,
    }


def file_hashes(plan: PythonPlan) -> dict[str, str]:
    """Return the hashes of the prompt and of the experiment's file, by path relative to the results."""
    folder = results_folder(plan.prompt)
    return {
        relative(file, folder): hash_of_text(read_bytes(file).decode("utf-8", "surrogateescape"))
        for file in (plan.prompt, Path(plan.experiment.file))
    }
