"""Prompts that are given data from the same files: their inputs are the same columns and keys."""

from __future__ import annotations

from pathlib import Path

from promptls.ide.symbols.inputs import data_files, input_names
from promptls.semantic.names.variables import Variable, input_variable
from promptls.text.steps import Steps
from promptls.workspace.disk import text_on_disk
from promptls.workspace.snapshot import Snapshot


def inputs_beside(snapshot: Snapshot, path: str, name: str) -> Steps[list[tuple[str, Variable]]]:
    """Yield the inputs of this name in other prompts that share a data file with the prompt at `path`."""
    template = snapshot.template(path)
    files = set(map(_normal, data_files(snapshot, path, template))) if template is not None else set()
    found = []
    for file in sorted(files):
        prompts = yield from prompts_by(snapshot, str(file))
        for other in prompts:
            yield
            beside = snapshot.template(other) if other != path else None
            if beside is None or not files & set(map(_normal, data_files(snapshot, other, beside))):
                continue
            if name in input_names(beside):
                found.append((other, input_variable(beside, name) or unread_input(name)))
    return found


def unread_input(name: str) -> Variable:
    """Return an input that a file declares and does not read."""
    return Variable(name, (), (), (), is_input=True, is_exported=False, is_implied=False)


def _normal(file: Path) -> Path:
    return Path(*file.parts) if ".." not in file.parts else file.resolve()


def prompts_by(snapshot: Snapshot, file: str) -> Steps[tuple[str, ...]]:
    """Yield the prompt files that may be given the data of a file: they name it, or their settings do."""
    named = yield from prompts_with(snapshot, Path(file).name)
    paths = sorted({*snapshot.graph.paths, *snapshot.open_files})
    projects = {path: snapshot.project(path) for path in paths}
    by_settings = {
        str(each.path)
        for each in projects.values()
        for experiment in each.settings.experiments.values()
        if Path(experiment.dataset).name == Path(file).name
    }
    given = (path for path, each in projects.items() if by_settings and str(each.path) in by_settings)
    return tuple(dict.fromkeys((*named, *given)))


def prompts_with(snapshot: Snapshot, words: str) -> Steps[tuple[str, ...]]:
    """Yield the prompt files in which some words stand, looked for in their texts."""
    key = ("prompts with", words)
    known = snapshot.derived.get(key)
    if known is None:
        found = []
        for path in sorted({*snapshot.graph.paths, *snapshot.open_files}):
            yield
            opened = snapshot.open_files.get(path)
            text = opened.template.source.text if opened is not None else text_on_disk(path)
            if text is not None and words in text:
                found.append(path)
        known = snapshot.derived[key] = tuple(found)
    assert isinstance(known, tuple)
    return known
