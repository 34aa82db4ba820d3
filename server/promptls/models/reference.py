"""A model that is known and not yet opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A known model that is not yet opened; it holds no key, only the name of the key's variable.

    `model` is the provider's own name of it; for a file, its path. Prices are US dollars for a million
    tokens, None where the project names none.
    """

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    input_price: float | None = None
    output_price: float | None = None
