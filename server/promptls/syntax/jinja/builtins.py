"""The filters and tests that Jinja has without extensions, by name."""

from __future__ import annotations

from typing import Final

from jinja2.filters import FILTERS as _FILTERS
from jinja2.tests import TESTS as _TESTS

FILTERS: Final = frozenset(_FILTERS)
"""The names of Jinja's filters."""

TESTS: Final = frozenset(_TESTS)
"""The names of Jinja's tests, operators such as `==` among them."""
