"""Preparing requests for test data, from the command line or from the process that the server starts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from promptls.embeddings.minilm import HOW_TO_INSTALL, is_installed
from promptls.experiments.access import Access, sends_of
from promptls.experiments.answer_cache import AnswerCache, is_cacheable
from promptls.experiments.budget import Budget
from promptls.experiments.client import WorkerProgram
from promptls.experiments.estimate import ModelEstimate, estimate_of
from promptls.experiments.manifest import results_folder
from promptls.experiments.run_protocol import Planned
from promptls.models.model import ModelReference
from promptls.models.model_names import find_model
from promptls.models.opening import check_model
from promptls.models.retrying import CHARACTERS_A_TOKEN, estimate_tokens
from promptls.settings.project import Project
from promptls.testset.documents import HeadingSplitter, read_documents
from promptls.testset.graph import DOCUMENT, KnowledgeGraph, Node
from promptls.testset.model_asker import AskingSettings, asking_key, parameters_of
from promptls.testset.scenarios import (
    LENGTHS,
    PERSONAS,
    SAMPLE_SCHEMA,
    STYLES,
    Draw,
    extraction_messages,
    parse_persona,
)
from promptls.testset.synthesis import check_output
from promptls.testset.synthesizers import (
    DEFAULT_DISTRIBUTION,
    SYNTHESIZERS,
    Drawn,
    draw_scenarios,
    parse_distribution,
)
from promptls.testset.transforms import Transform, default_transforms, transform
from promptls.testset.transforms.extractors import (
    Asker,
    ModelExtractor,
    model_entities,
    model_keyphrases,
    model_summary,
)
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code, in_dollars, plural
from promptls.text.suggest import did_you_mean
from promptls.workspace.settings import find_project, folder_to_trust

Extraction: TypeAlias = Literal["rules", "model"]
"""How documents are analyzed: with rules, which cost nothing, or with the model."""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A request for a dataset: absolute paths of documents, of `output`, and of a `graph` to read or write.

    `model` defaults to that of the project. `distribution` and `personas` have the syntax of the command
    line; empty `styles` and `lengths` mean all. With `only_plan`, it stops after the plan; without `yes`,
    expensive requests require confirmation. `fresh` ignores cached answers. `secrets` are environment
    variables, such as keys; they are never stored.
    """

    documents: Sequence[str] = ()
    output: str = ""
    size: int = 20
    model: str | None = None
    distribution: str | None = None
    personas: Sequence[str] = ()
    styles: Sequence[str] = ()
    lengths: Sequence[str] = ()
    seed: int = 0
    graph: str | None = None
    extraction: Extraction = "rules"
    embeddings: bool = True
    tries: int = 3
    concurrency: int | None = None
    timeout: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    fresh: bool = False
    force: bool = False
    yes: bool = False
    only_plan: bool = False
    base: str | None = None
    editor: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


_TIMEOUT: Final = 120.0
_CONCURRENCY: Final = 4


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """A plan for test data: documents are read, the model is available, and the output can be written.

    `drawn` is None if the model has to analyze the documents before scenarios can be selected.
    """

    request: GenerationRequest
    output: Path
    graph: KnowledgeGraph
    graph_is_loaded: bool
    reference: ModelReference
    asking: AskingSettings
    cache: AnswerCache | None
    distribution: Mapping[str, float]
    drawn: Drawn | None
    notes: tuple[str, ...]

    @property
    def documents(self) -> int:
        """The number of documents in the graph."""
        return sum(node.type == DOCUMENT for node in self.graph.nodes)

    @property
    def scenarios(self) -> int:
        """The number of scenarios, or the requested number."""
        return self.request.size if self.drawn is None else len(self.drawn.scenarios)

    def draw(self) -> Drawn:
        """Draw scenarios from the current graph with the request's seed; raises `UserError`."""
        return _drawn(self.request, self.graph, self.distribution)

    def extraction(self, asker: Asker) -> list[Transform]:
        """Return the transforms that complete the graph with a model that analyzes the documents."""
        return default_transforms(
            embeddings=self.request.embeddings and is_installed(), extractors=_extractors(asker)
        )[1:]


class PreparedGeneration(NamedTuple):
    """A plan, and the report on it before anything is spent."""

    plan: GenerationPlan
    planned: Planned


@asynccontextmanager
async def prepare_generation(request: GenerationRequest) -> AsyncIterator[PreparedGeneration]:
    """Prepare `request`: no model is called yet, and no file is written.

    Raises `UsageError` and `UserError` for invalid requests.
    """
    base = Path(request.base) if request.base else Path.cwd()
    output = Path(request.output)
    check_output(output, force=request.force)
    project = find_project(output)
    reference = model_of(request)
    check_model(reference)
    distribution: Mapping[str, float] = (
        DEFAULT_DISTRIBUTION
        if request.distribution is None
        else parse_distribution(request.distribution, [each.name for each in SYNTHESIZERS])
    )
    _check_options(request)
    notes: list[str] = []
    embeddings = request.embeddings and is_installed()
    if request.embeddings and not embeddings:
        notes.append(f"without embeddings, contexts are related by their words alone: {HOW_TO_INSTALL}")
    graph, is_loaded = await _graph(request, base, embeddings=embeddings)
    waits = request.extraction == "model" and not is_loaded
    drawn = None if waits else _drawn(request, graph, distribution)
    cache = None
    if is_cacheable(reference):
        since = time.time() if request.fresh else None
        cache = AnswerCache(results_folder(output, project), since=since)
    try:
        plan = GenerationPlan(
            request=request,
            output=output,
            graph=graph,
            graph_is_loaded=is_loaded,
            reference=reference,
            asking=_asking(request, reference, project.settings),
            cache=cache,
            distribution=distribution,
            drawn=drawn,
            notes=(*notes, *(drawn.notes if drawn else ())),
        )
        yield PreparedGeneration(plan, _plan(plan, project.settings))
    finally:
        if cache is not None:
            cache.close()


def requested_access(request: GenerationRequest) -> Access:
    """Return the variables that the request may read and the servers it uses; raises `UsageError`."""
    return Access(find_project(Path(request.output)), (model_of(request),))


GENERATION: Final = WorkerProgram("promptls.testset.process", requested_access)
"""The program that generates test data."""


def folder_of(request: GenerationRequest) -> Path:
    """Return the folder whose settings apply to the request, and which must be trusted."""
    return folder_to_trust(Path(request.output))


def model_of(request: GenerationRequest) -> ModelReference:
    """Return the model of the request; raises `UsageError` for an unknown model."""
    project = find_project(Path(request.output))
    settings = project.settings
    base = Path(request.base) if request.base else Path.cwd()
    name = request.model or settings.default_model
    return find_model(name, settings.models, project.root if name in settings.models else base)


def _asking(request: GenerationRequest, reference: ModelReference, settings: Project) -> AskingSettings:
    limits = settings.rate_limits
    limit = limits.get(reference.name) or limits.get(reference.provider)
    return AskingSettings(
        seed=request.seed,
        concurrency=request.concurrency or _CONCURRENCY,
        timeout=request.timeout or _TIMEOUT,
        budget=Budget(request.max_calls, request.max_tokens, request.max_cost),
        requests_per_minute=limit.requests_per_minute if limit else None,
        tokens_per_minute=limit.tokens_per_minute if limit else None,
    )


def _check_options(request: GenerationRequest) -> None:
    """Raise `UsageError` for unknown styles and lengths, and for invalid personas."""
    for text in request.personas:
        parse_persona(text)
    for noun, selected, known in (("style", request.styles, STYLES), ("length", request.lengths, LENGTHS)):
        for name in selected:
            if name not in known:
                listed = in_code(known)
                raise UsageError(
                    f"there is no {noun} `{name}`{did_you_mean(name, known)}", remedy=f"there are {listed}"
                )


async def _graph(request: GenerationRequest, base: Path, *, embeddings: bool) -> tuple[KnowledgeGraph, bool]:
    """Return the graph, and whether it was loaded from its file.

    If a model will analyze the documents, the graph is only split into pieces.
    """
    documents = read_documents(map(Path, request.documents), base) if request.documents else []
    loaded = _load(Path(request.graph), documents) if request.graph is not None else None
    if loaded is not None:
        return loaded, True
    if not documents:
        raise UsageError(
            "there are no documents to generate test data from",
            remedy="name files or folders: `promptls generate docs/*.md`",
        )
    transforms = (
        [HeadingSplitter()] if request.extraction == "model" else default_transforms(embeddings=embeddings)
    )
    return await transform(KnowledgeGraph(documents), transforms), False


def _load(path: Path, documents: Sequence[Node]) -> KnowledgeGraph | None:
    """Load the stored graph; raises `UsageError` if it was not built from `documents`, if there are any.

    None if there is no stored graph.
    """
    if not path.exists():
        if not path.parent.is_dir():
            raise UsageError("the folder of the graph does not exist", FilePlace(path), "create it first")
        return None
    graph = KnowledgeGraph.load(path)
    known = {node.id for node in graph.nodes if node.type == DOCUMENT}
    if documents and {node.id for node in documents} != known:
        raise UsageError(
            "the graph was made from other documents, or they have changed",
            FilePlace(path),
            "delete it to make it again, or leave out the documents",
        )
    return graph


def _drawn(request: GenerationRequest, graph: KnowledgeGraph, distribution: Mapping[str, float]) -> Drawn:
    draw = Draw(
        request.seed,
        personas=[parse_persona(text) for text in request.personas] or PERSONAS,
        styles=request.styles or tuple(STYLES),
        lengths=request.lengths or tuple(LENGTHS),
    )
    return draw_scenarios(graph, SYNTHESIZERS, distribution, request.size, draw)


def _extractors(asker: Asker) -> tuple[ModelExtractor, ...]:
    return model_entities(asker), model_keyphrases(asker), model_summary(asker)


def _plan(plan: GenerationPlan, settings: Project) -> Planned:
    estimate = _estimate(plan)
    cost = estimate.longest_cost if estimate.longest_cost is not None else estimate.prompt_cost
    return Planned(
        experiment="test data",
        rows=plan.scenarios,
        calls=estimate.calls,
        cached=estimate.cached,
        tokens=estimate.tokens,
        prompt_cost=estimate.prompt_cost,
        longest_cost=estimate.longest_cost,
        question=_question(estimate, cost, settings),
        sends=sends_of([plan.reference], None),
    )


def _question(estimate: ModelEstimate, cost: float | None, settings: Project) -> str | None:
    calls = plural(estimate.calls, "call")
    if cost is not None and cost > settings.ask_above.cost:
        return f"The dataset takes {calls}, for about {in_dollars(cost)}. Run it?"
    if estimate.paid and cost is None and estimate.calls > settings.ask_above.calls:
        return f"The dataset takes {calls} of `{estimate.model}`, whose price is not known. Run it?"
    return None


def _estimate(plan: GenerationPlan) -> ModelEstimate:
    """Estimate the cost of the first attempt for each query, and of analyzing the documents with a model."""
    longest = parameters_of(plan.reference, plan.asking, 1).get("max_tokens")
    calls = cached = tokens = 0
    if plan.drawn is not None:
        requests = [(each.messages(scenario), SAMPLE_SCHEMA) for each, scenario in plan.drawn.scenarios]
    else:
        leaves = [node.text for node in plan.graph.leaves]
        extractors = _extractors(_NO_MODEL)
        requests = [
            (extraction_messages(each.task, text, "found"), each.schema)
            for text in leaves
            for each in extractors
        ]
        calls = plan.request.size
        # The prompt of a query is not known yet; assume two contexts of average length.
        contexts = 2 * sum(map(len, leaves)) // len(leaves) // CHARACTERS_A_TOKEN
        tokens = calls * (estimate_tokens(requests[0][0]) + contexts)
    for messages, schema in requests:
        key = asking_key(plan.reference, plan.asking, messages, schema, 1)
        if plan.cache is not None and key is not None and plan.cache.get(key) is not None:
            cached += 1
        else:
            calls += 1
            tokens += estimate_tokens(messages)
    return estimate_of(plan.reference, calls, cached, tokens, longest)


class _NoModel:
    async def ask(self, *_: object, **__: object) -> str:
        raise AssertionError("a plan calls no model")


_NO_MODEL: Final[Asker] = _NoModel()
