"""Dialogue role missing in the model's meta template.

## What it does

Reports the `role` of a turn that the file's `meta_template`, or that of its only model, does not have: in `round`, it must be one of
its `round`; in `begin`, one of its `round` or `reserved_roles`, unless the turn has a `fallback_role`
that is. A meta template with `api_role` belongs to a model with an API, for which the `fallback_role`
is used in `round` too; for other models it is not. Without a meta template, only typos of `HUMAN`, `BOT`
and `SYSTEM` are reported. The messages of a `RawPromptTemplate` must have the roles `system`, `user` and
`assistant`.

## Why is this bad?

OpenCompass raises a bare `KeyError` when it renders the dialogue.

## Example

```yaml
prompt_template:
  template:
    round:
      - {role: SYSTEM, prompt: Be brief.}
               ^^^^^^ unknown-dialogue-role: the meta template has no role `SYSTEM` in its `round`
      - {role: HUMAN, prompt: "{question}"}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
meta_template:
  round:
    - {role: HUMAN, begin: "Q: "}
    - {role: BOT, begin: "A: ", generate: true}
```

Use instead:

```yaml
prompt_template:
  template:
    begin:
      - {role: SYSTEM, fallback_role: HUMAN, prompt: Be brief.}
    round:
      - {role: HUMAN, prompt: "{question}"}
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
meta_template:
  round:
    - {role: HUMAN, begin: "Q: "}
    - {role: BOT, begin: "A: ", generate: true}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    DIALOGUE_ROLES,
    LABEL_INFERENCERS,
    MESSAGE_ROLES,
    ROLE_SYNONYMS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Finding, Rule, each_chunk
from promptls.semantic.evaluation_file import (
    DeclaredMetaTemplate,
    Evaluation,
    EvaluationTemplate,
    Form,
    evaluation_of,
    meta_template_of,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the roles that OpenCompass will not find."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    meta = _only_meta_template(evaluation)
    for template in evaluation.templates:
        if template.form is Form.MESSAGES:
            yield from _in_messages(template.body)
            continue
        used = evaluation.used_bodies(template)
        for body in template.bodies:
            for section in DIALOGUE_KEYS if isinstance(body, Mapping) else ():
                is_reached = body in used and _is_reached(evaluation, template, section)
                for turn in turns_in(body, section):
                    if _lacks_role(turn):
                        message = "this turn has no `role`: OpenCompass fails with any meta template"
                        yield Finding(turn.entries[0].key.span, message, severity="warning")
                    if meta is None:
                        yield from _by_custom(turn, evaluation.meta is not None)
                        continue
                    for found in _in_meta(turn, section, meta):
                        yield found if is_reached else replace(found, severity="warning")


def _only_meta_template(evaluation: Evaluation) -> DeclaredMetaTemplate | None:
    """Return the file's meta template, or else that of its only model."""
    if evaluation.meta is not None or len(evaluation.models) != 1:
        return evaluation.meta_template
    return next((meta_template_of(entry.value, kind) for entry, kind in evaluation.model_metas), None)


def _lacks_role(turn: Mapping) -> bool:
    """Return whether a turn has a `prompt` and no `role`, not even a misspelled one."""
    if "prompt" not in turn.indexes or "role" in turn.indexes:
        return False
    keys = [key_text(entry) for entry in turn.entries]
    return not any(key is None or is_close(key, "role") for key in keys)


def _is_reached(evaluation: Evaluation, template: EvaluationTemplate, section: str) -> bool:
    """Return whether OpenCompass renders the turns of a section for a model."""
    if template is not evaluation.question_template:
        # Only the rounds of examples are used.
        return section == "round"
    meta = _only_meta_template(evaluation)
    stops = meta is not None and meta.generates and evaluation.inferencer_class not in LABEL_INFERENCERS
    return section != "end" or not stops


def _in_messages(messages: object) -> Iterator[Finding]:
    for item in messages.items if isinstance(messages, Sequence) else ():
        if not isinstance(item, Mapping) or item.entry("expand_column"):
            continue
        value = item.value("role")
        role = scalar_text(value)
        if value is not None and role is not None and role not in MESSAGE_ROLES:
            known = ", ".join(f"`{each}`" for each in MESSAGE_ROLES)
            meant = {"human": "user", "bot": "assistant"}.get(role.lower())
            message = f"a message's role is one of {known}"
            if meant or role.lower() in MESSAGE_ROLES:
                yield Finding.suggest(value.span, message, meant or role.lower(), preferred=True)
            else:
                yield misspelled(value.span, message, role, MESSAGE_ROLES)


def _in_meta(turn: Mapping, section: str, meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    value, fallback = turn.value("role"), scalar_text(turn.value("fallback_role"))
    role = scalar_text(value)
    if value is None or role is None or meta.is_unsure:
        return
    dynamic_fallback = turn.value("fallback_role") is not None and fallback is None
    if section != "round":
        if role in meta.roles or fallback in meta.roles or dynamic_fallback:
            return
        message = f"the meta template has neither the role `{role}` nor a fallback for it"
        yield from _unknown(turn, value.span, message, role, meta)
    elif role not in meta.round_roles:
        if meta.is_api and (fallback in meta.round_roles or dynamic_fallback):
            return
        message = f"the meta template has no role `{role}` in its `round`"
        if fallback is not None and not meta.is_api:
            message += ", and models without an API take no `fallback_role` there"
        yield from _unknown(turn, value.span, message, role, meta)


def _unknown(
    turn: Mapping, span: Span, message: str, role: str, meta: DeclaredMetaTemplate
) -> Iterator[Finding]:
    yield misspelled(span, message, role, [each for each in meta.round_roles if is_typo(role, each)])


def _by_custom(turn: Mapping, has_meta: bool) -> Iterator[Finding]:
    """Yield typos of the customary roles, if no meta template defines roles."""
    if has_meta or scalar_text(turn.value("fallback_role")) in DIALOGUE_ROLES:
        return
    for key in ("role", "fallback_role"):
        value = turn.value(key)
        role = scalar_text(value)
        if value is None or role in DIALOGUE_ROLES:
            continue
        meant = [each for each in DIALOGUE_ROLES if role is not None and is_typo(role, each)]
        meant += [usual for each, usual in ROLE_SYNONYMS.items() if (role or "").upper() == each]
        if meant:
            message = f"`{role}` is not a role of dialogues"
            yield Finding.suggest(value.span, message, meant[0], preferred=True, severity="warning")


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
