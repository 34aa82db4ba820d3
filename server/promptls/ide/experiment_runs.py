"""Experiments of prompt files: their last runs, their findings, and the tests shown in editors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.datasets.dataset_files import Row, open_dataset
from promptls.facts import question
from promptls.security.files import join_path
from promptls.semantic.few_shot import FewShot, few_shots
from promptls.semantic.kind import Kind
from promptls.text.format import first_of, shorten_text
from promptls.text.steps import Steps
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import MetricSummary, RunSummary
    from promptls.lint.rule import Finding, Severity
    from promptls.lint.rules.experiments.dataset_rows import RowFinding


@dataclass(frozen=True, slots=True)
class ExperimentRuns:
    """An experiment with its last complete run, which is compared with the previous one.

    `last` is None before the first run. `later` are newer runs over some rows or examples, the latest first,
    and `of_examples` older runs over examples.
    """

    name: str
    last: RunSummary | None
    later: tuple[RunSummary, ...] = ()
    has_other_dataset: bool = False
    """Whether the dataset has changed since the last run, if that can be checked quickly."""
    of_examples: tuple[RunSummary, ...] = ()
    stopped: RunSummary | None = None
    """The run to resume: it is newer than all others, and stopped before its end."""

    @property
    def newest_first(self) -> tuple[RunSummary, ...]:
        """All of its runs, the latest first."""
        return (*self.later, *([self.last] if self.last is not None else []))

    @property
    def with_examples(self) -> tuple[RunSummary, ...]:
        """The runs that may have a result of an example, the latest first."""
        return (*self.newest_first, *self.of_examples)


@question
def experiment_names(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the experiments that the file may run: its own, the project's, and those in Python."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) not in {Kind.PARTS, Kind.OBJECT, Kind.EVALUATION}:
        return ()
    own = template.declarations.settings.experiments
    written = (experiment.name for experiment in experiments_for(snapshot.written, path))
    return tuple(dict.fromkeys([*own, *snapshot.project(path).settings.experiments, *written]))


def experiment_runs(snapshot: Snapshot, path: str) -> tuple[ExperimentRuns, ...]:
    """Return the file's experiments in the order of their declaration.

    Reads the manifests of their last runs.
    """
    names = experiment_names(snapshot, path)
    if not names:
        return ()
    from promptls.experiments.history import last_runs
    from promptls.experiments.named_runs import stopped_runs

    unsaved = snapshot.unsaved()
    # The store of a folder that is not trusted is not opened without a request.
    stopped = stopped_runs(Path(path), unsaved=unsaved) if snapshot.trusts(path) else {}
    found = ((name, last_runs(Path(path), name, unsaved=unsaved)) for name in names)
    return tuple(
        ExperimentRuns(
            name,
            runs.scored,
            runs.later,
            _has_other_dataset(runs.scored),
            runs.of_examples,
            _to_resume(stopped.get(name), runs.newest_first),
        )
        for name, runs in found
    )


def _to_resume(stopped: RunSummary | None, newest_first: tuple[RunSummary, ...]) -> RunSummary | None:
    """Return the stopped run, unless a later one has finished."""
    is_old = stopped is None or any(run.started > stopped.started for run in newest_first[:1])
    return None if is_old else stopped


def _has_other_dataset(run: RunSummary | None) -> bool:
    """Return whether the run's dataset has changed since; False for large datasets, which are not checked."""
    from promptls.experiments.history import is_same_dataset

    return (
        run is not None
        and run.dataset is not None
        and not is_same_dataset(run.dataset, str(run.dataset_hash))
    )


def change_text(run: RunSummary, metric: MetricSummary) -> str:
    """Return the change of a metric since the previous run, as ` (+5)` in points or units.

    Empty if there is none.
    """
    before = run.previous.metric(metric.name) if run.previous else None
    if before is None or before.value is None or metric.value is None:
        return ""
    change = metric.value - before.value
    if metric.kind == "discrete":
        points = round(change * 100)
        return f" ({points:+d})" if points else " (±0)"
    return f" ({change:+.3g})" if change else " (±0)"


class KnownAssessment(NamedTuple):
    """An example of the current text, with its leave-one-out verdict and reasons from one experiment."""

    example: FewShot
    experiment: str
    verdict: str
    tokens: float
    message: str
    stale: bool


def known_assessments(snapshot: Snapshot, path: str) -> tuple[KnownAssessment, ...]:
    """Return the verdicts on the examples in the file at `path`, also from prompts that include it.

    Examples are identified by their text; a verdict is stale if anything else in the prompt has changed.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    entries = dict.fromkeys([path, *snapshot.entries(path)])
    pairs = [(entry, name) for entry in entries for name in experiment_names(snapshot, entry)]
    if not pairs:
        return ()
    from promptls.experiments.leave_one_out_report import known_report
    from promptls.experiments.manifest import hash_of_text, results_folder

    found: list[KnownAssessment] = []
    for entry, name in pairs:
        folder = results_folder(Path(entry), snapshot.project(entry))
        report = known_report(folder, Path(entry), name)
        if report is None:
            continue
        text = template.source.text
        verdicts = {each["digest"]: each for each in report["examples"] if each["file"] == path}
        stale = any(_hash(snapshot, file) != digest for file, digest in report["files"].items())
        for example in few_shots(template) if verdicts else ():
            known = verdicts.get(hash_of_text(text[example.span.start : example.span.end]))
            if known is not None:
                verdict, tokens, message = known["verdict"], known["tokens"], known["message"]
                found.append(KnownAssessment(example, name, verdict, tokens, message, stale))
    return tuple(found)


def shows_examples(snapshot: Snapshot, path: str) -> bool:
    """Return whether the prompt, or a file that it includes, has few-shot examples for the model."""
    for file in dict.fromkeys([path, *snapshot.included(path)]):
        template = snapshot.template(file)
        if template is not None and few_shots(template):
            return True
    return False


def _hash(snapshot: Snapshot, path: str) -> str | None:
    from promptls.experiments.manifest import hash_of_text

    template = snapshot.template(path)
    return hash_of_text(template.source.text) if template is not None else None


def run_findings(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> tuple[Finding, ...]:
    """Return the findings in the file from the last runs of its experiments; none from stale runs."""
    newest_first = [run for each in runs for run in each.with_examples]
    if not newest_first:
        return ()
    from promptls.lint.runner import check_runs

    return check_runs(snapshot, path, newest_first)


def row_findings(
    snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]
) -> tuple[tuple[RowFinding, Severity], ...]:
    """Return the findings of those runs for dataset rows, with the severity from the settings."""
    fresh = [each for each in runs if any(not run.stale for run in each.newest_first)]
    if not fresh:
        return ()
    from promptls.lint.rules.experiments.dataset_rows import failing_row, rows_in_datasets
    from promptls.lint.runner import severity_of

    severity = severity_of(failing_row, snapshot.project(path).settings)
    if severity is None:
        return ()
    return tuple((found, severity) for each in fresh for found in rows_in_datasets(each.newest_first))


_MAX_ROW_FINDINGS = 5
"""The maximum number of rows of one experiment that are reported separately."""
_MAX_NUMBERS = 10


def shown_rows(found: Iterable[RowFinding]) -> tuple[RowFinding, ...]:
    """Return the findings to show in a dataset: those of the prompt with the latest run.

    If one experiment has many, they are combined into a single finding at the first row.
    """
    by_experiment: dict[tuple[Path, str], list[RowFinding]] = {}
    for row in found:
        by_experiment.setdefault((row.run.prompt, row.run.experiment), []).append(row)
    if not by_experiment:
        return ()
    latest = max(by_experiment, key=lambda key: max(row.run.started for row in by_experiment[key]))[0]
    return tuple(
        row
        for (prompt, _), rows in by_experiment.items()
        if prompt == latest
        for row in (rows if len(rows) <= _MAX_ROW_FINDINGS else [_summary(rows)])
    )


def _summary(rows: list[RowFinding]) -> RowFinding:
    first = min(rows, key=lambda row: row.line)
    numbers = sorted({row.number for row in rows})
    listed = first_of([*map(str, numbers)], _MAX_NUMBERS)
    message = (
        f"{len(numbers)} rows failed or have a bad score in the last run of `{first.run.experiment}` in"
        f" `{first.run.prompt.name}`: rows {listed}"
    )
    return first._replace(message=message, response="")


MAX_ROWS = 20_000
"""The maximum number of rows of one dataset that are listed."""

_MAX_LABEL = 70


@dataclass(frozen=True, slots=True)
class ExperimentTests:
    """A prompt file with the names of its experiments, and the offset and label of each of its examples."""

    path: str
    experiments: tuple[str, ...]
    examples: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class RowTest:
    """A row: its 1-based number, the 0-based line on which it begins, and its label."""

    number: int
    line: int
    label: str


def prompts_with_experiments(snapshot: Snapshot, *, all_prompts: bool) -> Steps[list[ExperimentTests]]:
    """Return the prompt files of the workspace that have experiments, by path; one file in each step.

    With `all_prompts`, prompts without experiments are among them.
    """
    found: list[ExperimentTests] = []
    for path in snapshot.known_paths:
        tests = prompt_tests(snapshot, path)
        if tests is None and all_prompts and _is_entry(snapshot, path):
            tests = ExperimentTests(path, (), ())
        if tests is not None:
            found.append(tests)
        yield
    return found


def _is_entry(snapshot: Snapshot, path: str) -> bool:
    """Return whether the file is a prompt that no other file includes."""
    template = snapshot.template(path)
    return (
        template is not None
        and template.kind in {Kind.PARTS, Kind.OBJECT, Kind.EVALUATION}
        and snapshot.entries(path) == (path,)
    )


def prompt_tests(snapshot: Snapshot, path: str) -> ExperimentTests | None:
    """Return the tests of one file; None if it has none."""
    names = experiment_names(snapshot, path)
    template = snapshot.template(path)
    if not names or template is None:
        return None
    output = template.declarations.settings.output_key
    examples = tuple(
        (
            example.span.start,
            _first_value({key: value for key, value in example.data.items() if key != output}),
        )
        for example in template.declarations.examples
    )
    return ExperimentTests(path, names, examples)


def dataset_of(snapshot: Snapshot, path: str, experiment: str) -> Path | None:
    """Return the dataset of an experiment that the file or its project declares; None for one in Python."""
    template = snapshot.template(path)
    own = template.declarations.settings.experiments if template is not None else {}
    if experiment in own:
        return join_path(Path(path).parent, own[experiment].dataset)
    project = snapshot.project(path)
    shared = project.settings.experiments.get(experiment)
    return join_path(project.root, shared.dataset) if shared is not None else None


def row_tests(dataset: Path) -> tuple[list[RowTest], bool]:
    """Return the rows of the dataset, at most `MAX_ROWS`, and whether there are more.

    Raises `UserError` if it cannot be read.
    """
    found: list[RowTest] = []
    for row in open_dataset(dataset).rows():
        if len(found) >= MAX_ROWS:
            return found, True
        found.append(RowTest(row.number, row.line, row_label(row)))
    return found, False


def row_label(row: Row) -> str:
    """Return the row's id and a summary of its first columns."""
    summary = _first_value({key: value for key, value in row.values.items() if key != "id"})
    return f"{row.id}: {summary}" if summary else row.id


def _first_value(values: Mapping[str, Any]) -> str:
    """Return the first non-empty value, on one line."""
    for text in _texts(values):
        return shorten_text(text, _MAX_LABEL)
    return ""


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    for value in values.values():
        text = " ".join(str(value).split())
        if text:
            yield text
