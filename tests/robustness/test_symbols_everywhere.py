"""Symbols at every place of every text: found again from each of their places, renamed there and back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptls.ide.navigation import call_item, declaration_steps, definition_steps, incoming, outgoing
from promptls.ide.ranges import highlights, linked_places
from promptls.ide.rename import prepare_steps, rename_steps
from promptls.ide.symbols import Symbol, occurrences, places_here, symbol_at
from promptls.semantic.names.variables import chunk_names, variables_named
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.text.steps import finish
from promptls.workspace.disk import text_on_disk
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace
from support.corpus import corpus
from support.texts import OWN, example_texts, page_texts

ROOT = Path("/project")
PATH = str(ROOT / "main.yml.j2")
TEXTS = {**OWN, **example_texts()}


def opened(text: str) -> Snapshot:
    workspace = Workspace([ROOT])
    workspace.open(PATH, text, 1)
    return workspace.snapshot


def inside(span: Span, text: str) -> bool:
    return 0 <= span.start <= span.end <= len(text)


def symbols_in(snapshot: Snapshot, path: str) -> Iterator[Symbol]:
    """Return every symbol in a tag of a file, once for each of its places."""
    template = snapshot.template(path)
    assert template is not None
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        for place in chunk_names(chunk):
            symbol = symbol_at(snapshot, path, start + place.span.start)
            assert symbol is not None
            assert symbol.span == place.span.shifted(start)
            yield symbol


@pytest.mark.parametrize("whole", TEXTS.values(), ids=TEXTS.keys())
def test_questions_about_any_place_of_any_text_have_answers_inside_it(whole: str) -> None:
    chance = random.Random(1)
    for _ in range(40):
        cut = sorted(chance.choices(range(len(whole) + 1), k=2))
        text = chance.choice([whole[: cut[1]], whole[: cut[0]] + whole[cut[1] :]])
        snapshot = opened(text)
        for offset in chance.choices(range(len(text) + 1), k=8):
            symbol = symbol_at(snapshot, PATH, offset)
            if symbol is not None:
                assert symbol.span.touches(offset)
                here = places_here(snapshot, symbol)
                assert symbol.span in [each.span for each in here]
                assert all(inside(each.span, text) for each in here)
                whole_places = [each for each in occurrences(snapshot, symbol) if each.path == PATH]
                assert [*here] == whole_places
            for target in (
                *finish(definition_steps(snapshot, PATH, offset)),
                *finish(declaration_steps(snapshot, PATH, offset)),
            ):
                assert target.path != PATH or inside(target.span, text)
                assert inside(target.origin, text)
            assert all(inside(each.span, text) for each in highlights(snapshot, PATH, offset))
            linked = linked_places(snapshot, PATH, offset)
            assert len({text[span.start : span.end] for span in linked}) <= 1
            item = call_item(snapshot, PATH, offset)
            if item is not None:
                incoming(snapshot, item)
                outgoing(snapshot, item)
            try:
                renaming = finish(prepare_steps(snapshot, PATH, offset))
            except UserError:
                continue
            assert symbol is not None
            assert renaming.span in [each.span for each in occurrences(snapshot, symbol)]


def check_names(snapshot: Snapshot, path: str) -> None:
    """Assert that variables are those of the name analysis, and that every place belongs to one of them."""
    template = snapshot.template(path)
    assert template is not None
    for name in template.names.read_names:
        variables = variables_named(template, name)
        for reference in template.names.references_of(name):
            (variable,) = (each for each in variables if each.holds(reference.span))
            if reference.binding is None:
                assert variable.is_input
            elif reference.binding.kind != "implied":
                assert reference.binding in variable.bindings
            assert variable.is_input or reference.certain


def check_rename_and_back(snapshot: Snapshot, path: str, most: int) -> None:
    """Assert that a rename to a new name and the rename back restore the texts."""
    seen: set[tuple[str, Span]] = set()
    for symbol in list(symbols_in(snapshot, path))[:most]:
        if (path, symbol.span) in seen:
            continue
        seen |= {(each.path, each.span) for each in occurrences(snapshot, symbol)}
        try:
            edits = finish(rename_steps(snapshot, path, symbol.span.start, "a_new_name"))
        except UserError:
            continue
        workspace = Workspace([Path(root) for root in snapshot.roots])
        workspace.take_scan({each: snapshot.graph.names(each) for each in snapshot.graph.paths})
        texts = {
            each: template.source.text
            for each in {edit.path for edit in edits}
            if (template := snapshot.template(each)) is not None
        }
        texts.setdefault(path, "")
        before = dict(texts)
        for edit in sorted(edits, reverse=True):
            text = texts[edit.path]
            texts[edit.path] = text[: edit.span.start] + edit.text + text[edit.span.end :]
        for each, text in texts.items():
            workspace.open(each, text, 1)
        ahead = sum(
            len(edit.text) - (edit.span.end - edit.span.start)
            for edit in edits
            if edit.path == path and edit.span.start < symbol.span.start
        )
        for edit in sorted(
            finish(rename_steps(workspace.snapshot, path, symbol.span.start + ahead, symbol.name)),
            reverse=True,
        ):
            text = texts[edit.path]
            texts[edit.path] = text[: edit.span.start] + edit.text + text[edit.span.end :]
        assert texts == before, symbol


@pytest.mark.parametrize("text", [*TEXTS.values(), *page_texts().values()])
def test_variables_agree_with_names_and_are_renamed_there_and_back(text: str) -> None:
    snapshot = opened(text)

    check_names(snapshot, PATH)
    check_rename_and_back(snapshot, PATH, 12)


@pytest.mark.parametrize("path", corpus("prompts", suffixes={".j2"}))
def test_variables_of_files_are_renamed_there_and_back(path: Path) -> None:
    workspace = Workspace([path.parent])
    workspace.scan()
    text = text_on_disk(str(path))
    assert text is not None
    workspace.open(str(path), text, 1)

    check_names(workspace.snapshot, str(path))
    check_rename_and_back(workspace.snapshot, str(path), 40)
