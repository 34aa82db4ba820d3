"""The hash that rendered messages are known by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

# Characters of a hash that are kept: enough to tell every row of a run from every other.
HASH_LENGTH = 16


def digest_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The hash of rendered messages: equal when a model gets the same."""
    canonical = json.dumps(list(messages), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
