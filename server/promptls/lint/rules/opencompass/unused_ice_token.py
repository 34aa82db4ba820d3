"""`ice_token` that is never replaced.

## What it does

Reports an `ice_token` of an `ice_template` next to a `prompt_template`, and one of a `prompt_template`
if no example is shown: there is no `ice_template`, and the retriever is the `ZeroRetriever`.

## Why is this bad?

OpenCompass only removes the token from the text. The template suggests that examples are shown, but they
are not.

## Example

```yaml
prompt_template:
  template: "</E>Q: {question}"
  ice_token: "</E>"
  ^^^^^^^^^ unused-ice-token: no examples are inserted here: there is no `ice_template`, and the retriever is `ZeroRetriever`
retriever: {type: ZeroRetriever}
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

from collections.abc import Iterator

from promptls.lint.fixes.yaml_edits import without_entry
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.evaluation_file import Evaluation, EvaluationTemplate, Form, evaluation_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Scalar
from promptls.text.positions import Span


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the tokens that are never replaced."""
    evaluation = evaluation_of(chunk)
    if evaluation is None or evaluation.is_open:
        return
    for template in evaluation.templates:
        entry = template.mapping.entry("ice_token") if template.mapping else None
        why = _why(evaluation, template)
        if entry and why and template.ice_token is not None:
            yield Finding(entry.key.span, why, _without(chunk, template), unnecessary=True)


def _why(evaluation: Evaluation, template: EvaluationTemplate) -> str:
    """Return the reason that the template's token is not replaced; empty if it may be."""
    if template is evaluation.ice and evaluation.prompt:
        return "the examples go where `prompt_template` has its `ice_token`; this one is only taken out again"
    if template is evaluation.prompt and not evaluation.ice and evaluation.retriever_class == "ZeroRetriever":
        return (
            "no examples are inserted here: there is no `ice_template`, and the retriever is `ZeroRetriever`"
        )
    return ""


def _without(chunk: Chunk, template: EvaluationTemplate) -> tuple[Fix, ...]:
    """Return the fix that removes the key, and the token from the text; none unless there is one text."""
    entry = template.mapping.entry("ice_token") if template.mapping else None
    token, body = template.ice_token, template.body
    if entry is None or token is None or token.dynamic or template.mapping is None:
        return ()
    if template.form is not Form.TEXT or not isinstance(body, Scalar) or body.dynamic:
        return ()
    removed = without_entry(chunk, template.mapping.span, template.mapping.entries, entry)
    if removed is None or not token.text:
        return ()
    edits = [removed]
    start = chunk.text.find(token.text, body.span.start, body.span.end)
    while start >= 0:
        edits.append(Edit(Span(start, start + len(token.text)), ""))
        start = chunk.text.find(token.text, start + len(token.text), body.span.end)
    rest = chunk.text[body.span.start : body.span.end].replace(token.text, "")
    is_plain = body.style not in {"'", '"', "|", ">"}
    if len(edits) == 1 or (is_plain and "\n" in rest):
        return ()
    if is_plain and not rest[:1].isalnum():
        quoted = "'" + rest.replace("'", "''") + "'"  # the new first character could have a meaning in YAML
        edits = [removed, Edit(body.span, quoted)]
    return (Fix(f"Remove the `ice_token` and `{token.text}`", tuple(edits)),)


RULE = Rule(check, severity="hint", kinds=EVALUATION_KINDS)
