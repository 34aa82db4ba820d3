"""Models on the nodes of a Ray cluster: the connection, the nodes, and the workers on them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import promptls
from promptls.models.keys import check_grants, missing_among, ray_grants, require, variables_named_by
from promptls.models.model import (
    Completion,
    EmbeddingModel,
    EmbeddingResult,
    Messages,
    Model,
    ModelError,
    ModelReference,
)
from promptls.text.errors import UsageError, UserError

_Answer = TypeVar("_Answer")


class Opened(NamedTuple):
    """The result of opening a worker: its concurrency limit for each model, and its version of promptls."""

    max_at_once: Mapping[str, int | None]
    version: str


class ModelWorker:
    """The models of a run in one process of the cluster. Model errors are returned, never raised."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    async def open(
        self, references: Sequence[ModelReference], environment: Mapping[str, str]
    ) -> Opened | UserError:
        """Open all models; `environment` contains the variables with their keys and addresses."""
        from promptls.models.opening import opened_model

        os.environ.update(environment)
        try:
            self._models = {reference.name: opened_model(reference) for reference in references}
        except ModelError as error:
            return error
        at_once = {name: model.max_at_once for name, model in self._models.items()}
        return Opened(at_once, promptls.__version__)

    async def complete(
        self,
        name: str,
        messages: Messages,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
    ) -> Completion | ModelError:
        """Return the answer of the model `name`."""
        model = self._models[name]
        return await _outcome(model.complete(messages, parameters=parameters, json_schema=json_schema))

    async def embed(self, name: str, texts: Sequence[str]) -> EmbeddingResult | ModelError:
        """Return the vectors of the texts, by the model `name`."""
        # Only called for embedding models.
        return await _outcome(cast("EmbeddingModel", self._models[name]).embed(texts))

    async def close(self) -> None:
        """Free the memory of the models."""
        for model in self._models.values():
            await model.close()


async def _outcome(answer: Awaitable[_Answer]) -> _Answer | ModelError:
    try:
        return await answer
    except ModelError as error:
        return error
    except Exception as error:  # noqa: BLE001 - Ray would log the whole traceback
        return ModelError(f"{type(error).__name__}: {error}")


START_SECONDS = 120.0
"""Timeout in seconds for a node to start a process and load promptls."""

REACH_SECONDS = 5.0
"""Timeout in seconds for connecting to the head of a cluster."""

OBJECT_BYTES = 80 * 1024 * 1024
"""Size in bytes of the object store of a cluster started here: rows and answers are small messages."""

END_SECONDS = 0.3
"""Timeout in seconds for the models of a worker to close."""

MAX_CALLS = 10_000
"""Maximum number of concurrent calls of a worker."""

# Ray's keywords for the cluster running on this machine, and for a new one.
_WORDS = ("auto", "local")


class _Worker:
    """An actor of the cluster, and the number of active requests of each of its models."""

    def __init__(self, actor: Any, node: str) -> None:
        self.actor = actor
        self.node = node
        self.at_once: Mapping[str, int | None] = {}
        self.busy: Counter[str] = Counter()


class RayNodes:
    """A connection to a cluster. Each request goes to the worker with the fewest requests to that model."""

    def __init__(self, worker: type[Any], opening: tuple[Any, ...], limit: int) -> None:
        """Prepare a connection; `worker.open` is called with `opening` and returns `Opened` or an error.

        `limit` is the maximum number of useful workers.
        """
        self._worker = worker
        self._opening = opening
        self._most = limit
        self._is_own = False
        self._workers: list[_Worker] = []
        self._starting = asyncio.Lock()

    @property
    def count(self) -> int:
        """The number of workers."""
        return len(self._workers)

    async def connect(
        self, address: str | None, variables: Iterable[str] = (), *, from_project: bool = False
    ) -> None:
        """Connect to the cluster at `address` and start the workers.

        Without an address, use the existing connection of the program, else the address in `RAY_ADDRESS`,
        else a cluster running on this machine, else start a new one that is stopped after the run. The
        `variables` are sent to the nodes; if the address is `from_project`, the user must have allowed that.
        Raises `UserError` if Ray is not installed or the address cannot be reached,
        NotAllowedError, and the errors of `start`.
        """
        if from_project:
            require(missing_among(ray_grants(address, variables)))
        check_cluster(address)
        # Disable usage statistics.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Warnings of Ray's C++ code go to standard error, and do not add anything to the errors.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
        import ray

        # A connection that was opened here is closed with everything else.
        self._is_own = not ray.is_initialized()
        if self._is_own:
            await asyncio.to_thread(_connect, address)
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise

    async def start(self) -> None:
        """Open a worker on each node with CPUs for Ray.

        Raises `ModelError` if a worker cannot be opened, and `UserError` if a node has
        no promptls or a different version of it.
        """
        import ray

        known: Callable[[], list[dict[str, Any]]] = ray.nodes
        alive = [node for node in known() if node["Alive"]]
        nodes = [node for node in alive if node["Resources"].get("CPU")] or alive
        self._workers = list(await asyncio.gather(*(self._start(node) for node in nodes[: self._most])))

    async def call(self, name: str, ask: Callable[[Any], Any]) -> Any:
        """Return the result of calling `ask` with a worker.

        Raises `ModelError`, which is retryable if a node was lost.
        """
        import ray

        worker = await self._least_busy(name)
        worker.busy[name] += 1
        request = ask(worker.actor)
        try:
            outcome = await _of(request)
        except asyncio.CancelledError:
            ray.cancel(request)
            raise
        except ray.exceptions.RayError as error:
            if worker in self._workers:
                self._workers.remove(worker)
            raise ModelError(
                f"the node {worker.node} of the Ray cluster was lost: {type(error).__name__}",
                "see `ray status`",
                retryable=True,
            ) from None
        finally:
            worker.busy[name] -= 1
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    async def close(self, *, at_once: bool = False) -> None:
        """Stop the workers, and close a connection that this run opened; `at_once` does not wait."""
        import ray

        workers, self._workers = self._workers, []
        ends = [_of(worker.actor.close.remote()) for worker in workers]
        with suppress(asyncio.TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(asyncio.gather(*ends, return_exceptions=True), END_SECONDS)
        for worker in workers:
            ray.kill(worker.actor)
        if self._is_own:
            ending = asyncio.ensure_future(asyncio.to_thread(ray.shutdown))
            # After a cancellation, the caller waits for the report on its rows, but not for the cluster.
            await asyncio.wait({ending}, timeout=END_SECONDS if at_once else None)

    async def _least_busy(self, name: str) -> _Worker:
        async with self._starting:
            if not self._workers:
                await self.start()
        return min(self._workers, key=lambda worker: worker.busy[name])

    async def _start(self, node: Mapping[str, Any]) -> _Worker:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        # Workers mostly wait for answers, so they must not be queued until a CPU is free.
        made = ray.remote(self._worker).options(
            num_cpus=0, max_concurrency=MAX_CALLS, scheduling_strategy=place
        )
        worker = _Worker(made.remote(), str(node["NodeManagerAddress"]))
        try:
            # Ray logs an actor's `runtime_env`, but not the arguments of its calls.
            opening = worker.actor.open.remote(*self._opening)
            opened = await asyncio.wait_for(_of(opening), START_SECONDS)
        except (asyncio.TimeoutError, ray.exceptions.RayError) as error:
            lines = str(error).strip().splitlines()
            raise UserError(
                f"the node {worker.node} of the Ray cluster starts no worker: "
                f"{lines[-1] if lines else type(error).__name__}",
                remedy=f"install promptls {promptls.__version__} with the same extras on every node",
            ) from None
        if isinstance(opened, UserError):
            raise ModelError(f"{opened.message} (on the node {worker.node})", opened.remedy)
        opened = cast("Opened", opened)
        if opened.version != promptls.__version__:
            raise UserError(
                f"the node {worker.node} of the Ray cluster has promptls {opened.version}, "
                f"and this is {promptls.__version__}",
                remedy="install the same release everywhere",
            )
        worker.at_once = opened.max_at_once
        return worker


def check_cluster(address: str | None) -> None:
    """Raise `UserError` if Ray is not installed or nothing listens at the address; nothing is started."""
    if find_spec("ray") is None:
        raise UserError(
            "the engine `ray` needs the package `ray`", remedy='run `pip install "promptls[ray]"`'
        )
    named = _named(address)
    if not named or named in _WORDS:
        return
    host, _, port = named.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(
            f"`{named}` is not an address of a Ray cluster",
            remedy="write it as `host:6379`, or as `ray://host:10001` for a cluster of another network",
        )
    # Ray would retry for half a minute, and then terminate the whole process.
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise UserError(
            f"no Ray cluster can be reached at `{named}`: {message.lower()}",
            remedy="check the address with `ray status`, or start a cluster with `ray start --head`",
        ) from None


def _connect(address: str | None) -> None:
    with _without_error_stream():
        _initialize(address)


@contextmanager
def _without_error_stream() -> Iterator[None]:
    """Redirect standard error to null: Ray's C++ code always prints its log level there."""
    try:
        stderr = os.dup(2)
    except OSError:
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _initialize(address: str | None) -> None:
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    named = _named(address)
    try:
        if named and named != "local":
            ray.init(named, **quiet)
            return
        if not named:
            with suppress(ConnectionError):
                ray.init("auto", **quiet)
                return
        ray.init("local", include_dashboard=False, object_store_memory=OBJECT_BYTES, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
        lines = str(error).strip().splitlines()
        raise UserError(
            f"the Ray cluster{f' at `{named}`' if named else ''} accepts no connection"
            f"{f': {lines[0]}' if lines else ''}",
            remedy="check that it runs, with the same releases of Ray and Python, with `ray status`",
        ) from None


def _named(address: str | None) -> str:
    return address or os.environ.get("RAY_ADDRESS", "").strip()


def _of(request: Any) -> Awaitable[Any]:
    return asyncio.wrap_future(request.future())


class RayCluster(RayNodes):
    """The models of a run, opened on the nodes of a cluster."""

    def max_at_once(self, name: str) -> int | None:
        """Return the maximum number of concurrent requests of all workers; None means no limit."""
        counts = [worker.at_once[name] for worker in self._workers]
        return None if None in counts else sum(count or 0 for count in counts)


async def connected_cluster(
    references: Sequence[ModelReference], address: str | None, limit: int, *, from_project: bool = False
) -> RayCluster:
    """Connect to the cluster at `address` and open the models on up to `limit` workers.

    Raises the errors of `RayNodes.connect`, `ModelError` if a node cannot open a model, and NotAllowedError
    if a key may not be sent to the server of a model.
    """
    for reference in references:
        check_grants(reference)
    # Grants are checked on this machine only; nodes do not have any.
    checked = [replace(reference, from_project=False) for reference in references]
    environment = {name: os.environ[name] for name in sent_variables(references)}
    cluster = RayCluster(ModelWorker, (checked, environment), limit)
    await cluster.connect(address, environment, from_project=from_project)
    return cluster


def sent_variables(references: Iterable[ModelReference]) -> list[str]:
    """Return the variables that are set and that the nodes need."""
    return sorted(name for name in variables_named_by(references) if name in os.environ)


class RayModel:
    """A model that is opened on the workers of a cluster."""

    def __init__(self, cluster: RayCluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    @property
    def max_at_once(self) -> int | None:
        """Maximum number of concurrent requests of all workers; None means no limit."""
        return self._cluster.max_at_once(self._name)

    async def complete(
        self, messages: Messages, *, parameters: Mapping[str, Any], json_schema: Mapping[str, Any] | None
    ) -> Completion:
        """Return the answer of the model on one of the nodes; cancellation is passed on to the node.

        Raises `ModelError`, which is retryable if a node was lost.
        """
        arguments = (self._name, list(messages), dict(parameters), json_schema)
        answer = await self._cluster.call(self._name, lambda actor: actor.complete.remote(*arguments))
        return cast("Completion", answer)

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return the vectors of the texts, computed by the model on one of the nodes."""
        arguments = (self._name, list(texts))
        answer = await self._cluster.call(self._name, lambda actor: actor.embed.remote(*arguments))
        return cast("EmbeddingResult", answer)

    async def close(self) -> None:
        """Do nothing; the cluster owns the resources."""
