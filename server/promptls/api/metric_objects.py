"""Metric classes for Python programs, with the names and the interface of Ragas."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from string import Formatter
from typing import Any, ClassVar, Final

from pydantic import BaseModel

from promptls.api.judge import as_embedder, as_judge
from promptls.api.model_calls import run_in_own_loop
from promptls.api.ragas_samples import MultiTurnSample, SingleTurnSample
from promptls.metrics.builtin_metrics import BUILTIN_METRICS
from promptls.metrics.grading import EMBEDDER, EMBEDDINGS, JUDGE, NoVerdictError, read_verdict
from promptls.metrics.metric import PASS_OR_FAIL, AllowedValues, Kind, Metric, MetricResult
from promptls.metrics.metric_loading import asks_for, metric_parameters
from promptls.metrics.ragas_metrics import RAGAS_METRICS, prompts_of
from promptls.metrics.values import import_required
from promptls.text.errors import UsageError, UserError
from promptls.text.suggest import did_you_mean


class MetricObject:
    """A metric with its models. `metric` is the metric that runs use, with the judge that the run provides.

    `llm` is a model's name, a Judge, a LangChain model, or a function from text to text; it defaults to the
    model named by the environment variable PROMPTLS_JUDGE. `embeddings` accepts the same kinds of values.
    """

    def __init__(self, metric: Metric, llm: Any = None, embeddings: Any = None) -> None:
        self.metric = metric
        self.llm = llm
        self.embeddings = embeddings

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def allowed_values(self) -> AllowedValues:
        """The classes, the lowest and highest value, or the length of a ranking."""
        return self.metric.allowed_values

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    async def ascore(self, **arguments: Any) -> MetricResult:
        """Score the arguments; `llm` and `embeddings` among them override the metric's models for this call.

        If no score can be computed, for example because the judge fails, the result has no value. Raises
        TypeError for a missing argument, and UsageError if there is no judge.
        """
        llm, embeddings = arguments.pop("llm", None), arguments.pop(EMBEDDINGS, None)
        needs = asks_for(self.metric)
        if JUDGE in needs and JUDGE not in arguments:
            arguments[JUDGE] = as_judge(self.llm if llm is None else llm)
        if EMBEDDER in needs and EMBEDDER not in arguments:
            arguments[EMBEDDER] = as_embedder(self.embeddings if embeddings is None else embeddings)
        return await self.metric.ascore(**{**self.metric.options, **arguments})

    def score(self, **arguments: Any) -> MetricResult:
        """Run `ascore` synchronously, also inside a running event loop."""
        return run_in_own_loop(lambda: self.ascore(**arguments))

    def batch_score(self, inputs: Sequence[Mapping[str, Any]], **common: Any) -> list[MetricResult]:
        """Return the scores of several sets of arguments, in their order."""
        return [self.score(**{**common, **each}) for each in inputs]

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]], **common: Any) -> list[MetricResult]:
        """Run `batch_score` concurrently."""
        return list(await asyncio.gather(*(self.ascore(**{**common, **each}) for each in inputs)))

    async def single_turn_ascore(self, sample: SingleTurnSample) -> Any:
        """Return the score of a sample as a plain value; raises UserError if there is no score."""
        return _value(await self.ascore(**self.arguments_of(sample)))

    def single_turn_score(self, sample: SingleTurnSample) -> Any:
        """Return the score of a sample as a plain value; raises UserError if there is no score."""
        return _value(self.score(**self.arguments_of(sample)))

    async def multi_turn_ascore(self, sample: MultiTurnSample) -> Any:
        """Return the score of a conversation as a plain value; raises UserError if there is no score."""
        return _value(await self.ascore(**self.arguments_of(sample)))

    def multi_turn_score(self, sample: MultiTurnSample) -> Any:
        """Return the score of a conversation as a plain value; raises UserError if there is no score."""
        return _value(self.score(**self.arguments_of(sample)))

    def arguments_of(self, sample: BaseModel) -> dict[str, Any]:
        """Return the fields of a sample that the metric takes."""
        fields = sample.model_dump(exclude_none=True)
        if isinstance(sample, MultiTurnSample):
            # The last message is the response; an empty response adds nothing to the conversation.
            fields |= {"user_input": _plain(fields["user_input"]), "response": ""}
        parameters = metric_parameters(self.metric)
        known = {*parameters.required, *parameters.optional}
        return fields if parameters.takes_any else {key: fields[key] for key in fields if key in known}


def _value(result: MetricResult) -> Any:
    if result.value is None:
        raise UserError(result.reason or "the metric gave no score")
    return result.value


def _plain(value: Any) -> Any:
    """Return messages in the form of Ragas's rows, with a `role`."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {"role" if key == "type" else key: each for key, each in value.items()}
    return value


class _Prompted(MetricObject, ABC):
    """A metric whose judge answers a custom prompt."""

    kind: ClassVar[Kind]

    def __init__(
        self,
        name: str,
        prompt: Any = None,
        allowed_values: Any = None,
        *,
        llm: Any = None,
        lower_is_better: bool = False,
    ) -> None:
        """Create the metric.

        `prompt` is a text with a placeholder `{name}` for each argument, or an object with `format`,
        such as a prompt object or the result of `promptls.load`.
        """
        self.prompt = prompt
        allowed = self._allowed(allowed_values)
        super().__init__(Metric(name, self.kind, allowed, self._function(), lower_is_better), llm)

    @staticmethod
    @abstractmethod
    def _allowed(value: Any) -> AllowedValues:
        """Return the allowed values; the defaults of the class for None."""

    @abstractmethod
    def _verdict(self) -> dict[str, Any]:
        """Return the JSON Schema of a value."""

    def get_variables(self) -> list[str]:
        """Return the names of the prompt's arguments; empty if they cannot be determined."""
        if isinstance(self.prompt, str):
            fields = (field for _, field, _, _ in Formatter().parse(self.prompt) if field)
            return list(dict.fromkeys(field.split(".")[0].split("[")[0] for field in fields))
        return list(getattr(self.prompt, "input_keys", None) or ())

    def _function(self) -> Callable[..., Any]:
        async def judged(**arguments: Any) -> MetricResult:
            return await self._judge(arguments.pop(JUDGE), arguments)

        names = self.get_variables()
        arguments = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
        judge = Parameter(JUDGE, Parameter.KEYWORD_ONLY)
        rest = [] if names else [Parameter("given", Parameter.VAR_KEYWORD)]
        function: Any = judged
        # Read by `inspect`: runs match columns with these names.
        function.__signature__ = Signature([*arguments, judge, *rest])
        return judged

    async def _judge(self, judge: Any, arguments: Mapping[str, Any]) -> MetricResult:
        if not self.prompt:
            raise UsageError("the metric has no prompt", remedy="pass `prompt` to it")
        made = self.prompt.format(**arguments)
        text = made if isinstance(made, str) else made.to_string()
        schema = {
            "type": "object",
            "properties": {"reason": {"type": "string"}, "value": self._verdict()},
            "required": ["reason", "value"],
        }
        schema_text = json.dumps(schema)
        format_instructions = (
            f"Answer with one JSON object that fits this JSON Schema, and nothing else:\n{schema_text}"
        )
        messages = [{"role": "system", "content": format_instructions}, {"role": "user", "content": text}]
        answer = await judge.ask(messages, json_schema=schema)
        try:
            found = read_verdict(answer, schema)
        except NoVerdictError:
            answer = await judge.ask(messages, json_schema=schema, sample=2)
            found = read_verdict(answer, schema)
        return MetricResult(found["value"], found["reason"], {"input": text, "output": dict(found)})


class DiscreteMetric(_Prompted):
    """A judge's choice among classes, the first of which is the good one; `pass` and `fail` by default."""

    kind = "discrete"

    @staticmethod
    def _allowed(value: Any) -> AllowedValues:
        return list(PASS_OR_FAIL if value is None else value)

    def _verdict(self) -> dict[str, Any]:
        allowed: Any = self.allowed_values
        return {"enum": list(allowed)}


class NumericMetric(_Prompted):
    """A judge's numeric score, from 0 to 1 by default.

    `allowed_values` is a tuple of the lowest and highest value, or a range.
    """

    kind = "numeric"

    @staticmethod
    def _allowed(value: Any) -> AllowedValues:
        return (0.0, 1.0) if value is None else value

    def _verdict(self) -> dict[str, Any]:
        allowed = self.allowed_values
        if isinstance(allowed, range):
            return {"enum": list(allowed)}
        assert isinstance(allowed, Sequence)
        return {"type": "number", "minimum": min(allowed), "maximum": max(allowed)}


class RankingMetric(_Prompted):
    """A judge's ranking: a list of `allowed_values` items, 2 by default."""

    kind = "ranking"

    @staticmethod
    def _allowed(value: Any) -> AllowedValues:
        return 2 if value is None else value

    def _verdict(self) -> dict[str, Any]:
        allowed = self.allowed_values
        count = allowed if isinstance(allowed, int) else len(allowed or ())
        items = {"type": ["string", "number"]}
        return {"type": "array", "items": items, "minItems": count, "maxItems": count}


class ReadyMetric(MetricObject):
    """A built-in metric; the constructor's arguments are its options, such as `mode="precision"`.

    `prompts` overrides the instructions of Ragas's prompts, as `set_prompts` does.
    """

    ready: ClassVar[str]
    """The name of the built-in metric."""

    def __init__(
        self, llm: Any = None, embeddings: Any = None, *, name: str | None = None, **options: Any
    ) -> None:
        """Create the metric; raises UsageError for an unknown option."""
        metric = BUILTIN_METRICS[self.ready]
        parameters = metric_parameters(metric)
        known = {*parameters.required, *parameters.optional} - {JUDGE, EMBEDDER}
        for option in options:
            if option not in known:
                raise UsageError(
                    f"{type(self).__name__} takes no `{option}`{did_you_mean(option, sorted(known))}",
                    remedy=f"it takes {', '.join(f'`{each}`' for each in sorted(known))}",
                )
        super().__init__(replace(metric, name=name or metric.name, options=options), llm, embeddings)

    def get_prompts(self) -> dict[str, str]:
        """Return the instructions of Ragas's prompts by name; requires the package ragas."""
        return prompts_of(self.ready, self.metric.options)

    def set_prompts(self, **instructions: Any) -> None:
        """Replace Ragas's instructions, by the names that `get_prompts` returns.

        Each value is a text, or a mapping with `instruction`, `examples` and `language`.
        """
        prompts = {**(self.metric.options.get("prompts") or {}), **instructions}
        self.metric = replace(self.metric, options={**self.metric.options, "prompts": prompts})


class AspectCritic(ReadyMetric):
    """A judge's verdict about an aspect of the response, as in Ragas: 1 if it applies, else 0."""

    ready = "aspect_critic"

    async def ascore(self, **arguments: Any) -> MetricResult:
        """Score the arguments; see `MetricObject.ascore`."""
        result = await super().ascore(**arguments)
        value = {"pass": 1, "fail": 0}.get(result.value)
        return MetricResult(value, result.reason, result.traces)


class AgentGoalAccuracy(ReadyMetric):
    """Whether the agent has reached its goal: the `reference` or, by default, what the user asked for."""

    ready = "agent_goal_accuracy"

    async def ascore(self, **arguments: Any) -> MetricResult:
        """Score the arguments; see `MetricObject.ascore`."""
        if arguments.get("reference") is not None:
            return await super().ascore(**arguments)
        arguments.pop("reference", None)
        return await AgentGoalAccuracyWithoutReference(self.llm, name=self.name).ascore(**arguments)


class AgentGoalAccuracyWithReference(ReadyMetric):
    """Whether the agent has reached the outcome of the reference."""

    ready = "agent_goal_accuracy"


class AgentGoalAccuracyWithoutReference(ReadyMetric):
    """Whether the agent has reached what the user asked for."""

    ready = "agent_goal_accuracy_without_reference"


class _TextMetric(MetricObject):
    """A comparison of two texts without a model; 1.0 is the best score."""

    def __init__(self, compare: Callable[[str, str], MetricResult], name: str) -> None:
        def compared(*, reference: str, response: str) -> MetricResult:
            return compare(response, reference)

        super().__init__(Metric(name, "numeric", (0.0, 1.0), compared))


def _scorer(ready: str, **options: Any) -> Callable[[str, str], MetricResult]:
    def score(response: str, reference: str) -> MetricResult:
        found = BUILTIN_METRICS[ready].score(response=response, expected=reference, **options)
        value = {"pass": 1.0, "fail": 0.0}.get(found.value, found.value)
        return MetricResult(value, found.reason)

    return score


class BleuScore(_TextMetric):
    """BLEU from 0 to 1; `kwargs` are passed to sacrebleu's `corpus_bleu`."""

    def __init__(self, name: str = "bleu_score", kwargs: Mapping[str, Any] | None = None) -> None:
        def bleu(response: str, reference: str) -> MetricResult:
            references = [[sentence] for sentence in reference.split(". ")]
            found = import_required("sacrebleu").corpus_bleu(
                response.split(". "), references, **(kwargs or {})
            )
            return MetricResult(min(found.score / 100, 1.0), str(found))

        super().__init__(bleu, name)


class RougeScore(_TextMetric):
    """ROUGE from 0 to 1; `rouge_type`: rouge1, rouge2 or rougeL; `mode`: fmeasure, precision or recall."""

    def __init__(self, name: str = "rouge_score", rouge_type: str = "rougeL", mode: str = "fmeasure") -> None:
        super().__init__(_scorer("rouge", kind=rouge_type, measure=mode), name)


class CHRFScore(_TextMetric):
    """chrF from 0 to 1."""

    def __init__(self, name: str = "chrf_score") -> None:
        super().__init__(_scorer("chrf"), name)


class ExactMatch(_TextMetric):
    """1.0 if both texts are equal, else 0.0."""

    def __init__(self, name: str = "exact_match") -> None:
        super().__init__(_scorer("exact_match"), name)


class StringPresence(_TextMetric):
    """1.0 if the response contains the reference, else 0.0."""

    def __init__(self, name: str = "string_present") -> None:
        super().__init__(lambda response, reference: MetricResult(float(reference in response)), name)


class DistanceMeasure:
    """The distance measures of NonLLMStringSimilarity."""

    LEVENSHTEIN: Final = "levenshtein"
    HAMMING: Final = "hamming"
    JARO: Final = "jaro"
    JARO_WINKLER: Final = "jaro_winkler"


class NonLLMStringSimilarity(_TextMetric):
    """Similarity of the texts from 0 to 1, by a DistanceMeasure."""

    def __init__(
        self,
        name: str = "non_llm_string_similarity",
        distance_measure: str = DistanceMeasure.LEVENSHTEIN,
    ) -> None:
        measures = {
            DistanceMeasure.LEVENSHTEIN: "Levenshtein",
            DistanceMeasure.HAMMING: "Hamming",
            DistanceMeasure.JARO: "Jaro",
            DistanceMeasure.JARO_WINKLER: "JaroWinkler",
        }
        if distance_measure not in measures:
            raise UsageError(f"there is no measure `{distance_measure}`", remedy=", ".join(measures))

        def similarity(response: str, reference: str) -> MetricResult:
            measure = getattr(import_required("rapidfuzz.distance"), measures[distance_measure])
            return MetricResult(float(1 - measure.normalized_distance(reference, response)))

        super().__init__(similarity, name)


class SemanticSimilarity(ReadyMetric):
    """Cosine similarity of the embeddings of response and reference, from 0 to 1."""

    ready = "semantic_similarity"

    def __init__(self, embeddings: Any = None, *, name: str = "semantic_similarity", **options: Any) -> None:
        """Create the metric; with `threshold`, the score is 1.0 or 0.0."""
        super().__init__(None, embeddings, name=name, **options)

    async def ascore(self, **arguments: Any) -> MetricResult:
        """Return the score of `response` against `reference`."""
        if "reference" in arguments:
            arguments["expected"] = arguments.pop("reference")
        return await super().ascore(**arguments)

    def arguments_of(self, sample: BaseModel) -> dict[str, Any]:
        """Return the fields of a sample that the metric takes."""
        return sample.model_dump(include={"response", "reference"}, exclude_none=True)


_OTHER_NAMES: Final = {
    "ResponseRelevancy": "answer_relevancy",
    "ContextUtilization": "context_precision_without_reference",
    "ContextPrecisionWithReference": "context_precision",
    "LLMContextPrecisionWithReference": "context_precision",
    "LLMContextPrecisionWithoutReference": "context_precision_without_reference",
    "LLMContextRecall": "context_recall",
    "TopicAdherenceScore": "topic_adherence",
    "LLMSQLEquivalence": "sql_semantic_equivalence",
    "SummarizationScore": "summary_score",
    "SimpleCriteriaScore": "simple_criteria",
    "RubricsScore": "rubrics",
    "DomainSpecificRubrics": "rubrics",
    "InstanceRubrics": "instance_rubrics",
    "MultiModalFaithfulness": "multi_modal_faithfulness",
    "MultiModalRelevance": "multi_modal_relevance",
    "InstanceSpecificRubrics": "instance_rubrics",
}
"""Additional class names: those of older releases of Ragas, and those of metrics that only promptls has."""


def _ready_classes() -> dict[str, type[MetricObject]]:
    names = {**{row.kind: row.name for row in RAGAS_METRICS}, **_OTHER_NAMES}
    return {
        kind: type(kind, (ReadyMetric,), {"ready": name, "__doc__": f"The built-in metric `{name}`."})
        for kind, name in names.items()
        if kind not in globals()
    }


METRIC_CLASSES: Final[dict[str, type[Any]]] = {
    **_ready_classes(),
    **{
        each.__name__: each
        for each in (
            DiscreteMetric,
            NumericMetric,
            RankingMetric,
            AspectCritic,
            AgentGoalAccuracy,
            AgentGoalAccuracyWithReference,
            AgentGoalAccuracyWithoutReference,
            BleuScore,
            RougeScore,
            CHRFScore,
            ExactMatch,
            StringPresence,
            DistanceMeasure,
            NonLLMStringSimilarity,
            SemanticSimilarity,
        )
    },
    "ChrfScore": CHRFScore,
}


def __getattr__(name: str) -> Any:
    # Pickled objects refer to their class by this module.
    if name in METRIC_CLASSES:
        return METRIC_CLASSES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
