"""What cannot be renamed, cannot be a name, or stands where nothing may be changed: each with its reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from keyword import iskeyword
from pathlib import Path
from typing import Final

from promptls.features.symbols import Occurrence, Symbol, symbol_at
from promptls.features.symbols.data_columns import column_doubt_steps, packed_with
from promptls.features.symbols.find import holds_prompt, symbol_variable
from promptls.features.symbols.key_doubts import doubt_steps
from promptls.features.symbols.keys import data_keys
from promptls.features.symbols.namespaces import is_handed_on, namespace_of
from promptls.features.symbols.python_functions import programs_with, uses_in
from promptls.features.symbols.shared_variable import imported_file, shared_variable
from promptls.meaning.mentions import mention_at
from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.meaning.template import Template
from promptls.meaning.variables import exported_variable
from promptls.syntax.jinja.builtins import FILTERS, TESTS
from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.systems.prompt_poet.vocabulary import DICT_METHODS
from promptls.text.failure import WrongUse
from promptls.text.steps import Steps
from promptls.text.words import word_at
from promptls.workspace.contract import function_names
from promptls.workspace.snapshot import Snapshot

_NAME: Final = re.compile(r"[^\W\d]\w*")
_DASHED: Final = re.compile(r"[^\W\d][\w-]*")
_COLUMN: Final = re.compile(r"[^\s\"'\\,{}\[\]:#&*!|>%@`-][^\"'\\,\r\n{}\[\]:#]*")
"""What can be a column in every format without quotes of its own."""
_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "is", "true", "false", "none", "True", "False", "None"}
)
_IN_BLOCKS: Final = frozenset({"loop", "caller", "varargs", "kwargs", "super"})
_YAML_WORDS: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
_IN_PROGRAMS: Final = frozenset({"metric", "experiment"})
"""Kinds of symbols that are functions in Python."""
_PACKAGES: Final = frozenset({"site-packages", "node_modules"})
"""Folders of what is installed, and not written here."""
_ENVIRONMENT: Final = "pyvenv.cfg"
"""The file at the root of every virtual environment."""


# -- what can be renamed ----------------------------------------------------------


def renamable_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[Symbol | None]:
    """The symbol at `offset`; None where a program, data or settings have a name of their own there.

    Raises `WrongUse` with the reason where it cannot be renamed.
    """
    symbol = symbol_at(snapshot, path, offset)
    if symbol is None:
        if not holds_prompt(snapshot, path):
            return None
        template = snapshot.template(path)
        raise WrongUse(_nothing(template, offset) if template is not None else "the file cannot be read")
    name = f"`{symbol.name}`"
    if symbol.kind == "own":
        owner = "Prompt Poet gives it to every template" if symbol.name in INJECTED else "it is Jinja's own"
        raise WrongUse(f"{name} cannot be renamed: {owner}")
    if symbol.kind == "function":
        raise WrongUse(f"{name} is a function of Python code: rename it there")
    if symbol.kind == "file":
        raise WrongUse("a file is renamed among the files, not in what names it")
    if symbol.kind == "key" and (reason := (yield from doubt_steps(snapshot, symbol))):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if symbol.kind == "attribute" and (reason := _handed_on(snapshot, symbol)):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if _is_lost_import(snapshot, symbol):
        raise WrongUse(f"{name} cannot be renamed: what it is imported from is not there")
    if symbol.kind in _IN_PROGRAMS and (reason := (yield from _unclear_steps(snapshot, symbol))):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if symbol.kind == "column" and (reason := (yield from column_doubt_steps(snapshot, symbol, ()))):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if reason := _unchangeable(snapshot, path):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    return symbol


def refuse_places_steps(snapshot: Snapshot, symbol: Symbol, places: Iterable[Occurrence]) -> Steps[None]:
    """Raise `WrongUse` where the symbol stands, or is known by its name, where nobody can change it."""
    name = f"`{symbol.name}`"
    for path in dict.fromkeys(each.path for each in places):
        yield
        if reason := _unchangeable(snapshot, path):
            raise WrongUse(f"{name} cannot be renamed: {reason}")
    if symbol.kind not in {"input", "key"}:
        return
    prompts = tuple(dict.fromkeys(each.path for each in places if each.where in {"template", "header"}))
    keys = (symbol.name,) if symbol.kind == "input" else data_keys(symbol.way)
    for path in prompts:
        yield
        template = snapshot.template(path)
        packed = packed_with(snapshot, path, template, keys) if template is not None else None
        if packed is not None:
            raise WrongUse(f"{name} cannot be renamed: it stands in {packed.name}, which is no text to edit")
    if symbol.kind == "input" and (reason := (yield from column_doubt_steps(snapshot, symbol, prompts))):
        raise WrongUse(f"{name} cannot be renamed: {reason}")


def _unchangeable(snapshot: Snapshot, path: str) -> str:
    """Why nothing can be changed in a file; empty where something can, as in one that is on no disk."""
    file = Path(path)
    if not file.is_absolute():
        return ""
    if _PACKAGES & set(file.parts) or _is_in_environment(snapshot, file):
        return f"{file.name}, where it stands too, belongs to an installed package"
    if snapshot.roots and not any(file.is_relative_to(root) for root in snapshot.roots):
        return f"{file.name}, where it stands too, is outside of the workspace"
    if file.exists() and not os.access(file, os.W_OK):
        return f"{file.name}, where it stands too, is read-only"
    return ""


def _is_in_environment(snapshot: Snapshot, file: Path) -> bool:
    for folder in file.parents:
        if str(folder) in snapshot.roots:
            return False
        if (folder / _ENVIRONMENT).is_file():
            return True
    return False


def _unclear_steps(snapshot: Snapshot, symbol: Symbol) -> Steps[str]:
    """The first place at which a program may mean something else by a function's name; empty for none."""
    for path in (yield from programs_with(snapshot, symbol.name)):
        yield
        program = snapshot.template(path)
        unclear = uses_in(snapshot, path, symbol.home, symbol.name).unclear
        if unclear and program is not None:
            line = program.source.place(unclear[0].start).line + 1
            return f"{Path(path).name} gives the name to something else as well, perhaps in line {line}"
    return ""


def _handed_on(snapshot: Snapshot, symbol: Symbol) -> str:
    """Why an attribute of a namespace may stand where nobody sees it; empty where it does not."""
    template = snapshot.template(symbol.home)
    mention = mention_at(template.source, symbol.span.start) if template is not None else None
    variable = namespace_of(template, mention) if template is not None and mention is not None else None
    if template is None or variable is None:
        return ""
    shared, further = shared_variable(snapshot, symbol.home, variable)
    if len(shared) > 1 or further or is_handed_on(template, variable):
        return f"`{variable.name}` is handed on as a whole"
    return ""


def _nothing(template: Template, offset: int) -> str:
    """Why nothing can be renamed at a place without a symbol."""
    located = template.source.located(offset)
    inside = offset - located.start
    in_tag = any(tag.span.contains(inside) for tag in located.chunk.tags)
    place = word_at(located.chunk.text, inside) if in_tag else None
    if place is not None:
        word = located.chunk.text[place.start : place.end]
        if located.chunk.text[: place.start].rstrip().endswith("."):
            if word in DICT_METHODS:
                return f"`{word}` cannot be renamed: it is a method of every mapping"
            return f"`{word}` cannot be renamed: it is no key of an input, as far as can be told"
        if word in FILTERS | TESTS | KEYWORDS | _OPERATORS:
            return f"`{word}` cannot be renamed: it is Jinja's own"
        return f"`{word}` cannot be renamed: it is no name that the template gives"
    return "there is nothing to rename here"


def _is_lost_import(snapshot: Snapshot, symbol: Symbol) -> bool:
    """Whether the symbol is imported under its own name from where there is no such name."""
    template = snapshot.template(symbol.home)
    variable = symbol_variable(snapshot, symbol) if symbol.kind == "import" else None
    for binding in variable.bindings if variable is not None and template is not None else ():
        assert template is not None
        mention = mention_at(template.source, binding.span.start)
        if mention is not None and mention.kind == "imported" and mention.span == binding.span:
            target = imported_file(snapshot, symbol.home, template, mention)
            other = snapshot.template(target) if target is not None else None
            if other is None or exported_variable(other, symbol.name) is None:
                return True
    return False


# -- the new name -----------------------------------------------------------------


def refuse_name(snapshot: Snapshot, symbol: Symbol, new: str, places: Iterable[Occurrence]) -> None:
    """Raise `WrongUse` where `new` cannot be a name of this kind at all."""
    shown = f"`{new}`"
    if symbol.kind in {"part", "section"}:
        if not new.strip() or "\n" in new or "\r" in new or "{{" in new or "{%" in new or "{#" in new:
            raise WrongUse("a part's name is one line of text without Jinja")
        return
    if symbol.kind in {"named metric", "model"}:
        _refuse_alias(new)
        return
    if symbol.kind == "column" and all(each.where != "python" for each in places):
        _refuse_column(new)
        return
    if not _NAME.fullmatch(new):
        raise WrongUse(f"{shown} is no name: it takes letters, digits and `_`, and no digit first")
    if iskeyword(new) and any(each.where == "python" for each in places):
        raise WrongUse(f"{shown} is a word of Python's own")
    if symbol.kind not in {*_IN_PROGRAMS, "column"}:
        _refuse_in_templates(snapshot, symbol, new, places)


def _refuse_in_templates(snapshot: Snapshot, symbol: Symbol, new: str, places: Iterable[Occurrence]) -> None:
    """Raise `WrongUse` where `new` cannot be a name in Jinja, or in the YAML that holds it."""
    shown = f"`{new}`"
    if new in KEYWORDS | _OPERATORS:
        raise WrongUse(f"{shown} is a word of Jinja's own")
    if symbol.kind == "key" and new in DICT_METHODS:
        raise WrongUse(f"{shown} is a method of every mapping")
    if symbol.kind in {"attribute", "block"}:
        return
    if symbol.kind != "key":
        _refuse_hiding(snapshot, symbol, new)
    if new.lower() in _YAML_WORDS and any(each.where in {"header", "data"} for each in places):
        raise WrongUse(f"{shown} is no text in YAML, where the name stands too")


def _refuse_alias(new: str) -> None:
    if not _DASHED.fullmatch(new) or new.lower() in _YAML_WORDS:
        raise WrongUse(f"`{new}` is no name here: it takes letters, digits, `_` and `-`, and a letter first")
    from promptls.metrics.registry import READY_METRICS

    if new in READY_METRICS:
        raise WrongUse(f"`{new}` is a ready metric")


def _refuse_column(new: str) -> None:
    if not _COLUMN.fullmatch(new) or new != new.strip() or new.lower() in _YAML_WORDS:
        raise WrongUse(f"`{new}` is no column's name: it takes one line without quotes, commas and brackets")


def _refuse_hiding(snapshot: Snapshot, symbol: Symbol, new: str) -> None:
    if new in GLOBALS | INJECTED | _IN_BLOCKS:
        raise WrongUse(f"`{new}` would hide what Jinja or Prompt Poet calls so")
    if new in (function_names(snapshot, symbol.home) or ()):
        raise WrongUse(f"`{new}` is a function of the functions file")
