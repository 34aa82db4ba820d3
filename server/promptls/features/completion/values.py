"""The values of keys: roles, types, encodings, models, metrics, files, columns, and the file's own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from promptls.features.completion.evaluation_values import evaluation_items
from promptls.features.completion.item import Item, name_items, table_items
from promptls.features.completion.models_and_metrics import (
    metric_documentation,
    metric_items,
    model_items,
    used_metric_items,
)
from promptls.features.completion.paths import file_paths
from promptls.features.completion.request import Request
from promptls.features.completion.variables import declared_inputs, read_inputs
from promptls.features.key_facts import keys_at
from promptls.meaning.kind import Kind
from promptls.syntax.yaml.place import ITEM
from promptls.systems.opencompass.retriever_keys import RETRIEVERS
from promptls.systems.opencompass.vocabulary import (
    DIALOGUE_ROLES,
    INFERENCERS,
    TEMPLATE_TYPES,
)
from promptls.systems.prompt_poet.vocabulary import ROLES, SUPERSEDED_ROLES
from promptls.systems.ragas.vocabulary import OUTPUT_TYPES

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
        yield from evaluation_items(request, path)
        yield from _declared(request, path)
    elif path == (ITEM, "role"):
        yield from _roles(request)
    elif path == (ITEM, "expected_template_data_keys", ITEM):
        yield from name_items(dict.fromkeys([*declared_inputs(request), *read_inputs(request)]), "input")
    yield from _yes_or_no(request, path, in_header=in_header)


def is_list_of_values(request: Request, path: Path_, *, in_header: bool) -> bool:
    """Whether the items of the list at `path` are single values and no mappings."""
    if path[:2] == ("examples", ITEM) and path[-1:] == (ITEM,) and len(path) > 3:  # noqa: PLR2004  (in an example)
        return "properties" not in example_schema(request, path[2:])
    fact = keys_at(request.kind, path[:-2], in_header=in_header).get(path[-2]) if len(path) > 1 else None
    words = fact.type_words if fact is not None else ""
    return path[-1:] == (ITEM,) and words.startswith(("list", "any")) and "mappings" not in words


def _roles(request: Request) -> Iterator[Item]:
    known = request.snapshot.project(request.path).settings.roles
    for index, role in enumerate(dict.fromkeys([*known, *ROLES])):
        rank = (10 if role in known else 40) + index
        yield Item(role, "enum", rank, is_deprecated=role in SUPERSEDED_ROLES)


def _yes_or_no(request: Request, path: Path_, *, in_header: bool) -> Iterator[Item]:
    fact = keys_at(request.kind, path[:-1], in_header=in_header).get(path[-1]) if path else None
    if fact is not None and fact.type_words == "yes or no":
        yield from table_items({"true": "", "false": ""})


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
        yield from table_items(JSON_TYPES)
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
        yield from table_items({"true": "", "false": ""})


def _undeclared(request: Request) -> Iterator[Item]:
    declared = declared_inputs(request)
    yield from name_items(
        {name: None for name in read_inputs(request) if name not in declared}, "read, not declared"
    )


def _outputs(request: Request) -> Iterator[Item]:
    declared = declared_inputs(request)
    found = {key: None for each in request.declarations.examples for key in each.data if key not in declared}
    yield from name_items({str(name): None for name in found}, "key of the examples")


def _encodings(_request: Request) -> Iterator[Item]:
    from promptls.tokens.encodings import ENCODING_NAMES

    yield from table_items(dict.fromkeys(ENCODING_NAMES, ""))


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

    yield from table_items(dict.fromkeys(get_args(Engine), ""))


def _dataset_columns(request: Request) -> Iterator[Item]:
    """The columns of the data sets that the file's experiments name."""
    from promptls.datasets.known import known_columns

    found: dict[str, None] = {}
    for declared in (request.declarations.settings.experiments or {}).values():
        known = known_columns(Path(request.path).parent / declared.dataset)
        found |= dict.fromkeys(known.columns)
    yield from name_items({"response": None, **found}, "column")


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
    ("output_type",): lambda _request: table_items(OUTPUT_TYPES),
    ("encoding",): _encodings,
    ("samples",): _samples,
    ("functions",): _python_files,
}
_METRIC: Final[dict[Path_, _Source]] = {
    ("use",): used_metric_items,
    ("model",): model_items,
    ("embeddings",): model_items,
}
_EXPERIMENT: Final[dict[Path_, _Source]] = {
    ("dataset",): _datasets,
    ("models", ITEM): model_items,
    ("metrics", ITEM): metric_items,
    ("engine",): _engines,
}


def value_documentation(request: Request, path: Path_, name: str) -> str:
    """What a value means, in Markdown; empty where nothing more is known than its name."""
    if path[-2:] == ("metrics", ITEM) or (path[:1] == ("metrics",) and path[2:] == ("use",)):
        return metric_documentation(request, name)
    return known_value(path, name)


def known_value(path: Path_, name: str) -> str:
    """What the value `name` at `path` means, where it is one of those that a system knows; else empty."""
    last = next((key for key in reversed(path) if key != ITEM), "")
    return next((values[name] for values in _KNOWN_VALUES.get(last, ()) if name in values), "")
