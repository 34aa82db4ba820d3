"""Validate a tag with jinja2 itself.

promptls parses tags on its own to get positions; whether a tag is valid is decided by jinja2's
parser. The tag is passed to it inside the smallest template in which such a tag is allowed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError

_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  (prompts are no HTML)
_AROUND: Final = {
    "elif": ("{% if x %}", "{% endif %}"),
    "else": ("{% if x %}", "{% endif %}"),
}


@lru_cache(maxsize=8192)
def jinja_objection(tag: str, keyword: str, *, opens_block: bool) -> str:
    """Return jinja2's error message for the tag, or an empty string if it is valid."""
    before, suffix = _AROUND.get(keyword, ("", ""))
    if opens_block:
        suffix = f"{{% end{keyword} %}}"
    try:
        _ENVIRONMENT.parse(before + tag + suffix)
    except TemplateSyntaxError as error:
        return error.message or "not valid Jinja"
    except RecursionError:
        return "nested too deeply for Jinja"
    except ValueError as error:  # a number with more digits than Python reads
        return str(error)
    return ""
