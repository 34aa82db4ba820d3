"""The symbol at a place of a Python file: a metric, a column of a row, what a template is given.

Everything else in such a file belongs to Python alone, and is left to others. That is found out
from what reading the file has told before, so that a place without a symbol costs next to nothing.
"""

from __future__ import annotations

from promptls.ide.symbols.columns import datasets_of, reads_rows_of
from promptls.ide.symbols.data_keys import DataKeys
from promptls.ide.symbols.declared_names import settings_files
from promptls.ide.symbols.files import files_named_in
from promptls.ide.symbols.metrics_and_models import is_named_anywhere
from promptls.ide.symbols.python_functions import ENDING, function_meant
from promptls.ide.symbols.shared_data import prompts_with
from promptls.ide.symbols.symbol import Symbol
from promptls.ide.symbols.taken_data import taken_as
from promptls.text.positions import Span, word_at
from promptls.text.steps import finished
from promptls.workspace.callers import template_of
from promptls.workspace.python_calls import TemplateCall
from promptls.workspace.python_keys import key_spans
from promptls.workspace.snapshot import Snapshot


def is_program(path: str) -> bool:
    """Return whether a file of this name is a Python file."""
    return path.endswith(ENDING)


def python_symbol_at(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the symbol at `offset`; None if what stands there is Python's alone."""
    program = snapshot.template(path)
    text = program.source.text if program is not None else ""
    word = word_at(text, offset)
    if word is None:
        return None
    name = text[word.start : word.end]
    return (
        _passed(snapshot, path, text, word, name)
        or _column(snapshot, path, offset)
        or _function(snapshot, path, word, name)
        or _file(snapshot, path, offset)
    )


def _passed(snapshot: Snapshot, path: str, text: str, word: Span, name: str) -> Symbol | None:
    """Return what a call gives to a template under this name."""
    for call in snapshot.calls.get(path, ()):
        target = template_of(snapshot, call) if call.keys else None
        if target is None:
            continue

        def stands_at(keys: DataKeys, call: TemplateCall = call) -> bool:
            return word in key_spans(text, call, keys)

        taken = taken_as(snapshot, target, name, stands_at)
        if taken is not None:
            return taken.symbol(name, path, word)
    return None


def _column(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the column that an experiment reads of its row."""
    found = snapshot.written.get(path)
    column = next((each for each in found.columns if each.span.contains(offset)), None) if found else None
    if found is None or column is None:
        return None
    for stem in sorted(found.loaded):
        for prompt in finished(prompts_with(snapshot, stem)):
            template = snapshot.template(prompt)
            if template is None or not reads_rows_of(snapshot, path, column, prompt, template):
                continue
            taken = taken_as(snapshot, prompt, column.name, lambda keys: len(keys) == 1)
            if taken is not None:
                return taken.symbol(column.name, path, column.span)
            for file in datasets_of(snapshot, prompt, template):
                if file.rpartition("/")[2].startswith(f"{stem}."):
                    return Symbol("column", column.name, path, column.span, file)
    return None


def _function(snapshot: Snapshot, path: str, word: Span, name: str) -> Symbol | None:
    """Return the function of a metric that some header or settings file names, or of an experiment."""
    if not _may_be_known(snapshot, name):
        return None
    home = function_meant(snapshot, path, word.start, name)
    if home is None:
        return None
    written = snapshot.written.get(home)
    if written is not None and any(each.name == name for each in written.experiments):
        return Symbol("experiment", name, path, word, home)
    is_metric = finished(is_named_anywhere(snapshot, home, name))
    return Symbol("metric", name, path, word, home) if is_metric else None


def _file(snapshot: Snapshot, path: str, offset: int) -> Symbol | None:
    """Return the template or dataset whose name stands at `offset`."""
    if path not in snapshot.calls and path not in snapshot.written:
        return None
    for named in files_named_in(snapshot, path):
        if named.span.contains(offset):
            return Symbol("file", named.name, path, named.span, named.target)
    return None


def _may_be_known(snapshot: Snapshot, name: str) -> bool:
    """Return whether a function of this name is an experiment, or is named as a metric, without parsing."""
    if any(each.name == name for found in snapshot.written.values() for each in found.experiments):
        return True
    named = f":{name}"
    texts = (snapshot.template(path) for path in settings_files(snapshot))
    in_settings = any(each is not None and named in each.source.text for each in texts)
    return in_settings or bool(finished(prompts_with(snapshot, named)))
