"""Keys, classes and roles that OpenCompass does not know.

# unknown-evaluation-key

Key or class of an evaluation prompt unknown to OpenCompass.

Reports typos of the keys of `infer_cfg`, `reader_cfg`, a dialogue's turn, the inferencer, a meta template
and its roles, typos of the common keys of `models` with
one of OpenCompass's classes, and typos of the names of inferencers, evaluators, models and template classes. Keys and
classes that are not similar to a known one are not reported: OpenCompass, or one of your classes, may accept
them. It also reports invalid numbers.

In a configuration in Python, it reports names that nothing defines, misspelled keys of all mappings, datasets and
mappings without the keys that OpenCompass needs, a missing comma in a list of names, and values that are not what their key
needs: a tuple or a class instead of a mapping, the mapping of another key, options without an answer that the
dataset has, a pattern without a group, a text without its `f`, the name of another dataset, and a list inside
of the list of datasets or models. In a checkout of OpenCompass, it also reports the arguments of a dataset that
its class does not take or lacks, and splits that the class does not make.

## Why is this bad?

OpenCompass ignores the key, or fails with a `TypeError`.

## Example

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer, max_out_length: 50}
                                  ^^^^^^^^^^^^^^ unknown-evaluation-key: unknown key `max_out_length`; did you mean `max_out_len`?
```

Use instead:

```yaml
prompt_template:
  template: "Q: {question}"
retriever: {type: ZeroRetriever}
inferencer: {type: GenInferencer, max_out_len: 50}
```

# unknown-dialogue-role

Dialogue role missing in the model's meta template.

Reports the `role` of a turn that the file's `meta_template`, or that of its only model, does not have: in `round`, it must be one of
its `round`; in `begin`, one of its `round` or `reserved_roles`, unless the turn has a `fallback_role`
that is. A meta template with `api_role` belongs to a model with an API, for which the `fallback_role`
is used in `round` too; for other models it is not. Without a meta template, only typos of `HUMAN`, `BOT`
and `SYSTEM` are reported. Of the roles of a meta template, it reports those that datasets call otherwise.
If the turns of a dialogue alternate between two roles, the only one with the role of both turns beside it is reported. So are
the answer of an example with the role of its question, question and answer with each other's role, and a question
after the turn with its answer.

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

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from promptls.dialects.opencompass.meta_template import unknown_role
from promptls.dialects.opencompass.vocabulary import (
    DIALOGUE_KEYS,
    DIALOGUE_ROLES,
    EVALUATION_KEYS,
    EVALUATORS,
    INFER_KEYS,
    INFERENCER_KEYS,
    INFERENCERS,
    LABEL_INFERENCERS,
    META_KEYS,
    META_ROLE_KEYS,
    MODEL_CLASSES,
    MODEL_KEYS,
    MORE_INFERENCERS,
    OTHER_MODEL_KEYS,
    READER_KEYS,
    RETRIEVER_KEYS,
    RETRIEVERS,
    ROLE_SYNONYMS,
    RUN_KEYS,
    TEMPLATE_TYPES,
    TURN_KEYS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Severity, each_chunk, rule
from promptls.semantic.evaluation_file import (
    DeclaredMetaTemplate,
    Evaluation,
    EvaluationTemplate,
    class_name,
    class_span,
    evaluation_of,
    meta_template_of,
    turns_in,
)
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, key_text, scalar_text
from promptls.text.suggest import is_close, is_typo

_NUMBERS: Final = tuple(
    key
    for key, fact in {**INFERENCER_KEYS, **MODEL_KEYS, **RETRIEVER_KEYS}.items()
    if fact.describe_type == "integer"
)
"""Keys of an inferencer, a model or a retriever whose values are numbers."""
_LENGTHS: Final = frozenset({"max_out_len", "max_seq_len"})
_NOT_POSITIVE: Final = re.compile(r"-\d|0+\Z")


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk
def unknown_evaluation_key(chunk: Chunk) -> Iterator[Finding]:
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
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    yield from _typos(inferencer, INFERENCER_KEYS)
    yield from _not_numbers(inferencer)
    retriever = evaluation.retriever.value if evaluation.retriever else None
    yield from (
        _not_numbers(retriever) if class_name(retriever) in RETRIEVERS.keys() - {"FixKRetriever"} else ()
    )
    yield from _not_lists(inferencer)
    yield from _class(inferencer, (*INFERENCERS, *MORE_INFERENCERS), "inferencer")
    scoring = evaluation.root.value("eval_cfg")
    evaluator = scoring.value("evaluator") if isinstance(scoring, Mapping) else None
    yield from _class(evaluator, EVALUATORS, "evaluator")
    for entry, _ in evaluation.all_metas:
        if meta := meta_template_of(entry.value):
            yield from _typos(meta.mapping, META_KEYS, severity="error")
            for role in (*meta.rounds, *meta.reserved):
                yield from _typos(role, META_ROLE_KEYS, severity="error") if role.entry("role") else ()
    for model in evaluation.models:
        yield from _class(model, MODEL_CLASSES, "model class")
        if class_name(model) in MODEL_CLASSES:
            yield from _typos(model, MODEL_KEYS, OTHER_MODEL_KEYS)
            yield from _typos(model.merged("run_cfg"), RUN_KEYS)
            yield from _not_numbers(model)
            yield from _not_numbers(model.merged("run_cfg"), RUN_KEYS)


def _in_template(template: EvaluationTemplate) -> Iterator[Finding]:
    yield from _class(template.mapping, TEMPLATE_TYPES, "template class")
    for body in template.bodies:
        for section in DIALOGUE_KEYS:
            for turn in turns_in(body, section):
                yield from _typos(turn, TURN_KEYS)
                if isinstance(turn, Mapping):
                    yield from _foreign_text(turn)


def _typos(
    node: Node | None,
    known: Collection[str],
    others: frozenset[str] = frozenset(),
    severity: Severity = "warning",
) -> Iterator[Finding]:
    """Yield the keys that are a typo of a known key that is not present; `others` are no typos."""
    if not isinstance(node, Mapping) or node.indexes.keys() <= {*known}:
        return
    keys = node.indexes.keys()
    for entry in node.entries:
        key = key_text(entry)
        if not key or key in known or key in others:
            continue
        meant = [each for each in known if each not in keys and (is_typo(key, each) or _is_longer(key, each))]
        if meant:
            yield misspelled(entry.key.span, f"unknown key `{key}`", key, meant, severity=severity)


def _is_longer(key: str, known: str) -> bool:
    """Return whether a key is a known one with its words written out, such as `max_output_length`."""
    words, of_known = key.split("_"), known.split("_")
    is_similar = len(words) == len(of_known) > 1 and key != known
    return is_similar and all(map(str.startswith, words, of_known))


def _foreign_text(turn: Mapping) -> Iterator[Finding]:
    """Yield the key of a turn's text in the format of chat models."""
    if "prompt" in turn.indexes or turn.merged("prompt") is not None:
        return
    for entry in turn.entries:
        if (key := key_text(entry)) in {"content", "text"}:
            fix = Fix.change_to(entry.key.span, "prompt")
            message = f"OpenCompass ignores `{key}`: the text of a turn is its `prompt`"
            yield Finding(entry.key.span, message, (fix,))


def _not_numbers(node: Node | None, keys: Iterable[str] = _NUMBERS) -> Iterator[Finding]:
    if not isinstance(node, Mapping):
        return
    for key in keys:
        value = node.merged(key)
        if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic:
            is_number = value.text.isdecimal() and value.style in {"'", '"'}
            fix = Fix("Take away the quotes", (Edit(value.span, value.text),), preferred=True)
            yield Finding(value.span, f"`{key}` is a number", (fix,) if is_number else ())
        elif isinstance(value, Scalar) and key in _LENGTHS and _NOT_POSITIVE.match(value.text):
            yield Finding(value.span, f"`{key}` is a number of tokens, which is positive")


def _not_lists(inferencer: Node | None) -> Iterator[Finding]:
    """Yield a text in place of the list of texts that end an answer."""
    value = inferencer.merged("stopping_criteria") if isinstance(inferencer, Mapping) else None
    if isinstance(value, Scalar) and value.tag == "str" and not value.dynamic and value.text:
        message = "`stopping_criteria` is a list of texts: of one text, each character ends the answer"
        yield Finding(value.span, message)


def _class(node: Node | None, known: Iterable[str], what: str) -> Iterator[Finding]:
    kind = class_name(node)
    value = node.merged("type") if isinstance(node, Mapping) else None
    names = tuple(known)
    if kind is None or not isinstance(value, Scalar) or kind in names:
        return
    meant = [each for each in names if is_typo(kind, each) and is_close(kind, each)]
    if meant:
        yield misspelled(class_span(value, kind), f"OpenCompass has no {what} `{kind}`", kind, meant)


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk
def unknown_dialogue_role(chunk: Chunk) -> Iterator[Finding]:
    """Yield the roles that OpenCompass will not find."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    meta = _only_meta_template(evaluation)
    yield from _out_of_turn(chunk, evaluation)
    for turn, section, is_reached in _turns(evaluation):
        if _lacks_role(turn):
            message = "this turn has no `role`: OpenCompass fails with any meta template"
            severity: Severity = "error" if meta is not None and is_reached else "warning"
            yield Finding(turn.entries[0].key.span, message, severity=severity)
        if meta is None:
            yield from _by_custom(turn, evaluation.meta is not None)
            continue
        for found in _in_meta(turn, section, meta):
            yield found if is_reached else replace(found, severity="warning")
    for entry, model in () if evaluation.is_open else evaluation.all_metas:
        if (declared := meta_template_of(entry.value, model)) is not None:
            yield from _unusual_roles(declared, {turn.text("role") for turn, _, _ in _turns(evaluation)})


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


def _out_of_turn(chunk: Chunk, evaluation: Evaluation) -> Iterator[Finding]:
    """Yield the turns that interrupt the order of their dialogue."""
    for template in evaluation.templates:
        for body in template.bodies:
            for section in DIALOGUE_KEYS if isinstance(body, Mapping) else ():
                assert isinstance(body, Mapping)
                yield from _same_as_neighbors(body, section)
            if evaluation.output_column and (field := f"{{{evaluation.output_column}}}") in chunk.text:
                yield from _turns_with_answers(template, body, field)


def _turns_with_answers(template: EvaluationTemplate, body: Node, field: str) -> Iterator[Finding]:
    """Yield a turn of the person that has the answer after the question, or that comes after the answer."""
    turns = [*turns_in(body, "round")]
    answers = [field in (turn.text("prompt") or "") for turn in turns]
    for (before, turn), (is_before, is_here) in zip(pairwise(turns), pairwise(answers), strict=True):
        value = turn.value("role") if is_before != is_here else None
        if value is None:
            continue
        roles = (before.text("role"), turn.text("role"))
        if is_here and roles == ("HUMAN", "HUMAN") and template.name == "ice_template":
            message = "this turn has the answer, and the role of the question"
            yield Finding.suggest(value.span, message, "BOT", preferred=True, severity="warning")
        elif is_here and roles == ("BOT", "HUMAN") and before is turns[0] and turn is turns[-1]:
            if (asks := before.value("role")) is not None:
                edits = (Edit(asks.span, "HUMAN"), Edit(value.span, "BOT"))
                message = "the person answers what the model asks: these two roles are swapped"
                yield Finding(value.span, message, (Fix("Swap the roles", edits),), severity="warning")
        elif is_before and roles == ("BOT", "HUMAN") and turn is turns[-1]:
            message = "this turn comes after the one with the answer"
            yield Finding(value.span, message, severity="warning")


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
    roles = (turn.text("role"), turn.text("fallback_role"))
    if has_meta or roles[1] in DIALOGUE_ROLES:
        return
    for key, role in zip(("role", "fallback_role"), roles, strict=True):
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
