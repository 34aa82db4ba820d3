"""A file that Ragas saved, or somebody wrote in its form, and that it cannot load or use.

## What it does

Looks at the files in which Ragas since 0.2 keeps prompts and metrics: those with `original_hash`, with
`type: Prompt`, and with `metric_type`. Reports what makes loading fail: an instruction that is missing
or no text, an example without its `input` and `output`, a type that there is not, `allowed_values` that
are not those of the metric's type; and what makes each use fail: braces that are no fields.

## Why is this bad?

Ragas fails with a KeyError or a TypeError that names neither the file nor the place; and braces that are
meant as text only fail when the prompt is used.

## Example

```yaml
metric_type: DiscreteMetric
name: correctness
prompt: {type: Prompt, instruction: "Is {response} right?", examples: []}
config: {allowed_values: 3}
                         ^ invalid-saved-prompt: the allowed values of a DiscreteMetric are a list of values
```

Use instead:

```yaml
metric_type: DiscreteMetric
name: correctness
prompt: {type: Prompt, instruction: "Is {response} right?", examples: []}
config: {allowed_values: [pass, fail]}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import OBJECT_KINDS, FileContext, Finding, Rule
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, scalar_text
from promptls.systems.ragas.fields import field_names
from promptls.systems.ragas.saved_prompt import SIMPLE_TYPES, form_of

_METRICS: Final = {
    "DiscreteMetric": "a list of values",
    "NumericMetric": "the lowest and the highest value, in a list",
    "RankingMetric": "the length of the ranking, a whole number",
}
_MOST_HASH: Final = 2**61 - 1
_ENDS: Final = 2


def check(context: FileContext) -> Iterator[Finding]:
    """What cannot be loaded or used, at its place."""
    root = context.template.root
    data = context.template.declarations.data
    form = form_of(data)
    if root is None or form is None or any(_is_dynamic(entry.value) for entry in root.entries):
        return
    own: Node | None = root
    if form == "metric":
        yield from _metric(root, data)
        own = root.value("prompt")
    if not isinstance(own, Mapping):
        return
    yield from _instruction(own, fields=form != "pydantic prompt")
    yield from _examples(own.value("examples"), is_own=own is root)
    if form == "simple prompt":
        yield from _type(root, SIMPLE_TYPES)
    if form == "pydantic prompt":
        yield from _hash(root, data)
        if own.entry("examples") is None:
            yield Finding(root.entries[0].key.span, "the file has no `examples`: write `[]` for none")


def _instruction(own: Mapping, *, fields: bool) -> Iterator[Finding]:
    entry = own.entry("instruction")
    if entry is None:
        if own.entries:
            yield Finding(own.entries[0].key.span, "the prompt has no `instruction`")
        return
    if not isinstance(entry.value, Scalar) or entry.value.tag != "str":
        yield Finding(entry.value.span, "the instruction is no text")
        return
    if fields:
        try:
            names = field_names(entry.value.text)
        except ValueError as error:
            said = str(error)
        else:
            wrong = next((name for name in names if not name or name.isdigit() or not _is_name(name)), None)
            if wrong is None:
                return
            said = f"`{{{wrong}}}` is no field with a name"
        message = f"these braces fail when the prompt is used: {said}; text is written as `{{{{` and `}}}}`"
        yield Finding(entry.value.span, message)


def _is_name(name: str) -> bool:
    """Whether a caller could give an input of this name; quotes and line breaks come from JSON meant as text."""
    return not set(name) & set("\"'\n{}:,")


def _examples(node: Node | None, *, is_own: bool) -> Iterator[Finding]:
    if node is None:
        return
    if not isinstance(node, Sequence):
        if is_own:
            return  # that is told by `invalid-header`
        yield Finding(node.span, "the examples are no list")
        return
    for number, item in enumerate(node.items, start=1):
        if not isinstance(item, Mapping):
            yield Finding(item.span, f"example {number} is no mapping with `input` and `output`")
            continue
        for key in ("input", "output"):
            value = item.value(key)
            if value is None:
                yield _missing(item, key, f"example {number} has no `{key}`")
            elif not isinstance(value, Mapping):
                yield Finding(value.span, f"the `{key}` of example {number} is no mapping")


def _missing(item: Mapping, key: str, message: str) -> Finding:
    """A finding at the key that is another one by a slip, or else at the first: examples are long."""
    keys = [entry.key for entry in item.entries]
    for found in (misspelt(each.span, message, scalar_text(each) or "", (key,)) for each in keys):
        if found.fixes:
            return found
    return Finding(keys[0].span if keys else item.span, message)


def _metric(root: Mapping, data: dict[str, Any]) -> Iterator[Finding]:
    kind = root.value("metric_type")
    name = scalar_text(kind)
    if kind is not None and name is not None and name not in _METRICS:
        found = misspelt(kind.span, f"Ragas has no `{name}` that it can load", name, tuple(_METRICS))
        # Others can be classes of somebody's own, which only a slip gives away.
        if found.fixes:
            yield found
    if root.entry("name") is None:
        yield Finding(root.entries[0].key.span, "the metric has no `name`")
    prompt = root.value("prompt")
    if isinstance(prompt, Mapping):
        yield from _type(prompt, ("string", *SIMPLE_TYPES))
    config = root.value("config")
    node = config.value("allowed_values") if isinstance(config, Mapping) else None
    if node is not None and name in _METRICS and not _fits(name, data["config"].get("allowed_values")):
        yield Finding(node.span, f"the allowed values of a {name} are {_METRICS[name]}")


def _type(prompt: Mapping, known: tuple[str, ...]) -> Iterator[Finding]:
    """A type that Ragas loads no prompt of, or none."""
    node = prompt.value("type")
    written = scalar_text(node)
    if node is not None and written is None:
        yield Finding(node.span, "the type of a prompt is a text")
    elif node is not None and written not in known:
        yield misspelt(node.span, f"a prompt cannot be of the type `{written}`", written or "", known)
    elif node is None and prompt.entries:
        yield Finding(prompt.entries[0].key.span, "the prompt has no `type`")


def _fits(metric: str, allowed: Any) -> bool:
    if metric == "DiscreteMetric":
        return isinstance(allowed, list) and bool(allowed)
    if metric == "RankingMetric":
        return isinstance(allowed, int) and not isinstance(allowed, bool)
    numbers = isinstance(allowed, list) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in allowed
    )
    return numbers and len(allowed) == _ENDS


def _hash(root: Mapping, data: dict[str, Any]) -> Iterator[Finding]:
    node, value = root.value("original_hash"), data.get("original_hash")
    if node is None or value is None:
        return
    if not isinstance(value, int) or not 0 <= value < _MOST_HASH:
        yield Finding(
            node.span,
            "this is no hash that Ragas gives, so that loading warns of another prompt",
            severity="information",
        )


def _is_dynamic(node: Node) -> bool:
    return isinstance(node, Scalar) and node.dynamic


RULE = Rule(
    name="invalid-saved-prompt",
    summary="a file of Ragas that it cannot load or use",
    severity="error",
    module=__name__,
    kinds=OBJECT_KINDS,
    check=check,
)
