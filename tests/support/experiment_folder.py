"""A folder with an experiment that is really run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.experiments.definition import define_experiment
from promptls.experiments.experiment import Experiment
from promptls.experiments.plan import plan_run
from promptls.experiments.prepare import prepare_run
from promptls.experiments.prompt_runner import run_plan
from promptls.experiments.run_protocol import Event, Finished, Planned, RunRequest
from support.grants import allow_key
from support.model_server import ModelServer

# The vocabulary of this encoding takes a worker half as long to load as that of the default.
PROMPT = """\
{{#---
input_keys: [text]
output_key: answer
experiments:
  main:
    dataset: rows.csv
    models: [{model}]
    metrics: [{metrics}]
    {settings}
encoding: cl100k_base
---#}}
- name: question
  role: user
  content: |
    {{{{ escape_special_characters(text) }}}}
"""

METRICS = """
from promptls import discrete_metric, numeric_metric, MetricResult

@discrete_metric(name="right", allowed_values=["yes", "no"])
def right(response, expected_answer):
    return MetricResult("yes" if response == expected_answer else "no", f"expected {expected_answer}")

@numeric_metric(name="length", allowed_values=None)
def length(response):
    return len(response)

@numeric_metric(name="broken")
def broken(response):
    raise ValueError("cannot score " + response)
"""


@dataclass
class Folder:
    """A folder with a prompt `ask.yml.j2`, a dataset `rows.csv` and metrics."""

    path: Path

    @property
    def prompt(self) -> Path:
        return self.path / "ask.yml.j2"

    @property
    def results(self) -> Path:
        return self.path / "experiments"

    def write(
        self,
        *,
        model: str = "echo",
        metrics: str = "metrics.py:right, metrics.py:length",
        settings: str = "concurrency: 3",
        rows: int = 4,
    ) -> Folder:
        text = PROMPT.format(model=model, metrics=metrics, settings=settings)
        self.prompt.write_text(text, encoding="utf-8")
        (self.path / "metrics.py").write_text(METRICS, encoding="utf-8")
        lines = [
            f"r{number},text {number},text {number if number % 2 else 'other'}"
            for number in range(1, rows + 1)
        ]
        (self.path / "rows.csv").write_text("\n".join(["id,text,answer", *lines, ""]), encoding="utf-8")
        return self

    def serve(self, server: ModelServer, **settings: str | float) -> Folder:
        """Return a server that the project calls `office`; the user allows sending it the key."""
        if (variable := settings.get("api_key_env")) is not None:
            allow_key(str(variable), server.url)
        lines = ["[models.office]", 'provider = "openai"', 'model = "small"', f'base_url = "{server.url}"']
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (self.path / "promptls.toml").write_text("\n".join(lines), encoding="utf-8")
        return self

    def experiment(self, **changes: object) -> Experiment:
        return define_experiment(self.prompt, **changes)

    async def run(
        self, on_event: Callable[[Event], None] = lambda _event: None, rows: int | None = None
    ) -> Finished:
        return await run_plan(await plan_run(self.experiment(), rows), on_event)

    async def ask(self, on_event: Callable[[Event], None] = lambda _event: None, **request: Any) -> Finished:
        """Return the run for these command line options."""
        if not {"resume", "retry_errors"} & request.keys():
            request["prompt"] = str(self.prompt)
        async with prepare_run(RunRequest(**request)) as (plan, continued, _planned):
            return await run_plan(plan, on_event, continued=continued)

    async def plan(self, **request: Any) -> Planned:
        """Return the plan that is shown before the run with these options."""
        if not {"resume", "retry_errors"} & request.keys():
            request["prompt"] = str(self.prompt)
        async with prepare_run(RunRequest(**request)) as ready:
            return ready.planned


def table(finished: Finished) -> list[dict[str, str]]:
    """Return the lines of the run's table."""
    with Path(finished.results).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def last_text(body: dict[str, Any]) -> str:
    """Return the last request to a model server."""
    text: str = body["messages"][-1]["content"]
    return text
