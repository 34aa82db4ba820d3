"""A key of the header, or of a prompt object: what it means, and the last scores of an experiment."""

from __future__ import annotations

from collections.abc import Callable

from promptls.features.code_lenses import scores_text
from promptls.features.completion.values import known_value
from promptls.features.experiment_runs import ExperimentRuns, change_text
from promptls.features.hover.hover import Hover, code, fact_text
from promptls.features.key_facts import fact_at
from promptls.meaning.kind import Kind
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.place import ITEM
from promptls.systems.ragas.saved_keys import saved_key
from promptls.systems.ragas.saved_prompt import form_of
from promptls.text.counted import counted


def hover_header(
    kind: Kind,
    template: Template,
    offset: int,
    newest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
) -> Hover | None:
    """What is known of the key at `offset` of the file's declarations."""
    tree = template.declarations.tree
    found = _key_at(tree, offset, ()) if tree else None
    if found is None:
        return _hover_value(tree, offset) if tree else None
    keys, entry = found
    in_header = template.header is not None
    form = form_of(template.declarations.data) if kind is Kind.OBJECT and not in_header else None
    fact = saved_key(form, keys) if form else fact_at(kind, keys, in_header=in_header)
    texts = [fact_text(fact) if fact else ""]
    if (
        keys in {("instruction",), ("prompt", "instruction")}
        and newest is not None
        and newest.rendering is not None
    ):
        rendered = counted(newest.rendering.tokens, "token")
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
        below = (*above, ITEM)
        inside = (_key_at(item, offset, below) for item in node.items if item.span.contains(offset))
        return next((found for found in inside if found), None)
    for entry in node.entries if isinstance(node, Mapping) else ():
        keys = (*above, key_text(entry) or "")
        if entry.key.span.contains(offset):
            return keys, entry
        if entry.value.span.contains(offset) and (found := _key_at(entry.value, offset, keys)):
            return found
    return None


def _hover_value(tree: Mapping, offset: int) -> Hover | None:
    """What the value at `offset` means, where it is one of those that a system knows."""
    node: Node = tree
    keys: tuple[str, ...] = ()
    while not isinstance(node, Scalar):
        below: Node | None = None
        if isinstance(node, Sequence):
            below = next((item for item in node.items if item.span.contains(offset)), None)
            keys = (*keys, ITEM)
        else:
            entry = next((entry for entry in node.entries if entry.value.span.contains(offset)), None)
            if entry is not None:
                below, keys = entry.value, (*keys, key_text(entry) or "")
        if below is None:
            return None
        node = below
    text = known_value(keys, node.text)
    return Hover(node.span, text) if text else None


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
