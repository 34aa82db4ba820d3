"""Running experiments in pytest: the fixture, and test items for the thresholds of prompt files."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from promptls.experiments.access import limited_to
from promptls.experiments.history import RunSummary, read_run, row_results
from promptls.experiments.prepare import prepare_run, requested_access
from promptls.experiments.prompt_runner import run_plan
from promptls.experiments.run_protocol import RunRequest
from promptls.experiments.verdicts import Threshold, check_thresholds, failed_rows
from promptls.security.trust import TrustStore
from promptls.semantic.header import Declarations
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import UsageError, UserError
from promptls.text.escape import for_terminal, for_terminal_line
from promptls.workspace.settings import folder_to_trust

_SHOWN: Final = 5
"""Number of rows that are shown for a failing threshold."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A finished run of an experiment."""

    summary: RunSummary

    def score(self, metric: str) -> float:
        """Return the proportion of the good class (discrete metrics) or the mean (numeric metrics).

        Raises `UsageError` for a metric that is not part of the run or has no score.
        """
        check_thresholds([Threshold(metric, 0.0)], [each.name for each in self.summary.metrics])
        found = self.summary.metric(metric)
        if found is None or found.value is None:
            raise UsageError(
                f"`{metric}` has no score in {self.summary.name}", remedy="see the reasons in its table"
            )
        return found.value

    def rows(self) -> Iterator[dict[str, str]]:
        """Yield the lines of the run's table as mappings by column, in dataset order."""
        return row_results(self.summary)

    def check(self, metric: str, bound: float) -> None:
        """Fail the test if the metric scores worse than `bound`, and show the rows that failed."""
        check_thresholds([Threshold(metric, bound)], [each.name for each in self.summary.metrics])
        if (message := threshold_failure(self.summary, Threshold(metric, bound))) is not None:
            pytest.fail(message, pytrace=False)


class Runs:
    """Runs experiments; each distinct request is run once per session."""

    def __init__(self, folder: Path, model: str | None, rows: str | None, *, yes: bool) -> None:
        """Resolve paths from `folder`; `model` and `rows` are defaults for tests that do not set them."""
        self._folder = folder
        self._model = model
        self._rows = rows
        self._yes = yes
        self._known: dict[tuple[Any, ...], ScoredRun] = {}

    def run(
        self,
        prompt: str | Path,
        experiment: str | None = None,
        *,
        model: str | None = None,
        rows: int | str | None = None,
        repeats: int | None = None,
    ) -> ScoredRun:
        """Return the finished run of a prompt's experiment, by default the first one.

        Raises `UserError` as `promptls run` does, and `UsageError` for a run whose cost would require
        confirmation according to the settings; `--promptls-yes` gives that confirmation.
        """
        request = RunRequest(
            prompt=str((self._folder / prompt).absolute()),
            experiment=experiment,
            models=[chosen] if (chosen := model or self._model) else [],
            rows=rows if rows is not None else self._rows,
            repeats=repeats,
            yes=self._yes,
            models_base=str(self._folder),
        )
        key = (request.prompt, experiment, chosen, request.rows, repeats)
        if key not in self._known:
            # The test may already run inside an event loop.
            with ThreadPoolExecutor(1) as thread:
                self._known[key] = thread.submit(_finished, request).result()
        return self._known[key]


_RUNS: Final = pytest.StashKey[Runs]()


def runs_of(config: pytest.Config) -> Runs:
    """Return the session's runs, which are shared by test functions and prompt files."""
    if _RUNS not in config.stash:
        model, rows = config.getoption("--promptls-model"), config.getoption("--promptls-rows")
        config.stash[_RUNS] = Runs(config.rootpath, model, rows, yes=config.getoption("--promptls-yes"))
    return config.stash[_RUNS]


def check_trusted(prompt: Path) -> None:
    """Raise `UsageError` if the user has not trusted the folder of the prompt."""
    folder = folder_to_trust(prompt)
    if TrustStore().decision([folder]) is not True:
        raise UsageError(
            f"{folder} is not trusted, and an experiment runs its Python and asks models",
            remedy="`--promptls-trust` trusts it this time, "
            f"`promptls trust {shlex.quote(str(folder))}` from now on",
        )


def _finished(request: RunRequest) -> ScoredRun:
    access = requested_access(request)
    access.check()
    # Restricted only during the run: other tests of the session need the full environment.
    with limited_to([access]):
        return asyncio.run(_score(request))


async def _score(request: RunRequest) -> ScoredRun:
    async with prepare_run(request) as ready:
        question = ready.planned.question
        if question is not None and not request.yes:
            raise UsageError(
                question.removesuffix(" Run it?"),
                remedy="pass `--promptls-yes`, or run less: `--promptls-rows 20`",
            )
        ended = await run_plan(ready.plan, lambda _event: None, continued=ready.continued)
    return ScoredRun(read_run(Path(ended.manifest_path)))


def threshold_failure(run: RunSummary, threshold: Threshold) -> str | None:
    """Return the failure message for a threshold that a run misses, with the first failing rows.

    None if the threshold is met.
    """
    if not threshold.is_missed_by(run):
        return None
    lines = [for_terminal_line(threshold.message(run))]
    rows = failed_rows(run)
    lines += [for_terminal_line(f"  row {row.number}: {row.message}") for row in rows[:_SHOWN]]
    if len(rows) > _SHOWN:
        lines.append(f"  … and {len(rows) - _SHOWN} more")
    lines.append(for_terminal_line(f"  all rows: {run.results}"))
    return "\n".join(lines)


class PromptTests(pytest.File):
    """A prompt file whose experiments have thresholds."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test per threshold, in header order."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        declared: Declarations = Template(Source.of(text)).declarations
        for name, experiment in declared.settings.experiments.items():
            for metric, bound in experiment.thresholds.items():
                yield ThresholdTest.from_parent(
                    self,
                    name=for_terminal_line(f"{name}::{metric}"),
                    experiment=name,
                    threshold=Threshold(metric, bound),
                )


class ThresholdTest(pytest.Item):
    """One threshold of one experiment; all thresholds of an experiment share its run."""

    def __init__(self, *, experiment: str, threshold: Threshold, **known: Any) -> None:
        super().__init__(**known)
        self._experiment = experiment
        self._threshold = threshold
        # Some plugins, such as pytest-lsp, fail on test items without fixtures.
        self.funcargs: dict[str, object] = {}

    def runtest(self) -> None:
        """Run the experiment, or reuse its run, and fail if the score misses the threshold."""
        if not self.config.getoption("--promptls-trust"):
            check_trusted(self.path)
        run = runs_of(self.config).run(self.path, self._experiment).summary
        check_thresholds([self._threshold], [metric.name for metric in run.metrics])
        if not run.is_complete:
            pytest.skip(self._threshold.partial_message(run))
        if (message := threshold_failure(run, self._threshold)) is not None:
            pytest.fail(message, pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the error message, formatted as on the command line."""
        if isinstance(excinfo.value, UserError):
            return for_terminal("\n".join(filter(None, (str(excinfo.value), excinfo.value.remedy))))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the file and the test's name."""
        return self.path, None, for_terminal_line(f"{self._experiment}: {self._threshold.metric}")
