"""An evaluation prompt: the prompts that OpenCompass sends for each row, with in-context examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from promptls.dialects.opencompass import prompt_templates
from promptls.dialects.opencompass.prompt_list import (
    Messages,
    OpenCompassError,
    Prompt,
    PromptList,
    Row,
    convert_exceptions,
    raise_first,
)
from promptls.dialects.opencompass.retriever import (
    Losses,
    Pick,
    Retriever,
    SentenceModel,
    build_retriever,
    drawn_rows,
    picker,
    shortest,
)
from promptls.dialects.opencompass.vocabulary import LABEL_INFERENCERS

AnyTemplate: TypeAlias = prompt_templates.PromptTemplate | prompt_templates.RawPromptTemplate


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """An `infer_cfg` and a `reader_cfg` that OpenCompass accepts."""

    ice: AnyTemplate | None
    prompt: AnyTemplate | None
    retriever: Retriever
    inferencer: Mapping[str, Any]
    reader: prompt_templates.Reader = field(default_factory=prompt_templates.Reader)

    @property
    def inferencer_class(self) -> str:
        """The inferencer's class, without its module."""
        return str(self.inferencer.get("type", "GenInferencer")).rsplit(".", 1)[-1]

    @property
    def weighs_labels(self) -> bool:
        """Whether each label has a prompt that is scored, instead of an answer being generated."""
        return self.inferencer_class in LABEL_INFERENCERS

    @convert_exceptions
    def picks(
        self,
        train: Sequence[Row],
        test: Sequence[Row],
        model: SentenceModel | None = None,
        loss: Losses | None = None,
    ) -> Pick:
        """Return a function that picks the rows of `train` that are the examples for a row of `test`.

        `MDLRetriever` needs the `loss` of a language model. Raises OpenCompassError.
        """
        if self.retriever.kind == "MDLRetriever":
            return convert_exceptions(self._picks_by_loss(train, test, model, loss))
        return picker(self.retriever, train, test, self.reader, model)

    @convert_exceptions
    def labels(self, test: Sequence[Row]) -> list[Any]:
        """Return the labels that are scored: the inferencer's, the templates', or all values of the output.

        OpenCompass uses the latter in an arbitrary order; here, they are in the order of the rows.
        """
        own = self.inferencer.get("labels")
        if own is not None:
            return list(own)
        for template in (self.prompt, self.ice):
            if template is None or (template is self.ice and template.ice_token is None):
                continue
            if isinstance(template, prompt_templates.RawPromptTemplate):
                raise OpenCompassError(
                    f"`{self.inferencer_class}` weighs labels, and `{template.name}` is a list of messages, "
                    "which has none.",
                    cause="AttributeError",
                    at=("inferencer", "type"),
                )
            if template.labels is not None:
                return list(template.labels)
        return list(dict.fromkeys(self._output_of(row) for row in test))

    @convert_exceptions
    def examples(self, train: Sequence[Row], picked: Sequence[int]) -> list[Prompt]:
        """Return the picked rows as individual examples; raises OpenCompassError."""
        if self.ice is None:
            if picked:
                raise OpenCompassError(
                    f"`{self.retriever.kind}` picks examples, and there is no `ice_template` to "
                    "write them with.",
                    cause="AssertionError",
                    at=("retriever",),
                )
            return []
        rows = [_row(train, index) for index in picked]
        return [self.ice.example(row, self._output_of(row)) for row in rows]

    @convert_exceptions
    def joined(self, examples: Sequence[Prompt]) -> Prompt:
        """Return the examples as they appear in the prompt: texts with separators, or dialogue items."""
        if isinstance(self.ice, prompt_templates.RawPromptTemplate):
            return Messages(
                tuple(item for each in examples if isinstance(each, Messages) for item in each.items)
            )
        is_dialogue = self.ice is not None and self.ice.kind == "meta"
        separator, eos = ("", "") if is_dialogue else (self.retriever.separator, self.retriever.eos)
        if examples and isinstance(examples[0], PromptList):
            return PromptList((*_items(examples, separator), eos))
        texts = [each for each in examples if isinstance(each, str)]
        if len(texts) < len(examples):
            raise OpenCompassError(
                "Some of the examples are texts and others are dialogues: use the same form for all labels.",
                cause="TypeError",
                at=("ice_template", "template"),
            )
        made = eos if not texts else texts[-1] + eos
        for text in reversed(texts[:-1]):
            made = text + separator + made
        return made

    @convert_exceptions
    def generating(self, row: Row, examples: Prompt) -> Prompt:
        """Return the prompt of `row` for a model that generates the answer; raises OpenCompassError."""
        mask = self.inferencer.get("gen_field_replace_token", "")
        return self._question_template().generating(row, examples, self.reader.output_column, mask)

    @convert_exceptions
    def labeled(self, row: Row, examples: Prompt, label: Any, *, keep_separator: bool = False) -> Prompt:
        """Return the prompt of `row` with `label` as its answer; raises OpenCompassError."""
        return self._question_template().labeled(row, examples, label, keep_separator=keep_separator)

    def _picks_by_loss(
        self, train: Sequence[Row], test: Sequence[Row], model: SentenceModel | None, loss: Losses | None
    ) -> Pick:
        retriever, arguments = self.retriever, self.retriever.arguments
        if loss is None:
            raise OpenCompassError(
                "`MDLRetriever` compares the losses of a language model, which is not installed: "
                "`promptls doctor` shows how to install `local:smollm2`, which is used for this.",
                cause="ModuleNotFoundError",
                is_opencompass=False,
                at=("retriever", "type"),
            )
        count = min(arguments.get("candidate_num", 1), len(train))
        if retriever.count > count:
            raise OpenCompassError(
                f"`ice_num` is {retriever.count}, and `MDLRetriever` chooses from {count} rows: raise "
                "`candidate_num`.",
                cause="ValueError",
                at=("retriever", "ice_num"),
            )
        near = picker(retriever, train, test, self.reader, model)
        draws = drawn_rows(
            arguments.get("seed", 1), count, retriever.count, arguments.get("select_time", 5) - 1
        )
        own = replace(
            self,
            ice=_template("ice_template", arguments),
            prompt=_template("prompt_template", arguments),
            inferencer={"type": "PPLInferencer", "labels": arguments.get("labels")},
        )
        labels = own.labels(test)

        def pick(index: int) -> list[int]:
            rows = near(index)

            def prompts(candidate: Sequence[int]) -> tuple[str, list[str]]:
                examples = _text(own.joined(own.examples(train, candidate)))
                labeled_prompts = [_text(own.labeled(test[index], examples, label)) for label in labels]
                return examples + retriever.eos, labeled_prompts

            drawn = [[rows[place] for place in each] for each in draws(index)]
            return shortest([rows[: retriever.count], *drawn], prompts, loss)

        return pick

    def _question_template(self) -> AnyTemplate:
        """Return the template of the question: `prompt_template`, or else `ice_template`."""
        if problem := question_problem(self.ice, self.prompt):
            raise problem
        template = self.prompt if self.prompt is not None else self.ice
        assert template is not None
        return template

    def _output_of(self, row: Row) -> Any:
        column = self.reader.output_column
        if column is None or column not in row:
            missing = (
                "there is no `output_column`" if column is None else f"the rows have no column `{column}`"
            )
            raise OpenCompassError(
                f"Examples and labels are read from the output column, and {missing}.",
                cause="KeyError",
                at=("reader_cfg", "output_column"),
            )
        return row[column]


class _WithToken(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def ice_token(self) -> object: ...


def question_problem(ice: _WithToken | None, prompt: _WithToken | None) -> OpenCompassError | None:
    """Return why the templates cannot make the question; None if they can."""
    template = prompt or ice
    if template is None:
        return OpenCompassError(
            "There is neither a `prompt_template` nor an `ice_template`.", cause="NotImplementedError"
        )
    if ice is None or template.ice_token is not None:
        return None
    why = "because there is an `ice_template` as well" if prompt else "even with no examples"
    what = "" if prompt else "alone is the prompt too, and "
    return OpenCompassError(
        f"`{template.name}` {what}needs an `ice_token`, {why}.",
        cause="NotImplementedError",
        at=(template.name,),
    )


@convert_exceptions
def build_evaluation_prompt(infer: Mapping[str, Any], reader: Mapping[str, Any] | None) -> EvaluationConfig:
    """Return the evaluation prompt of an `infer_cfg` and a `reader_cfg`; raises OpenCompassError.

    The default retriever and inferencer are `ZeroRetriever` and `GenInferencer`.
    """
    inferencer = infer.get("inferencer") or {}
    if not isinstance(inferencer, Mapping):
        message = "`inferencer` is a mapping with `type`."
        raise OpenCompassError(message, cause="TypeError", at=("inferencer",))
    return EvaluationConfig(
        ice=_template("ice_template", infer),
        prompt=_template("prompt_template", infer),
        retriever=build_retriever(infer.get("retriever")),
        inferencer=inferencer,
        reader=prompt_templates.build_reader(reader),
    )


def _template(name: str, infer: Mapping[str, Any]) -> AnyTemplate | None:
    config = infer.get(name)
    if config is None:
        return None
    raise_first(template_problems(name, config))
    is_raw = _class_of(config) == "RawPromptTemplate"
    build = prompt_templates.build_raw_prompt_template if is_raw else prompt_templates.build_prompt_template
    return build(name, config)


def template_problems(name: str, config: Any) -> Iterator[OpenCompassError]:
    """Yield why the template under the key `name` cannot be created."""
    if not isinstance(config, Mapping):
        yield OpenCompassError(f"`{name}` is a mapping with `template`.", cause="TypeError", at=(name,))
        return
    kind = _class_of(config)
    if kind == "RawPromptTemplate":
        yield from prompt_templates.raw_prompt_template_problems(name, config)
    elif kind == "PromptTemplate":
        yield from prompt_templates.prompt_template_problems(name, config)
    else:
        yield OpenCompassError(
            f"promptls does not know the template class `{kind}`, only `PromptTemplate` and "
            "`RawPromptTemplate`.",
            cause="KeyError",
            is_opencompass=False,
            at=(name, "type"),
        )


def _class_of(config: Mapping[str, Any]) -> str:
    return str(config.get("type", "PromptTemplate")).rsplit(".", 1)[-1]


def _text(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else prompt.text


def _items(examples: Sequence[Prompt], separator: str) -> Iterator[Any]:
    for example in examples:
        if isinstance(example, PromptList):
            yield from example.items
            yield from (separator,) if separator else ()
        elif isinstance(example, str) and example + separator:
            yield example + separator


def _row(rows: Sequence[Row], index: int) -> Row:
    """Return the row at an index, which may be negative."""
    if not -len(rows) <= index < len(rows):
        raise OpenCompassError(
            f"The retriever picks the training row {index}, and there are {len(rows)}.",
            cause="IndexError",
            at=("retriever",),
        )
    return rows[index]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt, the training rows used as its examples, and its tokens.

    `cuts` are the token counts at which an example, always the last one, was dropped.
    """

    prompt: Prompt
    picked: tuple[int, ...]
    examples: tuple[Prompt, ...]
    tokens: int
    cuts: tuple[int, ...] = ()


def fit_prompt(
    evaluation: EvaluationConfig,
    train: Sequence[Row],
    row: Row,
    picked: Sequence[int],
    *,
    label: Any = None,
    count: Callable[[Prompt], int],
    limit: int | None,
) -> Fitted:
    """Return the prompt of `row` (and `label`, if labels are scored) within `limit` tokens.

    It may exceed the limit if there are no examples left to drop. Raises OpenCompassError.
    """
    retained = list(picked)
    cuts: list[int] = []
    while True:
        examples = evaluation.examples(train, retained)
        joined = evaluation.joined(examples)
        weighs = evaluation.weighs_labels
        prompt = evaluation.labeled(row, joined, label) if weighs else evaluation.generating(row, joined)
        tokens = count(prompt)
        if limit is None or tokens <= limit or not retained:
            return Fitted(prompt, tuple(retained), tuple(examples), tokens, tuple(cuts))
        cuts.append(tokens)
        retained.pop()
