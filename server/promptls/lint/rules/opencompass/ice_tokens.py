"""The ice token, which examples replace.

# unused-ice-token

`ice_token` that is never replaced.

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

# missing-ice-token

Template without the token for its in-context examples.

Reports an evaluation prompt whose template has no `ice_token` although it needs one, and a template
whose text does not contain the token:

- `ice_template` alone is also the template of the question, and needs an `ice_token` even if no example
  is shown (`ZeroRetriever`);
- with both templates, `prompt_template` needs it;
- a text, and every text of a mapping from labels, must contain the token that `ice_token` names;
- so must a dialogue: OpenCompass does not check its turns, and silently loses the examples;
- so must a `begin` or `end` of a dialogue that is a text and not a list;
- a `</E>` in a template without `ice_token` reaches the model unchanged.

## Why is this bad?

OpenCompass raises `NotImplementedError: ice_token of … is not provided` or a `LookupError`, or the model
does not get the examples that you chose.

## Example

```yaml
ice_template:
^^^^^^^^^^^^ missing-ice-token: `ice_template` alone is the prompt too, and needs an `ice_token`, even with no examples
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```

Use instead:

```yaml
ice_template:
  ice_token: "</E>"
  template: "</E>Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from promptls.dialects.opencompass.evaluation_prompt import question_problem, template_problems
from promptls.dialects.opencompass.vocabulary import CHAT_INFERENCERS, USUAL_ICE_MARK
from promptls.lint.fixes.yaml_edits import added_entry, indentation, is_flow, text_start, without_entry
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, each_chunk, rule
from promptls.semantic.evaluation_file import Evaluation, EvaluationTemplate, Form, evaluation_of, scalars_in
from promptls.semantic.object_data import plain_data
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Scalar, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_typo


@rule(severity="hint", kinds=EVALUATION_KINDS)
@each_chunk
def unused_ice_token(chunk: Chunk) -> Iterator[Finding]:
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
    rest = chunk.slice(body.span).replace(token.text, "")
    is_plain = body.style not in {"'", '"', "|", ">"}
    if len(edits) == 1 or (is_plain and "\n" in rest):
        return ()
    if is_plain and not rest[:1].isalnum():
        quoted = "'" + rest.replace("'", "''") + "'"  # the new first character could have a meaning in YAML
        edits = [removed, Edit(body.span, quoted)]
    return (Fix(f"Remove the `ice_token` and `{token.text}`", tuple(edits)),)


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk
def missing_ice_token(chunk: Chunk) -> Iterator[Finding]:
    """Yield the problems with the tokens for examples."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for template in evaluation.templates:
        if template.form is Form.MESSAGES:
            yield from _in_messages(evaluation, template)
        elif template.ice_token is None:
            yield from _without_token(chunk, evaluation, template)
        else:
            yield from _with_token(chunk, evaluation, template)


def _without_token(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    if template.mapping is None or template.is_raw or template.form in {Form.OTHER, Form.UNKNOWN}:
        return
    if evaluation.inferencer_class in CHAT_INFERENCERS:
        return  # These use the messages of a column instead of a template.
    if _has_typo_of("ice_token", template.mapping) or (
        evaluation.prompt is None and _has_typo_of("prompt_template", evaluation.holder)
    ):
        return  # `unknown-evaluation-key` reports it.
    if template is evaluation.question_template and evaluation.ice and not evaluation.is_open:
        problem = question_problem(evaluation.ice, evaluation.prompt)
        message = problem.clause if problem else ""
        yield Finding(template.entry.key.span, message, _adding_token(chunk.text, template))
        return
    if template is not evaluation.question_template or USUAL_ICE_MARK not in chunk.text:
        return
    # `invalid-ppl-template` reports the key in the template.
    misplaced = [label.entry.value for label in template.labels if label.name == "ice_token"]
    for scalar in _texts(template):
        for span in _marks(chunk.text, scalar.span, USUAL_ICE_MARK) if scalar not in misplaced else ():
            message = f"`{USUAL_ICE_MARK}` reaches the model unchanged: `{template.name}` has no `ice_token`"
            edit = _token_edit(chunk.text, template.mapping)
            fixes = () if edit is None else (Fix("Add the `ice_token`", (edit,)),)
            yield Finding(span, message, fixes, severity="warning")


def _has_typo_of(name: str, mapping: Mapping) -> bool:
    return any(is_typo(key_text(entry) or "", name) for entry in mapping.entries)


def _with_token(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    token = template.ice_token
    mark = scalar_text(token)
    if token is None or token.tag != "str" or not mark:
        return  # `invalid-evaluation-prompt` reports a token that is not a text.
    used = evaluation.used_bodies(template)
    problems = template_problems(template.name, plain_data(template.entry.value))
    refused = {each.at for each in problems if each.cause == "LookupError"}
    if template.form is Form.DIALOGUE and isinstance(template.body, Mapping):
        sections = [at[-1] for at in refused]
        yield from _in_sections(chunk.text, template.body, mark, sections)
    bodies = template.located_bodies
    lacking = [
        body for at, _, body in bodies if at in refused and isinstance(body, Scalar) and not body.dynamic
    ]
    if len(bodies) == len(lacking) > 1 and not any(USUAL_ICE_MARK in body.text for body in lacking):
        starts = [text_start(chunk.text, body) for body in lacking]
        fix = Fix(f"Begin each text with `{mark}`", tuple(Edit.insert(at, mark) for at in starts))
        yield Finding(token.span, f"`{mark}`, the `ice_token`, is in none of these texts", (fix,))
        return
    takes_examples = _takes_examples(evaluation, template)
    for _, label, body in bodies:
        place = label.key.span if label else token.span
        if isinstance(body, Scalar):
            if body in lacking:
                yield _token_not_in_text(chunk, token, mark, body, place)
            elif takes_examples and not body.dynamic:
                yield from _repeated_marks(chunk.text, body.span, mark)
        elif takes_examples and body in used and isinstance(body, Mapping) and _loses_examples(body, mark):
            message = f"`{mark}`, the `ice_token`, is in no turn: the examples are silently lost"
            yield Finding(place, message, _adding_item(chunk.text, body, mark))


def _repeated_marks(text: str, body: Span, mark: str) -> Iterator[Finding]:
    """Yield each token in a text but the first."""
    for span in islice(_marks(text, body, mark), 1, None):
        message = f"`{mark}` is in this text twice, and so are the examples"
        fix = Fix(f"Remove this `{mark}`", (Edit(span, ""),))
        yield Finding(span, message, (fix,), severity="warning")


def _takes_examples(evaluation: Evaluation, template: EvaluationTemplate) -> bool:
    """Return whether a template is the question's, and there may be examples to put into it."""
    has_examples = evaluation.ice is not None and evaluation.retrieves is not False
    return has_examples and template is evaluation.question_template and not evaluation.is_open


def _loses_examples(dialogue: Mapping, mark: str) -> bool:
    """Return whether no text of a dialogue with turns has the token, or may have it."""
    texts = scalars_in(dialogue)
    return dialogue.value("round") is not None and not any(
        each.dynamic or mark in each.text for each in texts
    )


def _token_not_in_text(chunk: Chunk, token: Scalar, mark: str, body: Scalar, place: Span) -> Finding:
    """Return the finding for a text without the token, which may have the usual one in its place."""
    message = f"`{mark}`, the `ice_token`, is not in this text"
    written = chunk.slice(token.span)
    if USUAL_ICE_MARK not in body.text or written.count(mark) != 1:
        return Finding(place, message)
    start = token.span.start + written.index(mark)
    fix = Fix.change_to(Span(start, start + len(mark)), USUAL_ICE_MARK)
    return Finding(place, f"{message}; did you mean `{USUAL_ICE_MARK}`?", (fix,))


def _in_sections(text: str, dialogue: Mapping, mark: str, sections: Iterable[str | int]) -> Iterator[Finding]:
    """Yield the sections of a dialogue that are texts without the token: only lists need none."""
    for section in sections:
        value = dialogue.value(str(section))
        if isinstance(value, Scalar) and not value.dynamic:
            message = f"`{mark}`, the `ice_token`, is not in this text: write `{section}` as a list"
            written = text[value.span.start : value.span.end]
            edit = Edit(value.span, f"[{written}]")
            is_simple = value.style in {'"', "'"} or (not value.style and written.isidentifier())
            yield Finding(value.span, message, (Fix("Write it as a list", (edit,)),) if is_simple else ())


def _in_messages(evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    token = template.ice_token
    mark = scalar_text(token) if token else USUAL_ICE_MARK
    if (
        mark is None
        or not isinstance(template.body, Sequence)
        or template is not evaluation.question_template
    ):
        return
    items = [item for item in template.body.items if isinstance(item, Scalar)]
    if any(item.dynamic or item.text == mark for item in items):
        return
    for item in items:
        message = f"only an item that is the `ice_token`, `{mark}`, has a meaning here; this text is left out"
        yield Finding(item.span, message, severity="warning")
    if evaluation.ice and evaluation.retrieves and not evaluation.is_open:
        message = f"no item of the messages is the `ice_token`, `{mark}`: the examples are silently lost"
        yield Finding(template.entry.key.span, message)


def _texts(template: EvaluationTemplate) -> Iterator[Scalar]:
    for body in template.bodies:
        yield from scalars_in(body)


def _marks(text: str, within: Span, mark: str) -> Iterator[Span]:
    for match in re.compile(re.escape(mark)).finditer(text, *within):
        yield Span(*match.span())


def _adding_token(text: str, template: EvaluationTemplate) -> tuple[Fix, ...]:
    """Return the fix that adds the key, and inserts the token into the texts that do not contain it."""
    edit = _token_edit(text, template.mapping) if template.mapping else None
    if edit is None:
        return ()
    edits = [edit]
    for body in template.bodies:
        if isinstance(body, Scalar) and USUAL_ICE_MARK not in body.text:
            start = text_start(text, body)
            edits.append(Edit.insert(start, USUAL_ICE_MARK))
        elif isinstance(body, Mapping) and not any(USUAL_ICE_MARK in each.text for each in scalars_in(body)):
            inner = _item_edit(text, body, USUAL_ICE_MARK)
            edits += [inner] if inner else []
    if len({each.span for each in edits}) < len(edits):
        return ()
    return (Fix(f"Add an `ice_token`, `{USUAL_ICE_MARK}`", tuple(edits), preferred=True),)


def _token_edit(text: str, mapping: Mapping) -> Edit | None:
    entry = mapping.entry("ice_token")
    if entry is not None:
        span = entry.value.span
        return None if span.is_empty() else Edit(span, f'"{USUAL_ICE_MARK}"')
    return added_entry(text, mapping.span, mapping.entries, f'ice_token: "{USUAL_ICE_MARK}"')


_SIGNS: Final = "</>"


def _adding_item(text: str, body: Mapping, mark: str) -> tuple[Fix, ...]:
    """Return the fix that corrects a similar token in the dialogue, or adds the right one."""
    like = re.compile(rf"</?{re.escape(mark.strip(_SIGNS))}/?>", re.IGNORECASE)
    for scalar in scalars_in(body) if mark.startswith("<") else ():
        if (found := like.search(text, *scalar.span)) is not None:
            return (Fix.change_to(Span(*found.span()), mark, preferred=True),)
    edit = _item_edit(text, body, mark)
    return () if edit is None else (Fix(f"Begin the dialogue with `{mark}`", (edit,), preferred=True),)


def _item_edit(text: str, body: Mapping, mark: str) -> Edit | None:
    """Return an edit that adds the token to the `begin` of a dialogue; None if `begin` cannot be extended."""
    if body.entry("begin") is None and (rounds := body.entry("round")):
        start = rounds.key.span.start
        if is_flow(text, body.span):
            return Edit.insert(start, f'begin: ["{mark}"], ')
        indent = indentation(text, start)
        return Edit.insert(start, f'begin:\n{indent}  - "{mark}"\n{indent}')
    begin = body.value("begin")
    if isinstance(begin, Sequence) and begin.items and text[begin.span.start : begin.span.start + 1] != "[":
        last = begin.items[-1].span.end
        return Edit.insert(last, f'\n{indentation(text, begin.span.start)}- "{mark}"')
    return None
