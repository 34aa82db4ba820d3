"""Template that OpenCompass cannot build.

## What it does

Reports an evaluation prompt without any template; a template whose `template` is missing, or neither a
text nor a mapping; a dialogue without `round`; messages that are not a list, or lack `role` or
`content`; an `ice_token` that is not a text; and a dialogue's `end`, which makes OpenCompass 0.5.4 fail
when it is used with a meta template.

## Why is this bad?

OpenCompass raises a bare `AssertionError`, a `KeyError`, or an `IndexError: pop from empty list`.

## Example

```yaml
prompt_template:
  template:
  ^^^^^^^^ invalid-evaluation-template: a template is a text or a mapping, and this is a list; write it below `round`
    - {role: HUMAN, prompt: "{question}"}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
prompt_template:
  template:
    round:
      - {role: HUMAN, prompt: "{question}"}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from promptls.dialects.opencompass.vocabulary import CHAT_INFERENCERS
from promptls.lint.analysis.part_values import unknown_alone
from promptls.lint.fixes.yaml_edits import BLANK, as_list, is_flow, key_behind, without_entry
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Rule, Severity, each_chunk
from promptls.semantic.evaluation_file import Evaluation, EvaluationTemplate, Form, evaluation_of
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence, key_text
from promptls.text.positions import Span
from promptls.text.suggest import is_typo


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the problems that prevent OpenCompass from building the templates."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    if not evaluation.templates and not evaluation.is_open:
        entry = evaluation.root.entry("infer_cfg") or evaluation.retriever or evaluation.inferencer
        # `unknown-evaluation-key` reports a typo.
        keys = [key_text(each) or "" for each in evaluation.holder.entries]
        has_typo = any(is_typo(key, name) for key in keys for name in ("prompt_template", "ice_template"))
        if entry is not None and not has_typo:
            yield Finding(
                entry.key.span,
                "there is neither a `prompt_template` nor an `ice_template`: the prompt is empty",
            )
    if not evaluation.is_open:
        yield from _incomplete(evaluation)
    for template in evaluation.templates:
        yield from _token(chunk, template)
        if template.is_raw:
            yield from _messages(chunk, evaluation, template)
        else:
            yield from _body(chunk, evaluation, template)


def _incomplete(evaluation: Evaluation) -> Iterator[Finding]:
    """Yield a missing retriever or inferencer, one without a class, and a reader without an output column."""
    entry = evaluation.inferencer
    if entry is not None and evaluation.retriever is None and _lacks(evaluation.holder, "retriever"):
        message = "there is no `retriever` beside the inferencer; `ZeroRetriever` retrieves no examples"
        yield Finding(entry.key.span, message)
    retriever = evaluation.retriever
    is_whole = all(evaluation.root.entry(key) is not None for key in ("infer_cfg", "eval_cfg"))
    if is_whole and retriever is not None and entry is None and _lacks(evaluation.holder, "inferencer"):
        message = "there is no `inferencer` beside the retriever; `GenInferencer` generates an answer"
        yield Finding(retriever.key.span, message)
    if entry is not None and isinstance(entry.value, Mapping) and _lacks(entry.value, "type"):
        yield Finding(entry.key.span, "an inferencer needs a `type`, which names its class")
    reader = evaluation.reader
    if reader is not None and reader.merged("input_columns") and _lacks(reader, "output_column"):
        message = "the reader has no `output_column`, the column of the answer; write `null` for none"
        yield Finding(reader.entries[0].key.span, message, severity="warning")


def _lacks(mapping: Mapping, key: str) -> bool:
    """Return whether a mapping has no such key, nor one that may be a typo of it or is not known."""
    keys = [key_text(entry) for entry in mapping.entries]
    return bool(keys) and not any(each is None or each in {key, "<<"} or is_typo(each, key) for each in keys)


def _token(chunk: Chunk, template: EvaluationTemplate) -> Iterator[Finding]:
    for key, what in (("ice_token", "an `ice_token`"), ("sep_token", "a `sep_token`")):
        token = template.mapping.value(key) if template.mapping else None
        is_text = isinstance(token, Scalar) and (token.dynamic or token.tag in {"str", "null"})
        if token is not None and not is_text:
            yield Finding(token.span, f"{what} is a text; quote it", _quoted(chunk, token))


def _quoted(chunk: Chunk, node: Node) -> tuple[Fix, ...]:
    """Return the fix that quotes a number or boolean."""
    if not isinstance(node, Scalar) or node.dynamic or node.style or node.span.is_empty():
        return ()
    text = chunk.text[node.span.start : node.span.end]
    return (Fix("Quote it", (Edit(node.span, f'"{text}"'),), preferred=True),)


def _body(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    body = template.body
    if evaluation.inferencer_class in CHAT_INFERENCERS and isinstance(body, Mapping) and not body.entries:
        return  # These use the messages of a column instead of a template.
    if template.mapping is None:
        if template.form is Form.OTHER:
            yield Finding(template.entry.key.span, f"`{template.name}` is a mapping with the key `template`")
        return
    if template.form is Form.MISSING:
        if not evaluation.is_open and unknown_alone(template) is None:
            mapping = template.mapping
            fixes = key_behind(chunk, mapping.span, mapping.entries, f"template: {BLANK}")
            yield Finding(template.entry.key.span, f"`{template.name}` has no `template`", fixes)
    elif template.form is Form.OTHER:
        what = (
            "a list; write it below `round`"
            if isinstance(body, Sequence)
            else "neither; quote it if it is a text"
        )
        fixes = _in_round(chunk, body) if isinstance(body, Sequence) else _quoted(chunk, body) if body else ()
        message = f"a template is a text or a mapping, and this is {what}"
        yield Finding(_key(template, "template"), message, fixes)
    elif template.form is Form.DIALOGUE and isinstance(body, Mapping):
        if body.entry("round") is None and not evaluation.is_open:
            severity: Severity | None = None if evaluation.used_bodies(template) else "warning"
            fixes = key_behind(chunk, body.span, body.entries, f"round: [{{role: HUMAN, prompt: {BLANK}}}]")
            message = "this dialogue has no `round`"
            yield Finding(_key(template, "template"), message, fixes, severity=severity)
        if (turns := body.entry("round")) is not None and isinstance(turns.value, Mapping):
            fixes = as_list(chunk, turns.value)
            yield Finding(turns.key.span, "`round` is a list of turns, and this is a mapping", fixes)
        yield from _end(chunk, evaluation, template, body)
    for label in template.labels:
        if isinstance(label.entry.value, Mapping):
            yield from _end(chunk, evaluation, template, label.entry.value)


def _in_round(chunk: Chunk, body: Sequence) -> tuple[Fix, ...]:
    """Return the fix that moves a list of turns under `round`."""
    if not is_flow(chunk.text, body.span):
        return ()
    start, end = Span(body.span.start, body.span.start), Span(body.span.end, body.span.end)
    return (Fix("Put it below `round`", (Edit(start, "{round: "), Edit(end, "}")), preferred=True),)


def _end(
    chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate, dialogue: Mapping
) -> Iterator[Finding]:
    """Yield the `end` of a dialogue, depending on whether OpenCompass reaches it."""
    entry = dialogue.entry("end")
    if entry is None or template is not evaluation.question_template or dialogue.entry("round") is None:
        return
    meta = evaluation.meta_template
    removed = without_entry(chunk, dialogue.span, dialogue.entries, entry)
    fixes = (Fix("Remove `end`", (removed,)),) if removed else ()
    if meta is None:
        message = "OpenCompass 0.5.4 fails at `end` with every model that has a meta template"
        yield Finding(entry.key.span, message, fixes, severity="hint")
    elif meta.generates and evaluation.inferencer_class != "PPLInferencer":
        message = "`end` is never reached when the model generates, and the Prompt Viewer fails at it"
        yield Finding(entry.key.span, message, fixes, severity="warning")
    elif not meta.is_unsure:
        message = "OpenCompass 0.5.4 fails at `end` with a meta template: IndexError, pop from empty list"
        severity: Severity | None = None if dialogue in evaluation.used_bodies(template) else "warning"
        yield Finding(entry.key.span, message, fixes, severity=severity)


def _messages(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    body = template.body
    if not isinstance(body, Sequence):
        if body is None and not evaluation.is_open:
            written = f"messages: [{{role: user, content: {BLANK}}}]"
            mapping = template.mapping
            if mapping and any(is_typo(key_text(each) or "", "messages") for each in mapping.entries):
                return  # as above
            fixes = key_behind(chunk, mapping.span, mapping.entries, written) if mapping else ()
            yield Finding(template.entry.key.span, "a `RawPromptTemplate` has no `messages`", fixes)
        elif body is not None and template.form is not Form.UNKNOWN:
            fixes = as_list(chunk, body) if isinstance(body, Mapping) else ()
            yield Finding(_key(template, "messages"), "`messages` is a list", fixes)
        return
    for item in body.items:
        yield from _message(chunk, item, evaluation)


def _message(chunk: Chunk, item: Node, evaluation: Evaluation) -> Iterator[Finding]:
    if isinstance(item, Mapping):
        if item.entry("expand_column") or evaluation.is_open or not item.entries:
            return
        for key in ("role", "content"):
            if item.entry(key) is None:
                written = f"{key}: {'user' if key == 'role' else BLANK}"
                fixes = key_behind(chunk, item.span, item.entries, written)
                yield Finding(item.entries[0].key.span, f"this message has no `{key}`", fixes)
    elif isinstance(item, Sequence) or (not item.dynamic and item.tag != "str"):
        yield Finding(item.span, "a message is a mapping with `role` and `content`")


def _key(template: EvaluationTemplate, key: str) -> Span:
    entry = template.mapping.entry(key) if template.mapping else None
    return (entry or template.entry).key.span


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
