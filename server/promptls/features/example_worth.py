"""What the few-shot examples of a file are worth, as far as leaving them out has told."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from promptls.features.experiment_runs import experiment_names
from promptls.meaning.few_shot import FewShot, few_shots
from promptls.workspace.snapshot import Snapshot


class KnownWorth(NamedTuple):
    """An example as it stands now, with the verdict on it and its reasons, of one experiment."""

    example: FewShot
    experiment: str
    verdict: str
    tokens: float
    words: str
    stale: bool


def known_worths(snapshot: Snapshot, path: str) -> tuple[KnownWorth, ...]:
    """What is known of the examples in the file at `path`, in prompts that include it too.

    An example is known by its text; the verdict is stale where anything of the prompt has changed since.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    entries = dict.fromkeys([path, *snapshot.entries(path)])
    asked = [(entry, name) for entry in entries for name in experiment_names(snapshot, entry)]
    if not asked:
        return ()
    from promptls.experiments.leave_one_out_report import known_report
    from promptls.experiments.manifest import hash_of_text
    from promptls.experiments.results_folder import results_folder

    found: list[KnownWorth] = []
    for entry, name in asked:
        folder = results_folder(Path(entry), snapshot.project(entry))
        report = known_report(folder, Path(entry), name)
        if report is None:
            continue
        text = template.source.text
        said = {each["digest"]: each for each in report["examples"] if each["file"] == path}
        stale = any(_hash(snapshot, file) != digest for file, digest in report["files"].items())
        for example in few_shots(template) if said else ():
            worth = said.get(hash_of_text(text[example.span.start : example.span.end]))
            if worth is not None:
                found.append(
                    KnownWorth(example, name, worth["verdict"], worth["tokens"], worth["words"], stale)
                )
    return tuple(found)


def shows_examples(snapshot: Snapshot, path: str) -> bool:
    """Whether the prompt, or a file that it includes, has few-shot examples that a model sees."""
    for file in dict.fromkeys([path, *snapshot.included(path)]):
        template = snapshot.template(file)
        if template is not None and few_shots(template):
            return True
    return False


def _hash(snapshot: Snapshot, path: str) -> str | None:
    from promptls.experiments.manifest import hash_of_text

    template = snapshot.template(path)
    return hash_of_text(template.source.text) if template is not None else None
