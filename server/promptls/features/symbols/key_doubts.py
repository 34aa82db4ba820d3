"""Why it may not be known where a key is read: somebody sees a value that has it as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from promptls.features.symbols.keys import data_keys, key_places
from promptls.features.symbols.shared_keys import shared_key_steps
from promptls.features.symbols.symbol import Symbol
from promptls.meaning.key_ways import ValueRead, Way, keys_named, values_used
from promptls.meaning.paths import Each
from promptls.meaning.template import Template
from promptls.text.span import Span
from promptls.text.steps import Steps
from promptls.workspace.callers import calls_to
from promptls.workspace.macro_calls import is_followed
from promptls.workspace.needs import needs_of
from promptls.workspace.python_keys import is_written_out
from promptls.workspace.snapshot import Snapshot


def doubt_steps(snapshot: Snapshot, symbol: Symbol) -> Steps[str]:
    """The first reason for which places of a key may be unknown, as a sentence; empty where all are known."""
    shared = yield from shared_key_steps(snapshot, symbol.home, symbol.way)
    if shared.lost_in:
        return f"{Path(shared.lost_in[0]).name} hands the value on as something that cannot be followed"
    seen: set[str] = set()
    for path, way in shared.ways:
        yield
        template = snapshot.template(path)
        if template is not None:
            others: Iterable[str] = (
                _in_unknown_values(template, path, symbol.name) if path not in seen else ()
            )
            seen.add(path)
            for reason in (*others, *_of_file(snapshot, template, path, way)):
                return reason
    is_given = False
    for each in key_places(snapshot, symbol):
        if each is None:
            yield
        elif each.use != "read":
            is_given = True
    return "" if is_given else "nothing declares it or gives it a value, so whoever does keeps its name"


def _of_file(snapshot: Snapshot, template: Template, path: str, way: Way) -> Iterator[str]:
    """The reasons that one file gives."""
    if Each.VALUE in way:
        yield f"the keys of a mapping that lead to it are not written out in {Path(path).name}"
    yield from _as_a_whole(snapshot, template, path, way)
    if not needs_of(snapshot, path).is_whole:
        yield f"{Path(path).name} includes a file that cannot be found"
    for call in calls_to(snapshot, path):
        program = snapshot.template(call.file)
        if program is not None and not is_written_out(program.source.text, call, data_keys(way)):
            where = f"{Path(call.file).name}, line {call.line + 1},"
            yield f"{where} gives a value whose keys are not written there"


def _in_unknown_values(template: Template, path: str, name: str) -> Iterator[str]:
    """Keys of this name of a value that nobody knows: it may be the same one."""
    for read in keys_named(template, name):
        if not read.way and not _is_loops_own(template, read.span):
            yield f"{_place(template, path, read.span)} reads a `{name}` of what may be the same value"


def _is_loops_own(template: Template, span: Span) -> bool:
    return template.source.slice(Span(max(span.start - len("loop."), 0), span.start)) == "loop."


def _as_a_whole(snapshot: Snapshot, template: Template, path: str, way: Way) -> Iterator[str]:
    for read in values_used(template, str(way[0])):
        if len(read.way) < len(way) and way[: len(read.way)] == read.way and _shows_keys(read, way):
            if read.handling == "handed" and is_followed(snapshot, path, read.callee):
                continue
            text = template.source.slice(read.span)
            yield f"{_place(template, path, read.span)} uses `{text}` as a whole, with all its keys"


def _shows_keys(read: ValueRead, way: Way) -> bool:
    if read.handling == "iterated":  # going through a mapping gives its keys
        return way[len(read.way)] not in {Each.ELEMENT, Each.VALUE}
    return read.handling in {"whole", "handed"}


def _place(template: Template, path: str, span: Span) -> str:
    return f"{Path(path).name}, line {template.source.place(span.start).line + 1},"
