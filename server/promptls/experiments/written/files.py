"""The files that a written experiment is made of, as a run remembers them."""

from __future__ import annotations

from pathlib import Path

from promptls.experiments.manifest import hash_of_text, relative
from promptls.experiments.results_folder import results_folder
from promptls.experiments.written.plan import WrittenPlan


def file_hashes(plan: WrittenPlan) -> dict[str, str]:
    """The hashes of the prompt and of the experiment's file, by their paths from the results' folder."""
    folder = results_folder(plan.prompt)
    return {
        relative(file, folder): hash_of_text(file.read_bytes().decode("utf-8", "surrogateescape"))
        for file in (plan.prompt, Path(plan.experiment.file))
    }
