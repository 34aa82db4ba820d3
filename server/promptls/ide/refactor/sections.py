"""Refactorings of parts and files: extract a section file, inline one, sort parts for prefix caches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from promptls.convert.formats import convert
from promptls.convert.parts_template import flow
from promptls.dialects.prompt_poet.vocabulary import DEFAULT_ROLE
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.ide.contract_formats import input_schema
from promptls.ide.refactor.refactoring import (
    Change,
    Offer,
    RefactorSelection,
    line_break,
    part_region,
    refuse,
)
from promptls.lint.fixes.yaml_edits import added_input, appended_entry
from promptls.lint.rule import Edit, File
from promptls.semantic.header import CLOSING, OPENING
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import TemplateReference
from promptls.semantic.names.scopes import GLOBALS, INJECTED, chunk_events
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, scalar_text
from promptls.text.errors import UserError
from promptls.text.filenames import file_name_problem
from promptls.text.positions import Span
from promptls.workspace.contract import NeededInput, function_names, inputs_of
from promptls.workspace.disk import stem_of

_FOLDER: Final = "sections"


def extract_section(place: RefactorSelection) -> Offer | None:
    """Return the move of the selected part to a new file, which is included in its place."""
    if place.kind not in {Kind.PARTS, Kind.SECTION}:
        return None
    found = place.template.source.located(place.span.start)
    region = part_region(found.chunk)
    if region is None or place.span.end - found.start > region.span.end:
        return None
    if place.span.start - found.start >= region.span.end:
        return None
    folder = _root(place)
    title = f"Extract the part into a file of `{_FOLDER}/`"
    if folder is None:
        return refuse(
            title,
            "refactor.extract",
            "templates of several folders include the file, and its own includes count from each",
            makes_files=True,
        )
    name = _file_name(place, folder, region.part.name)
    title = f"Extract the part into `{name}`"
    reason = _reason(place, found.chunk, region.span, found.start)
    if reason:
        return refuse(title, "refactor.extract", reason, makes_files=True)
    text = found.chunk.text[: region.span.end]

    def change() -> Change:
        end = line_break(place.template)
        section = text if text.endswith(("\n", "\r")) else text + end
        include = f'{{% include "{name}" %}}{end if text.endswith(chr(10)) else ""}'
        edit = Edit(region.span.shifted(found.start), include)
        return Change((edit,), {str(folder / name): section})

    return Offer(title, "refactor.extract", change, makes_files=True)


def _root(place: RefactorSelection) -> Path | None:
    """Return the folder that the file's includes are relative to: its own, or its entry templates'."""
    folders = {str(Path(entry).parent) for entry in place.snapshot.entries(place.path)}
    return Path(folders.pop()) if len(folders) == 1 else None


def _file_name(place: RefactorSelection, folder: Path, part: str | None) -> str:
    parts = re.findall(r"[^\W_]+", (part or "part").lower())
    stem = "_".join(parts)[:50] or "part"
    if file_name_problem(stem) is not None:
        stem = f"part_{stem}"
    name, number = f"{_FOLDER}/{stem}.yml.j2", 2
    while place.snapshot.exists(str(folder / name)):
        name, number = f"{_FOLDER}/{stem}_{number}.yml.j2", number + 1
    return name


def _reason(place: RefactorSelection, chunk: Chunk, region: Span, start: int) -> str:
    """Return why the part would have a different meaning in a separate file; else an empty text."""
    events = [event for event in chunk_events(chunk) if event.span.start < region.end]
    inside = region.shifted(start)
    if any(event.action == "read" and event.name == "loop" for event in events) and any(
        reference.binding is None or not inside.covers(reference.binding.span.start)
        for reference in place.template.names.references_of("loop")
        if inside.covers(reference.span.start)
    ):
        return "the part reads `loop`, which an included file does not see"
    outside = {
        reference.name
        for reference in place.template.names.references
        if not inside.covers(reference.span.start)
    }
    for event in events:
        if event.action == "bind" and event.name in outside:
            return f"the part sets `{event.name}`, which is read outside of it, and an include would hide it"
    after = next((tag for tag in chunk.tags if tag.span.start >= region.end), None)
    if after and after.trims_before and not chunk.text[region.end : after.span.start].strip():
        return "the tag after the part trims the part's last lines, which it cannot do in another file"
    last = [tag for tag in chunk.tags if tag.span.end <= region.end]
    if last and last[-1].trims_after and not chunk.text[last[-1].span.end : region.end].strip():
        return "the part's last tag trims the lines after the part, which it cannot do from another file"
    return ""


def inline_section(place: RefactorSelection) -> Offer | None:
    """Return the replacement of the include at the selection with the text of the included file."""
    found = place.template.source.located(place.span.start)
    offset = place.span.start - found.start
    tag = next((tag for tag in found.chunk.tags if tag.span.touches(offset)), None)
    reference = next(
        (
            reference
            for reference in place.template.references
            if tag and tag.span.shifted(found.start).touches(reference.span.start)
        ),
        None,
    )
    if tag is None or reference is None or reference.keyword != "include" or not reference.name:
        return None
    target = place.snapshot.resolve(place.path, reference)
    section = place.snapshot.template(target) if target else None
    if target is None or section is None:
        return None
    title = f"Inline `{reference.name}`"
    reason = _inline_section_reason(place, reference, section, tag)
    if reason:
        return refuse(title, "refactor.inline", reason)

    def change() -> Change:
        return Change((Edit(tag.span.shifted(found.start), _text(section)),))

    return Offer(title, "refactor.inline", change)


def _text(section: Template) -> str:
    """Return the text that the include prints: without header and final line break."""
    text = section.source.text.removeprefix("\ufeff")
    if section.header is not None:
        text = section.source.text[section.header.span.end :].lstrip()
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text.removesuffix(end)
    return text


def _inline_section_reason(
    place: RefactorSelection, reference: TemplateReference, section: Template, tag: Tag
) -> str:
    """Return why the text would have a different meaning at the include; else an empty text."""
    if not reference.with_context:
        return "it is included `without context`, so that it sees no variables"
    if reference.alternatives or reference.is_choice:
        return "the include names several files"
    if section is place.template:
        return "the file includes itself"
    if any(each.keyword == "extends" for each in section.references):
        return "the file extends another file"
    events = [event for chunk in section.source.chunks for event in chunk_events(chunk)]
    if any(event.action == "read" and event.name == "loop" for event in events):
        return "the file reads `loop`, which it does not see as an included file, and would see here"
    if any(event.action == "open" and event.name == "block" for event in events):
        return "the file has blocks, which would be blocks of this file"
    outside = place.template.names.read_names
    shared_names = {event.name for event in events if event.action == "bind"} & outside
    if shared_names:
        return f"the file sets `{min(shared_names)}`, which would be seen here too"
    return _trims(section, tag)


def _trims(section: Template, tag: Tag) -> str:
    text = _text(section)
    tags = [tag for chunk in section.source.chunks for tag in chunk.tags]
    if section.header is not None:
        tags = tags[1:]
    if tag.trims_after or tag.trims_before:
        return "the include trims what is around it"
    if tags and tags[0].trims_before and text.startswith(tags[0].text):
        return "the file's first tag trims what is before it"
    if tags and tags[-1].trims_after and text.endswith(tags[-1].text):
        return "the file's last tag trims what follows it"
    return ""


_TITLE: Final = "Sort the parts: fixed text first, for the cached prefix"


class _Movable(NamedTuple):
    """A part that can be swapped with its neighbors of the same role."""

    start: int
    text: str
    role: str
    is_fixed: bool


def sort_parts(place: RefactorSelection) -> Offer | None:
    """Return the reordering of consecutive parts with the same role: parts without variables come first.

    A part in a block, one that binds a name, and one followed by anything but blank lines is not moved, and
    no other part moves past it.
    """
    if place.kind is not Kind.PARTS:
        return None
    edits = tuple(edit for run in _runs(place) for edit in _sort(run))
    return Offer(_TITLE, "refactor.rewrite", lambda: Change(edits)) if edits else None


def _sort(run: list[_Movable]) -> list[Edit]:
    """Return the edits that sort the run, limited to the parts that move."""
    ordered = sorted(run, key=lambda part: not part.is_fixed)
    moved = [index for index, part in enumerate(run) if ordered[index] is not part]
    if not moved:
        return []
    first, last = moved[0], moved[-1]
    text = "".join(part.text for part in ordered[first : last + 1])
    return [Edit(Span(run[first].start, run[last].start + len(run[last].text)), text)]


def _runs(place: RefactorSelection) -> list[list[_Movable]]:
    runs: list[list[_Movable]] = [[]]
    source = place.template.source
    depth = 0
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        movable = None if depth else _movable(chunk)
        depth += sum({"open": 1, "close": -1}.get(tag.action, 0) for tag in chunk_blocks(chunk).loose)
        if movable is None:
            runs.append([])
            continue
        if runs[-1] and runs[-1][-1].role != movable.role:
            runs.append([])
        runs[-1].append(movable._replace(start=start))
    return runs


@chunk_fact
def _movable(chunk: Chunk) -> _Movable | None:
    region = part_region(chunk)
    if region is None or chunk_blocks(chunk).loose or chunk.text[region.span.end :].strip():
        return None
    if not chunk.text.endswith("\n"):
        return None
    value = region.part.value("role")
    role = DEFAULT_ROLE if value is None else scalar_text(value)
    if role is None or any(tag.trims_after or tag.trims_before for tag in chunk.tags):
        return None
    events = chunk_events(chunk)
    if any(event.action in {"bind", "open"} and event.name not in {"if", "for"} for event in events):
        return None
    reads = {event.name for event in events if event.action == "read"} - GLOBALS
    includes = any(tag.kind == "statement" and "include" in tag.text for tag in chunk.tags)
    return _Movable(0, chunk.text, role, not reads and not includes)


def input_keys_form(place: RefactorSelection) -> Offer | None:
    """Return the conversion of `input_keys` to its other form, if the selection is in the declarations."""
    declarations = place.template.declarations
    entry = declarations.tree.entry("input_keys") if declarations.tree else None
    if entry is None or not entry.key.span.start <= place.span.start <= entry.value.span.end:
        return None
    value = Span(entry.key.span.end, entry.value.span.end)
    names = [key.name for key in declarations.inputs]
    if not names:
        return None
    column = place.template.source.line_column(entry.key.span.start).column
    if isinstance(entry.value, Sequence):
        title = "Write `input_keys` as a mapping, with the types that their uses suggest"
        if len(names) != len(entry.value.items):
            return refuse(title, "refactor.rewrite", "an item of the list is not a name")
        return Offer(
            title, "refactor.rewrite", lambda: Change((Edit(value, _mapping(place, names, column)),))
        )
    if isinstance(entry.value, Mapping):
        lost = sum(bool(key.schema) for key in declarations.inputs)
        title = "Write `input_keys` as a list"
        if lost:
            title += ", without types and descriptions"
        if _has_comment(place, entry.value):
            return refuse(title, "refactor.rewrite", "a comment is among the keys, and would be lost")
        return Offer(
            title, "refactor.rewrite", lambda: Change((Edit(value, f": [{', '.join(map(flow, names))}]"),))
        )
    return None


def _mapping(place: RefactorSelection, names: list[str], column: int) -> str:
    """Return `input_keys` as a mapping in block style, with each schema on the line of its name."""
    needed = {each.name: each for each in inputs_of(place.snapshot, place.path)}
    indentation = " " * (column + 2)
    lines = [f"{indentation}{flow(name)}: {flow(suggest_schema(needed.get(name)))}" for name in names]
    end = line_break(place.template)
    return ":" + end + end.join(lines)


def suggest_schema(needed: NeededInput | None) -> dict[str, object]:
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
    lines = ["{#---", f"name: {flow(stem_of(place.path))}"]
    if names:
        lines.append("input_keys:")
        lines += [f"  {flow(name)}: {flow(suggest_schema(needed.get(name)))}" for name in names]
    else:
        lines.append("input_keys: []")
    end = line_break(place.template)
    at = 1 if place.template.source.first_chunk.text.startswith("\ufeff") else 0
    return Change((Edit.insert(at, end.join([*lines, "---#}", ""])),))


def added_key(template: Template, written: str) -> Edit | None:
    """Return the edit that adds a key after those that the file declares; None if it has no place for it."""
    text, header, tree = template.source.text, template.header, template.declarations.tree
    end = len(text)
    if header is not None:
        end = header.span.end - len(CLOSING if text.endswith(CLOSING, 0, header.span.end) else "#}")
    edit = None if tree is None else appended_entry(text[:end], tree.span, tree.entries, written)
    if edit is None and header is not None:
        start = header.span.start + len(OPENING)
        edit = Edit.insert(start, f"\n{written}")
    if edit is None:
        return None
    is_beside_closing = header is not None and edit.span.end == end and "\n" in edit.text
    added = f"{edit.text}\n" if is_beside_closing else edit.text
    return Edit(edit.span, added.replace("\n", line_break(template)))


def declare_input(place: RefactorSelection) -> Offer | None:
    """Return the addition of the variable at the cursor to `input_keys`; adds a header if there is none."""
    template = place.template
    found = template.source.located(place.span.start)
    here = place.span.start - found.start
    name = next(
        (
            event.name
            for event in chunk_events(found.chunk)
            if event.action == "read" and event.span.touches(here) and event.detail != "call"
        ),
        None,
    )
    if name is None or name in {*GLOBALS, *INJECTED} or name not in template.names.input_names:
        return None
    if not any(
        reference.is_input and reference.span.touches(place.span.start)
        for reference in template.names.references_of(name)
    ):
        return None
    if place.kind not in {Kind.PARTS, Kind.OBJECT} or any(
        key.name == name for key in template.declarations.inputs
    ):
        return None
    title = f"Declare the input `{name}`"
    tree = template.declarations.tree
    if tree is not None and tree.entry("input_keys") is not None:
        project = place.snapshot.project(place.path).settings
        context = File(place.snapshot, place.path, template, place.kind, project)
        fixes = added_input(context, name)
        if not fixes:
            return None
        # The title of the quick fix, so that a finding with this fix is not offered the same change twice.
        return Offer(fixes[0].title, "refactor.rewrite", lambda: Change(fixes[0].edits))
    if template.header is None:
        if place.kind is not Kind.PARTS:
            return None
        return Offer(f"{title} in a new header", "refactor.rewrite", lambda: added_header(place, name))
    if template.declarations.problems and tree is None:
        return None
    edit = added_key(template, f"input_keys: [{name}]")
    return Offer(title, "refactor.rewrite", lambda: Change((edit,))) if edit is not None else None


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
        return refuse(title, "refactor.rewrite", failure.message, makes_files=True)
    text = made.text
    if made.lost:
        title += ", with a list of what is lost"
        lines = "".join(f"  - {each}\n" for each in made.lost).replace("#}", "# }")
        text += f"{{# Not carried over:\n{lines}#}}\n"
    return Offer(title, "refactor.rewrite", lambda: Change((), {str(path): text}), makes_files=True)


def _path(place: RefactorSelection, target: str) -> Path:
    """Return an unused file name in the same folder."""
    file = Path(place.path)
    stem = stem_of(place.path)
    path, number = file.with_name(f"{stem}_{target}.yml.j2"), 2
    while place.snapshot.exists(str(path)):
        path, number = file.with_name(f"{stem}_{target}_{number}.yml.j2"), number + 1
    return path
