"""What is asked of the process of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run: the absolute path of the prompt, and what takes the place of what is declared.

    `rows` is how many of the first rows are run, None for all; `unsaved` are texts that count
    instead of what is saved, by absolute path.
    """

    prompt: str
    experiment: str | None = None
    models: Sequence[str] = ()
    rows: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    unsaved: Mapping[str, str] = field(default_factory=dict)
