"""A meta template that OpenCompass refuses.

## What it does

Reports a `meta_template` without a list of `round`, with a role twice, with a turn that has no
`role`, with a list for a `begin` or `end`, and one in which only some roles have an `api_role`.

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
             ^^^^^ invalid-meta-template: the role `HUMAN` is there already
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

from collections.abc import Iterator

from promptls.meaning.evaluation import evaluation_of
from promptls.meaning.meta_template import MetaTemplate
from promptls.rules.rule import EVALUATION_KINDS, Finding, Rule
from promptls.settings.project import Project
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text


def check_chunk(chunk: Chunk, project: Project) -> Iterator[Finding]:
    """What is wrong with the meta template."""
    evaluation = evaluation_of(chunk)
    if evaluation is None or evaluation.meta is None or evaluation.is_open:
        return
    value, meta = evaluation.meta.value, evaluation.meta_template
    if meta is not None:
        yield from _roles(meta)
    elif isinstance(value, Mapping):
        rounds = value.entry("round")
        if rounds is not None:
            yield Finding(rounds.key.span, "`round` is a list of roles")
        elif all(key_text(entry) is not None for entry in value.entries):
            yield Finding(evaluation.meta.key.span, "a meta template needs a `round`")


def _roles(meta: MetaTemplate) -> Iterator[Finding]:
    seen: set[str] = set()
    for turn in (*meta.rounds, *meta.reserved):
        value = turn.value("role")
        role = scalar_text(value)
        if value is None and turn.entries and all(key_text(entry) is not None for entry in turn.entries):
            yield Finding(turn.entries[0].key.span, "this turn has no `role`")
        if value is not None and role is not None:
            if role in seen:
                yield Finding(value.span, f"the role `{role}` is there already")
            seen.add(role)
        if not meta.is_api:
            yield from _lists(turn)
        elif turn.entry("api_role") is None and turn in meta.rounds and value is not None:
            yield Finding(value.span, "this role has no `api_role`, as the others have")


def _lists(turn: Mapping) -> Iterator[Finding]:
    for key in ("begin", "end"):
        entry = turn.entry(key)
        if entry is not None and isinstance(entry.value, Sequence):
            yield Finding(entry.key.span, f"OpenCompass takes no list for `{key}`: write one text")


RULE = Rule(
    name="invalid-meta-template",
    summary="a meta template that OpenCompass refuses",
    severity="error",
    module=__name__,
    kinds=EVALUATION_KINDS,
    check_chunk=check_chunk,
)
