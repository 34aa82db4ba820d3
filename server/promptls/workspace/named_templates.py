"""The names of other templates in a file."""

from __future__ import annotations

import re
from typing import Final

from promptls.meaning.leading import leading_references
from promptls.meaning.template import Template
from promptls.workspace.disk import source_of

_REFERENCE: Final = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b(.*?)%\}", re.DOTALL)
_QUOTED: Final = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_COMPUTED: Final = re.compile(r"\{%[-+]?\s*(?:include|extends)\b(?:[^%]*?~|\s*[A-Za-z_{])")
"""A tag whose name may have to be put together, or to be looked up."""


def names_of(template: Template) -> tuple[str, ...]:
    """The template names that a file holds, and those that it certainly puts together."""
    return tuple(
        name
        for reference in leading_references(template)
        for name in reference.alternatives or (reference.name,)
        if name
    )


def saved_names(path: str, text: str) -> tuple[str, ...]:
    """The same of a text that is saved at `path`; most texts are only looked through, and not parsed."""
    found = [
        match.group(1) or match.group(2)
        for reference in _REFERENCE.finditer(text)
        for match in _QUOTED.finditer(reference.group(1))
    ]
    if _COMPUTED.search(text):
        found += names_of(Template(source_of(path, text)))
    return tuple(dict.fromkeys(found))
