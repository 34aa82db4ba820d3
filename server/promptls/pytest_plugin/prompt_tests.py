"""Prompt files as tests: one for each threshold of each experiment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from promptls.experiments.thresholds import Threshold, check_thresholds
from promptls.pytest_plugin.runs import check_trusted, missed, runs_of
from promptls.semantic.header import Declarations
from promptls.semantic.template import Template
from promptls.syntax.source import Source
from promptls.text.errors import UserError
from promptls.text.escape import for_terminal, for_terminal_line


class PromptTests(pytest.File):
    """A prompt file whose experiments have thresholds."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test a threshold, in the order of the header; none if the file declares no threshold."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        declared: Declarations = Template(Source.of(text)).declarations
        for name, experiment in (declared.settings.experiments or {}).items():
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
        # Other plugins, such as pytest-lsp, break every test that has no fixtures to look through.
        self.funcargs: dict[str, object] = {}

    def runtest(self) -> None:
        """Run the experiment, or take its run, and fail where the score is too bad."""
        if not self.config.getoption("--promptls-trust"):
            check_trusted(self.path)
        run = runs_of(self.config).run(self.path, self._experiment).summary
        check_thresholds([self._threshold], [metric.name for metric in run.metrics])
        if (message := missed(run, self._threshold)) is not None:
            pytest.fail(message, pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what cannot be run, in the words of the command line."""
        if isinstance(excinfo.value, UserError):
            return for_terminal("\n".join(filter(None, (str(excinfo.value), excinfo.value.remedy))))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the file and the test's name."""
        return self.path, None, for_terminal_line(f"{self._experiment}: {self._threshold.metric}")
