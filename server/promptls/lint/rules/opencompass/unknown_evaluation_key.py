"""Key or class of an evaluation prompt unknown to OpenCompass.

## What it does

Reports a key of `ice_template` or `prompt_template` that its class does not accept, typos of the keys of
`infer_cfg`, `reader_cfg`, a dialogue's turn and the inferencer, typos of the common keys of `models` with
one of OpenCompass's classes, and typos of the names of inferencers, models and template classes. Keys and
classes that are not similar to a known one are not reported: OpenCompass, or one of your classes, may accept
them. It also reports invalid numbers and invalid ranges of rows.

In a configuration in Python, it reports names that nothing defines, and values that are not what their key
needs: a tuple or a class instead of a mapping, the mapping of another key, options without an answer that the
dataset has, a pattern without a group, a text without its `f`, the name of another dataset, and a list inside
of the list of datasets or models. In a checkout of OpenCompass, it also reports the arguments of a dataset that
its class does not take or lacks, and splits that the class does not make.

## Why is this bad?

OpenCompass fails with a `TypeError`, or ignores the key.

## Example

```yaml
prompt_template:
  template: "Q: {question}"
  ice_tokn: "</E>"
  ^^^^^^^^ unknown-evaluation-key: `PromptTemplate` takes no `ice_tokn`; did you mean `ice_token`?
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  template: "</E>Q: {question}"
  ice_token: "</E>"
ice_template:
  template: "Q: {question} A: {answer}"
retriever: {type: FixKRetriever, fix_id_list: [0]}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    EVALUATION_KEYS,
    INFER_KEYS,
    INFERENCER_KEYS,
    INFERENCERS,
    MODEL_CLASSES,
    MODEL_KEYS,
    MORE_INFERENCERS,
    OTHER_MODEL_KEYS,
    READER_KEYS,
    RUN_KEYS,
    TEMPLATE_TYPES,
    TURN_KEYS,
)
from promptls.lint.analysis.part_values import TEMPLATE_KEYS, unknown_alone
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Finding, Fix, Rule, each_chunk
from promptls.semantic.evaluation_file import EvaluationTemplate, class_name, evaluation_of, turns_in
from promptls.syntax.chunk import Chunk
from promptls.syntax.python_places import NOT_PYTHON
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, key_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo


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
    yield from _not_slices(evaluation.reader)
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    yield from _typos(inferencer, INFERENCER_KEYS)
    yield from _not_numbers(inferencer)
    yield from _not_lists(inferencer)
    yield from _class(inferencer, (*INFERENCERS, *MORE_INFERENCERS), "inferencer")
    for model in evaluation.models:
        yield from _class(model, MODEL_CLASSES, "model class")
        if class_name(model) in MODEL_CLASSES:
            yield from _typos(model, MODEL_KEYS, OTHER_MODEL_KEYS)
            yield from _typos(model.merged("run_cfg"), RUN_KEYS)
            yield from _not_numbers(model)


def _in_template(template: EvaluationTemplate) -> Iterator[Finding]:
    yield from _class(template.mapping, TEMPLATE_TYPES, "template class")
    kind = class_name(template.mapping) or "PromptTemplate"
    known = TEMPLATE_KEYS.get(kind)
    alone = unknown_alone(template)
    for entry in template.mapping.entries if template.mapping and known else ():
        key = key_text(entry)
        if entry is alone:
            is_sure = is_close(key or "", "template")
            message = f"`{kind}` takes no `{key}`"
            yield Finding.suggest(entry.key.span, message, "template", preferred=is_sure)
        elif key is not None and known and key not in known and key != "<<":
            yield misspelled(entry.key.span, f"`{kind}` takes no `{key}`", key, known)
    for body in template.bodies:
        for section in DIALOGUE_KEYS:
            for turn in turns_in(body, section):
                yield from _typos(turn, TURN_KEYS)
                if isinstance(turn, Mapping):
                    yield from _foreign_text(turn)


def _typos(
    node: Node | None, known: Collection[str], others: frozenset[str] = frozenset()
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
            yield Finding(found.span, found.message, found.fixes, severity="warning")


def _is_longer(key: str, known: str) -> bool:
    """Return whether a key is a known one with its last word written out, such as `max_out_length`."""
    return "_" in known and len(key) > len(known) and key.startswith(known)


def _foreign_text(turn: Mapping) -> Iterator[Finding]:
    """Yield the key of a turn's text in the format of chat models."""
    if turn.merged("prompt") is not None:
        return
    for entry in turn.entries:
        if (key := key_text(entry)) in {"content", "text"}:
            fix = Fix.change_to(entry.key.span, "prompt")
            message = f"OpenCompass ignores `{key}`: the text of a turn is its `prompt`"
            yield Finding(entry.key.span, message, (fix,))


def _not_numbers(node: Node | None) -> Iterator[Finding]:
    """Yield the texts in place of numbers."""
    if not isinstance(node, Mapping):
        return
    for key in ("max_out_len", "max_seq_len", "batch_size"):
        value = node.merged(key)
        if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic:
            yield Finding(value.span, f"`{key}` is a number")


def _not_lists(inferencer: Node | None) -> Iterator[Finding]:
    """Yield a text in place of the list of texts that end an answer."""
    value = inferencer.merged("stopping_criteria") if isinstance(inferencer, Mapping) else None
    if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic and value.text:
        message = "`stopping_criteria` is a list of texts: of one text, each character ends the answer"
        yield Finding(value.span, message)


def _not_slices(reader: Mapping | None) -> Iterator[Finding]:
    """Yield the ranges of rows that Python cannot read after the name of a list."""
    for key in ("train_range", "test_range"):
        value = reader.value(key) if reader is not None else None
        if not isinstance(value, Scalar) or value.tag != "str" or value.dynamic or not value.text:
            continue
        try:
            is_slice = isinstance(ast.parse(f"rows{value.text}", mode="eval").body, ast.Subscript)
        except NOT_PYTHON:
            is_slice = False
        if not is_slice:
            yield Finding(value.span, f"`{key}` is a number, or a slice of Python such as `[:100]`")


def _class(node: Node | None, known: Iterable[str], what: str) -> Iterator[Finding]:
    kind = class_name(node)
    value = node.merged("type") if isinstance(node, Mapping) else None
    names = tuple(known)
    if kind is None or not isinstance(value, Scalar) or kind in names:
        return
    meant = [each for each in names if is_typo(kind, each) and is_close(kind, each)]
    if meant:
        end = value.span.end - int(value.style in {"'", '"'})
        yield misspelled(Span(end - len(kind), end), f"OpenCompass has no {what} `{kind}`", kind, meant)


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
