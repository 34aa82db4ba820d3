"""The number of examples of the robustness tests: small, or large with PROMPTLS_LONG_TESTS=1."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

LONG = bool(os.environ.get("PROMPTLS_LONG_TESTS"))

settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "long", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("long" if LONG else "quick")
