"""A key of the header, or of a prompt object: what it means, and the last scores of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from promptls.features.code_lenses import scores_text
from promptls.features.experiment_runs import ExperimentRuns, change_text
from promptls.features.hover.hover import Hover, code, fact_text
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering, counted
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Sequence, key_text
from promptls.systems.ragas.vocabulary import PROMPT_KEYS

if TYPE_CHECKING:
    from pydantic import BaseModel


def hover_header(
    template: Template,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
) -> Hover | None:
    """What is known of the key at `offset` of the file's declarations."""
    tree = template.declarations.tree
    found = _key_at(tree, offset, ()) if tree else None
    if found is None:
        return None
    keys, entry = found
    texts = [_documentation(keys, is_object=template.header is None)]
    if keys == ("instruction",) and newest is not None and newest.rendering is not None:
        rendered = counted(newest.rendering.tokens)
        texts.append(
            f"{rendered} with {code(newest.sample.name)} ({newest.sample.source}), {newest.job.encoding}"
        )
    if keys[0] == "experiments":
        texts += [_table(each) for each in runs() if len(keys) == 1 or keys[1] == each.name]
    text = "\n\n".join(text for text in texts if text)
    return Hover(entry.key.span, text) if text else None


def _key_at(node: Node, offset: int, above: tuple[str, ...]) -> tuple[tuple[str, ...], Entry] | None:
    """The innermost key at `offset`, with the keys that lead to it."""
    if isinstance(node, Sequence):
        inside = (_key_at(item, offset, above) for item in node.items if item.span.contains(offset))
        return next((found for found in inside if found), None)
    for entry in node.entries if isinstance(node, Mapping) else ():
        keys = (*above, key_text(entry) or "")
        if entry.key.span.contains(offset):
            return keys, entry
        if entry.value.span.contains(offset) and (found := _key_at(entry.value, offset, keys)):
            return found
    return None


def _documentation(keys: tuple[str, ...], *, is_object: bool) -> str:
    """What a key means, from where it is declared; empty for a key of the user's own."""
    if is_object and len(keys) == 1 and keys[0] in PROMPT_KEYS:
        return fact_text(PROMPT_KEYS[keys[0]])
    from promptls.settings.header import ExperimentKey, Header, InputKey

    of_nested: dict[str, type[BaseModel]] = {"input_keys": InputKey, "experiments": ExperimentKey}
    model: type[BaseModel] | None = Header if len(keys) == 1 else None
    if len(keys) == 3:  # noqa: PLR2004  (header key, the user's name, its key)
        model = of_nested.get(keys[0])
    known = model.model_fields.get(keys[-1]) if model else None
    return f"**{keys[-1]}**: {known.description}" if known and known.description else ""


def _table(runs: ExperimentRuns) -> str:
    """The scores of the last run as a table in Markdown."""
    last = runs.last
    if last is None:
        return f"{code(runs.name)} has not been run yet"
    if not last.metrics:
        return f"{code(runs.name)}: {scores_text(runs)}"
    rows = [
        f"| {metric.name} | {metric.text}{change_text(last, metric)} | {metric.scored} |"
        for metric in last.metrics
    ]
    stale = "\n\nThe prompt has changed since: these scores are stale." if last.stale else ""
    failed = f", {last.failed} failed" if last.failed else ""
    models = ", ".join(last.models)
    heading = f"{code(runs.name)}, last run {code(last.name)} with {models}: {last.rows} rows{failed}"
    return f"{heading}\n\n| metric | score | rows |\n| :-- | --: | --: |\n" + "\n".join(rows) + stale
