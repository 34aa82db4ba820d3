"""An evaluation prompt to its outcome: what OpenCompass asks for a row. Runs in the worker's process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from promptls.rendering.embeddings import embedder
from promptls.rendering.evaluation_job import (
    CHAT,
    CHAT_TEMPLATE,
    NO_META_TEMPLATE,
    OWN_META_TEMPLATE,
    EvaluationJob,
)
from promptls.rendering.evaluation_place import line_at
from promptls.rendering.evaluation_view import Asking, RowPrompts, chat_message, row_json
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import RenderedPart, RenderFailure, Rendering
from promptls.systems.opencompass.evaluation_prompt import build_evaluation_prompt
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.meta_template import build_meta_template, lay_out
from promptls.systems.opencompass.prompt_list import Prompt, PromptList, Row
from promptls.systems.prompt_poet.document import load
from promptls.systems.prompt_poet.environment import CompiledTemplates
from promptls.systems.prompt_poet.render import RenderOptions, render_text
from promptls.text.failure import Failure
from promptls.text.nearest import did_you_mean
from promptls.tokens.counting import count

KIND: Final = "evaluation prompt"


_compiled = CompiledTemplates()


def render_evaluation(job: RenderJob, data: Mapping[str, Any], started: float) -> Rendering | RenderFailure:
    """What OpenCompass asks of the mapping that the template makes of `data`; its failures are outcomes.

    Raises PromptPoetError where Jinja fails, or what it makes is no YAML.
    """
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    made = render_text(job.path, data, unsaved=unsaved, options=options, compiled=_compiled)
    loaded = load(made.text)
    if not isinstance(loaded, Mapping):
        return RenderFailure(KIND, "An evaluation prompt is a mapping with `prompt_template`.", job.path)
    wanted = job.evaluation or EvaluationJob()
    try:
        train, test = wanted.data.rows()
    except Failure as failure:
        place = failure.place
        return RenderFailure("data", failure.message, str(place.path) if place else job.path)
    index, row = asked_row(wanted, test, job.data)
    choices = meta_templates(loaded, wanted)
    chosen = wanted.meta_template or next(iter(choices))
    if chosen not in choices:
        slip = did_you_mean(chosen, choices)
        message = f"There is no meta template `{chosen}`{slip or '.'} There are: {', '.join(choices)}."
        return RenderFailure(KIND, message, job.path)
    try:
        counter = partial(count, encoding=job.encoding)
        asking = asking_of(loaded, choices[chosen], (train, test), counter, job.token_limit)
        shown = asking.prompts(index, row)
    except OpenCompassError as error:
        return RenderFailure(KIND, error.message, job.path, line_at(job.text, error.at))
    indices = [index]
    if wanted.rows != 1 and test:
        last = len(test) if wanted.rows == 0 else min(len(test), index + wanted.rows)
        indices += range(index + 1, last)
    first = shown.to_json(asking.count)
    viewer = {
        "rows": len(test),
        **first,
        "row": index + 1,
        "all": [first, *(row_json(asking, each, test[each]) for each in indices[1:])],
        "inferencer": asking.evaluation.inferencer_class,
        "retriever": asking.evaluation.retriever.kind,
        "metaTemplate": chosen,
        "metaTemplates": list(choices),
    }
    parts = _parts(asking, shown)
    tokens = sum(prompt.tokens for prompt in shown.prompts)
    return Rendering(
        parts=parts,
        string=_string(shown),
        messages=chat_messages(asking, shown),
        tokens=tokens,
        tokens_kept=tokens,
        text=made.text,
        seconds=time.perf_counter() - started,
        problems=tuple(_problems(job, shown)),
        files=tuple(sorted(made.files)),
        viewer=viewer,
    )


def meta_templates(loaded: Mapping[str, Any], wanted: EvaluationJob) -> dict[str, Any]:
    """The meta templates to choose from, by name; the default one first."""
    own = loaded.get("meta_template")
    named = loaded.get("meta_templates")
    return {
        **({OWN_META_TEMPLATE: own} if isinstance(own, Mapping) else {}),
        **(dict(named) if isinstance(named, Mapping) else {}),
        **wanted.meta_templates,
        NO_META_TEMPLATE: None,
        CHAT: CHAT_TEMPLATE,
    }


def asking_of(
    loaded: Mapping[str, Any],
    meta: Any,
    rows: tuple[Sequence[Row], Sequence[Row]],
    counter: Callable[[str], int],
    token_limit: int,
) -> Asking:
    """All that prompts are made of: the configuration, a meta template, training and asked rows.

    Raises OpenCompassError for a configuration that OpenCompass refuses.
    """
    train, test = rows
    infer, reader = loaded.get("infer_cfg"), loaded.get("reader_cfg")
    evaluation = build_evaluation_prompt(
        infer if isinstance(infer, Mapping) else loaded, reader if isinstance(reader, Mapping) else None
    )
    limit = evaluation.inferencer.get("max_seq_len")
    limits = [each for each in (limit, token_limit) if isinstance(each, int) and each > 0]
    return Asking(
        evaluation=evaluation,
        train=train,
        test=test,
        pick=evaluation.picks(train, test, embedder()),
        meta=build_meta_template(meta, is_api=is_api(meta)),
        count=counter,
        limit=min(limits, default=None),
    )


def is_api(meta: Any) -> bool:
    """Whether a meta template is for a model behind an API: a role of it has an `api_role`."""
    if not isinstance(meta, Mapping):
        return False
    roles = [*_listed(meta.get("round")), *_listed(meta.get("reserved_roles"))]
    return any(isinstance(role, Mapping) and "api_role" in role for role in roles)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def asked_row(wanted: EvaluationJob, test: Sequence[Row], data: Mapping[str, Any]) -> tuple[int, Row]:
    """The index and the values of the row that is asked; of data that is no row, the first index."""
    if wanted.row is not None and 0 < wanted.row <= len(test):
        return wanted.row - 1, test[wanted.row - 1]
    if not data and test:
        return 0, test[0]
    index = next((index for index, row in enumerate(test) if row == data), 0)
    return index, data


def chat_messages(asking: Asking, shown: RowPrompts) -> list[dict[str, Any]]:
    """What a chat model is asked: the messages, or a dialogue in the usual layout, or one text of the user.

    Of prompts that are weighed there are none: a chat model gives no probabilities of a prompt.
    """
    if asking.evaluation.weighs_labels or not shown.prompts:
        return []
    asked = shown.prompts[0]
    if asked.messages is not None:
        return asked.messages
    if asking.meta.mapping is None and isinstance(asked.prompt, PromptList):
        usual = _in_chat(asked.prompt)
        if usual:
            return usual
    return [{"role": "user", "content": asked.text}]


def _in_chat(prompt: Prompt) -> list[dict[str, Any]]:
    """The dialogue in the layout of chat models; nothing where that has no place for something in it."""
    try:
        made = lay_out(prompt, build_meta_template(CHAT_TEMPLATE, is_api=True), "gen")
    except OpenCompassError:
        return []
    return [] if made.ignored else [chat_message(message) for message in made.messages or ()]


def _parts(asking: Asking, shown: RowPrompts) -> tuple[RenderedPart, ...]:
    """One part for each label; else one for each message, or one for the text."""
    if asking.evaluation.weighs_labels:
        pieces = [(str(asked.label), "user", asked.text) for asked in shown.prompts]
    else:
        (asked,) = shown.prompts
        messages = asked.messages
        pieces = (
            [("prompt", "user", asked.text)]
            if messages is None
            else [
                (f"message {number}", str(each["role"]), str(each.get("content", "")))
                for number, each in enumerate(messages, start=1)
            ]
        )
    return tuple(
        RenderedPart(place, name, role, content, asking.count(content), None, kept=True)
        for place, (name, role, content) in enumerate(pieces)
    )


def _problems(job: RenderJob, shown: RowPrompts) -> Iterator[RenderFailure]:
    """What is lost on the way to the model."""
    for asked in shown.prompts:
        label = "" if asked.label is None else f" of the label `{asked.label}`"
        if asked.made.ignored:
            lost = asked.made.ignored[0]
            message = f"A model behind an API does not get the texts outside of roles{label}: {lost!r}."
            yield RenderFailure(KIND, message, job.path)
        if asked.cuts:
            examples = "example does" if len(asked.cuts) == 1 else "examples do"
            message = f"{len(asked.cuts)} {examples} not fit into the prompt{label}: left out."
            yield RenderFailure("truncation", message, job.path)


def _string(shown: RowPrompts) -> str:
    """The prompt as one text; of several, each under its label."""
    if len(shown.prompts) == 1 and shown.prompts[0].label is None:
        return shown.prompts[0].text
    return "\n\n".join(f"[{asked.label}]\n{asked.text}" for asked in shown.prompts)
