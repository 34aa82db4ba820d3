"""Renaming: what can be renamed, and the edits that do it in every file.

A rename is right when the workspace with its edits has exactly the renamed places as places of
the symbol. That is looked at, and not guessed from lists of names: a name that something else
has already, or that would be caught by a binding in between, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from typing import Final, NamedTuple

from promptls.features.symbols import Occurrence, Symbol, occurrence_steps, symbol_at
from promptls.features.symbols.find import symbol_variable
from promptls.features.symbols.key_doubts import doubt_steps
from promptls.features.symbols.namespaces import is_handed_on, namespace_of
from promptls.features.symbols.shared_variable import imported_file, shared_variable
from promptls.features.symbols.symbol import Where
from promptls.meaning.mentions import mention_at
from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.meaning.template import Template
from promptls.meaning.variables import exported_variable
from promptls.syntax.jinja.builtins import FILTERS, TESTS
from promptls.syntax.jinja.statements import KEYWORDS
from promptls.syntax.source import Source
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping, Scalar
from promptls.systems.prompt_poet.vocabulary import DICT_METHODS
from promptls.text.failure import Failure, WrongUse
from promptls.text.span import Span
from promptls.text.steps import Steps
from promptls.text.words import word_at
from promptls.workspace.contract import function_names
from promptls.workspace.python_calls import calls_in
from promptls.workspace.python_module import findings_in
from promptls.workspace.snapshot import Known, OpenFile, Snapshot

_FEW: Final = 50
"""How many edits of a file are made one by one."""
_NAME: Final = re.compile(r"[^\W\d]\w*")
_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "is", "true", "false", "none", "True", "False", "None"}
)
_IN_BLOCKS: Final = frozenset({"loop", "caller", "varargs", "kwargs", "super"})
_DOUBTFUL: Final[frozenset[Where]] = frozenset({"data", "python"})
_YAML_WORDS: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null"})


class Renaming(NamedTuple):
    """What is about to be renamed: where its name stands, and the name."""

    span: Span
    name: str


class RenameEdit(NamedTuple):
    """One change; `is_doubtful` where it is of data or of a program, which somebody should look at."""

    path: str
    span: Span
    text: str
    is_doubtful: bool


def prepare_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[Renaming]:
    """What stands at `offset`; raises `Failure` with the reason where it cannot be renamed."""
    symbol = yield from _renamable(snapshot, path, offset)
    return Renaming(symbol.span, symbol.name)


def rename_steps(snapshot: Snapshot, path: str, offset: int, new: str) -> Steps[tuple[RenameEdit, ...]]:
    """The edits that give the symbol at `offset` the name `new`, in the order of files and places.

    Raises `Failure` where the symbol cannot be renamed, or cannot have that name.
    """
    symbol = yield from _renamable(snapshot, path, offset)
    places = yield from occurrence_steps(snapshot, symbol)
    if new == symbol.name:
        return ()
    _refuse_name(snapshot, symbol, new, places)
    # A metric's places in Python are told by Python's own parser; an input's are keys of the same name.
    doubtful: frozenset[Where] = frozenset() if symbol.kind == "metric" else _DOUBTFUL
    edits = tuple(
        RenameEdit(each.path, each.span, _text(snapshot, symbol, each, new), each.where in doubtful)
        for each in places
    )
    yield from _refuse_change_of_meaning(snapshot, symbol, new, edits)
    return edits


# -- what can be renamed ----------------------------------------------------------


def _renamable(snapshot: Snapshot, path: str, offset: int) -> Steps[Symbol]:
    symbol = symbol_at(snapshot, path, offset)
    if symbol is None:
        template = snapshot.template(path)
        raise WrongUse(_nothing(template, offset) if template is not None else "the file cannot be read")
    name = f"`{symbol.name}`"
    if symbol.kind == "own":
        owner = "Prompt Poet gives it to every template" if symbol.name in INJECTED else "it is Jinja's own"
        raise WrongUse(f"{name} cannot be renamed: {owner}")
    if symbol.kind == "function":
        raise WrongUse(f"{name} is a function of Python code: rename it there")
    if symbol.kind == "file":
        raise WrongUse("a file is renamed among the files, not in what includes it")
    if symbol.kind == "key" and (reason := (yield from doubt_steps(snapshot, symbol))):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if symbol.kind == "attribute" and (reason := _handed_on(snapshot, symbol)):
        raise WrongUse(f"{name} cannot be renamed: {reason}")
    if _is_lost_import(snapshot, symbol):
        raise WrongUse(f"{name} cannot be renamed: what it is imported from is not there")
    return symbol


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


def _refuse_name(snapshot: Snapshot, symbol: Symbol, new: str, places: Iterable[Occurrence]) -> None:
    """Raise `Failure` where `new` cannot be a name of this kind at all."""
    shown = f"`{new}`"
    if symbol.kind in {"part", "section"}:
        if not new.strip() or "\n" in new or "\r" in new or "{{" in new or "{%" in new or "{#" in new:
            raise WrongUse("a part's name is one line of text without Jinja")
        return
    if not _NAME.fullmatch(new):
        raise WrongUse(f"{shown} is no name: it takes letters, digits and `_`, and no digit first")
    if symbol.kind == "metric":
        if iskeyword(new):
            raise WrongUse(f"{shown} is a word of Python's own")
        return
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


def _refuse_hiding(snapshot: Snapshot, symbol: Symbol, new: str) -> None:
    if new in GLOBALS | INJECTED | _IN_BLOCKS:
        raise WrongUse(f"`{new}` would hide what Jinja or Prompt Poet calls so")
    if new in (function_names(snapshot, symbol.home) or ()):
        raise WrongUse(f"`{new}` is a function of the functions file")


def _text(snapshot: Snapshot, symbol: Symbol, place: Occurrence, new: str) -> str:
    """What is to stand at a place: the name, in quotes where YAML takes it for something else."""
    if symbol.kind not in {"part", "section"}:
        return new
    template = snapshot.template(place.path)
    before = template.source.slice(Span(max(place.span.start - 1, 0), place.span.start)) if template else ""
    if before == "'":
        return new.replace("'", "''")
    escaped = new.replace("\\", "\\\\").replace('"', '\\"')
    if before == '"':
        return escaped
    return new if _is_plain(new) else f'"{escaped}"'


def _is_plain(text: str) -> bool:
    """Whether YAML reads the text, without quotes and wherever a value can stand, as just that text."""
    root = compose(f"[{{k: {text}, l: m}}]", Span, lambda _span: False).root
    item = (
        next(iter(root.items), None) if root is not None and not isinstance(root, Mapping | Scalar) else None
    )
    value = item.value("k") if isinstance(item, Mapping) and len(item.entries) == len("kl") else None
    return isinstance(value, Scalar) and (value.text, value.tag) == (text, "str")


# -- the meaning behind it ----------------------------------------------------------


def _refuse_change_of_meaning(
    snapshot: Snapshot, symbol: Symbol, new: str, edits: tuple[RenameEdit, ...]
) -> Steps[None]:
    """Raise `Failure` where the renamed places would not be all places of one thing."""
    after = yield from _with(snapshot, edits)
    moved = _moved(edits)
    expected = set(moved.values())
    renamed = symbol_at(after, *moved[symbol.path, symbol.span])
    found = (yield from occurrence_steps(after, renamed)) if renamed is not None else ()
    places = {(each.path, each.span.start) for each in found}
    for path, offset in sorted(places - expected):
        raise Failure(f"`{new}` is taken: {_where(after, path, offset)} would be the same thing")
    for path, offset in sorted(expected - places):
        where = _where(after, path, offset)
        raise Failure(f"`{new}` is taken: {where} would be something else than it is")


def _moved(edits: tuple[RenameEdit, ...]) -> dict[tuple[str, Span], tuple[str, int]]:
    """Where the name of each edit stands when all of them are made."""
    found = {}
    shifts: dict[str, int] = {}
    for edit in sorted(edits):
        shift = shifts.get(edit.path, 0)
        found[edit.path, edit.span] = (edit.path, edit.span.start + shift + _opening(edit.text))
        shifts[edit.path] = shift + len(edit.text) - (edit.span.end - edit.span.start)
    return found


def _opening(text: str) -> int:
    """How many characters stand ahead of the name in what is written."""
    return 1 if text.startswith('"') and len(text) > 1 and text.endswith('"') else 0


def _where(snapshot: Snapshot, path: str, offset: int) -> str:
    template = snapshot.template(path)
    line = template.source.place(offset).line + 1 if template is not None else 0
    return f"{Path(path).name}, line {line},"


def _edited(source: Source, edits: list[RenameEdit]) -> Source:
    """The source with the edits, which are in order; one of many is read anew, which costs less."""
    if len(edits) <= _FEW:
        for edit in reversed(edits):
            source = source.edited(edit.span, edit.text)
        return source
    pieces = []
    behind = 0
    for edit in edits:
        pieces += [source.text[behind : edit.span.start], edit.text]
        behind = edit.span.end
    return Source.of("".join([*pieces, source.text[behind:]]))


def _with(snapshot: Snapshot, edits: tuple[RenameEdit, ...]) -> Steps[Snapshot]:
    """The workspace as it is with the edits."""
    opened = dict(snapshot.open_files)
    calls, written = dict(snapshot.calls), dict(snapshot.written)
    by_file: dict[str, list[RenameEdit]] = {}
    for edit in sorted(edits):
        by_file.setdefault(edit.path, []).append(edit)
    for path, inside in by_file.items():
        yield
        template = snapshot.template(path)
        if template is None:
            continue
        source = _edited(template.source, inside)
        version = opened[path].version if path in opened else 0
        opened[path] = OpenFile(Template(source), version)
        if path in calls:
            calls[path] = calls_in(source.text, path)
        if path in written:
            written[path] = findings_in(source.text, path)
    revision = snapshot.revision + 1
    return replace(
        snapshot, revision=revision, open_files=opened, calls=calls, written=written, known=Known()
    )
