"""Renaming: whether a symbol can be renamed, and the edits in every file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from typing import Final, NamedTuple

from promptls.ide.symbols import Occurrence, Symbol, occurrence_steps, symbol_at
from promptls.ide.symbols.columns import column_doubt_steps, packed_with
from promptls.ide.symbols.jinja import is_handed_on, namespace_of
from promptls.ide.symbols.occurrences import is_parsed_as_prompt, symbol_variable
from promptls.ide.symbols.python_names import programs_with, uses_in
from promptls.ide.symbols.variable_symbols import imported_file, shared_variable
from promptls.security.files import is_file
from promptls.semantic.names.mentions import TemplateReference, mention_at
from promptls.semantic.names.scopes import GLOBALS, IMPLIED, INJECTED
from promptls.semantic.names.variables import exported_variable
from promptls.semantic.template import Template
from promptls.syntax.jinja.builtins import FILTERS, KEYWORDS, TESTS
from promptls.syntax.source import Source
from promptls.syntax.yaml.compose import compose
from promptls.syntax.yaml.nodes import Mapping as MappingNode
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.errors import UsageError, UserError
from promptls.text.positions import Span, word_at
from promptls.text.steps import Steps
from promptls.workspace.contract import function_names
from promptls.workspace.disk import has_prompt_name, text_on_disk
from promptls.workspace.include_graph import path_in
from promptls.workspace.python_calls import calls_in
from promptls.workspace.python_experiments import findings_in
from promptls.workspace.settings import edited_project
from promptls.workspace.snapshot import Known, OpenFile, Snapshot

_NAME: Final = re.compile(r"[^\W\d]\w*")
_DASHED: Final = re.compile(r"[^\W\d][\w-]*")
_COLUMN: Final = re.compile(r"[^\s\"'\\,{}\[\]:#&*!|>%@`-][^\"'\\,\r\n{}\[\]:#]*")
"""Names that can be columns in every data format without quotes."""
_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "is", "true", "false", "none", "True", "False", "None"}
)
_YAML_WORDS: Final = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
_IN_PROGRAMS: Final = frozenset({"metric", "experiment"})
"""Kinds of symbols that are functions in Python."""
_PACKAGES: Final = frozenset({"site-packages", "node_modules"})
"""Folders of installed packages."""
_ENVIRONMENT: Final = "pyvenv.cfg"
"""The file at the root of every virtual environment."""


# -- what can be renamed ----------------------------------------------------------


def renamable_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[Symbol | None]:
    """Return the symbol at `offset`; None if there is no shared symbol in a program, data or settings file.

    Raises `UsageError` with the reason if it cannot be renamed.
    """
    symbol = symbol_at(snapshot, path, offset)
    if symbol is None:
        if not is_parsed_as_prompt(snapshot, path):
            return None
        template = snapshot.template(path)
        raise UsageError(
            _no_symbol_reason(template, offset) if template is not None else "the file cannot be read"
        )
    if reason := (yield from _reason_steps(snapshot, symbol, path)):
        raise _refusal(symbol, reason)
    return symbol


def _refusal(symbol: Symbol, reason: str) -> UsageError:
    return UsageError(f"`{symbol.name}` cannot be renamed: {reason}")


def _reason_steps(snapshot: Snapshot, symbol: Symbol, path: str) -> Steps[str]:
    """Return why a symbol in a file cannot be renamed; empty if it can."""
    match symbol.kind:
        case "own":
            return (
                "Prompt Poet gives it to every template" if symbol.name in INJECTED else "it is Jinja's own"
            )
        case "function":
            return "it is a function of Python code, and renamed there"
        case "file":
            return "a file is renamed among the files, not in what names it"
        case "key":
            return "it is a key of a value that the caller passes"
    reason = _namespace_reason(snapshot, symbol) if symbol.kind == "attribute" else ""
    if not reason and _is_lost_import(snapshot, symbol):
        reason = "what it is imported from does not exist"
    if not reason and symbol.kind in _IN_PROGRAMS:
        reason = yield from _unclear_steps(snapshot, symbol)
    if not reason and symbol.kind == "column":
        reason = yield from column_doubt_steps(snapshot, symbol, ())
    return reason or _not_editable_reason(snapshot, path)


def refuse_places_steps(snapshot: Snapshot, symbol: Symbol, places: Iterable[Occurrence]) -> Steps[None]:
    """Raise `UsageError` if the symbol, or an implicit reference to it, is in a file that is not editable."""
    for path in dict.fromkeys(each.path for each in places):
        yield
        if reason := _not_editable_reason(snapshot, path):
            raise _refusal(symbol, reason)
    if symbol.kind != "input":
        return
    prompts = tuple(dict.fromkeys(each.path for each in places if each.where in {"template", "header"}))
    for path in prompts:
        yield
        template = snapshot.template(path)
        packed = packed_with(snapshot, path, template, symbol.name) if template is not None else None
        if packed is not None:
            raise _refusal(symbol, f"it is in {packed.name}, which cannot be edited")
    if reason := (yield from column_doubt_steps(snapshot, symbol, prompts)):
        raise _refusal(symbol, reason)


def _not_editable_reason(snapshot: Snapshot, path: str) -> str:
    """Return why a file is not editable; empty if it is, or is unsaved."""
    file = Path(path)
    if not file.is_absolute():
        return ""
    if _PACKAGES & set(file.parts) or _is_in_environment(snapshot, file):
        return f"{file.name}, where it also occurs, belongs to an installed package"
    if snapshot.roots and not any(file.is_relative_to(root) for root in snapshot.roots):
        return f"{file.name}, where it also occurs, is outside of the workspace"
    if file.exists() and not os.access(file, os.W_OK):
        return f"{file.name}, where it also occurs, is read-only"
    return ""


def _is_in_environment(snapshot: Snapshot, file: Path) -> bool:
    for folder in file.parents:
        if str(folder) in snapshot.roots:
            return False
        if (folder / _ENVIRONMENT).is_file():
            return True
    return False


def _unclear_steps(snapshot: Snapshot, symbol: Symbol) -> Steps[str]:
    """Return the first place where a program may use a function's name for something else.

    Empty if there is none.
    """
    for path in (yield from programs_with(snapshot, symbol.name)):
        yield
        program = snapshot.template(path)
        unclear = uses_in(snapshot, path, symbol.home, symbol.name).unclear
        if unclear and program is not None:
            line = program.source.line_column(unclear[0].start).line + 1
            return f"{Path(path).name} gives the name to something else as well, perhaps in line {line}"
    return ""


def _namespace_reason(snapshot: Snapshot, symbol: Symbol) -> str:
    """Return why an attribute of a namespace may have unknown uses; empty if it cannot."""
    template = snapshot.template(symbol.home)
    mention = mention_at(template.source, symbol.span.start) if template is not None else None
    variable = namespace_of(template, mention) if template is not None and mention is not None else None
    if template is None or variable is None:
        return ""
    shared, references = shared_variable(snapshot, symbol.home, variable)
    if len(shared) > 1 or references or is_handed_on(template, variable):
        return f"`{variable.name}` is passed on as a whole"
    return ""


def _no_symbol_reason(template: Template, offset: int) -> str:
    """Return the reason why nothing can be renamed at a place without a symbol."""
    located = template.source.located(offset)
    inside = offset - located.start
    in_tag = any(tag.span.touches(inside) for tag in located.chunk.tags)
    place = word_at(located.chunk.text, inside) if in_tag else None
    if place is not None:
        word = located.chunk.slice(place)
        if located.chunk.text[: place.start].rstrip().endswith("."):
            if hasattr(dict, word):
                return f"`{word}` cannot be renamed: it is a method of every mapping"
            return f"`{word}` cannot be renamed: it is not a known key of an input"
        if word in FILTERS | TESTS | KEYWORDS | _OPERATORS:
            return f"`{word}` cannot be renamed: it is Jinja's own"
        return f"`{word}` cannot be renamed: it is not a name that the template gives"
    return "there is nothing to rename here"


def _is_lost_import(snapshot: Snapshot, symbol: Symbol) -> bool:
    """Return whether the symbol is imported under its own name, which the imported file does not define."""
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
    """Raise `UsageError` if `new` is not a valid name for this kind of symbol."""
    shown = f"`{new}`"
    if symbol.kind in {"part", "section"}:
        if not new.strip() or "\n" in new or "\r" in new or "{{" in new or "{%" in new or "{#" in new:
            raise UsageError("a part's name is one line of text without Jinja")
        return
    if symbol.kind in {"named metric", "model"}:
        _refuse_alias(new)
        return
    if symbol.kind == "column" and all(each.where != "python" for each in places):
        _refuse_column(new)
        return
    if not _NAME.fullmatch(new):
        raise UsageError(f"{shown} is not a name: use letters, digits and `_`, and no digit at the beginning")
    if iskeyword(new) and any(each.where == "python" for each in places):
        raise UsageError(f"{shown} is a keyword of Python")
    if symbol.kind not in {*_IN_PROGRAMS, "column"}:
        _refuse_in_templates(snapshot, symbol, new, places)


def _refuse_in_templates(snapshot: Snapshot, symbol: Symbol, new: str, places: Iterable[Occurrence]) -> None:
    """Raise `UsageError` if `new` is not a valid name in Jinja, or in the YAML around it."""
    shown = f"`{new}`"
    if new in KEYWORDS | _OPERATORS:
        raise UsageError(f"{shown} is a keyword of Jinja")
    if symbol.kind in {"attribute", "block"}:
        return
    if new in GLOBALS | INJECTED | IMPLIED:
        raise UsageError(f"`{new}` would hide a name of Jinja or Prompt Poet")
    if new in (function_names(snapshot, symbol.home) or ()):
        raise UsageError(f"`{new}` is a function of the functions file")
    if new.lower() in _YAML_WORDS and any(each.where in {"header", "data"} for each in places):
        raise UsageError(f"{shown} is not text in YAML, which also has the name")


def _refuse_alias(new: str) -> None:
    if not _DASHED.fullmatch(new) or new.lower() in _YAML_WORDS:
        raise UsageError(
            f"`{new}` is not a name here: use letters, digits, `_` and `-`, and a letter at the beginning"
        )
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS

    if new in BUILTIN_METRICS:
        raise UsageError(f"`{new}` is a built-in metric")


def _refuse_column(new: str) -> None:
    if not _COLUMN.fullmatch(new) or new != new.strip() or new.lower() in _YAML_WORDS:
        raise UsageError(f"`{new}` is not a column name: use one line without quotes, commas and brackets")


_MAX_SINGLE_EDITS: Final = 50
"""The maximum number of edits of a file that are applied incrementally."""


class Renaming(NamedTuple):
    """A symbol to rename: the span of its name, and the name."""

    span: Span
    name: str


class RenameEdit(NamedTuple):
    """An edit; `needs_review` if it may concern an unrelated name and should be reviewed."""

    path: str
    span: Span
    text: str
    needs_review: bool


def prepare_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[Renaming | None]:
    """Return the name at `offset`; None if there is no shared symbol in a program, data or settings file.

    Raises `UserError` with the reason if it cannot be renamed.
    """
    symbol = yield from renamable_steps(snapshot, path, offset)
    return Renaming(symbol.span, symbol.name) if symbol is not None else None


def rename_steps(
    snapshot: Snapshot, path: str, offset: int, new: str
) -> Steps[tuple[RenameEdit, ...] | None]:
    """Return the edits that rename the symbol at `offset` to `new`, in the order of files and positions.

    None if `prepare_steps` gives None. Raises `UserError` if the symbol cannot be renamed, or not to that
    name.
    """
    symbol = yield from renamable_steps(snapshot, path, offset)
    if symbol is None:
        return None
    places = yield from occurrence_steps(snapshot, symbol)
    if new == symbol.name:
        return ()
    refuse_name(snapshot, symbol, new, places)
    yield from refuse_places_steps(snapshot, symbol, places)
    edits = tuple(
        RenameEdit(
            each.path,
            each.span,
            _text(snapshot, symbol, each, new),
            # Uncertain occurrences in the file where the renaming started are accepted.
            needs_review=each.is_likely and each.path != path,
        )
        for each in places
    )
    yield from _refuse_change_of_meaning(snapshot, symbol, new, edits)
    return edits


def _text(snapshot: Snapshot, symbol: Symbol, place: Occurrence, new: str) -> str:
    """Return the replacement at a place: the name, in quotes where YAML would parse it differently."""
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
    """Return whether YAML parses the unquoted text as the same text wherever a value is allowed."""
    root = compose(f"[{{k: {text}, l: m}}]", Span, lambda _span: False).root
    item = (
        next(iter(root.items), None)
        if root is not None and not isinstance(root, MappingNode | Scalar)
        else None
    )
    value = item.value("k") if isinstance(item, MappingNode) and len(item.entries) == len("kl") else None
    return isinstance(value, Scalar) and (value.text, value.tag) == (text, "str")


# -- checking the meaning of the renamed places ---------------------------------------


def _refuse_change_of_meaning(
    snapshot: Snapshot, symbol: Symbol, new: str, edits: tuple[RenameEdit, ...]
) -> Steps[None]:
    """Raise `UserError` if the renamed places would no longer be exactly the occurrences of one symbol."""
    after = yield from _edited_snapshot(snapshot, edits)
    moved = _renamed_positions(edits)
    expected = set(moved.values())
    renamed = symbol_at(after, *moved[symbol.path, symbol.span])
    found = (yield from occurrence_steps(after, renamed)) if renamed is not None else ()
    places = {(each.path, each.span.start) for each in found}
    for path, offset in sorted(places - expected):
        raise UserError(f"`{new}` is taken: {_where(after, path, offset)} would have the same name")
    for path, offset in sorted(expected - places):
        where = _where(after, path, offset)
        raise UserError(f"`{new}` is taken: the meaning of {where} would change")


def _renamed_positions(edits: tuple[RenameEdit, ...]) -> dict[tuple[str, Span], tuple[str, int]]:
    """Return the position of the name of each edit after all edits are applied."""
    found = {}
    shifts: dict[str, int] = {}
    for edit in sorted(edits):
        shift = shifts.get(edit.path, 0)
        found[edit.path, edit.span] = (edit.path, edit.span.start + shift + _opening(edit.text))
        shifts[edit.path] = shift + len(edit.text) - (edit.span.end - edit.span.start)
    return found


def _opening(text: str) -> int:
    """Return the number of characters before the name in the replacement."""
    return 1 if text.startswith('"') and len(text) > 1 and text.endswith('"') else 0


def _where(snapshot: Snapshot, path: str, offset: int) -> str:
    template = snapshot.template(path)
    line = template.source.line_column(offset).line + 1 if template is not None else 0
    return f"{Path(path).name}, line {line},"


def _edit(source: Source, edits: list[RenameEdit]) -> Source:
    """Return the source with the sorted edits applied; many edits are applied by parsing it again."""
    if len(edits) <= _MAX_SINGLE_EDITS:
        for edit in reversed(edits):
            source = source.edited(edit.span, edit.text)
        return source
    pieces = []
    after = 0
    for edit in edits:
        pieces += [source.text[after : edit.span.start], edit.text]
        after = edit.span.end
    return Source.of("".join([*pieces, source.text[after:]]))


def _edited_snapshot(snapshot: Snapshot, edits: tuple[RenameEdit, ...]) -> Steps[Snapshot]:
    opened = dict(snapshot.open_files)
    calls, written = dict(snapshot.calls), dict(snapshot.written)
    projects = dict(snapshot.projects)
    by_file: dict[str, list[RenameEdit]] = {}
    for edit in sorted(edits):
        by_file.setdefault(edit.path, []).append(edit)
    for path, inside in by_file.items():
        yield
        template = snapshot.template(path)
        if template is None:
            continue
        source = _edit(template.source, inside)
        version = opened[path].version if path in opened else 0
        opened[path] = OpenFile(Template(source), version)
        for folder, project in snapshot.projects.items():
            if str(project.path) == path:
                projects[folder] = edited_project(project, source.text, snapshot.editor_settings)
        if path in calls:
            calls[path] = calls_in(source.text, path)
        if path in written:
            written[path] = findings_in(source.text, path)
    return replace(
        snapshot,
        revision=snapshot.revision + 1,
        open_files=opened,
        calls=calls,
        written=written,
        projects=projects,
        known=Known(),
    )


_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_FUNCTION: Final = re.compile(r"(?<=\.py):\w+$")
"""The function name after the file name in a metric's name."""
_PLAIN: Final = re.compile(r"[\w./](?:(?:[\w./ -]|:(?=\w))*[\w./-])?")
"""Values that need no quotes in YAML."""


def rename_files(snapshot: Snapshot, renames: Mapping[str, str]) -> tuple[RenameEdit, ...]:
    """Return the edits that update all paths to the moved files, in order, relative to the current texts.

    `renames` maps absolute paths of files and folders to their new paths.
    """
    moves = _Moves(renames)
    edits = {
        edit: None
        for path in _affected_files(snapshot, moves)
        if (template := snapshot.template(path)) is not None
        for edit in (
            *_include_edits(snapshot, path, template, moves),
            *_header_edits(path, template, moves),
        )
    }
    return tuple(sorted(edits, key=lambda edit: (edit.path, edit.span)))


class _Moves:
    """Maps the paths of moved files, including those inside of moved folders."""

    def __init__(self, renames: Mapping[str, str]) -> None:
        self.renames: Final = {os.path.normpath(old): os.path.normpath(new) for old, new in renames.items()}

    def __call__(self, path: str) -> str:
        """Return the new path of a file; the same path if it is not moved."""
        path = os.path.normpath(path)
        for old, new in self.renames.items():
            if path == old:
                return new
            if path.startswith(old + os.sep):
                return new + path[len(old) :]
        return path


def _affected_files(snapshot: Snapshot, moves: _Moves) -> list[str]:
    """Return the prompt files that may reference a moved file, or whose relative paths change."""
    names = [Path(old).name for old in moves.renames]
    touched: set[str] = set()
    for path in snapshot.known_paths:
        if moves(path) != path:
            touched.update(snapshot.included(path))
        elif path in snapshot.open_files or has_prompt_name(path):
            opened = snapshot.open_files.get(path)
            text = opened.template.source.text if opened else text_on_disk(path) or ""
            if any(name in text for name in names):
                touched.add(path)
    return sorted(touched)


# -- includes ------------------------------------------------------------------------------------


def _include_edits(snapshot: Snapshot, path: str, template: Template, moves: _Moves) -> Iterator[RenameEdit]:
    for reference in template.references:
        for span, name in _literals(template, reference):
            new = _new_name(snapshot, path, name, moves)
            if new is not None and new != name:
                yield RenameEdit(path, Span(span.start + 1, span.end - 1), new, needs_review=False)


def _literals(template: Template, reference: TemplateReference) -> Iterator[tuple[Span, str]]:
    """Yield the quoted names of a reference, including their quotes."""
    names = reference.alternatives or ((reference.name,) if reference.name else ())
    text = template.source.slice(reference.span)
    for match in _LITERAL.finditer(text):
        if match[0][1:-1] in names:
            yield Span(*match.span()).shifted(reference.span.start), match[0][1:-1]


def _new_name(snapshot: Snapshot, path: str, name: str, moves: _Moves) -> str | None:
    """Return the new name for the same file; None if there is none, or the name did not resolve."""
    for folder in snapshot.search_folders(path):
        target = path_in(folder, name)
        if target is None or not snapshot.exists(target):
            continue
        entry = next((each for each in snapshot.entries(path) if str(Path(each).parent) == folder), None)
        new_folder = Path(moves(entry)).parent if entry is not None else Path(moves(folder))
        new_target = moves(target)
        if path_in(str(new_folder), name) == new_target:
            return name
        inside = Path(new_target).is_relative_to(new_folder)
        return Path(new_target).relative_to(new_folder).as_posix() if inside else None
    return None


# -- headers -------------------------------------------------------------------------------------


def _header_edits(path: str, template: Template, moves: _Moves) -> Iterator[RenameEdit]:
    folder, new_folder = Path(path).parent, Path(moves(path)).parent
    for span, name in _header_paths(template):
        written = template.source.slice(span)
        metric = _FUNCTION.search(name)
        file, function = (name[: metric.start()], metric[0]) if metric else (name, "")
        target = os.path.normpath(folder / file)
        if not file or Path(file).is_absolute() or (moves(target) == target and new_folder == folder):
            continue
        if not (is_file(target) or moves(target) != target):
            continue
        new = Path(os.path.relpath(moves(target), new_folder)).as_posix()
        if new != Path(os.path.normpath(file)).as_posix():
            yield RenameEdit(path, span, _quote(new + function, written), needs_review=False)


def _header_paths(template: Template) -> Iterator[tuple[Span, str]]:
    """Yield the values of the header that are paths, or begin with one, with their spans."""
    declared = template.declarations
    settings = declared.settings
    found: list[tuple[tuple[str | int, ...], str | None]] = [
        (("samples",), settings.samples),
        (("functions",), settings.functions),
    ]
    for name, experiment in settings.experiments.items():
        found.append((("experiments", name, "dataset"), experiment.dataset))
        found += [
            (("experiments", name, "metrics", index), metric)
            for index, metric in enumerate(experiment.metrics)
            if _FUNCTION.search(metric)
        ]
    for keys, value in found:
        span = declared.value_span(*keys)
        if value and span is not None:
            yield span, value


def _quote(value: str, written: str) -> str:
    """Return the value as YAML, in the original quotes."""
    if written.startswith('"') and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    if _PLAIN.fullmatch(value) and not written.startswith("'"):
        return value
    return "'" + value.replace("'", "''") + "'"
