"""The number of examples in tests with generated texts."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

THOROUGH: Final = bool(os.environ.get("PROMPTLS_THOROUGH_TESTS"))
"""Whether to try all of them, as `make test-thorough` does; otherwise a fifth."""


def examples(count: int) -> settings:
    """Try this number of examples, or a fifth of them."""
    return settings(max_examples=count if THOROUGH else max(count // 5, 10), deadline=None)
