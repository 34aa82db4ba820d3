"""What is asked of whoever makes test data: the command line, and the process that the server starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Extraction: TypeAlias = Literal["rules", "model"]
"""What reads the documents: rules, which cost nothing, or the model."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One data set: absolute paths of documents, of `output`, and of a `graph` that is read or written.

    `model` is the project's default where it is None. `distribution` and `personas` are as the command line
    has them; empty `styles` and `lengths` are all. With `only_plan` it ends with the plan; without `yes`,
    what costs much is asked first. `fresh` asks again what was answered before. `secrets` are variables for
    the environment, such as keys; they are never written anywhere.
    """

    documents: Sequence[str] = ()
    output: str = ""
    size: int = 20
    model: str | None = None
    distribution: str | None = None
    personas: Sequence[str] = ()
    styles: Sequence[str] = ()
    lengths: Sequence[str] = ()
    seed: int = 0
    graph: str | None = None
    extraction: Extraction = "rules"
    embeddings: bool = True
    tries: int = 3
    concurrency: int | None = None
    timeout: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    fresh: bool = False
    force: bool = False
    yes: bool = False
    only_plan: bool = False
    base: str | None = None
    editor: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
