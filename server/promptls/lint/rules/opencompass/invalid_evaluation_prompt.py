"""Evaluation prompt that OpenCompass rejects.

Creates the templates, the retriever and the meta templates of an evaluation prompt as OpenCompass 0.5.4
does, and reports what it refuses: a template that is neither a text nor a mapping, a dialogue without
`round`, a label or message of a wrong form, a message's role other than `system`, `user` and `assistant`,
arguments that a class does not take or lacks, a meta template without a list of `round`, a role in it twice,
without a name or with a list for `begin` or `end`.

Also reports what OpenCompass refuses later: no template at all, no retriever or inferencer, a dialogue's
`end` with a meta template, messages for a model without an API, and roles without the `api_role` that the
model sends. Warns if the model writes none of the roles of a meta template, or those of the person who asks,
and of dialogues and messages without a turn.

## Why is this bad?

OpenCompass raises a bare `AssertionError`, a `KeyError`, a `TypeError`, or an
`IndexError: pop from empty list`.

## Example

```yaml
prompt_template:
  template:
  ^^^^^^^^ invalid-evaluation-prompt: the `template` of `prompt_template` is neither a text nor a mapping: write the list below `round`
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

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from promptls.dialects.opencompass.evaluation_prompt import question_problem, template_problems
from promptls.dialects.opencompass.meta_template import api_begin_problem, meta_problems, refused_list
from promptls.dialects.opencompass.prompt_list import ConfigPath, OpenCompassError
from promptls.dialects.opencompass.prompt_templates import dialogue_problems, reader_problems
from promptls.dialects.opencompass.retriever import retriever_problems
from promptls.dialects.opencompass.vocabulary import (
    CHAT_INFERENCERS,
    DIALOGUE_ROLES,
    LABEL_INFERENCERS,
    MESSAGE_ROLES,
    RETRIEVERS,
)
from promptls.lint.fixes.misspellings import misspelled
from promptls.lint.fixes.yaml_edits import BLANK, added_entry, as_list, is_flow, key_after, without_entry
from promptls.lint.rule import EVALUATION_KINDS, Edit, Finding, Fix, Severity, each_chunk, rule
from promptls.lint.rules.parts.unknown_role import FOREIGN_ROLES
from promptls.semantic.evaluation_file import (
    DeclaredMetaTemplate,
    Evaluation,
    EvaluationTemplate,
    Form,
    class_name,
    class_span,
    evaluation_of,
    fields_in,
    is_generated,
    meta_template_of,
    scalars_in,
)
from promptls.semantic.object_data import plain_data
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.text.suggest import is_close, is_typo

_ROUNDS: Final = "[{role: HUMAN}, {role: BOT, generate: true}]"


@rule(severity="error", kinds=EVALUATION_KINDS)
@each_chunk
def invalid_evaluation_prompt(chunk: Chunk) -> Iterator[Finding]:
    """Yield what OpenCompass refuses."""
    evaluation = evaluation_of(chunk)
    if evaluation is None:
        return
    for template in evaluation.templates:
        # `missing-ice-token` reports the texts without it.
        problems = template_problems(template.name, _outline(template.entry.value))
        others = [error for error in problems if error.cause != "LookupError"]
        if template.is_nearly_dialogue:  # reported by `invalid-ppl-template`
            others = [error for error in others if not error.at[2:]]
        yield from _located(chunk, evaluation, template.entry, others)
        yield from _dialogues(chunk, evaluation, template)
        yield from _nothing_asked(chunk, evaluation, template)
    retriever = evaluation.retriever
    if retriever is not None and not retriever.value.span.is_empty():
        config = plain_data(retriever.value)
        if not isinstance(config, dict) or "type" in config:
            yield from _located(chunk, evaluation, retriever, retriever_problems(config))
        elif not config or (isinstance(retriever.value, Mapping) and _lacks(retriever.value, "type")):
            yield Finding(retriever.key.span, "a retriever needs a `type`, which names its class")
    reader = evaluation.root.entry("reader_cfg")
    if reader is not None and isinstance(reader.value, Mapping):
        yield from _located(chunk, evaluation, reader, reader_problems(plain_data(reader.value)))
    if evaluation.is_open:
        return
    yield from _incomplete(evaluation)
    for entry, model in evaluation.all_metas:
        if isinstance(entry.value, Mapping):
            meta = meta_template_of(entry.value, model)
            problems = meta_problems(plain_data(entry.value), is_api=meta is not None and meta.is_api)
            yield from _located(chunk, evaluation, entry, problems, meta.roles if meta else frozenset())
            if meta is not None:
                yield from _when_laid_out(chunk, evaluation, entry, meta)


def _outline(node: Node, depth: int = 3) -> Any:
    """Return the data of a node; lists and mappings below `depth` are empty, as nothing in them is refused."""
    if not depth and not isinstance(node, Scalar):
        return [] if isinstance(node, Sequence) else {}
    if isinstance(node, Sequence):
        return [_outline(item, depth - 1) for item in node.items]
    if isinstance(node, Scalar) or any(key_text(entry) in {None, "<<"} for entry in node.entries):
        return plain_data(node)
    return {plain_data(entry.key): _outline(entry.value, depth - 1) for entry in node.entries}


def _dialogues(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    """Yield the problems of dialogues; those that OpenCompass does not use are warnings."""
    if template.form not in {Form.DIALOGUE, Form.LABELS} or template.is_nearly_dialogue:
        return
    used = evaluation.used_bodies(template)
    for at, label, body in template.located_bodies:
        if isinstance(body, Scalar):
            continue
        data = body.indexes if isinstance(body, Mapping) else []  # their keys are enough
        if not data and label is None and evaluation.inferencer_class in CHAT_INFERENCERS:
            return  # These use the messages of a column instead of a template.
        found = _located(chunk, evaluation, template.entry, dialogue_problems(at, data))
        yield from found if body in used else (replace(each, severity="warning") for each in found)
        if isinstance(body, Mapping):
            yield from _round_and_end(chunk, evaluation, template, body)


def _nothing_asked(chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate) -> Iterator[Finding]:
    """Yield an empty list of messages or turns, which gives the model no question."""
    if template is not evaluation.question_template or evaluation.inferencer_class in CHAT_INFERENCERS:
        return
    holders = [template.mapping] if template.form is Form.MESSAGES else [*template.bodies]
    for holder in holders if template.form in {Form.MESSAGES, Form.DIALOGUE} else ():
        key = "messages" if template.form is Form.MESSAGES else "round"
        entry = holder.entry(key) if isinstance(holder, Mapping) else None
        if entry is None or not isinstance(entry.value, Sequence) or entry.value.items:
            continue
        begin = holder.entry("begin") if isinstance(holder, Mapping) else None
        texts = scalars_in(begin.value) if begin else ()
        if template.ice_token is None and not any(True for each in texts for _ in fields_in(chunk, each)):
            message = f"this `{key}` is empty: the model gets no question"
            yield Finding(entry.key.span, message, severity="warning")


def _located(
    chunk: Chunk,
    evaluation: Evaluation,
    entry: Entry,
    problems: Iterable[OpenCompassError],
    roles: frozenset[str] = frozenset(),
) -> Iterator[Finding]:
    """Yield the problems below an entry, unless Jinja may print what is missing or wrong."""
    errors = [error for error in problems if error.is_opencompass]
    free = [each for each in DIALOGUE_ROLES if each not in roles]
    for error in errors:
        place = _place(entry, error.at[1:])
        if place is None or _may_be_printed(chunk, error, *place):
            continue
        owner, around, value = place
        holder = error.at[:-1] if error.known else error.at
        unknown = [str(each.at[-1]) for each in errors if each.known and each.at[:-1] == holder]
        missing = [each.missing for each in errors if each.missing and each.at == holder]
        is_renamed = len(unknown) == len(missing) == 1
        if error.known:
            yield _unknown_key(chunk, around, owner, error.clause, missing if is_renamed else error.known)
        elif not error.missing:
            yield _wrong_value(chunk, error, owner, around, value, free)
        elif is_renamed or any(is_typo(key, error.missing) for key in unknown):
            continue  # reported at the unknown key
        elif error.at == ("retriever",):
            yield _missing_argument(chunk, evaluation, error, value)
        elif not evaluation.is_open:
            yield _missing_key(chunk, error, None if isinstance(around, Sequence) else owner, value, free)


def _may_be_printed(
    chunk: Chunk, error: OpenCompassError, owner: Entry, around: Node | None, value: Node
) -> bool:
    """Return whether Jinja may print what is missing or wrong, or a merged mapping may have it."""
    if error.known and (key_text(owner) is None or plain_data(owner.key) != error.at[-1]):
        return True
    if (error.missing or error.at[0] == "retriever") and _is_unsure(
        chunk, error, around if error.known else value
    ):
        return True
    if error.known or not isinstance(value, Scalar) or not value.dynamic:
        return False
    # In quotes and blocks, what Jinja prints is a text in any case.
    return not value.style or error.at[-1] == "role"


def _wrong_value(
    chunk: Chunk, error: OpenCompassError, owner: Entry, around: Node | None, value: Node, free: list[str]
) -> Finding:
    is_written = isinstance(value, Scalar) and not value.span.is_empty()
    span = value.span if is_written or isinstance(around, Sequence) else owner.key.span
    found = Finding(span, error.clause, _fixes(chunk, error, value, free))
    is_role = error.at[1:2] == ("messages",) and error.at[-1] == "role"
    return _message_role(found, value) if is_role else found


def _place(entry: Entry, at: ConfigPath) -> tuple[Entry, Node | None, Node] | None:
    """Return the last entry on a path, what the value is in, and the value; None if there is no such key."""
    around: Node | None = None
    node = entry.value
    for step in at:
        if isinstance(node, Mapping):
            found = next((each for each in reversed(node.entries) if plain_data(each.key) == step), None)
            value = found.value if found else node.merged(str(step))
            if value is None:
                return None
            around, entry, node = node, found or entry, value
        elif isinstance(node, Sequence) and isinstance(step, int):
            around, node = node, node.items[step]
    return entry, around, node


def _is_unsure(chunk: Chunk, error: OpenCompassError, mapping: Node | None) -> bool:
    """Return whether Jinja prints a key, other keys are merged, or one of a retriever is being typed."""
    entries = mapping.entries if isinstance(mapping, Mapping) else ()
    ends = [entry.key.span.end for entry in entries if error.at[0] == "retriever"]
    is_typed = any(chunk.text[end : end + 2].lstrip()[:1] not in {":", "="} for end in ends)
    return is_typed or any(key_text(entry) in {None, "<<"} for entry in entries)


def _unknown_key(
    chunk: Chunk, mapping: Node | None, entry: Entry, message: str, known: Collection[str]
) -> Finding:
    key = key_text(entry) or ""
    if len(known) == 1:
        (meant,) = known
        return Finding.suggest(entry.key.span, message, meant, preferred=is_close(key, meant))
    found = misspelled(entry.key.span, message, key, known)
    if found.fixes or not isinstance(mapping, Mapping):
        return found
    removed = without_entry(chunk, mapping.span, mapping.entries, entry)
    return replace(found, fixes=(Fix(f"Remove `{key}`", (removed,)),) if removed else ())


def _missing_key(
    chunk: Chunk, error: OpenCompassError, owner: Entry | None, value: Node, free: list[str]
) -> Finding:
    """Return the finding for a missing key, at a typo of it, or at `owner`, or else at the first key."""
    entries = value.entries if isinstance(value, Mapping) else ()
    typo = next((each for each in entries if is_close(key_text(each) or "", error.missing)), None)
    if typo is not None:
        return misspelled(typo.key.span, error.clause, key_text(typo) or "", [error.missing])
    is_meta = error.at[0] == "meta_template"
    written = {
        "messages": f"[{{role: user, content: {BLANK}}}]",
        "role": (*free, "ROLE")[0] if is_meta else "user",
        "round": _ROUNDS if is_meta else f"[{{role: HUMAN, prompt: {BLANK}}}]",
    }.get(error.missing, BLANK)
    place = (owner or entries[0]).key.span if owner or entries else value.span
    fixes = key_after(chunk, value.span, entries, f"{error.missing}: {written}")
    return Finding(place, error.clause, fixes)


def _missing_argument(
    chunk: Chunk, evaluation: Evaluation, error: OpenCompassError, retriever: Node
) -> Finding:
    """Return the finding for a missing argument, moving it from the inferencer, as in OpenCompass 0.1."""
    assert isinstance(retriever, Mapping)
    kind = retriever.merged("type") or retriever
    place = class_span(kind, class_name(retriever) or "")
    inferencer = evaluation.inferencer.value if evaluation.inferencer else None
    entry = inferencer.entry(error.missing) if isinstance(inferencer, Mapping) else None
    if entry is None or not isinstance(inferencer, Mapping):
        return Finding(place, error.clause)
    removed = without_entry(chunk, inferencer.span, inferencer.entries, entry)
    value = chunk.slice(entry.value.span)
    if isinstance(entry.value, Sequence):
        value = f"[{', '.join(item.text for item in entry.value.items if isinstance(item, Scalar))}]"
    added = added_entry(chunk.text, retriever.span, retriever.entries, f"{error.missing}: {value}")
    fixes: tuple[Fix, ...] = ()
    if removed is not None and added is not None and "\n" not in value:
        fixes = (Fix(f"Move `{error.missing}` to the retriever", (removed, added), preferred=True),)
    message = f"{error.clause}, which only OpenCompass 0.1 took from the inferencer: move it here"
    return Finding(place, message, fixes)


def _message_role(found: Finding, value: Node) -> Finding:
    role = value.text if isinstance(value, Scalar) else ""
    meant = FOREIGN_ROLES.get(role.lower(), role.lower())
    if meant in MESSAGE_ROLES:
        return Finding.suggest(found.span, found.message, meant, preferred=True)
    return misspelled(found.span, found.message, role, MESSAGE_ROLES)


def _fixes(chunk: Chunk, error: OpenCompassError, value: Node, free: list[str]) -> tuple[Fix, ...]:
    """Return the fixes of a value of the wrong type, and of a role that occurs twice."""
    span, key = value.span, error.at[-1]
    if isinstance(value, Mapping):
        return as_list(chunk, value) if key in {"messages", "round", "reserved_roles"} else ()
    if isinstance(value, Scalar):
        if error.at == ("retriever",) and value.text in RETRIEVERS and value.style not in {"|", ">"}:
            return (Fix.change_to(span, f"{{type: {value.text}}}", preferred=True),)
        if key == "role":
            return tuple(Fix.change_to(span, each) for each in free)
        is_text = "template" in error.at or key in {"ice_token", "sep_token", "output_column"}
        if not is_text or value.style or span.is_empty() or value.tag == "str":
            return ()
        return (Fix("Quote it", (Edit(span, f'"{chunk.slice(span)}"'),), preferred=True),)
    if key in {"begin", "end"} and error.at[0] == "meta_template":
        return _alone(chunk, value)
    if "template" in error.at and is_flow(chunk.text, span):
        edits = Edit.insert(span.start, "{round: "), Edit.insert(span.end, "}")
        return (Fix("Put it below `round`", edits, preferred=True),)
    return ()


def _alone(chunk: Chunk, value: Sequence) -> tuple[Fix, ...]:
    if len(value.items) != 1 or not isinstance(value.items[0], Scalar):
        return ()
    item = value.items[0].span
    return (Fix("Write the text alone", (Edit(value.span, chunk.slice(item)),)),)


def _incomplete(evaluation: Evaluation) -> Iterator[Finding]:
    """Yield what is missing besides the arguments of classes."""
    entry, retriever = evaluation.inferencer, evaluation.retriever
    infer = evaluation.root.entry("infer_cfg") or retriever or entry
    if not evaluation.templates and infer is not None:
        problem = question_problem(None, None)
        if problem and all(_lacks(evaluation.holder, key) for key in ("prompt_template", "ice_template")):
            yield Finding(infer.key.span, problem.clause)
    if entry is not None and retriever is None and _lacks(evaluation.holder, "retriever"):
        message = "there is no `retriever` beside the inferencer; `ZeroRetriever` retrieves no examples"
        yield Finding(entry.key.span, message)
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


def _round_and_end(
    chunk: Chunk, evaluation: Evaluation, template: EvaluationTemplate, dialogue: Mapping
) -> Iterator[Finding]:
    """Yield a `round` that is a mapping, and an `end`, depending on whether OpenCompass reaches it."""
    entry, turns = dialogue.entry("end"), dialogue.entry("round")
    if turns is not None and isinstance(turns.value, Mapping):
        message = "`round` is a list of turns, and this is a mapping"
        yield Finding(turns.key.span, message, as_list(chunk, turns.value))
    if entry is None or template is not evaluation.question_template or turns is None:
        return
    meta = evaluation.meta_template
    removed = without_entry(chunk, dialogue.span, dialogue.entries, entry)
    fixes = (Fix("Remove `end`", (removed,)),) if removed else ()
    severity: Severity | None = None if dialogue in evaluation.used_bodies(template) else "warning"
    if meta is None:
        message = "OpenCompass 0.5.4 fails at `end` with every model that has a meta template"
        severity = "hint"
    elif meta.generates and evaluation.inferencer_class != "PPLInferencer":
        message = "`end` is never reached when the model generates, and the Prompt Viewer fails at it"
        severity = "warning"
    elif meta.is_unsure:
        return
    else:
        message = "OpenCompass 0.5.4 fails at `end` with a meta template: IndexError, pop from empty list"
    yield Finding(entry.key.span, message, fixes, severity=severity)


def _when_laid_out(
    chunk: Chunk, evaluation: Evaluation, entry: Entry, meta: DeclaredMetaTemplate
) -> Iterator[Finding]:
    """Yield what makes a meta template fail, or not end a prompt, when it lays out a dialogue."""
    for mapping in meta.rounds if meta.is_api else (meta.mapping,):
        for key in ("begin", "end"):
            each = mapping.entry(key)
            if each is not None and isinstance(each.value, Sequence):
                yield Finding(each.key.span, refused_list(key).clause, _alone(chunk, each.value))
    if meta.is_api:
        yield from _in_api_template(chunk, meta)
    yield from _lost_turns(meta)
    is_own = entry is evaluation.meta
    if not is_own or evaluation.inferencer_class not in {None, *LABEL_INFERENCERS}:
        yield from _generates_nothing(meta)
    question = evaluation.question_template
    if is_own and question and question.form is Form.MESSAGES and not meta.is_api and not meta.is_unsure:
        message = "messages go only to a model with an API, and no role here has an `api_role`"
        yield Finding(entry.key.span, message)


def _in_api_template(chunk: Chunk, meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    """Yield a `begin` that is no message, and roles without `api_role`, in the meta template for an API."""
    begin = meta.mapping.entry("begin")
    if begin is not None and not (isinstance(begin.value, Scalar) and begin.value.dynamic):
        problem = api_begin_problem(plain_data(begin.value))
        if problem is not None:
            yield Finding(begin.key.span, problem.clause, _as_message(chunk, begin.value))
    why = "as the others have" if meta.has_api_roles else f"which `{meta.model}` sends"
    severity: Severity | None = None if meta.model else "warning"
    for turn in meta.rounds:
        role, keys = turn.value("role"), [key_text(each) or "" for each in turn.entries]
        if role is not None and not any(key == "api_role" or is_typo(key, "api_role") for key in keys):
            name = role.text if isinstance(role, Scalar) and not role.dynamic else BLANK
            fixes = key_after(chunk, turn.span, turn.entries, f"api_role: {name}")
            yield Finding(role.span, f"this role has no `api_role`, {why}", fixes, severity=severity)


def _generates_nothing(meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    """Yield the `round` of a meta template if no role has `generate`, or a key that may mean it."""
    rounds = meta.mapping.entry("round")
    keys = [key_text(each) or "generate" for turn in meta.rounds for each in turn.entries]
    if rounds and keys and not any(is_close(key, "generate") for key in keys):
        message = "no role has `generate: true`: the prompt does not end where the model is to answer"
        yield Finding(rounds.key.span, message, severity="warning")


def _as_message(chunk: Chunk, value: Node) -> tuple[Fix, ...]:
    """Return the fix that writes a text on one line as the message of the system."""
    written = chunk.slice(value.span)
    if not isinstance(value, Scalar) or value.style not in {"", '"', "'"} or "\n" in written:
        return ()
    text = f"{{role: SYSTEM, api_role: SYSTEM, prompt: {written if value.style else json.dumps(written)}}}"
    return (Fix("Write it as a message", (Edit(value.span, text),)),)


def _lost_turns(meta: DeclaredMetaTemplate) -> Iterator[Finding]:
    """Yield texts in the `round` for an API, and that the model is to write the turns of the person who asks."""
    rounds = meta.mapping.value("round")
    for item in rounds.items if meta.is_api and isinstance(rounds, Sequence) else ():
        if isinstance(item, Scalar) and not item.dynamic:
            yield Finding(item.span, "a model with an API takes no text without a role in `round`")
    generated = next((each for each in meta.rounds if is_generated(each)), None)
    if (
        generated is not None
        and len(meta.round_roles) > 1
        and (generated.text("role") or "").upper() in {"HUMAN", "USER"}
    ):
        message = "the model writes the turns of this role: the question is not sent"
        yield Finding(generated.entries[generated.indexes["generate"]].key.span, message, severity="warning")
