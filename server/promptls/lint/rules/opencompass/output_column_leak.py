"""Prompt that contains the expected answer.

## What it does

Reports the `output_column` of `reader_cfg` in a template of the question, if OpenCompass does not mask
it: in the messages of a `RawPromptTemplate`, and in every prompt whose labels the `PPLInferencer`
compares. Also reports it in a turn of `HUMAN` before the model generates, where it is replaced by
nothing.

## Why is this bad?

OpenCompass masks the answer's column only in texts and dialogues of a `PromptTemplate` for generation.
Everywhere else the model reads the correct answer, and the score is meaningless.

## Example

```yaml
prompt_template:
  type: RawPromptTemplate
  messages:
    - {role: user, content: "{question} {answer}"}
                                        ^^^^^^^^ output-column-leak: the model sees the expected answer: a `RawPromptTemplate` masks no column
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  type: RawPromptTemplate
  messages:
    - {role: user, content: "{question}"}
reader_cfg: {input_columns: [question], output_column: answer}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.evaluation_file import (
    Evaluation,
    EvaluationTemplate,
    Form,
    evaluation_of,
    fields_in,
    scalars_in,
    turn_texts,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the places of the answer's column where it is not masked."""
    evaluation = evaluation_of(chunk)
    template = evaluation.question_template if evaluation else None
    if evaluation is None or template is None or f"{{{evaluation.output_column}}}" not in chunk.text:
        return
    why = _why(evaluation, template)
    for body in template.bodies if why else ():
        for scalar in scalars_in(body):
            for field in fields_in(chunk, scalar):
                if field.name == evaluation.output_column:
                    fix = Fix(f"Remove `{{{field.name}}}`", (Edit(field.span, ""),))
                    yield Finding(field.span, f"the model sees the expected answer: {why}", (fix,))
    if not why and evaluation.inferencer_class == "GenInferencer" and template is evaluation.prompt:
        yield from _masked(chunk, evaluation, template)


def _masked(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the places of the answer's column in turns of the person, where nothing replaces it."""
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    if isinstance(inferencer, Mapping) and inferencer.merged("gen_field_replace_token"):
        return
    for body in template.bodies:
        for turn in turns_in(body, "round"):
            for text in turn_texts(turn) if turn.text("role") == "HUMAN" else ():
                for field in fields_in(chunk, text):
                    if field.name == evaluation.output_column:
                        fix = Fix(f"Remove `{{{field.name}}}`", (Edit(field.span, ""),))
                        message = "the column of the answer is masked: the model gets nothing here"
                        yield Finding(field.span, message, (fix,))


def _why(evaluation: Evaluation, template: EvaluationTemplate) -> str:
    """Return the reason that the template's columns are not masked; empty if the answer's column is."""
    if template.form is Form.MESSAGES:
        formatted = template.mapping.text("format_variables") if template.mapping else None
        if (formatted or "").lower() in {"false", "no", "off"}:
            return ""
        return "a `RawPromptTemplate` masks no column"
    if evaluation.inferencer_class == "PPLInferencer" and not evaluation.compares_same_prompt:
        return "prompts whose labels are compared mask no column"
    return ""


RULE = Rule(check, severity="warning", kinds=EVALUATION_KINDS)
