"""The values of keys: roles, types, encodings, models, metrics, files, columns, and the file's own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from promptls.features.completion.columns import column_names
from promptls.features.completion.item import Item
from promptls.features.completion.paths import file_paths
from promptls.features.completion.request import Request
from promptls.features.completion.variables import declared_inputs, read_inputs
from promptls.features.key_facts import keys_at
from promptls.meaning.kind import Kind
from promptls.rules.named_metrics import taken_by
from promptls.syntax.yaml.place import ITEM
from promptls.systems.opencompass.retriever_keys import RETRIEVERS
from promptls.systems.opencompass.vocabulary import (
    DIALOGUE_ROLES,
    INFERENCERS,
    MESSAGE_ROLES,
    MORE_INFERENCERS,
    TEMPLATE_TYPES,
    USUAL_ICE_MARK,
)
from promptls.systems.prompt_poet.vocabulary import ROLES, SUPERSEDED_ROLES
from promptls.systems.ragas.vocabulary import OUTPUT_TYPES
from promptls.workspace.python_names import functions_in

if TYPE_CHECKING:
    from promptls.settings.header import NamedMetric

JSON_TYPES: Final = {
    "string": "Text.",
    "integer": "A whole number.",
    "number": "Any number.",
    "boolean": "`true` or `false`.",
    "array": "A list.",
    "object": "A mapping.",
    "null": "Nothing.",
}
"""The types of JSON Schema."""
_MOST_PYTHON_FILES: Final = 20
_DATASETS: Final = (".csv", ".jsonl", ".ndjson", ".json", ".parquet")
_SAMPLES: Final = (".json", ".yml", ".yaml")

Path_ = tuple[str, ...]


def value_items(request: Request, path: Path_, *, in_header: bool) -> Iterator[Item]:
    """What the value at `path` may be; nothing where it is the user's own text."""
    if in_header or request.kind is Kind.OBJECT:
        yield from _declared(request, path)
    elif request.kind is Kind.EVALUATION:
        yield from _evaluation(request, path) or ()
        yield from _declared(request, path)
    elif path == (ITEM, "role"):
        yield from _roles(request)
    elif path == (ITEM, "expected_template_data_keys", ITEM):
        yield from _names(dict.fromkeys([*declared_inputs(request), *read_inputs(request)]), "input")
    yield from _yes_or_no(request, path, in_header=in_header)


def is_list_of_values(request: Request, path: Path_, *, in_header: bool) -> bool:
    """Whether the items of the list at `path` are single values and no mappings."""
    if path[:2] == ("examples", ITEM) and path[-1:] == (ITEM,) and len(path) > 3:  # noqa: PLR2004  (in an example)
        return "properties" not in example_schema(request, path[2:])
    fact = keys_at(request.kind, path[:-2], in_header=in_header).get(path[-2]) if len(path) > 1 else None
    words = fact.type_words if fact is not None else ""
    return path[-1:] == (ITEM,) and words.startswith(("list", "any")) and "mappings" not in words


def _table(values: Mapping[str, str], rank: int = 10) -> Iterator[Item]:
    for index, name in enumerate(values):
        yield Item(name, "enum", rank + index)


def _names(names: Mapping[str, Any], detail: str) -> Iterator[Item]:
    for index, name in enumerate(names):
        yield Item(name, "field", 10 + min(index, 80), detail=detail)


def _roles(request: Request) -> Iterator[Item]:
    known = request.snapshot.project(request.path).settings.roles
    for index, role in enumerate(dict.fromkeys([*known, *ROLES])):
        rank = (10 if role in known else 40) + index
        yield Item(role, "enum", rank, is_deprecated=role in SUPERSEDED_ROLES)


def _yes_or_no(request: Request, path: Path_, *, in_header: bool) -> Iterator[Item]:
    fact = keys_at(request.kind, path[:-1], in_header=in_header).get(path[-1]) if path else None
    if fact is not None and fact.type_words == "yes or no":
        yield from _table({"true": "", "false": ""})


# -- headers and prompt objects --------------------------------------------------------------------


def _declared(request: Request, path: Path_) -> Iterator[Item]:
    source = _DECLARED.get(path)
    if len(path) > 2:  # noqa: PLR2004  (the name of an experiment or a metric)
        source = {"experiments": _EXPERIMENT, "metrics": _METRIC}.get(path[0], {}).get(path[2:], source)
        if path[0] == "metrics" and path[2] == "columns":
            source = _dataset_columns
    if source is not None:
        yield from source(request)
    elif path[:2] == ("examples", ITEM) and len(path) > 2:  # noqa: PLR2004  (an example's key)
        yield from _schema_values(example_schema(request, path[2:]))
    elif (path[-1:] == ("type",) and path[0] in {"input_keys", "output_schema", "experiments"}) or path[
        -2:
    ] == ("type", ITEM):
        yield from _table(JSON_TYPES)
    elif path[-1:] == ("default",) and path[0] == "input_keys" and len(path) == 3:  # noqa: PLR2004  (an input's key)
        yield from _schema_values(example_schema(request, path[1:2]))


def example_schema(request: Request, path: Path_) -> Mapping[str, Any]:
    """The JSON Schema of a value in an example, by the keys that lead to it; empty where there is none."""
    if not path:
        return {}
    key = declared_inputs(request).get(path[0])
    schema: Any = key.schema if key else {}
    if path[0] == request.declarations.settings.output_key:
        schema = request.declarations.settings.output_schema
    for step in path[1:]:
        if not isinstance(schema, dict):
            return {}
        properties = schema.get("properties")
        below = properties.get(step) if isinstance(properties, dict) else None
        schema = schema.get("items") if step == ITEM else below
    return schema if isinstance(schema, dict) else {}


def _schema_values(schema: Mapping[str, Any]) -> Iterator[Item]:
    values = schema.get("enum")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield Item(str(value), "enum", 10 + min(index, 80))
    if schema.get("type") == "boolean":
        yield from _table({"true": "", "false": ""})


def _undeclared(request: Request) -> Iterator[Item]:
    declared = declared_inputs(request)
    yield from _names(
        {name: None for name in read_inputs(request) if name not in declared}, "read, not declared"
    )


def _outputs(request: Request) -> Iterator[Item]:
    declared = declared_inputs(request)
    found = {key: None for each in request.declarations.examples for key in each.data if key not in declared}
    yield from _names({str(name): None for name in found}, "key of the examples")


def _encodings(_request: Request) -> Iterator[Item]:
    from promptls.tokens.encodings import ENCODING_NAMES

    yield from _table(dict.fromkeys(ENCODING_NAMES, ""))


def _samples(request: Request) -> Iterator[Item]:
    for item in file_paths(str(Path(request.path).parent), _SAMPLES):
        if item.label != "package.json":
            yield item


def _python_files(request: Request) -> Iterator[Item]:
    yield from file_paths(str(Path(request.path).parent), (".py",))


def _datasets(request: Request) -> Iterator[Item]:
    yield from file_paths(str(Path(request.path).parent), _DATASETS)


def _engines(_request: Request) -> Iterator[Item]:
    from promptls.settings.header import Engine

    yield from _table(dict.fromkeys(get_args(Engine), ""))


def _models(request: Request) -> Iterator[Item]:
    from promptls.models.registry import PROVIDERS
    from promptls.models.weights import LOCAL_MODELS

    settings = request.snapshot.project(request.path).settings
    for name, model in settings.models.items():
        yield Item(name, "constant", 10, detail=f"{model.provider}: {model.model}")
    for name in LOCAL_MODELS:
        yield Item(f"local:{name}", "constant", 20, detail="on this machine")
    for name in request.snapshot.editor_models:
        yield Item(f"vscode:{name}", "constant", 25, detail="of the editor")
    for index, provider in enumerate(PROVIDERS):
        if provider == "echo":
            yield Item("echo", "constant", 40, detail="for tests")
        elif provider != "local":
            yield Item(f"{provider}:", "constant", 30 + index, detail="provider")


def _metrics(request: Request) -> Iterator[Item]:
    """What an experiment may name: metrics with options, those of Python files, ready ones."""
    for name, metric in named_metrics(request).items():
        yield Item(name, "function", 5, detail=f"{metric.use}, with options")
    yield from _used_metrics(request)


def named_metrics(request: Request) -> dict[str, NamedMetric]:
    """The metrics with options of the file and its project."""
    own = request.declarations.settings.metrics or {}
    return {**own, **request.snapshot.project(request.path).settings.metrics}


def metric_options(request: Request, name: str) -> Mapping[str, str]:
    """The options that the metric with this name may be given, each with its default in words."""
    metric = named_metrics(request).get(name)
    taken = taken_by(metric.use, Path(request.path).parent) if metric is not None else None
    needed = dict.fromkeys(taken.required, "needed") if taken else {}
    return {**needed, **dict.fromkeys(taken.optional if taken else (), "option")}


def _used_metrics(request: Request) -> Iterator[Item]:
    from promptls.metrics.registry import READY_METRICS

    folder = Path(request.path).parent
    for index, item in enumerate(file_paths(str(folder), (".py",))):
        if index >= _MOST_PYTHON_FILES:
            break
        functions = functions_in(str(folder / item.label)) or ()
        metrics = [each for each in functions if any(name.endswith("_metric") for name in each.decorators)]
        for function in metrics:
            yield Item(f"{item.label}:{function.name}", "function", 10, detail="metric")
    for name in READY_METRICS:
        yield Item(name, "function", 20, detail="ready")


def _dataset_columns(request: Request) -> Iterator[Item]:
    """The columns of the data sets that the file's experiments name."""
    from promptls.datasets.known import known_columns

    found: dict[str, None] = {}
    for declared in (request.declarations.settings.experiments or {}).values():
        known = known_columns(Path(request.path).parent / declared.dataset)
        found |= dict.fromkeys(known.columns)
    yield from _names({"response": None, **found}, "column")


def _input_columns(request: Request) -> Iterator[Item]:
    yield from _names(dict.fromkeys(column_names(request)), "column")


_KNOWN_VALUES: Final[dict[str, tuple[Mapping[str, str], ...]]] = {
    "role": (ROLES, DIALOGUE_ROLES),
    "fallback_role": (DIALOGUE_ROLES,),
    "output_type": (OUTPUT_TYPES,),
    "type": (RETRIEVERS, INFERENCERS, TEMPLATE_TYPES, JSON_TYPES),
}

_Source = Callable[[Request], Iterator[Item]]
_DECLARED: Final[dict[Path_, _Source]] = {
    ("input_keys", ITEM): _undeclared,
    ("output_key",): _outputs,
    ("output_type",): lambda _request: _table(OUTPUT_TYPES),
    ("encoding",): _encodings,
    ("samples",): _samples,
    ("functions",): _python_files,
}
_METRIC: Final[dict[Path_, _Source]] = {
    ("use",): _used_metrics,
    ("model",): _models,
    ("embeddings",): _models,
}
_EXPERIMENT: Final[dict[Path_, _Source]] = {
    ("dataset",): _datasets,
    ("models", ITEM): _models,
    ("metrics", ITEM): _metrics,
    ("engine",): _engines,
}

# -- evaluation prompts ------------------------------------------------------------------------------


def _evaluation(request: Request, path: Path_) -> Iterator[Item]:
    path = path[1:] if path[:1] == ("infer_cfg",) else path
    if path == ("retriever", "type"):
        yield from _table(RETRIEVERS)
    elif path == ("inferencer", "type"):
        yield from _table(INFERENCERS)
        yield from _table(dict.fromkeys(sorted(MORE_INFERENCERS), ""), 40)
    elif path[:1] == ("meta_template",) and path[-1:] == ("role",):
        yield from _table(DIALOGUE_ROLES)
    elif path[:1] == ("meta_template",) and path[-1:] == ("api_role",):
        yield from _table(dict.fromkeys(DIALOGUE_ROLES, ""))
    elif path[:1] in {("ice_template",), ("prompt_template",)}:
        if path[1:] == ("type",):
            yield from _table(TEMPLATE_TYPES)
        elif path[1:] == ("ice_token",):
            yield Item(USUAL_ICE_MARK, "value", 10, detail="by custom")
        elif path[-1] in {"role", "fallback_role"}:
            yield from _table(MESSAGE_ROLES if "messages" in path else DIALOGUE_ROLES)
    elif path in {("reader_cfg", "input_columns", ITEM), ("reader_cfg", "output_column")}:
        yield from _input_columns(request)


def value_documentation(request: Request, path: Path_, name: str) -> str:
    """What a value means, in Markdown; empty where nothing more is known than its name."""
    if path[-2:] == ("metrics", ITEM) or (path[:1] == ("metrics",) and path[2:] == ("use",)):
        return _metric_documentation(request, name)
    return known_value(path, name)


def known_value(path: Path_, name: str) -> str:
    """What the value `name` at `path` means, where it is one of those that a system knows; else empty."""
    last = next((key for key in reversed(path) if key != ITEM), "")
    return next((values[name] for values in _KNOWN_VALUES.get(last, ()) if name in values), "")


def _metric_documentation(request: Request, name: str) -> str:
    from promptls.metrics.registry import READY_METRICS, page_of_metric

    named = named_metrics(request).get(name)
    name = named.use if named is not None else name
    if name in READY_METRICS:
        return page_of_metric(name)
    file, _, attribute = name.rpartition(":")
    functions = functions_in(str(Path(request.path).parent / file)) or () if file.endswith(".py") else ()
    return next((each.documentation for each in functions if each.name == attribute), "")
