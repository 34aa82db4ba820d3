"""The manifest of a written experiment's run."""

from __future__ import annotations

import platform
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import promptls
from promptls.experiments.git_state import git_state
from promptls.experiments.manifest import FORMAT, hash_of_file, relative
from promptls.experiments.results_folder import results_folder
from promptls.experiments.written.files import file_hashes

if TYPE_CHECKING:
    from promptls.experiments.written.prepare import PreparedWritten


def written_manifest(prepared: PreparedWritten, started: datetime) -> dict[str, Any]:
    """What is known of a run before its first row, all but its name `run`."""
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
        "models": [{"name": plan.asked_model}],
        "settings": {
            "metrics": list(plan.metrics),
            "model": plan.told_model,
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
