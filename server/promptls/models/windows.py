"""How many tokens a model takes at once, as genai-prices lists it."""

from __future__ import annotations

from functools import lru_cache

from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference


def window_of(reference: ModelReference) -> int | None:
    """The tokens that the prompt and the answer may have together; None where no list says it."""
    priced_as = TABLE[reference.provider].priced_as
    if priced_as is None or reference.base_url is not None:
        return None
    return _listed(priced_as, reference.model)


@lru_cache(maxsize=64)
def _listed(provider: str, model: str) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return found.context_window
