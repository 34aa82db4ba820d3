"""Retriever that does not match the templates or lacks a setting.

Reports a retriever of an evaluation prompt that

- selects examples although there is no `ice_template` for them;
- is a typo of a known class;
- names rows by something else than a list of numbers;
- is used with incompatible templates: examples that are dialogues can only be inserted at a separate
  text item of a dialogue (in its `begin`, if there is a meta template), examples that are texts must be
  inside of a turn if the model is behind an API, and examples for messages must be messages;
- selects examples that show nothing but the columns of the question, and so no answer, as a warning;
- compares rows by the reader's `input_columns`, if the column of the answer is one of them, as a warning;
- selects no examples although the prompt has a place for them and there is an `ice_template`, as a hint;
- names a row twice, as a hint.

## Why is this bad?

OpenCompass raises an `AssertionError` or a `TypeError` when it builds the prompts, or loses
the examples silently.

## Example

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: FixKRetriever, fix_id_list: [0, 1]}
                  ^^^^^^^^^^^^^ retriever-mismatch: `FixKRetriever` selects examples, but there is no `ice_template` to format them
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    INFERENCERS,
    RETRIEVER_ARGUMENTS,
    RETRIEVERS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, each_chunk, rule
from promptls.semantic.evaluation_file import (
    Evaluation,
    EvaluationTemplate,
    Form,
    class_name,
    class_span,
    evaluation_of,
    fields_in,
    scalars_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_typo

_COMPARING: Final = frozenset({"BM25Retriever", "MDLRetriever", "TopkRetriever", "VotekRetriever"})
"""The retrievers that select the examples whose input columns are like those of the question."""


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk
def retriever_mismatch(chunk: Chunk) -> Iterator[Finding]:
    """Yield the problems of the retriever."""
    evaluation = evaluation_of(chunk)
    if evaluation is None or evaluation.retriever is None:
        return
    retriever = evaluation.retriever.value
    kind = class_name(retriever)
    if not isinstance(retriever, Mapping) or kind is None:
        return
    type_value = retriever.merged("type")
    assert type_value is not None
    place = class_span(type_value, kind)
    if (wrong := _other_class(place, kind)) is not None:
        yield wrong
        return
    if kind in RETRIEVER_ARGUMENTS:
        yield from _rows(retriever)
    if kind in _COMPARING:
        yield from _compared_answers(evaluation)
    if evaluation.is_open:
        return
    if not evaluation.retrieves:
        if evaluation.retrieves is False:
            yield from _without_rows_to_show(evaluation, place)
        return
    if evaluation.ice is None and evaluation.prompt is not None:
        message = f"`{kind}` selects examples, but there is no `ice_template` to format them"
        fixes: tuple[Fix, ...] = ()
        if kind == "FixKRetriever" and (removed := _without_rows(chunk, retriever)):
            fixes = (Fix("Change to `ZeroRetriever`", (Edit(place, "ZeroRetriever"), removed)),)
        yield Finding(place, message, fixes)
    if evaluation.ice is not None:
        yield from _examples(evaluation, evaluation.ice)
        yield from _without_answers(chunk, evaluation, evaluation.ice)


def _other_class(place: Span, kind: str) -> Finding | None:
    """Return the finding for a class that is an inferencer, or a typo of a retriever."""
    if kind in INFERENCERS:
        return Finding(place, f"`{kind}` is an inferencer, and no retriever")
    typos = [name for name in RETRIEVERS if is_typo(kind, name)]
    if kind in RETRIEVERS or not typos:
        return None
    return misspelled(place, f"OpenCompass has no retriever `{kind}`", kind, typos)


def _rows(retriever: Mapping) -> Iterator[Finding]:
    rows = retriever.value("fix_id_list")
    if isinstance(rows, Scalar) and not rows.dynamic and not rows.span.is_empty():
        yield Finding(rows.span, "`fix_id_list` is a list of row numbers")
    seen: set[str] = set()
    for row in rows.items if isinstance(rows, Sequence) else ():
        text = scalar_text(row)
        if text in seen:
            yield Finding(row.span, f"the row {text} is already in this list", severity="hint")
        seen |= {text} if text else set()
        if (
            isinstance(row, Scalar)
            and not row.dynamic
            and not row.span.is_empty()
            and row.tag not in {"int", "bool"}
        ):
            fix = Fix("Take away the quotes", (Edit(row.span, row.text),), preferred=True)
            fixes = (fix,) if row.text.isdecimal() and row.style in {"'", '"'} else ()
            yield Finding(row.span, "a row is named by its number, which is whole", fixes)


def _compared_answers(evaluation: Evaluation) -> Iterator[Finding]:
    """Yield the column of the answer among those by which the retriever compares rows."""
    columns = evaluation.reader.value("input_columns") if evaluation.reader else None
    for item in columns.items if isinstance(columns, Sequence) else ():
        if evaluation.output_column and scalar_text(item) == evaluation.output_column:
            message = "the retriever compares rows by these columns, and this is the expected answer"
            yield Finding(item.span, message, severity="warning")


def _without_rows_to_show(evaluation: Evaluation, place: Span) -> Iterator[Finding]:
    """Yield what is wrong with templates of examples if none is selected."""
    yield from _messages_in_text(evaluation)
    has_place = evaluation.prompt is not None and evaluation.prompt.ice_token is not None
    if has_place and evaluation.ice is not None and evaluation.retriever_class == "ZeroRetriever":
        message = "`ZeroRetriever` selects no examples: nothing uses the `ice_template`"
        yield Finding(place, message, severity="hint")


def _messages_in_text(evaluation: Evaluation) -> Iterator[Finding]:
    """Yield texts with the token if the examples are messages, which fails even if no example is shown."""
    ice, question = evaluation.ice, evaluation.question_template
    mark = scalar_text(question.ice_token) if question else None
    if ice is None or question is None or ice.form is not Form.MESSAGES or question.is_raw or not mark:
        return
    for body in evaluation.used_bodies(question):
        for scalar in scalars_in(body):
            if not scalar.dynamic and mark in scalar.text and scalar not in _items(body, DIALOGUE_KEYS):
                message = "`ice_template` makes messages, and not even none of them can go into this text"
                yield Finding(scalar.span, message)
                return


def _without_rows(chunk: Chunk, retriever: Mapping) -> Edit | None:
    entry = retriever.entry("fix_id_list")
    return without_entry(chunk, retriever.span, retriever.entries, entry) if entry else None


def _examples(evaluation: Evaluation, ice: EvaluationTemplate) -> Iterator[Finding]:
    """Yield examples of a form that cannot be inserted into the prompt."""
    question = evaluation.question_template
    if question is None:
        return
    unclear = {Form.UNKNOWN, Form.OTHER, Form.MISSING}
    if ice.form in unclear or question.form in unclear:
        return
    if question.is_raw != ice.is_raw:
        message = (
            "the prompt is a list of messages, and these examples are not: they are silently lost"
            if question.is_raw
            else "these examples are messages, which cannot go into a `PromptTemplate`"
        )
        yield Finding(ice.entry.key.span, message)
        return
    mark = scalar_text(question.ice_token)
    if not mark or question.is_raw:
        return
    if not any(_is_dialogue(body) for body in ice.bodies):
        yield from _lost_texts(evaluation, question, mark)
        return
    for body in evaluation.used_bodies(question):
        if not isinstance(body, Scalar):
            yield from _misplaced(evaluation, body, mark)
        elif not body.dynamic and mark in body.text:
            message = "these examples are dialogues, which cannot go into the text of `prompt_template`"
            yield Finding(ice.entry.key.span, message)
            return


def _without_answers(chunk: Chunk, evaluation: Evaluation, ice: EvaluationTemplate) -> Iterator[Finding]:
    """Yield examples that show the columns of the question alone."""
    question, column = evaluation.prompt, evaluation.output_column
    if question is None or not column or ice.body is None or ice.form not in {Form.TEXT, Form.DIALOGUE}:
        return
    of_examples, of_question = (_fields(chunk, template) for template in (ice, question))
    if of_examples and of_question and column not in of_examples and of_examples <= of_question:
        message = f"these examples show no answer: the column `{column}` is not in them"
        yield Finding(ice.body.span, message, severity="warning")


def _fields(chunk: Chunk, template: EvaluationTemplate) -> frozenset[str]:
    """Return the fields of a template; none if Jinja prints a part of a text."""
    scalars = [scalar for body in template.bodies for scalar in scalars_in(body)]
    if any(scalar.dynamic for scalar in scalars):
        return frozenset()
    return frozenset(field.name for scalar in scalars for field in fields_in(chunk, scalar))


def _misplaced(evaluation: Evaluation, body: Node, mark: str) -> Iterator[Finding]:
    """Yield tokens in positions of a dialogue where dialogue examples cannot be inserted."""
    for scalar in scalars_in(body):
        if not scalar.dynamic and mark in scalar.text and scalar not in _items(body, DIALOGUE_KEYS):
            message = f"the examples are dialogues: `{mark}` must be an item of its own, not in a `prompt`"
            yield Finding(scalar.span, message)
    for scalar in _items(body, ("round",)) if evaluation.meta else ():
        if not scalar.dynamic and mark in scalar.text:
            message = (
                "a meta template cannot format examples that are dialogues in `round`: move them to `begin`"
            )
            yield Finding(scalar.span, message)


def _lost_texts(evaluation: Evaluation, question: EvaluationTemplate, mark: str) -> Iterator[Finding]:
    """Yield tokens for text examples at positions that are ignored for models with an API."""
    meta = evaluation.meta_template
    if meta is None or not meta.is_api or meta.is_unsure:
        return
    for body in evaluation.used_bodies(question):
        if not _is_dialogue(body):
            continue
        with_mark = [each for each in scalars_in(body) if each.dynamic or mark in each.text]
        outside = _items(body, DIALOGUE_KEYS)
        if with_mark and all(scalar in outside and not scalar.dynamic for scalar in with_mark):
            message = (
                "models with an API get no text outside of turns: the examples are lost; "
                f"put `{mark}` into a `prompt`, or write the examples as dialogues"
            )
            yield Finding(with_mark[0].span, message)


def _is_dialogue(body: Node) -> bool:
    return isinstance(body, Mapping) and body.value("round") is not None


def _items(body: Node, keys: Iterable[str]) -> list[Scalar]:
    """Return the items of a dialogue's sections that are plain texts."""
    sections = [body.value(key) for key in keys] if isinstance(body, Mapping) else []
    return [
        item
        for section in sections
        for item in (section.items if isinstance(section, Sequence) else (section,))
        if isinstance(item, Scalar)
    ]
