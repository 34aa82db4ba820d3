"""Run a plan: request, check and score an answer of every model for every row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.dataset_files import Row
from promptls.experiments import answer_cache
from promptls.experiments.answer_cache import CallInFlight
from promptls.experiments.budget import ExpectedUsage
from promptls.experiments.experiment import Experiment
from promptls.experiments.judging import JudgeAccount, Judges, OpenEmbedder, OpenModel, judging_references
from promptls.experiments.manifest import prompt_stem, started_manifest
from promptls.experiments.pipeline import Task
from promptls.experiments.plan import AnswerKeys, Plan, parameters_of
from promptls.experiments.results_table import write_table
from promptls.experiments.resumable_job import Job, RowOutcome, Tasks, run_job
from promptls.experiments.row_rendering import RenderedRow
from promptls.experiments.run_protocol import Event, Finished
from promptls.experiments.scores import RowResult, Score, Totals
from promptls.experiments.store import sync_periodically
from promptls.experiments.unfinished import UnfinishedRun
from promptls.metrics.metric import Metric
from promptls.metrics.metric_loading import bound_arguments
from promptls.models.masking import KeyMask, key_mask
from promptls.models.model import Completion, ModelError, ModelReference
from promptls.models.model_names import MINILM
from promptls.models.opening import open_embeddings, open_model, opened_model
from promptls.models.providers import Price, cost_of, is_paid, price_of
from promptls.models.ray_cluster import RayCluster, RayModel, connected_cluster
from promptls.models.retrying import RateLimiter
from promptls.semantic.types.schemas import RUN_SECONDS, SchemaCheck
from promptls.text.format import lower_first, plural


class Continued(NamedTuple):
    """The run that is continued: an unfinished run, or good results of a different run.

    `left` are calls that may have been charged when the run was interrupted and are not repeated: their rows
    get an error.
    """

    resumed: UnfinishedRun | None = None
    carried: Iterable[RowResult] = ()
    run: str | None = None
    left: Collection[CallInFlight] = ()


FROM_THE_START = Continued()


async def run_plan(
    plan: Plan,
    on_event: Callable[[Event], None],
    *,
    continued: Continued = FROM_THE_START,
    now: datetime | None = None,
) -> Finished:
    """Call every model with every row, score the responses, and write table and manifest; see `run_job`."""
    return await run_job(PromptJob(plan, continued), on_event, now)


class RowQuestion(NamedTuple):
    """One request of a run: a row, its rendered prompt, the model, and the number of the repeat."""

    row: Row
    rendered: RenderedRow
    model: ModelReference
    repeat: int


class PromptJob(Job):
    """The run of a plan."""

    def __init__(self, plan: Plan, continued: Continued) -> None:
        self._plan = plan
        self._continues = continued.run
        self._left = frozenset(call[:3] for call in continued.left)
        self.folder = plan.experiment.folder
        self.stem = prompt_stem(plan.experiment.prompt)
        self.results = plan.results
        self.budget = plan.experiment.budget
        self.metrics = plan.metrics
        self.resumed = continued.resumed
        self.carried = continued.carried

    def header(self, started: datetime) -> Mapping[str, Any]:
        """See `Job`."""
        return started_manifest(self._plan, started, self._continues)

    @asynccontextmanager
    async def tasks(self, run: UnfinishedRun) -> AsyncIterator[Tasks]:
        """See `Job`."""
        cache = self._plan.cache
        # Usually the run's own store; runs that are stored elsewhere use the prompt's cached answers too.
        stores = [] if cache is None else cache.stores
        async with opened_models(self._plan, run.note_call) as asker, sync_periodically(*stores):
            yield Tasks(self._tasks(run, asker), self._plan.experiment.concurrency)

    def write_table(self, path: Path, run: UnfinishedRun) -> None:
        """See `Job`."""
        write_table(path, self._plan, run)

    def totals(self, run: UnfinishedRun) -> Totals:
        """See `Job`."""
        totals = Totals(self._plan.metrics, [model.name for model in self._plan.experiment.models])
        for result in run.results():
            totals.add(result)
        return totals

    def check(self, outcome: RowOutcome) -> None:
        """Accept every outcome: any failure of a row is its error."""

    def _tasks(self, run: UnfinishedRun, asker: RowAsker) -> Iterator[Task[RowOutcome]]:
        experiment = self._plan.experiment
        for row, rendered in self._plan.rendered:
            for model in experiment.models:
                for repeat in range(1, experiment.repeats + 1):
                    if not run.has_answer(row.number, model.name, repeat):
                        yield self._task(run, asker, RowQuestion(row, rendered, model, repeat))

    def _task(self, run: UnfinishedRun, asker: RowAsker, question: RowQuestion) -> Task[RowOutcome]:
        row, _, model, repeat = question
        if (row.number, model.name, repeat) in self._left:
            return Task(partial(asker.left, question))
        prior = run.unscored(row.number, model.name, repeat)
        if prior is not None:
            return Task(partial(asker.score_again, row, prior), asker.expected_again)
        return Task(partial(asker.ask, question), partial(asker.expected, question))


class AnswerCheck:
    """Checks the form of the answers of an experiment."""

    def __init__(self, *, is_json: bool, schema: Mapping[str, Any] | None) -> None:
        self._is_json = is_json or schema is not None
        self._schema = SchemaCheck(schema, RUN_SECONDS) if schema is not None else None

    def problem(self, answer: str) -> str | None:
        """Return a description of what is wrong with the answer's form; None if it is valid."""
        if not self._is_json:
            return None
        try:
            value = json.loads(answer)
        except RecursionError:
            return "no JSON that can be read: it is nested too deeply"
        except ValueError as error:
            return _no_json(answer, error)
        if self._schema is None:
            return None
        return self._schema.problem(value) or None


def _no_json(answer: str, error: ValueError) -> str:
    text = answer.strip()
    if not text:
        return "no JSON: the answer is empty"
    if text.startswith("```"):
        return "no JSON: the answer is in a code fence"
    place = error.pos if isinstance(error, json.JSONDecodeError) else 0
    if place >= len(answer.rstrip()):
        return "no JSON: the answer breaks off; a larger `max_tokens` may help"
    if place == 0:
        return f"no JSON: the answer begins with “{text[:40]}”"
    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"no JSON: {lower_first(reason)} at character {place + 1}"


class Scored(NamedTuple):
    """The scores of a response by metric, the judges' usage, and the metrics without a verdict."""

    scores: dict[str, Score]
    account: JudgeAccount
    unscored: tuple[str, ...]

    @property
    def is_judged(self) -> bool:
        """Whether any judge was called."""
        return self.account.answered or self.account.failure is not None

    def outcome(self, result: RowResult, calls: int = 0, tokens: int = 0, cost: float = 0.0) -> RowOutcome:
        """Return the outcome of the row, with this usage of its model."""
        account = self.account
        return RowOutcome(
            result,
            calls=account.calls + calls,
            tokens=account.spent_tokens + tokens,
            cost=(account.paid or 0.0) + cost,
            judge_failure=None if account.answered else account.failure,
            judged=account.answered,
        )


class Scorer:
    """Scores with the metrics of a plan; `mask` removes secrets from results."""

    def __init__(self, plan: Plan, judges: Judges, mask: KeyMask) -> None:
        self._plan = plan
        self._judges = judges
        self._mask = mask

    async def score(
        self,
        row: Row,
        response: str,
        answer: Mapping[str, Any],
        repeat: int,
        note: answer_cache.CallNote,
        again: Collection[str] | None = None,
    ) -> Scored:
        """Return the scores of all metrics, or only of those in `again`.

        Metrics with judges are computed concurrently.

        `note` is called before each call of a judge.
        """
        metrics = [each for each in self._plan.metrics if again is None or each.name in again]
        accounts: dict[str, JudgeAccount] = {}
        judges: dict[str, Mapping[str, Any]] = {}
        for metric in metrics:
            if (asks := self._plan.asks.get(metric.name)) is not None:
                account = accounts[metric.name] = JudgeAccount()
                judges[metric.name] = self._judges.of(asks, repeat, account, note, again=again is not None)
        scores = [self._score(metric, row, response, answer, judges.get(metric.name)) for metric in metrics]
        found = await asyncio.gather(*scores) if judges else [await score for score in scores]
        by_name = {metric.name: score for metric, score in zip(metrics, found, strict=True)}
        total = JudgeAccount()
        for account in accounts.values():
            total.take(account)
        # A metric that failed before calling its judge would fail again for the same row.
        unscored = tuple(
            name
            for name, account in accounts.items()
            if by_name[name].value is None and (account.answered or account.failure is not None)
        )
        return Scored(by_name, total, unscored)

    async def _score(
        self,
        metric: Metric,
        row: Row,
        response: str,
        answer: Mapping[str, Any],
        judges: Mapping[str, Any] | None,
    ) -> Score:
        experiment = self._plan.experiment
        # No timeout here: each judge request has its own, and may wait for the rate limit.
        limit = experiment.timeout if judges is None else None
        try:
            arguments = bound_arguments(metric, row.values, response, experiment.output_key, answer)
            result = await asyncio.wait_for(metric.ascore(**arguments, **(judges or {})), limit)
        except asyncio.TimeoutError:
            return Score(None, f"the metric took longer than {plural(experiment.timeout, 'second')}")
        except Exception as error:  # noqa: BLE001 - a scoring error must not end the run
            return Score(None, self._mask.mask(f"{type(error).__name__}: {error}"))
        reason = None if result.reason is None else self._mask.mask(str(result.reason))
        value = _plain(result.value)
        return Score(self._mask.mask(value) if isinstance(value, str) else value, reason)


def _plain(value: Any) -> Any:
    """Return a JSON-serializable value; numbers of other libraries are converted to Python numbers."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # Only NumPy scalars have this method.
    item = getattr(value, "item", None)
    return item() if callable(item) else str(value)


class RowAsker:
    """The open models of a run, with limits on the concurrent requests to each."""

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, OpenModel],
        judges: Judges,
        answers: answer_cache.SharedAnswers,
        mask: KeyMask,
        note: answer_cache.ResultCallNote,
    ) -> None:
        """`note` is called immediately before each call that may cost money."""
        self._plan = plan
        self._models = models
        self._scorer = Scorer(plan, judges, mask)
        self._answers = answers
        experiment = plan.experiment
        cached = [
            each for each in experiment.models if plan.cache is not None and answer_cache.is_cacheable(each)
        ]
        self._keys = {reference.name: AnswerKeys(experiment, reference) for reference in cached}
        self._mask = mask
        self._note = note
        self._check = AnswerCheck(is_json=plan.experiment.output_is_json, schema=plan.experiment.json_schema)
        self._judge_calls = sum(asks.calls for asks in plan.asks.values())
        self._judge_tokens = sum(asks.tokens for asks in plan.asks.values())

    def expected(self, question: RowQuestion) -> ExpectedUsage | None:
        """Return the estimated usage of requesting and scoring the answer to a row; None without a call."""
        rendered, model = question.rendered, question.model
        if rendered.error is not None:
            return None
        if self._answers.has(self._key(question)):
            return self.expected_again() if self._plan.asks else None
        price = self._models[model.name].price
        longest = parameters_of(self._plan.experiment, model, 1).get("max_tokens")
        answer = longest if isinstance(longest, int) else 0
        cost = (price.cost(rendered.tokens, answer) if price else None) or 0.0
        tokens = rendered.tokens + answer + self._judge_tokens
        return ExpectedUsage(tokens, cost, 1 + self._judge_calls)

    def expected_again(self) -> ExpectedUsage:
        """Return the maximum estimated usage of scoring a response."""
        return ExpectedUsage(self._judge_tokens, calls=self._judge_calls)

    def _key(self, question: RowQuestion) -> bytes | None:
        keys = self._keys.get(question.model.name)
        return None if keys is None else keys.key(question.rendered, question.repeat)

    async def ask(self, question: RowQuestion) -> RowOutcome:
        """Request and score the answer to a row; any failure of the row is the result's `error`."""
        row, rendered, model, repeat = question
        if rendered.error is not None:
            return RowOutcome(self._failed(question, rendered.error))
        opened = self._models[model.name]
        try:
            completion, cached = await self._answer(opened, question)
        except ModelError as error:
            return RowOutcome(self._failed(question, error.message), error, calls=1)
        cost = cost_of(completion, opened.price)
        counts = (completion.input_tokens, completion.output_tokens)
        answer = _known(completion.seconds, counts, cost, self._plan.experiment.json_schema)
        note = answer_cache.call_note(self._note, row.number, model.name, repeat)
        scored = await self._scorer.score(row, completion.text, answer, repeat, note)
        result = RowResult(
            id=row.id,
            number=row.number,
            line=row.line,
            model=model.name,
            repeat=repeat,
            values=row.values,
            response=completion.text,
            scores=scored.scores,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            cached_input_tokens=completion.cached_tokens,
            reasoning_tokens=completion.reasoning_tokens,
            seconds=completion.seconds,
            cost=cost,
            finish_reason=completion.finish_reason,
            digest=rendered.digest,
            problem=self._check.problem(completion.text),
            note="; ".join(completion.notes) or None,
            cached=cached,
            judging=scored.account.to_json() if scored.is_judged else None,
            unscored=scored.unscored,
        )
        tokens = (completion.input_tokens or rendered.tokens) + (completion.output_tokens or 0)
        return scored.outcome(result) if cached else scored.outcome(result, 1, tokens, cost or 0.0)

    async def left(self, question: RowQuestion) -> RowOutcome:
        """Return the error result of a row whose call may have been charged and is not repeated."""
        return RowOutcome(self._failed(question, answer_cache.SKIPPED_ERROR))

    async def score_again(self, row: Row, prior: RowResult) -> RowOutcome:
        """Return an earlier result with its missing scores added; its model is not called."""
        answer = _known(
            prior.seconds,
            (prior.input_tokens, prior.output_tokens),
            prior.cost,
            self._plan.experiment.json_schema,
        )
        note = answer_cache.call_note(self._note, row.number, prior.model, prior.repeat)
        scored = await self._scorer.score(
            row, prior.response or "", answer, prior.repeat, note, prior.unscored
        )
        result = replace(
            prior,
            scores={
                metric.name: scored.scores.get(metric.name) or prior.scores.get(metric.name) or Score(None)
                for metric in self._plan.metrics
            },
            judging=scored.account.after(prior.judging) if scored.is_judged else prior.judging,
            unscored=scored.unscored,
        )
        return scored.outcome(result)

    async def _answer(self, opened: OpenModel, question: RowQuestion) -> tuple[Completion, bool]:
        """Return the model's answer, and whether it was cached."""
        experiment, reference = self._plan.experiment, opened.reference
        row, rendered, _, repeat = question
        key = self._key(question)
        note = answer_cache.call_note(self._note, row.number, reference.name, repeat)

        async def complete() -> Completion:
            async with opened.slots:
                return await opened.model.complete(
                    rendered.messages,
                    parameters=parameters_of(experiment, reference, repeat),
                    json_schema=experiment.json_schema,
                    before=lambda: note(reference, key),
                )

        return await self._answers.answer(key, rendered.messages, complete)

    def _failed(self, question: RowQuestion, error: str) -> RowResult:
        row, rendered, model, repeat = question
        return RowResult(
            row.id,
            row.number,
            row.line,
            model.name,
            repeat,
            row.values,
            error=self._mask.mask(error),
            digest=rendered.digest,
        )


def _known(
    seconds: float | None,
    counts: tuple[int | None, int | None],
    cost: float | None,
    output_schema: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return an answer's properties that metrics can use; see `metrics/metric_loading.py`."""
    known = [count for count in counts if count is not None]
    return {
        "seconds": seconds,
        "tokens": sum(known) if len(known) == len(counts) else None,
        "cost": cost,
        "output_schema": output_schema,
    }


@asynccontextmanager
async def opened_models(plan: Plan, note: answer_cache.ResultCallNote) -> AsyncIterator[RowAsker]:
    """Open the plan's models and yield a `RowAsker`; close them at the end of the block.

    `note` is called immediately before each call that may cost money.
    """
    experiment = plan.experiment
    mask = key_mask([*experiment.models, *judging_references(plan.asks)])
    async with AsyncExitStack() as stack:
        opener = _Opener(experiment, mask, stack, await _cluster(plan, stack))
        models = {reference.name: opener.model(reference) for reference in experiment.models}
        judges: dict[str, OpenModel] = {}
        embedders: dict[str, OpenEmbedder] = {}
        for judge, embedder, *_ in plan.asks.values():
            if judge is not None and judge.name not in judges:
                # A judge that is also a model of the run shares its limits.
                judges[judge.name] = models.get(judge.name) or opener.model(judge)
            if embedder is not None and embedder.name not in embedders:
                embedders[embedder.name] = opener.embedder(embedder)
        answers = answer_cache.SharedAnswers(plan.cache, experiment.timeout)
        yield RowAsker(plan, models, Judges(answers, judges, embedders), answers, mask, note)


@dataclass(frozen=True)
class _Opener:
    """Opens models, which share the rate limits of their providers and are closed with the `stack`."""

    experiment: Experiment
    mask: KeyMask
    stack: AsyncExitStack
    cluster: RayCluster | None
    rate_limiters: dict[str, RateLimiter] = field(default_factory=dict)

    def model(self, reference: ModelReference) -> OpenModel:
        model = open_model(
            reference,
            rate_limiter=self._rate_limiter(reference),
            mask=self.mask,
            timeout=self.experiment.timeout,
            opened=lambda each: self._on_cluster(each) or opened_model(each),
        )
        self.stack.push_async_callback(model.close)
        slots = asyncio.Semaphore(model.max_at_once or self.experiment.concurrency)
        return OpenModel(reference, model, slots, _paid_price(reference))

    def embedder(self, reference: ModelReference) -> OpenEmbedder:
        model = open_embeddings(
            reference,
            rate_limiter=self._rate_limiter(reference),
            mask=self.mask,
            timeout=self.experiment.timeout,
            opened=None if reference.provider == "local" else self._on_cluster(reference),
        )
        self.stack.push_async_callback(model.close)
        return OpenEmbedder(reference, model, _paid_price(reference))

    def _on_cluster(self, reference: ModelReference) -> RayModel | None:
        if self.cluster is None:
            return None
        return RayModel(self.cluster, reference.name)

    def _rate_limiter(self, reference: ModelReference) -> RateLimiter:
        """Return the rate limiter of the model, or the one shared with the provider's other models."""
        limits = self.experiment.rate_limits
        name = reference.name if reference.name in limits else reference.provider
        limit = limits.get(name)
        if name not in self.rate_limiters:
            self.rate_limiters[name] = RateLimiter(
                requests_per_minute=limit.requests_per_minute if limit else None,
                tokens_per_minute=limit.tokens_per_minute if limit else None,
            )
        return self.rate_limiters[name]


def _paid_price(reference: ModelReference) -> Price | None:
    return price_of(reference) if is_paid(reference) else None


async def _cluster(plan: Plan, stack: AsyncExitStack) -> RayCluster | None:
    """Connect to the cluster that runs the models, judges and embedders, if the engine is `ray`.

    Retries, rate limits, cache and scoring stay in this process and are the same for both engines. Embeddings
    by the local model are computed in this process too.
    """
    experiment = plan.experiment
    if experiment.engine == "local" or not plan.calls:
        return None
    judging = (
        each for each in judging_references(plan.asks) if (each.provider, each.model) != ("local", MINILM)
    )
    references = {each.name: each for each in (*experiment.models, *judging)}
    limit = min(experiment.concurrency, plan.results)
    cluster = await connected_cluster(
        list(references.values()), experiment.ray_address, limit, from_project=experiment.ray_from_project
    )

    async def close(error: type[BaseException] | None, *_: object) -> None:
        await cluster.close(at_once=error is not None)

    stack.push_async_exit(close)
    return cluster
