"""Meta template that OpenCompass rejects.

## What it does

Reports a `meta_template`, of the file or of one of its `models`, without a list of `round`, with a
repeated role, with a turn that has no `role`, with a list for a `begin` or `end`, or with a misspelled key,
which OpenCompass ignores. Also reports one in which only some roles have an `api_role`, or none although the class of the model sends it.

## Why is this bad?

OpenCompass raises an `AssertionError` (`role in meta prompt must be unique!`), a
`NotImplementedError` or a `KeyError` with every prompt of the model.

## Example

```yaml
prompt_template:
  template: "{question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer}
meta_template:
  round:
    - {role: HUMAN, begin: "Q: "}
    - {role: HUMAN, begin: "A: ", generate: true}
             ^^^^^ invalid-meta-template: duplicate role `HUMAN`
```

Use instead:

```yaml
prompt_template:
  template: "{question}"
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
from typing import Final

from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    LABEL_INFERENCERS,
    META_KEYS,
    META_ROLE_KEYS,
    ROLE_SYNONYMS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import BLANK, as_list, key_behind
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Rule, each_chunk
from promptls.semantic.evaluation_file import (
    DeclaredMetaTemplate,
    Form,
    evaluation_of,
    meta_template_of,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.text.suggest import is_close, is_typo

_ROLES: Final = ("HUMAN", "BOT", "SYSTEM")
_ROUND: Final = "round: [{role: HUMAN}, {role: BOT, generate: true}]"


@each_chunk
def check(chunk: Chunk) -> Iterator[Finding]:
    """Yield the problems of the meta template."""
    evaluation = evaluation_of(chunk)
    if evaluation is None or evaluation.is_open:
        return
    if evaluation.meta is None and not evaluation.model_metas:
        return
    used = {
        scalar_text(turn.value("role"))
        for template in evaluation.templates
        for body in template.bodies
        for section in DIALOGUE_KEYS
        for turn in turns_in(body, section)
    }
    for entry, model in evaluation.model_metas:
        model_meta = meta_template_of(entry.value, model)
        yield from _in_meta(chunk, entry, model_meta, used)
        yield from _never_generates(entry, model_meta)
    if evaluation.meta is None:
        return
    meta, question = evaluation.meta_template, evaluation.question_template
    yield from _in_meta(chunk, evaluation.meta, meta, used)
    if evaluation.inferencer_class not in {None, *LABEL_INFERENCERS}:
        yield from _never_generates(evaluation.meta, meta)
    if meta is None or question is None or meta.is_api or meta.is_unsure:
        return
    if question.form is Form.MESSAGES:
        message = "messages go only to a model with an API, and no role here has an `api_role`"
        yield Finding(evaluation.meta.key.span, message)


def _in_meta(
    chunk: Chunk, entry: Entry, meta: DeclaredMetaTemplate | None, used: Collection[str | None]
) -> Iterator[Finding]:
    value = entry.value
    if meta is not None:
        yield from _misspelled_keys(value, META_KEYS)
        for turn in (*meta.rounds, *meta.reserved):
            yield from _misspelled_keys(turn, META_ROLE_KEYS)
        yield from _roles(chunk, meta)
        yield from _unusual_roles(meta, used)
        if isinstance(value, Mapping) and not meta.is_api:
            yield from _lists(chunk, value)
    elif isinstance(value, Mapping):
        rounds = value.entry("round")
        if rounds is not None:
            fixes = as_list(chunk, rounds.value) if isinstance(rounds.value, Mapping) else ()
            yield Finding(rounds.key.span, "`round` is a list of roles", fixes)
        elif (typo := _typo_of_round(value)) is not None:
            yield misspelled(
                typo.key.span, "a meta template needs a `round`", key_text(typo) or "", ["round"]
            )
        elif all(key_text(each) is not None for each in value.entries):
            fixes = key_behind(chunk, value.span, value.entries, _ROUND)
            yield Finding(entry.key.span, "a meta template needs a `round`", fixes)


def _typo_of_round(value: Mapping) -> Entry | None:
    return next((entry for entry in value.entries if is_close(key_text(entry) or "", "round")), None)


def _roles(chunk: Chunk, meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    seen: set[str] = set()
    for turn in (*meta.rounds, *meta.reserved):
        value = turn.value("role")
        role = scalar_text(value)
        if value is None and turn.entries and all(key_text(entry) is not None for entry in turn.entries):
            free = next(each for each in (*_ROLES, "ROLE") if each not in meta.roles)
            fixes = key_behind(chunk, turn.span, turn.entries, f"role: {free}")
            yield Finding(turn.entries[0].key.span, "this turn has no `role`", fixes)
        if value is not None and role is not None:
            if role in seen:
                free_roles = [each for each in _ROLES if each not in meta.roles]
                fixes = tuple(Fix.change_to(value.span, each) for each in free_roles)
                yield Finding(value.span, f"duplicate role `{role}`", fixes)
            seen.add(role)
        if not meta.is_api or turn in meta.rounds:
            yield from _lists(chunk, turn)
        if meta.is_api and _lacks_api_role(turn) and turn in meta.rounds and value is not None:
            fixes = key_behind(chunk, turn.span, turn.entries, f"api_role: {role or BLANK}")
            why = "as the others have" if meta.has_api_roles else f"which `{meta.model}` sends"
            yield Finding(value.span, f"this role has no `api_role`, {why}", fixes)


def _lacks_api_role(turn: Mapping) -> bool:
    """Return whether a turn has no `api_role`, nor a typo of it, which is reported already."""
    keys = [key_text(entry) or "" for entry in turn.entries]
    return not any(key == "api_role" or is_typo(key, "api_role") for key in keys)


def _never_generates(entry: Entry, meta: DeclaredMetaTemplate | None) -> Iterator[Finding]:
    """Yield the round of a meta template in which no role is written by the model."""
    keys = [key_text(each) or "generate" for turn in meta.rounds for each in turn.entries] if meta else []
    rounds = entry.value.entry("round") if isinstance(entry.value, Mapping) else None
    if rounds and keys and not any(is_close(key, "generate") for key in keys):
        message = "no role has `generate: true`: the prompt does not end where the model is to answer"
        yield Finding(rounds.key.span, message, severity="warning")


def _unusual_roles(meta: DeclaredMetaTemplate, used: Collection[str | None]) -> Iterator[Finding]:
    """Yield roles for which datasets have other names; `used` are those in the file's own templates."""
    for turn in (*meta.rounds, *meta.reserved):
        node = turn.value("role")
        role = scalar_text(node)
        if node is None or role is None or role in used or role in _ROLES:
            continue
        meant = ROLE_SYNONYMS.get(role.upper()) or next(
            (each for each in _ROLES if is_typo(role, each)), None
        )
        if meant is not None and meant not in meta.roles:
            message = f"datasets have no role `{role}`"
            yield Finding.suggest(node.span, message, meant, preferred=True, severity="warning")


def _misspelled_keys(value: Node, known: Collection[str]) -> Iterator[Finding]:
    """Yield the keys of a mapping that are probably typos of known ones."""
    for entry in value.entries if isinstance(value, Mapping) else ():
        key = key_text(entry) or ""
        if key not in known and any(is_close(key, each) for each in known):
            yield misspelled(entry.key.span, f"OpenCompass ignores `{key}`", key, sorted(known))


def _lists(chunk: Chunk, turn: Mapping) -> Iterator[Finding]:
    for key in ("begin", "end"):
        entry = turn.entry(key)
        if entry is not None and isinstance(entry.value, Sequence):
            items = entry.value.items
            span = items[0].span if len(items) == 1 and isinstance(items[0], Scalar) else None
            text = chunk.text[span.start : span.end] if span else ""
            fixes = (Fix("Write the text alone", (Edit(entry.value.span, text),)),) if text else ()
            yield Finding(entry.key.span, f"OpenCompass takes no list for `{key}`: write one text", fixes)


RULE = Rule(check, severity="error", kinds=EVALUATION_KINDS)
