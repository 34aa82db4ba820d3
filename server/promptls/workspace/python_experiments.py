"""The experiments, metrics and data sets that the workspace's Python files define, and for which prompts."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from promptls.text.file_stamp import kept_by_file
from promptls.workspace.disk import read_text
from promptls.workspace.python_calls import python_paths_by_folder
from promptls.workspace.python_findings import PythonExperiment, PythonFindings
from promptls.workspace.python_module import PACKAGES, findings_in

_TEMPLATE_ENDING: Final = ".j2"


def experiments_for(found: Mapping[str, PythonFindings], prompt: str) -> tuple[PythonExperiment, ...]:
    """The experiments that can be run on a prompt file: those that name it, or take one near by.

    One that names prompts is for these alone. One that takes a prompt, and whose file names none, is for
    those in the folder of its file and below; where that folder holds no template, also for those in the
    folders beside it.
    """
    return tuple(
        experiment
        for findings in found.values()
        for experiment in findings.experiments
        if _is_for(experiment, prompt)
    )


def scanned_experiments(
    roots: Iterable[str], found: dict[str, PythonFindings], shallow: Container[str] = ()
) -> Iterator[None]:
    """Fill `found` with what each Python file below `roots` defines; gives way after each file."""
    for paths in python_paths_by_folder(roots, shallow):
        for path in paths:
            findings = findings_in_file(path)
            if any(findings):
                found[path] = findings
            yield
        yield


@kept_by_file(256)
def findings_in_file(path: str) -> PythonFindings:
    """What the file at `path` defines; nothing where it cannot be read."""
    text = read_text(path)
    return findings_in_text(text, path) if text is not None else PythonFindings()


def findings_in_text(text: str, path: str) -> PythonFindings:
    """The same as `findings_in`, without parsing a text that names neither package."""
    return findings_in(text, path) if any(package in text for package in PACKAGES) else PythonFindings()


def _is_for(experiment: PythonExperiment, prompt: str) -> bool:
    folder, file = Path(experiment.file).parent, Path(prompt)
    if experiment.prompts:
        named = [Path(text) for text in experiment.prompts]
        return any(
            str(file) == os.path.normpath(folder / each) or file.parts[-len(each.parts) :] == each.parts
            for each in named
        )
    if experiment.prompt_parameter is None or not file.is_relative_to(folder.parent):
        return False
    return file.is_relative_to(folder) or not _holds_templates(folder)


def _holds_templates(folder: Path) -> bool:
    try:
        return _has_template(str(folder), folder.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=256)
def _has_template(folder: str, _changed: int) -> bool:
    return any(file.suffix == _TEMPLATE_ENDING for file in Path(folder).iterdir())
