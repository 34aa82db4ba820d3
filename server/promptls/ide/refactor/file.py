"""Refactorings of a whole file: add a header, declare inputs, convert to another format."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from promptls.convert.formats import convert
from promptls.convert.parts_template import flow
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.ide.contract_formats import input_schema
from promptls.ide.refactor.refactoring import Change, Offer, RefactorSelection, line_break, refused
from promptls.lint.fixes.yaml_edits import added_input
from promptls.lint.rule import Edit, File
from promptls.semantic.header import OPENING
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import GLOBALS, INJECTED, chunk_events
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.workspace.contract import NeededInput, function_names, inputs_of
from promptls.workspace.disk import ENDINGS


def input_keys_form(place: RefactorSelection) -> Offer | None:
    """Return the conversion of `input_keys` to its other form, if the selection is in the declarations."""
    declarations = place.template.declarations
    entry = declarations.tree.entry("input_keys") if declarations.tree else None
    if entry is None or not entry.key.span.start <= place.span.start <= entry.value.span.end:
        return None
    value = Span(entry.key.span.end, entry.value.span.end)
    names = [key.name for key in declarations.inputs or ()]
    if not names:
        return None
    column = place.template.source.line_column(entry.key.span.start).column
    if isinstance(entry.value, Sequence):
        title = "Write `input_keys` as a mapping, with the types that their uses suggest"
        if len(names) != len(entry.value.items):
            return refused(title, "refactor.rewrite", "an item of the list is no name")
        return Offer(
            title, "refactor.rewrite", lambda: Change((Edit(value, _mapping(place, names, column)),))
        )
    if isinstance(entry.value, Mapping):
        lost = sum(bool(key.schema) for key in declarations.inputs or ())
        title = "Write `input_keys` as a list"
        if lost:
            title += ", without types and descriptions"
        if _has_comment(place, entry.value):
            return refused(title, "refactor.rewrite", "a comment is among the keys, and would be lost")
        return Offer(
            title, "refactor.rewrite", lambda: Change((Edit(value, f": [{', '.join(map(flow, names))}]"),))
        )
    return None


def _mapping(place: RefactorSelection, names: list[str], column: int) -> str:
    """Return `input_keys` as a mapping in block style, with each schema on the line of its name."""
    needed = {each.name: each for each in inputs_of(place.snapshot, place.path)}
    indentation = " " * (column + 2)
    lines = [f"{indentation}{flow(name)}: {flow(suggested(needed.get(name)))}" for name in names]
    end = line_break(place.template)
    return ":" + end + end.join(lines)


def suggested(needed: NeededInput | None) -> dict[str, object]:
    """Return the JSON Schema inferred from the uses of an input; empty if they do not determine a type."""
    if needed is None:
        return {}
    kind = input_schema(needed, ()).get("type")
    return {"type": kind} if isinstance(kind, str) else {}


def _has_comment(place: RefactorSelection, node: Node) -> bool:
    return any(
        line.lstrip().startswith("#") or " #" in line
        for line in place.template.source.slice(node.span).splitlines()
    )


def add_header(place: RefactorSelection) -> Offer | None:
    """Return the insertion of a header in a parts template without one; offered on the first line."""
    if place.kind is not Kind.PARTS or place.template.header is not None:
        return None
    if place.template.source.line_column(place.span.start).line > 0:
        return None
    return Offer("Add a header that declares the inputs", "refactor.rewrite", lambda: added_header(place))


def added_header(place: RefactorSelection, *also: str) -> Change:
    """Return the edit that adds the header, with the names `also` among its inputs."""
    needed = {each.name: each for each in inputs_of(place.snapshot, place.path)}
    # If a function that callers pass were missing in the header, its calls would be reported.
    provided = function_names(place.snapshot, place.path) or frozenset()
    names = dict.fromkeys([*(name for name in needed if name not in provided), *also])
    lines = ["{#---", f"name: {flow(_name(place.path))}"]
    if names:
        lines.append("input_keys:")
        lines += [f"  {flow(name)}: {flow(suggested(needed.get(name)))}" for name in names]
    else:
        lines.append("input_keys: []")
    end = line_break(place.template)
    at = 1 if place.template.source.first_chunk.text.startswith("\ufeff") else 0
    return Change((Edit(Span(at, at), end.join([*lines, "---#}", ""])),))


def _name(path: str) -> str:
    name = Path(path).name
    return next((name[: -len(ending)] for ending in ENDINGS if name.endswith(ending)), name)


def declare_input(place: RefactorSelection) -> Offer | None:
    """Return the addition of the variable at the cursor to `input_keys`; adds a header if there is none."""
    template = place.template
    found = template.source.located(place.span.start)
    here = place.span.start - found.start
    name = next(
        (
            event.name
            for event in chunk_events(found.chunk)
            if event.action == "read" and event.span.contains(here) and event.detail != "call"
        ),
        None,
    )
    if name is None or name in {*GLOBALS, *INJECTED} or name not in template.names.input_names:
        return None
    if not any(
        reference.is_input and reference.span.contains(place.span.start)
        for reference in template.names.references_of(name)
    ):
        return None
    if place.kind not in {Kind.PARTS, Kind.OBJECT} or any(
        key.name == name for key in template.declarations.inputs or ()
    ):
        return None
    title = f"Declare the input `{name}`"
    tree = template.declarations.tree
    if tree is not None and tree.entry("input_keys") is not None:
        project = place.snapshot.project(place.path).settings
        context = File(place.snapshot, place.path, template, place.kind, project)
        fixes = added_input(context, name)
        return Offer(title, "refactor.rewrite", lambda: Change(fixes[0].edits)) if fixes else None
    if template.header is None:
        if place.kind is not Kind.PARTS:
            return None
        return Offer(f"{title} in a new header", "refactor.rewrite", lambda: added_header(place, name))
    if template.declarations.problems and tree is None:
        return None
    start = template.header.span.start + len(OPENING)
    edit = Edit(Span(start, start), f"{line_break(template)}input_keys: [{name}]")
    return Offer(title, "refactor.rewrite", lambda: Change((edit,)))


_MAX_CONVERTED: Final = 200_000
"""The maximum length of a file that is converted to check whether it can be, in characters."""
_FORMS: Final = {
    Kind.OBJECT: ("object", "parts", "a parts template"),
    Kind.EVALUATION: ("opencompass", "parts", "a parts template"),
    Kind.PARTS: ("parts", "object", "a prompt object"),
}


def convert_file(place: RefactorSelection) -> Offer | None:
    """Return the conversion of the file to another format, in a new file; offered on the first line."""
    form = _FORMS.get(place.kind)
    if form is not None and form_of(place.template.declarations.data) is not None:
        form = ("ragas", *form[1:])
    source_text = place.template.source
    if (
        form is None
        or source_text.line_column(place.span.start).line > 0
        or len(source_text) > _MAX_CONVERTED
    ):
        return None
    source, target, description = form
    path = _path(place, target)
    title = f"Convert to {description}: `{path.name}`"
    try:
        made = convert(source_text.text, place.path, source, target)
    except UserError as failure:
        return refused(title, "refactor.rewrite", failure.message, makes_files=True)
    text = made.text
    if made.lost:
        title += ", with a list of what is lost"
        lines = "".join(f"  - {each}\n" for each in made.lost).replace("#}", "# }")
        text += f"{{# Not carried over:\n{lines}#}}\n"
    return Offer(title, "refactor.rewrite", lambda: Change((), {str(path): text}), makes_files=True)


def _path(place: RefactorSelection, target: str) -> Path:
    """Return an unused file name in the same folder."""
    file = Path(place.path)
    stem = next((file.name[: -len(end)] for end in ENDINGS if file.name.endswith(end)), file.stem)
    path, number = file.with_name(f"{stem}_{target}.yml.j2"), 2
    while place.snapshot.exists(str(path)):
        path, number = file.with_name(f"{stem}_{target}_{number}.yml.j2"), number + 1
    return path
