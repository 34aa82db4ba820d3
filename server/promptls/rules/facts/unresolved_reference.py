"""What can be said of a template name that leads to no file, and the name that was probably meant."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final

from promptls.meaning.references import TemplateReference, choices
from promptls.meaning.statement_places import statement_at
from promptls.meaning.template_names import written_names
from promptls.rules.rule import Edit, FileContext, Finding, Fix, RelatedPlace
from promptls.syntax.jinja.nodes import Conditional
from promptls.text.nearest import nearest
from promptls.text.span import Span
from promptls.workspace.include_names import parts_of_name, path_in

_MOST_SIBLINGS: Final = 500
_FILE_NAME: Final = re.compile(r"[\w./-]+\.\w+")


def unresolved(context: FileContext, keywords: frozenset[str]) -> Iterator[Finding]:
    """A finding for each template name of a tag with one of the keywords that leads to no file."""
    for reference in context.template.references:
        if reference.keyword not in keywords:
            continue
        if reference.is_choice:
            yield from _without_else(context, reference)
        unquoted = _unquoted(context, reference) if reference.name is None else None
        if unquoted is not None:
            yield unquoted  # `ignore missing` does not help, either: the variables are not there
        elif reference.ignore_missing:
            continue
        elif reference.name is None:
            yield from _by_variable(context, reference)
        elif context.snapshot.resolve(context.path, reference) is None:
            yield _finding(context, reference, reference.name)
        elif not reference.alternatives:
            yield from _from_entries(context, reference, reference.name)


def _without_else(context: FileContext, reference: TemplateReference) -> Iterator[Finding]:
    """A finding where a tag gets no name at all when its condition is false; it stands with the first name."""
    statement = statement_at(context.template, reference.span.start)
    chosen = statement.template if statement is not None else None
    if statement is None or not isinstance(chosen, Conditional) or chosen.otherwise is not None:
        return
    start = reference.span.start - next(choices(chosen)).span.start
    if chosen.then.span.shifted(start) != reference.span:
        return
    test = context.template.source.slice(chosen.test.span.shifted(start))
    message = (
        f"where `{test}` is false, this {reference.keyword} has no name, and rendering fails: add an `else`"
    )
    yield Finding(chosen.span.shifted(start), message, severity="warning")


def _unquoted(context: FileContext, reference: TemplateReference) -> Finding | None:
    """A finding where the name of a file that is there stands without quotes; Jinja takes it for variables."""
    written = context.template.source.slice(reference.span)
    if not _FILE_NAME.fullmatch(written):
        return None
    if context.snapshot.resolve(context.path, reference._replace(name=written)) is None:
        return None
    fix = Fix("Quote it", (Edit(reference.span, f"'{written}'"),), preferred=True)
    return Finding(
        reference.span, "the name of a file stands in quotes: these are taken for variables", (fix,)
    )


def _by_variable(context: FileContext, reference: TemplateReference) -> Iterator[Finding]:
    """A finding for each name that a variable of the file hands to the tag, at its own place."""
    if reference.is_unfinished:
        return
    seen: set[Span] = set()
    for written in written_names(context.template, reference):
        names = tuple(name for name in written.names if name)
        alternatives = names if len(written.names) > 1 else ()
        named = reference._replace(name=names[0] if names else None, alternatives=alternatives)
        if not names or written.span in seen or context.snapshot.resolve(context.path, named) is not None:
            continue
        seen.add(written.span)
        found = _finding(context, named._replace(span=written.span), names[0])
        place = RelatedPlace(context.path, reference.span, f"the {reference.keyword} that gets this name")
        fixes = found.fixes if written.is_whole else ()
        yield Finding(found.span, found.message, fixes, (place,) if written.is_variable else ())


def _finding(context: FileContext, reference: TemplateReference, name: str) -> Finding:
    if reference.alternatives:
        listed = ", ".join(f"`{each}`" for each in reference.alternatives)
        return Finding(reference.span, f"none of these files is there: {listed}")
    meant = _meant(context, name)
    fixes = _fixes(context, reference, meant) if meant else ()
    question = f"; did you mean `{meant}`?" if meant else ""
    if parts_of_name(name) is None:
        message = f"Jinja refuses `{name}`: names have no `..` and count from the entry template"
    elif "\\" in name:
        message = f"there is no file `{name}`: folders are parted by `/`"
    else:
        entries = context.snapshot.entries(context.path)
        alone = entries == (context.path,)
        where = "beside this template" if alone else "beside the templates that lead here"
        message = f"there is no file `{name}` {where}"
    return Finding(reference.span, f"{message}{question}", fixes)


def _from_entries(context: FileContext, reference: TemplateReference, name: str) -> Iterator[Finding]:
    """A finding where a template that includes this file lies in a folder from which the name leads nowhere."""
    snapshot = context.snapshot
    extra = _template_paths(context)
    for entry in sorted(snapshot.includers(context.path)):
        folder = str(Path(entry).parent)
        if snapshot.includers(entry) or folder == str(Path(context.path).parent):
            continue
        includes = snapshot.template(entry)
        is_strict = includes is not None and any(
            each.name is not None and path_in(folder, each.name) == context.path
            for each in includes.references
        )
        candidates = [path_in(each, name) for each in (folder, *extra)]
        if not is_strict or any(found and snapshot.exists(found) for found in candidates):
            continue
        meant = _name_from((folder,), str(snapshot.resolve(context.path, reference)))
        question = f"; did you mean `{meant}`?" if meant else ""
        message = f"`{Path(entry).name}` includes this file, and from its folder there is no file `{name}`"
        yield Finding(
            reference.span, f"{message}{question}", _fixes(context, reference, meant) if meant else ()
        )
        return


def _template_paths(context: FileContext) -> list[str]:
    project = context.snapshot.project(context.path)
    return [str(project.root / folder) for folder in project.settings.template_paths]


def _fixes(context: FileContext, reference: TemplateReference, meant: str) -> tuple[Fix, ...]:
    quote = context.template.source.slice(reference.span)[:1]
    if quote not in {"'", '"'} or quote in meant:
        return ()
    return (Fix(f"Change to `{meant}`", (Edit(reference.span, f"{quote}{meant}{quote}"),), preferred=True),)


def _meant(context: FileContext, name: str) -> str | None:
    """The name of a file that is there, as it would have to be written here; None where none is like it."""
    folders = context.snapshot.search_folders(context.path)
    circular = {context.path, *context.snapshot.includers(context.path)}
    written = name.replace("\\", "/")
    beside = os.path.normpath(Path(context.path).parent / written)
    for candidate in (beside, *filter(None, (path_in(folder, written) for folder in folders))):
        is_there = candidate not in circular and context.snapshot.exists(candidate)
        found = _name_from(folders, candidate) if is_there else None
        if found is not None and found != name:
            return found
    plain = PurePath(*(part for part in written.split("/") if part not in {"", ".", ".."}))
    for folder in folders:
        parent = Path(folder) / plain.parent
        names = {name for name in _names_in(context, str(parent)) if str(parent / name) not in circular}
        near = _like(plain.name, names - {PurePath(context.path).name})
        if near is not None:
            return (plain.parent / near).as_posix()
    return None


def _like(name: str, names: set[str]) -> str | None:
    """The name that is most like `name` without its extensions, which all templates share."""
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


def _names_in(context: FileContext, folder: str) -> set[str]:
    """The names of the files in a folder, the unsaved ones too."""
    names = {
        PurePath(path).name for path in context.snapshot.open_files if str(PurePath(path).parent) == folder
    }
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(_MOST_SIBLINGS), strict=False):
                if not entry.name.startswith("."):
                    names.add(entry.name)
    except (OSError, ValueError):  # of names that no file can have, too
        pass
    return names
