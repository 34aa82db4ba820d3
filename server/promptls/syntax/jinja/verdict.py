"""What jinja2 itself says of one tag.

promptls parses tags on its own for the sake of positions; whether a tag is right is for
the real parser to say. A tag is handed to it inside the smallest template in which such
a tag can stand.
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
    """jinja2's complaint about the tag, or an empty string where it has none."""
    before, behind = _AROUND.get(keyword, ("", ""))
    if opens_block:
        behind = f"{{% end{keyword} %}}"
    try:
        _ENVIRONMENT.parse(before + tag + behind)
    except TemplateSyntaxError as error:
        return error.message or "not valid Jinja"
    except RecursionError:
        return "nested too deeply for Jinja"
    except ValueError as error:  # a number with more digits than Python reads
        return str(error)
    return ""
