"""Dialogue role missing in the model's meta template.

## What it does

Reports the `role` of a turn that the file's `meta_template`, or that of its only model, does not have: in `round`, it must be one of
its `round`; in `begin`, one of its `round` or `reserved_roles`, unless the turn has a `fallback_role`
that is. A meta template with `api_role` belongs to a model with an API, for which the `fallback_role`
is used in `round` too; for other models it is not. Without a meta template, only typos of `HUMAN`, `BOT`
and `SYSTEM` are reported. Of the roles of a meta template, it reports those that datasets call otherwise.
If the turns of a dialogue alternate between two roles, the only one with the role of both turns beside it is reported.

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

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from promptls.dialects.opencompass.meta_template import unknown_role
from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    DIALOGUE_ROLES,
    LABEL_INFERENCERS,
    ROLE_SYNONYMS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Finding, Rule, Severity, each_chunk
from promptls.semantic.evaluation_file import (
    DeclaredMetaTemplate,
    Evaluation,
    EvaluationTemplate,
    evaluation_of,
    meta_template_of,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, key_text, scalar_text
from promptls.text.suggest import is_close, is_typo


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the roles that OpenCompass will not find."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    meta = _only_meta_template(evaluation)
    yield from _out_of_turn(evaluation)
    turns = list(_turns(evaluation))
    for turn, section, is_reached in turns:
        if _lacks_role(turn):
            message = "this turn has no `role`: OpenCompass fails with any meta template"
            severity: Severity = "error" if meta is not None and is_reached else "warning"
            yield Finding(turn.entries[0].key.span, message, severity=severity)
        if meta is None:
            yield from _by_custom(turn, evaluation.meta is not None)
            continue
        for found in _in_meta(turn, section, meta):
            yield found if is_reached else replace(found, severity="warning")
    own_roles = {turn.text("role") for turn, _, _ in turns}
    for entry, model in () if evaluation.is_open else evaluation.all_metas:
        if (declared := meta_template_of(entry.value, model)) is not None:
            yield from _unusual_roles(declared, own_roles)


def _turns(evaluation: Evaluation) -> Iterator[tuple[Mapping, str, bool]]:
    """Yield the turns of all dialogues, each with its section and whether OpenCompass reaches it."""
    for template in evaluation.templates:
        used = evaluation.used_bodies(template)
        for body in template.bodies:
            for section in DIALOGUE_KEYS if isinstance(body, Mapping) else ():
                is_reached = body in used and _is_reached(evaluation, template, section)
                yield from ((turn, section, is_reached) for turn in turns_in(body, section))


_MIN_TURNS: Final = 4
"""The minimum number of turns of a dialogue that show its order."""


def _out_of_turn(evaluation: Evaluation) -> Iterator[Finding]:
    """Yield the turns that interrupt the order of their dialogue."""
    for template in evaluation.templates:
        for body in template.bodies:
            for section in DIALOGUE_KEYS if isinstance(body, Mapping) else ():
                assert isinstance(body, Mapping)
                yield from _same_as_neighbors(body, section)


def _same_as_neighbors(body: Mapping, section: str) -> Iterator[Finding]:
    """Yield the only turn of a dialogue that has the role of both turns beside it, where all others alternate."""
    turns = [*turns_in(body, section)]
    roles = [turn.text("role") for turn in turns]
    same = [index for index, (one, other) in enumerate(pairwise(roles)) if one == other]
    if len(roles) < _MIN_TURNS or None in roles or [index - same[0] for index in same] != [0, 1]:
        return
    value = turns[same[1]].value("role")
    other = next((role for role in roles if role != roles[same[1]]), None)
    if value is not None and other:
        message = "this turn has the role of both turns beside it, and all others alternate"
        yield Finding.suggest(value.span, message, other, severity="warning")


def _only_meta_template(evaluation: Evaluation) -> DeclaredMetaTemplate | None:
    """Return the file's meta template, or else that of its only model."""
    if evaluation.meta is not None or len(evaluation.models) != 1:
        return evaluation.meta_template
    return next((meta_template_of(entry.value, kind) for entry, kind in evaluation.all_metas), None)


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


def _in_meta(turn: Mapping, section: str, meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    value, fallback = turn.value("role"), turn.text("fallback_role")
    role = scalar_text(value)
    if value is None or role is None or meta.is_unsure:
        return
    if turn.value("fallback_role") is not None and fallback is None and (section != "round" or meta.is_api):
        return  # Jinja prints it
    in_round, data = section == "round", {"role": role, "fallback_role": fallback}
    roles = meta.round_roles if in_round else meta.roles
    problem = unknown_role(data, roles, in_round=in_round, uses_fallback=not in_round or meta.is_api)
    if problem is not None:
        near = [each for each in meta.round_roles if is_typo(role, each)]
        yield misspelled(value.span, problem.clause, role, near)


def _by_custom(turn: Mapping, has_meta: bool) -> Iterator[Finding]:
    """Yield typos of the customary roles, if no meta template defines roles."""
    if has_meta or turn.text("fallback_role") in DIALOGUE_ROLES:
        return
    for key in ("role", "fallback_role"):
        role = turn.text(key)
        meant = _meant(role) if role not in DIALOGUE_ROLES else None
        if meant is not None and (value := turn.value(key)) is not None:
            message = f"`{role}` is not a role of dialogues"
            yield Finding.suggest(value.span, message, meant, preferred=True, severity="warning")


def _unusual_roles(meta: DeclaredMetaTemplate, used: Collection[str | None]) -> Iterator[Finding]:
    """Yield roles for which datasets have other names; `used` are those in the file's own templates."""
    for turn in (*meta.rounds, *meta.reserved):
        node = turn.value("role")
        role = scalar_text(node)
        meant = _meant(role) if role not in {*used, *DIALOGUE_ROLES} else None
        if node is not None and meant is not None and meant not in meta.roles:
            message = f"datasets have no role `{role}`"
            yield Finding.suggest(node.span, message, meant, preferred=True, severity="warning")


def _meant(role: str | None) -> str | None:
    """Return the customary role that a name misspells or means."""
    if role is None:
        return None
    return next((each for each in DIALOGUE_ROLES if is_typo(role, each)), ROLE_SYNONYMS.get(role.upper()))


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
