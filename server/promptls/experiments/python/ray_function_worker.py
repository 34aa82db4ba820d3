"""The worker on a node of a Ray cluster that executes a code-defined experiment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import promptls
from promptls.experiments.python.functions import (
    FunctionOutcome,
    RowFunction,
    experiment_module,
    failed_row,
    value_of,
)
from promptls.models.ray_cluster import Opened
from promptls.text.errors import UserError


class SentFunction(NamedTuple):
    """The function of a file, and its arguments other than the row, for each repeat."""

    path: str
    text: bytes
    name: str
    arguments: Sequence[Mapping[str, Any]]
    timeout: float | None


class FunctionWorker:
    """The function of a run in a process of the cluster. Its errors are returned, never raised."""

    def __init__(self) -> None:
        self._functions: list[RowFunction] = []

    async def open(self, sent: SentFunction, environment: Mapping[str, str]) -> Opened | UserError:
        """Execute the function's file, in its folder; `environment` contains the variables that it uses."""
        path = Path(sent.path)
        os.environ.update(environment)
        if (other := _difference(path, sent.text)) is not None:
            return other
        os.chdir(path.parent)
        try:
            made = value_of(experiment_module(path), sent.name, path)
        except UserError as failure:
            return failure
        function, model = getattr(made, "func", made), getattr(made, "experiment_model", None)
        self._functions = [
            RowFunction(function, (), arguments, model, sent.timeout) for arguments in sent.arguments
        ]
        return Opened({}, promptls.__version__)

    async def call(self, repeat: int, row: Any) -> FunctionOutcome:
        """Return the outcome of the row as plain columns."""
        from ray import cloudpickle

        # Ray's bundled copy has no types.
        dumps: Callable[[Any], bytes] = cloudpickle.dumps

        result, error = await self._functions[repeat - 1].call(row)
        outcome = FunctionOutcome(result if isinstance(result, dict) else dict(result.model_dump()), error)
        try:
            dumps(outcome)
        except Exception as reason:  # noqa: BLE001 - pickling user values may raise anything
            return failed_row(row, f"the result cannot be sent from its node: {reason}")
        return outcome

    async def close(self) -> None:
        """Do nothing."""


def _difference(path: Path, text: bytes) -> UserError | None:
    """Return an error if the file on this node differs from that of the run."""
    try:
        if path.read_bytes() == text:
            return None
    except OSError:
        return UserError(
            f"the file `{path.name}` of the experiment does not exist on this node",
            remedy="put the project into the same folder on every node, such as a shared one",
        )
    return UserError(
        f"the file `{path.name}` of the experiment is different on this node",
        remedy="update the project on every node",
    )
