"""Which keys make a mapping with `instruction` a prompt object, and which those of another program's file."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from promptls.settings.header import HEADER_KEYS
from promptls.systems.ragas.saved_keys import saved_keys
from promptls.systems.ragas.vocabulary import NEWER_FILE_KEYS, PROMPT_KEYS
from promptls.text.nearest import is_close

_CERTAIN: Final = frozenset({"input_keys", "output_key", "output_type", "<<", *NEWER_FILE_KEYS})
"""Keys that no file of another program has beside an `instruction`; a merge may bring any of them."""
_KNOWN: Final = frozenset({*PROMPT_KEYS, *HEADER_KEYS})
_WITH_EXAMPLES: Final = frozenset(saved_keys("simple prompt", ()))
"""Keys that are known beside `examples`, in a file of the form that Ragas saves."""


@lru_cache(maxsize=256)
def are_of_object(keys: frozenset[str]) -> bool:
    """Whether a mapping with these keys, of which one is `instruction`, is a prompt object.

    Agents, tasks and skills of other programs have an `instruction` too. They show themselves by keys
    that no prompt object has; beside such a key, one that only prompt objects have must stand there, or
    one that is a slip for it.
    """
    unknown = keys - _KNOWN - (_WITH_EXAMPLES if "examples" in keys else frozenset())
    if keys & _CERTAIN or not unknown:
        return True
    if any(is_close(key, each) for key in unknown for each in _CERTAIN):
        return True
    return all(any(is_close(key, each) for each in _KNOWN) for key in unknown)
