"""Names of templates and of imported macros and variables, and whether they can be resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from promptls.lint.fixes.misspellings import misspelled, near_folder
from promptls.lint.rule import Edit, File, Finding, Fix, RelatedInformation
from promptls.security.files import current_scope, folder_changed
from promptls.semantic.names.mentions import TemplateReference, choices
from promptls.semantic.names.scopes import Binding
from promptls.semantic.names.template_names import statement_at, written_names
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.file_blocks import block_names, has_blocks
from promptls.syntax.jinja.nodes import Attribute, Call, Conditional, Constant, Filter, Item, Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.format import in_code
from promptls.text.positions import Span
from promptls.text.suggest import is_typo, nearest
from promptls.workspace.include_graph import parts_of_name, path_in
from promptls.workspace.snapshot import Snapshot

_MAX_SIBLINGS: Final = 500
_FILE_NAME: Final = re.compile(r"[\w./-]+\.\w+")
_DIGIT: Final = re.compile(r"\d")
_ENDINGS: Final = (".j2", ".jinja", ".jinja2", ".yaml", ".yml", ".txt")


def unresolved(file: File, keywords: frozenset[str]) -> Iterator[Finding]:
    """Yield a finding for each template name that cannot be resolved, in tags with one of the keywords."""
    for reference in file.template.references:
        if reference.keyword not in keywords:
            continue
        if reference.is_choice:
            yield from _without_else(file, reference)
        unquoted = _unquoted(file, reference) if reference.name is None else None
        if unquoted is not None:
            yield unquoted  # not even `ignore missing` prevents the failure, as the variables do not exist
        elif reference.ignore_missing:
            yield from _ignored(file, reference)
        elif reference.name is None:
            yield from _by_variable(file, reference)
        elif file.snapshot.resolve(file.path, reference) is None:
            yield _finding(file, reference, reference.name)
        elif not reference.alternatives:
            yield from _from_entries(file, reference, reference.name)


def _ignored(file: File, reference: TemplateReference) -> Iterator[Finding]:
    """Yield a hint for a file that may be missing, if its name is a typo of one that is there."""
    name = reference.name
    if name is None or reference.alternatives or file.snapshot.resolve(file.path, reference) is not None:
        return
    meant = _meant(file, name)
    stems = [_DIGIT.sub("", _stem(PurePath(each).name)) for each in (name, meant or "")]
    is_used = any(each.name == meant for each in file.template.references)
    if meant is not None and stems[0] != stems[1] and is_typo(*stems) and not is_used:
        message = f"there is no file `{name}`, which `ignore missing` hides; did you mean `{meant}`?"
        fixes = tuple(replace(fix, preferred=False) for fix in _fixes(file, reference, meant))
        yield Finding(reference.span, message, fixes, severity="hint")


def _without_else(file: File, reference: TemplateReference) -> Iterator[Finding]:
    """Yield a finding if a tag has no template name when a condition is false."""
    statement = statement_at(file.template, reference.span.start)
    chosen = statement.template if statement is not None else None
    if statement is None or not isinstance(chosen, Conditional) or chosen.otherwise is not None:
        return
    start = reference.span.start - next(choices(chosen)).span.start
    if chosen.then.span.shifted(start) != reference.span:
        return
    test = file.template.source.slice(chosen.test.span.shifted(start))
    message = (
        f"where `{test}` is false, this {reference.keyword} has no name, and rendering fails: add an `else`"
    )
    yield Finding(chosen.span.shifted(start), message, severity="warning")


def _unquoted(file: File, reference: TemplateReference) -> Finding | None:
    """Return a finding for an unquoted file name, which Jinja reads as variables."""
    written = file.template.source.slice(reference.span)
    if not _FILE_NAME.fullmatch(written):
        return None
    is_there = file.snapshot.resolve(file.path, reference._replace(name=written)) is not None
    if not is_there and not written.endswith(_ENDINGS):
        return None
    fix = Fix("Quote it", (Edit(reference.span, f"'{written}'"),), preferred=True)
    return Finding(
        reference.span, "the name of a file must be in quotes: these are read as variables", (fix,)
    )


def _by_variable(file: File, reference: TemplateReference) -> Iterator[Finding]:
    """Yield a finding for each unresolved name that a variable passes to the tag, at the name itself."""
    if reference.is_unfinished:
        return
    seen: set[Span] = set()
    for written in written_names(file.template, reference):
        names = tuple(name for name in written.names if name)
        alternatives = names if len(written.names) > 1 else ()
        named = reference._replace(name=names[0] if names else None, alternatives=alternatives)
        if not names or written.span in seen or file.snapshot.resolve(file.path, named) is not None:
            continue
        seen.add(written.span)
        found = _finding(file, named._replace(span=written.span), names[0])
        place = RelatedInformation(file.path, reference.span, f"the {reference.keyword} that gets this name")
        fixes = found.fixes if written.is_whole else ()
        yield Finding(found.span, found.message, fixes, (place,) if written.is_variable else ())


def _finding(file: File, reference: TemplateReference, name: str) -> Finding:
    if reference.alternatives:
        return Finding(reference.span, f"none of these files exists: {in_code(reference.alternatives)}")
    if not current_scope().allows(Path(file.path).parent / name) and parts_of_name(name) is not None:
        message = f"`{name}` leads out of the project, which is not trusted: it is not read"
        return Finding(reference.span, message)
    meant = _meant(file, name)
    fixes = _fixes(file, reference, meant) if meant else ()
    question = f"; did you mean `{meant}`?" if meant else ""
    if parts_of_name(name) is None:
        message = f"Jinja refuses `{name}`: names have no `..` and count from the entry template"
    elif "\\" in name:
        message = f"there is no file `{name}`: folders are separated by `/`"
    else:
        alone = file.snapshot.entries(file.path) == (file.path,)
        where = "next to this template" if alone else "next to the templates that include this file"
        message = f"there is no file `{name}` {where}"
    return Finding(reference.span, f"{message}{question}", fixes)


def _from_entries(file: File, reference: TemplateReference, name: str) -> Iterator[Finding]:
    """Yield a finding if the name does not resolve from the folder of a template that includes this file."""
    snapshot = file.snapshot
    extra = _template_paths(file)
    for entry in sorted(snapshot.includers(file.path)):
        folder = str(Path(entry).parent)
        if snapshot.includers(entry) or folder == str(Path(file.path).parent):
            continue
        includes = snapshot.template(entry)
        is_strict = includes is not None and any(
            each.name is not None and path_in(folder, each.name) == file.path for each in includes.references
        )
        candidates = [path_in(each, name) for each in (folder, *extra)]
        if not is_strict or any(found and snapshot.exists(found) for found in candidates):
            continue
        meant = _name_from((folder,), str(snapshot.resolve(file.path, reference)))
        question = f"; did you mean `{meant}`?" if meant else ""
        message = f"`{Path(entry).name}` includes this file, and from its folder there is no file `{name}`"
        yield Finding(reference.span, f"{message}{question}", _fixes(file, reference, meant) if meant else ())
        return


def _template_paths(file: File) -> list[str]:
    project = file.snapshot.project(file.path)
    return [str(project.root / folder) for folder in project.settings.template_paths]


def _fixes(file: File, reference: TemplateReference, meant: str) -> tuple[Fix, ...]:
    quote = file.template.source.slice(reference.span)[:1]
    if quote not in {"'", '"'} or quote in meant:
        return ()
    return (Fix(f"Change to `{meant}`", (Edit(reference.span, f"{quote}{meant}{quote}"),), preferred=True),)


def _meant(file: File, name: str) -> str | None:
    """Return the name of the existing file that is probably meant, as it must be written here, or None."""
    folders = file.snapshot.search_folders(file.path)
    circular = {file.path, *file.snapshot.includers(file.path)}
    written = name.replace("\\", "/")
    beside = os.path.normpath(Path(file.path).parent / written)
    for candidate in (beside, *filter(None, (path_in(folder, written) for folder in folders))):
        is_there = candidate not in circular and file.snapshot.exists(candidate)
        found = _name_from(folders, candidate) if is_there else None
        if found is not None and found != name:
            return found
    plain = PurePath(*(part for part in written.split("/") if part not in {"", ".", ".."}))
    for folder in folders:
        parent = Path(folder) / plain.parent
        names = {name for name in _names_in(file, str(parent)) if str(parent / name) not in circular}
        near = _like(plain.name, names - {PurePath(file.path).name})
        if near is not None:
            return (plain.parent / near).as_posix()
        other = near_folder(parent, str(plain.parent)) if not names and plain.parent.name else None
        if other is not None and file.snapshot.exists(str(Path(folder) / other / plain.name)):
            return f"{other}/{plain.name}"
    return None


def _like(name: str, names: set[str]) -> str | None:
    """Return the name most similar to `name`, ignoring the extensions, which all templates share."""
    stem = nearest(_stem(name), map(_stem, sorted(names)))
    alike = sorted(each for each in names if _stem(each) == stem)
    return (nearest(name, alike) or alike[0]) if alike else None


def _stem(name: str) -> str:
    return name.partition(".")[0]


def _name_from(folders: tuple[str, ...], path: str) -> str | None:
    for folder in folders:
        if PurePath(path).is_relative_to(folder):
            return PurePath(path).relative_to(folder).as_posix()
    return None


def _names_in(file: File, folder: str) -> set[str]:
    """Return the names of the files in a folder, including unsaved ones."""
    names = {
        PurePath(path).name for path in file.snapshot.open_paths() if str(PurePath(path).parent) == folder
    }
    if not current_scope().allows(folder):
        return names
    folder_changed(folder)  # recorded, so that a later change invalidates cached findings
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(_MAX_SIBLINGS), strict=False):
                if not entry.name.startswith(".") and not entry.is_dir():
                    names.add(entry.name)
    except (OSError, ValueError):  # also for names that are invalid on this platform
        pass
    return names


def lacking_imports(file: File) -> Iterator[Finding]:
    """Yield the names in `from … import` that the imported file does not define."""
    for reference in file.template.references:
        if reference.keyword != "from" or reference.alternatives or reference.is_choice:
            continue
        statement = statement_at(file.template, reference.span.start)
        exported = _exports(file, reference)
        if statement is None or exported is None:
            continue
        tag_start = reference.span.start - (statement.template.span.start if statement.template else 0)
        file_name, known = exported
        for each in statement.imported:
            if each.name not in known:
                message = f"`{file_name}` has no macro or variable `{each.name}`"
                yield misspelled(each.span.shifted(tag_start), message, each.name, known)


def modules(file: File) -> dict[str, object]:
    """Return the exports of the imported files whose attributes the file uses, by imported name."""
    names = file.template.names
    imported = owner_names(file.template.source.root) & names.bound_names("import")
    if not imported:
        return {}
    bindings = [binding for binding in names.bindings_of("import") if binding.name in imported]
    found: dict[str, object] = {}
    for name in imported:
        own = [binding for binding in bindings if binding.name == name]
        is_plain = len(own) == 1 and name not in names.bound_otherwise("import")
        exported = _exports_of_module(file, own[0]) if is_plain else None
        if exported is not None:
            found[name] = exported
    return found


def meant_alias(file: File, module: str) -> str | None:
    """Return the undefined name whose macros the file calls in place of those of `module`, or None."""
    names = file.template.names
    bindings = [binding for binding in names.bindings_of("import") if binding.name == module]
    exported = _exports_of_module(file, bindings[0]) if len(bindings) == 1 else None
    called: dict[str, set[str]] = {}
    for located in file.chunks.where(owner_names):
        for member in _members(located.chunk):
            if member.is_called and member.owner in names.input_names:
                called.setdefault(member.owner, set()).add(member.name)
    meant = [owner for owner, macros in called.items() if exported and macros <= set(exported[1])]
    return meant[0] if len(meant) == 1 else None


class RenamedMacro(NamedTuple):
    """The import that binds a macro under another name than the one that is called, and that name."""

    binding: Binding
    name: str


def renamed_macros(file: File) -> dict[str, RenamedMacro]:
    """Return the undefined names that the file calls, and that it imports in a module or with an alias."""
    names = file.template.names
    called = frozenset[str]()
    if names.bound_names("import"):
        called = (names.called_names & names.input_names) - names.all_bound_names
    found: dict[str, RenamedMacro] = {}
    for binding in names.bindings_of("import") if called else ():
        statement = statement_at(file.template, binding.span.start)
        for each in statement.imported if statement is not None else ():
            if each.alias == binding.name and each.name in called:
                found[each.name] = RenamedMacro(binding, binding.name)
        exported = _exports_of_module(file, binding)
        for name in called & exported[1] if exported else ():
            found[name] = RenamedMacro(binding, f"{binding.name}.{name}")
    return found


def _exports_of_module(file: File, binding: Binding) -> tuple[str, frozenset[str]] | None:
    """Return the imported file's name and its exports if the binding is that of a module, or None."""
    statement = statement_at(file.template, binding.span.start)
    node = statement.template if statement is not None and statement.keyword == "import" else None
    if not isinstance(node, Constant):
        return None
    return _exports(file, TemplateReference("import", str(node.value), node.span))


def lacking_members(chunk: Chunk, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the macros and variables that the chunk uses from imported files but that do not exist there."""
    for member in _members(chunk):
        if member.owner not in known or member.name.startswith("_"):
            continue
        file_name, members = known[member.owner]
        if member.name not in members:
            what = "macro" if member.is_called else "macro or variable"
            yield misspelled(
                member.span, f"`{file_name}` has no {what} `{member.name}`", member.name, members
            )


class _Member(NamedTuple):
    """An attribute of a name, and whether it is called."""

    owner: str
    name: str
    span: Span
    is_called: bool


@chunk_fact
def _members(chunk: Chunk) -> tuple[_Member, ...]:
    """Return the attributes of names in the chunk, except those that are tested for being defined."""
    nodes = list(expressions_in(chunk))
    called = {id(node.function) for _, node in nodes if isinstance(node, Call)}
    tested = {
        id(node.target)
        for _, node in nodes
        if isinstance(node, (Filter, Test)) and node.name in {"default", "d", "defined", "undefined"}
    }
    found = []
    for start, node in nodes:
        match node:
            case Attribute(target=Name(name=owner), name=name, name_span=span) if name:
                pass
            case Item(target=Name(name=owner), key=Constant(value=str() as name, span=quoted)):
                span = Span(quoted.start + 1, max(quoted.end - 1, quoted.start + 1))
            case _:
                continue
        if id(node) not in tested:
            found.append(_Member(owner, name, span.shifted(start), id(node) in called))
    return tuple(found)


owner_names: Final = summary(lambda chunk: frozenset(member.owner for member in _members(chunk)), union)
"""The names whose attributes a piece uses."""


def _exports(file: File, reference: TemplateReference) -> tuple[str, frozenset[str]] | None:
    """Return the imported file's name and its exports; None if they are unknown."""
    path = file.snapshot.resolve(file.path, reference)
    template = file.snapshot.template(path) if path else None
    if path is None or template is None or template.syntax_problems or _extends(template):
        return None
    return PurePath(path).name, template.names.bound_names("macro") | template.names.bound_names("set")


def _extends(template: Template) -> bool:
    return any(reference.keyword == "extends" for reference in template.references)


class BlockBody(NamedTuple):
    """A block: its name, the span of the name, the span between its tags, and its nesting depth."""

    name: str
    span: Span
    body: Span
    depth: int


def block_tags_of(template: Template) -> tuple[BlockBody, ...]:
    """Return the closed blocks of a file, sorted by their start."""
    found: list[BlockBody] = []
    stack: list[tuple[str, Span]] = []
    for located in template.source.root.where(has_blocks):
        for each in block_names(located.chunk):
            span = each.span.shifted(located.start)
            if each.opens:
                stack.append((each.name, span))
            elif stack:
                name, begin = stack.pop()
                found.append(BlockBody(name, begin, Span(begin.end, span.start), len(stack)))
    return tuple(sorted(found, key=lambda block: block.span))


def blocks_of(snapshot: Snapshot, path: str) -> frozenset[str]:
    """Return the names of the blocks in the file at `path`."""
    template = snapshot.template(path)
    if template is None or not has_blocks(template.source.root):
        return frozenset()
    chunks = template.source.root.where(has_blocks)
    return frozenset(each.name for located in chunks for each in block_names(located.chunk) if each.opens)


def ancestors(snapshot: Snapshot, path: str) -> tuple[str, ...] | None:
    """Return the files that the one at `path` extends, directly or indirectly; None if one is unknown."""
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        template = snapshot.template(current)
        for reference in template.references if template is not None else ():
            if reference.keyword != "extends":
                continue
            target = snapshot.resolve(current, reference)
            if target is None or reference.alternatives:
                return None
            if target not in found:
                found[target] = None
                waiting.append(target)
    return tuple(found)


def family(snapshot: Snapshot, path: str) -> tuple[str, ...] | None:
    """Return the file at `path` with its parents and children (`extends`); None if one is unknown."""
    above = ancestors(snapshot, path)
    if above is None:
        return None
    below: dict[str, None] = {path: None}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        for child in sorted(snapshot.includers(current)):
            template = snapshot.template(child)
            extends = template is not None and any(
                each.keyword == "extends" and snapshot.resolve(child, each) == current
                for each in template.references
            )
            if extends and child not in below:
                below[child] = None
                waiting.append(child)
    return (*below, *above)
