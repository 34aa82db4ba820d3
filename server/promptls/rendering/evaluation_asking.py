"""An evaluation prompt's configuration, rows and layout put together; and what a chat model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from promptls.rendering.embeddings import sentence_model
from promptls.rendering.evaluation_view import Asking, RowPrompts, chat_message
from promptls.rendering.made_up_rows import made_up_rows
from promptls.systems.opencompass.evaluation_prompt import build_evaluation_prompt
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.meta_template import build_meta_template, lay_out
from promptls.systems.opencompass.prompt_list import Prompt, PromptList, Row
from promptls.systems.opencompass.reader import chosen

NO_META_TEMPLATE: Final = "none"
"""The layout of a base model without a meta template: the texts with line breaks between them."""
CHAT: Final = "chat"
"""The layout that configurations of chat models use by custom."""
OWN_META_TEMPLATE: Final = "meta_template"
"""The name of the meta template that the prompt itself declares."""

CHAT_TEMPLATE: Final[Mapping[str, Any]] = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}


def meta_templates(loaded: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The meta templates to choose from, by name; the default one first."""
    own = loaded.get("meta_template")
    named = loaded.get("meta_templates")
    return {
        **({OWN_META_TEMPLATE: own} if isinstance(own, Mapping) else {}),
        **(dict(named) if isinstance(named, Mapping) else {}),
        **others,
        NO_META_TEMPLATE: None,
        CHAT: CHAT_TEMPLATE,
    }


def asking_of(
    loaded: Mapping[str, Any],
    meta: Any,
    rows: tuple[Sequence[Row], Sequence[Row]],
    counter: Callable[[str], int],
    token_limit: int,
    made_up: Iterable[str] | None = None,
) -> Asking:
    """All that prompts are made of: the configuration, a meta template, training and asked rows.

    Of the rows, those count that the ranges of the reader leave. Where there are none, examples are made up
    of the columns `made_up`.
    Raises OpenCompassError for a configuration that OpenCompass refuses.
    """
    infer, reader = loaded.get("infer_cfg"), loaded.get("reader_cfg")
    evaluation = build_evaluation_prompt(
        infer if isinstance(infer, Mapping) else loaded, reader if isinstance(reader, Mapping) else None
    )
    limit = evaluation.inferencer.get("max_seq_len")
    limits = [each for each in (limit, token_limit) if isinstance(each, int) and each > 0]
    examples = None if made_up is None else made_up_rows(evaluation, made_up)
    train = (
        examples if examples is not None else chosen(rows[0], evaluation.reader.train_range, "train_range")
    )
    numbers = chosen(range(1, len(rows[1]) + 1), evaluation.reader.test_range)
    test = [rows[1][number - 1] for number in numbers]
    wanted = None if examples is not None else evaluation.retriever.sentence_model
    model = None if wanted is None else sentence_model(wanted)
    is_other = model is not None and model.name != wanted
    return Asking(
        evaluation=evaluation,
        train=train,
        test=test,
        numbers=tuple(numbers),
        pick=evaluation.picks(train, test, model)
        if examples is None
        else lambda _index: list(range(len(train))),
        meta=build_meta_template(meta, is_api=is_api(meta)),
        count=counter,
        limit=min(limits, default=None),
        approximation=f"≈ chosen with {model.name} instead of {wanted}" if model and is_other else None,
    )


def is_api(meta: Any) -> bool:
    """Whether a meta template is for a model behind an API: a role of it has an `api_role`."""
    if not isinstance(meta, Mapping):
        return False
    roles = [*_listed(meta.get("round")), *_listed(meta.get("reserved_roles"))]
    return any(isinstance(role, Mapping) and "api_role" in role for role in roles)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def asked_row(
    number: int | None, asking: Asking, rows: Sequence[Row], data: Mapping[str, Any]
) -> tuple[int, Row]:
    """The index and the values of the row that is asked: row `number` of all `rows`, from 1, or the data.

    The index is the row's among those that the reader's range leaves; of a row that it leaves out, the
    one that the row would have without a range, and of data that is no row, the first.
    """
    if number is not None and 0 < number <= len(rows):
        index = asking.numbers.index(number) if number in asking.numbers else number - 1
        return index, rows[number - 1]
    if not data and asking.test:
        return 0, asking.test[0]
    index = next((index for index, row in enumerate(asking.test) if row == data), 0)
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
