"""Key or class of an evaluation prompt unknown to OpenCompass.

## What it does

Reports typos of the keys of `infer_cfg`, `reader_cfg`, a dialogue's turn, the inferencer, a meta template
and its roles, typos of the common keys of `models` with
one of OpenCompass's classes, and typos of the names of inferencers, models and template classes. Keys and
classes that are not similar to a known one are not reported: OpenCompass, or one of your classes, may accept
them. It also reports invalid numbers.

In a configuration in Python, it reports names that nothing defines, misspelled keys of all mappings, datasets and
mappings without the keys that OpenCompass needs, a missing comma in a list of names, and values that are not what their key
needs: a tuple or a class instead of a mapping, the mapping of another key, options without an answer that the
dataset has, a pattern without a group, a text without its `f`, the name of another dataset, and a list inside
of the list of datasets or models. In a checkout of OpenCompass, it also reports the arguments of a dataset that
its class does not take or lacks, and splits that the class does not make.

## Why is this bad?

OpenCompass ignores the key, or fails with a `TypeError`.

## Example

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer, max_out_length: 50}
                                  ^^^^^^^^^^^^^^ unknown-evaluation-key: unknown key `max_out_length`; did you mean `max_out_len`?
```

Use instead:

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer, max_out_len: 50}
```
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    EVALUATION_KEYS,
    INFER_KEYS,
    INFERENCER_KEYS,
    INFERENCERS,
    META_KEYS,
    META_ROLE_KEYS,
    MODEL_CLASSES,
    MODEL_KEYS,
    MORE_INFERENCERS,
    OTHER_MODEL_KEYS,
    READER_KEYS,
    RETRIEVER_KEYS,
    RETRIEVERS,
    RUN_KEYS,
    TEMPLATE_TYPES,
    TURN_KEYS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Rule, Severity, each_chunk
from promptls.semantic.evaluation_file import (
    EvaluationTemplate,
    class_name,
    class_span,
    evaluation_of,
    meta_template_of,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, key_text
from promptls.text.suggest import is_close, is_typo

_NUMBERS: Final = tuple(
    key
    for key, fact in {**INFERENCER_KEYS, **MODEL_KEYS, **RETRIEVER_KEYS}.items()
    if fact.describe_type == "integer"
)
"""Keys of an inferencer, a model or a retriever whose values are numbers."""


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the unknown keys and classes."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for template in evaluation.templates:
        yield from _in_template(template)
    if evaluation.holder is evaluation.root:
        yield from _typos(evaluation.root, (*EVALUATION_KEYS, *INFER_KEYS))
    else:
        yield from _typos(evaluation.root, EVALUATION_KEYS)
        yield from _typos(evaluation.holder, INFER_KEYS)
    yield from _typos(evaluation.reader, READER_KEYS)
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    yield from _typos(inferencer, INFERENCER_KEYS)
    yield from _not_numbers(inferencer)
    retriever = evaluation.retriever.value if evaluation.retriever else None
    yield from (
        _not_numbers(retriever) if class_name(retriever) in RETRIEVERS.keys() - {"FixKRetriever"} else ()
    )
    yield from _not_lists(inferencer)
    yield from _class(inferencer, (*INFERENCERS, *MORE_INFERENCERS), "inferencer")
    for entry, _ in evaluation.all_metas:
        if meta := meta_template_of(entry.value):
            yield from _typos(meta.mapping, META_KEYS, severity="error")
            for role in (*meta.rounds, *meta.reserved):
                yield from _typos(role, META_ROLE_KEYS, severity="error") if role.entry("role") else ()
    for model in evaluation.models:
        yield from _class(model, MODEL_CLASSES, "model class")
        if class_name(model) in MODEL_CLASSES:
            yield from _typos(model, MODEL_KEYS, OTHER_MODEL_KEYS)
            yield from _typos(model.merged("run_cfg"), RUN_KEYS)
            yield from _not_numbers(model)
            yield from _not_numbers(model.merged("run_cfg"), RUN_KEYS)


def _in_template(template: EvaluationTemplate) -> Iterator[Finding]:
    yield from _class(template.mapping, TEMPLATE_TYPES, "template class")
    for body in template.bodies:
        for section in DIALOGUE_KEYS:
            for turn in turns_in(body, section):
                yield from _typos(turn, TURN_KEYS)
                if isinstance(turn, Mapping):
                    yield from _foreign_text(turn)


def _typos(
    node: Node | None,
    known: Collection[str],
    others: frozenset[str] = frozenset(),
    severity: Severity = "warning",
) -> Iterator[Finding]:
    """Yield the keys that are a typo of a known key that is not present; `others` are no typos."""
    keys = node.indexes.keys() if isinstance(node, Mapping) else frozenset[str]()
    if not isinstance(node, Mapping) or all(key in known for key in keys):
        return
    for entry in node.entries:
        key = key_text(entry)
        if not key or key in known or key in others:
            continue
        meant = [each for each in known if each not in keys and (is_typo(key, each) or _is_longer(key, each))]
        if meant:
            found = misspelled(entry.key.span, f"unknown key `{key}`", key, meant)
            yield Finding(found.span, found.message, found.fixes, severity=severity)


def _is_longer(key: str, known: str) -> bool:
    """Return whether a key is a known one with its last word written out, such as `max_out_length`."""
    return "_" in known and len(key) > len(known) and key.startswith(known)


def _foreign_text(turn: Mapping) -> Iterator[Finding]:
    """Yield the key of a turn's text in the format of chat models."""
    if "prompt" in turn.indexes or turn.merged("prompt") is not None:
        return
    for entry in turn.entries:
        if (key := key_text(entry)) in {"content", "text"}:
            fix = Fix.change_to(entry.key.span, "prompt")
            message = f"OpenCompass ignores `{key}`: the text of a turn is its `prompt`"
            yield Finding(entry.key.span, message, (fix,))


def _not_numbers(node: Node | None, keys: Iterable[str] = _NUMBERS) -> Iterator[Finding]:
    """Yield the texts in place of numbers."""
    if not isinstance(node, Mapping):
        return
    for key in keys:
        value = node.merged(key)
        if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic:
            is_number = value.text.isdecimal() and value.style in {"'", '"'}
            fix = Fix("Take away the quotes", (Edit(value.span, value.text),), preferred=True)
            yield Finding(value.span, f"`{key}` is a number", (fix,) if is_number else ())


def _not_lists(inferencer: Node | None) -> Iterator[Finding]:
    """Yield a text in place of the list of texts that end an answer."""
    value = inferencer.merged("stopping_criteria") if isinstance(inferencer, Mapping) else None
    if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic and value.text:
        message = "`stopping_criteria` is a list of texts: of one text, each character ends the answer"
        yield Finding(value.span, message)


def _class(node: Node | None, known: Iterable[str], what: str) -> Iterator[Finding]:
    kind = class_name(node)
    value = node.merged("type") if isinstance(node, Mapping) else None
    names = tuple(known)
    if kind is None or not isinstance(value, Scalar) or kind in names:
        return
    meant = [each for each in names if is_typo(kind, each) and is_close(kind, each)]
    if meant:
        yield misspelled(class_span(value, kind), f"OpenCompass has no {what} `{kind}`", kind, meant)


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
