"""What differs between the releases of Ragas in which there were prompt objects, 0.1.0 to 0.1.22.

Source: `src/ragas/llms/prompt.py` at each release's tag.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

DEFAULT_RELEASE: Final = "0.1.0"
"""The release that the documents of prompt objects describe."""
NEWEST_RELEASE: Final = "0.1.21"
"""The release whose behaviour all later ones of 0.1 have."""

_RELEASE: Final = re.compile(r"0\.1\.(\d{1,3})")


class Release(NamedTuple):
    """How one release validates and renders prompt objects."""

    name: str
    asks_for_json: bool
    """Whether a line below the instruction asks for valid JSON: 0.1.1 to 0.1.5."""
    has_format_instruction: bool
    """Whether there is `output_format_instruction`; then there are headings above the examples and the
    inputs, lists and mappings in fences, and no output types but `json` and `str`: from 0.1.6 on."""
    has_defaults: bool
    """Whether `name`, `input_keys` and `output_key` may be missing: from 0.1.9 on."""
    quotes_texts: bool
    """Whether texts among the inputs are put in as JSON, in quotes: from 0.1.14 on."""
    keeps_adapted: bool
    """Whether `adapt` saves what it made, and takes over what was saved before: from 0.1.13 on."""


@lru_cache(maxsize=32)
def release(name: str) -> Release:
    """The release called `name`, such as `0.1.21`; raises ValueError for one without prompt objects."""
    match = _RELEASE.fullmatch(name)
    if match is None:
        raise ValueError(f"Ragas {name} has no prompt objects: name a release from 0.1.0 to 0.1.21.")
    number = int(match[1])
    return Release(name, 1 <= number <= 5, number >= 6, number >= 9, number >= 14, number >= 13)  # noqa: PLR2004


FIRST_RELEASE: Final = release(DEFAULT_RELEASE)
"""The release that counts where none is named."""


def is_known_release(name: Any) -> bool:
    """Whether `name` is a release that has prompt objects."""
    return isinstance(name, str) and _RELEASE.fullmatch(name) is not None


def release_of(mapping: Any, declared: str | None) -> Release:
    """The release that a prompt object in a file is for.

    What the file says under `ragas_version` counts first, then what is `declared` for the project.
    Where neither says anything, it is the newest one for a file with `output_format_instruction`, which
    the default release does not know, and the default one else.
    """
    own = mapping.get("ragas_version") if isinstance(mapping, dict) else None
    for name in (own, declared):
        if isinstance(name, str) and is_known_release(name):
            return release(name)
    is_newer = isinstance(mapping, dict) and mapping.get("output_format_instruction")
    return release(NEWEST_RELEASE if is_newer else DEFAULT_RELEASE)
