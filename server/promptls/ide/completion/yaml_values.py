"""Completion of the values of keys: roles, types, models, metrics, files, columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final, get_args

from promptls.datasets.dataset_files import known_columns
from promptls.dialects.opencompass import vocabulary
from promptls.dialects.prompt_poet.vocabulary import ROLES, SUPERSEDED_ROLES
from promptls.dialects.ragas.prompt_object import OUTPUT_TYPES
from promptls.ide.completion.items import MAX_FILES, CompletionItem, Request, name_items, table_items
from promptls.ide.completion.members import column_names, declared_inputs, read_inputs
from promptls.ide.key_facts import JSON_TYPES, keys_at, known_value
from promptls.lint.analysis.declared_experiments import taken_by
from promptls.security.files import current_scope
from promptls.semantic.kind import Kind
from promptls.semantic.printed_inputs import schema_at
from promptls.settings.header import Engine, NamedMetric
from promptls.syntax.yaml.expected import ITEM
from promptls.text.escape import markdown_prose
from promptls.tokens import ENCODING_NAMES
from promptls.workspace.disk import SKIPPED_FOLDERS, has_prompt_name
from promptls.workspace.python_functions import functions_in
from promptls.workspace.snapshot import Snapshot

_MAX_VISITED: Final = 4000
_DATA: Final = frozenset(
    {".py", ".pyc", ".csv", ".jsonl", ".parquet", ".png", ".jpg", ".gz", ".zip", ".db", ".toml", ".lock"}
)
"""File name extensions that are never included."""
_JINJA: Final = frozenset({".j2", ".jinja", ".jinja2"})
"""File name extensions of templates."""


def template_paths(request: Request, keyword: str = "include") -> Iterator[CompletionItem]:
    """Yield the templates that a tag may reference, by their path from the entry template's folder.

    Prompt files come first, then other text files, which only `include` accepts; the file itself and its data
    files are left out.
    """
    settings = request.declarations.settings
    named = [settings.samples, *(each.dataset for each in settings.experiments.values())]
    seen = {name for name in named if name}
    folders = request.snapshot.search_folders(request.path)
    for rank, folder in enumerate(folders[:3]):
        for name in _files_below(folder, ()):
            path = str(Path(folder, name))
            if path == request.path or name in seen or not _is_template(name, keyword):
                continue
            seen.add(name)
            detail = "" if rank == 0 else f"from {Path(folder).name}"
            yield CompletionItem(name, "file", (10 if has_prompt_name(name) else 30) + rank, detail=detail)
    for path in request.snapshot.open_files:
        for folder in folders[:1]:
            if path != request.path and Path(path).is_relative_to(folder):
                name = Path(path).relative_to(folder).as_posix()
                if name not in seen and _is_template(name, keyword):
                    yield CompletionItem(name, "file", 10)


def file_paths(folder: str, endings: tuple[str, ...]) -> Iterator[CompletionItem]:
    """Yield the files below a folder with one of these extensions, by their path from the folder."""
    for name in _files_below(folder, endings):
        yield CompletionItem(name, "file", 10 + min(name.count("/"), 5))


def _is_template(name: str, keyword: str) -> bool:
    suffix = PurePosixPath(name).suffix.lower()
    if keyword == "include":
        return suffix not in _DATA
    return has_prompt_name(name) or suffix in _JINJA


def _files_below(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the files below a folder by relative path, nearest first; hidden folders are skipped."""
    looked_at = found = 0
    pending = [""]
    while pending and looked_at < _MAX_VISITED:
        inside = pending.pop(0)
        if not current_scope().allows(Path(folder, inside)):
            continue
        try:
            with os.scandir(Path(folder, inside)) as entries:
                known = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except (OSError, ValueError):
            continue
        for name, is_folder in known:
            looked_at += 1
            path = f"{inside}/{name}" if inside else name
            if name.startswith(".") or not name.isprintable():
                continue
            if is_folder:
                if name not in SKIPPED_FOLDERS:
                    pending.append(path)
            elif not endings or name.lower().endswith(endings):
                found += 1
                yield path
                if found >= MAX_FILES:
                    return


_MAX_PYTHON_FILES: Final = 50


def available_models(snapshot: Snapshot, path: str) -> Iterator[tuple[str, str]]:
    """Yield the models that need no further settings, each with a short description."""
    from promptls.models.weights import LOCAL_MODELS

    for name, model in snapshot.project(path).settings.models.items():
        yield name, f"{model.provider}: {model.model}"
    for name in LOCAL_MODELS:
        yield f"local:{name}", "on this machine"
    for name in snapshot.editor_models:
        yield f"vscode:{name}", "of the editor"
    yield "echo", "for tests"


def model_items(request: Request) -> Iterator[CompletionItem]:
    """Yield the models available to experiments and metrics."""
    from promptls.models.model_names import PROVIDERS

    ranks = {"local": 20, "vscode": 25, "echo": 40}
    for name, detail in available_models(request.snapshot, request.path):
        yield CompletionItem(name, "constant", ranks.get(name.partition(":")[0], 10), detail=detail)
    for index, provider in enumerate(name for name in PROVIDERS if name not in {"echo", "local"}):
        yield CompletionItem(f"{provider}:", "constant", 30 + index, detail="provider")


def metric_items(request: Request) -> Iterator[CompletionItem]:
    """Yield the metrics of experiments: metrics with options, Python functions, built-in metrics."""
    for name, metric in named_metrics(request).items():
        yield CompletionItem(name, "function", 5, detail=f"{metric.use}, with options")
    yield from used_metric_items(request)


def named_metrics(request: Request) -> dict[str, NamedMetric]:
    """Return the metrics with options of the project and the file; those of the file come before others."""
    own = request.declarations.settings.metrics
    return {**request.snapshot.project(request.path).settings.metrics, **own}


def metric_options(request: Request, name: str) -> Mapping[str, str]:
    """Return the options of the metric with this name, each with a description of its default."""
    metric = named_metrics(request).get(name)
    return options_of(metric.use, request.path) if metric is not None else {}


def options_of(use: str, path: str) -> dict[str, str]:
    """Return the options of what a metric in the file at `path` uses, each with whether it is needed."""
    taken = taken_by(use, Path(path).parent)
    needed = dict.fromkeys(taken.required if taken else (), "needed")
    return {**needed, **dict.fromkeys(taken.optional if taken else (), "option")}


def python_metrics(folder: Path) -> Iterator[str]:
    """Yield the metrics in the Python files of a folder, as `file.py:function`."""
    for item in islice(file_paths(str(folder), (".py",)), _MAX_PYTHON_FILES):
        for function in functions_in(str(folder / item.label)) or ():
            if any(name.endswith("_metric") for name in function.decorators):
                yield f"{item.label}:{function.name}"


def used_metric_items(request: Request) -> Iterator[CompletionItem]:
    """Yield the metrics that a metric with options may use: Python functions and built-in metrics."""
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS

    for name in python_metrics(Path(request.path).parent):
        yield CompletionItem(name, "function", 10, detail="metric")
    for name in BUILTIN_METRICS:
        yield CompletionItem(name, "function", 20, detail="ready")


def metric_documentation(request: Request, name: str) -> str:
    """Return the description of a metric, in Markdown; empty if it has none."""
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric

    named = named_metrics(request).get(name)
    name = named.use if named is not None else name
    if name in BUILTIN_METRICS:
        return page_of_metric(name)
    file, _, attribute = name.rpartition(":")
    functions = functions_in(str(Path(request.path).parent / file)) or () if file.endswith(".py") else ()
    return next((markdown_prose(each.documentation) for each in functions if each.name == attribute), "")


def evaluation_items(request: Request, path: tuple[str, ...]) -> Iterator[CompletionItem]:
    """Yield the allowed values at `path` of an evaluation prompt; nothing for free text."""
    path = path[1:] if path[:1] == ("infer_cfg",) else path
    if path == ("retriever", "type"):
        yield from table_items(vocabulary.RETRIEVERS)
    elif path == ("inferencer", "type"):
        yield from table_items(vocabulary.INFERENCERS)
        yield from table_items(sorted(vocabulary.MORE_INFERENCERS), 40)
    elif path[:1] == ("meta_template",) and path[-1] in {"role", "api_role"}:
        yield from table_items(vocabulary.DIALOGUE_ROLES)
    elif path[:1] in {("ice_template",), ("prompt_template",)}:
        if path[1:] == ("type",):
            yield from table_items(vocabulary.TEMPLATE_TYPES)
        elif path[1:] == ("ice_token",):
            yield CompletionItem(vocabulary.USUAL_ICE_MARK, "value", 10, detail="by custom")
        elif path[-1] in {"role", "fallback_role"}:
            yield from table_items(
                vocabulary.MESSAGE_ROLES if "messages" in path else vocabulary.DIALOGUE_ROLES
            )
    elif path in {("reader_cfg", "input_columns", ITEM), ("reader_cfg", "output_column")}:
        yield from name_items(column_names(request), "column")


_DATASETS: Final = (".csv", ".jsonl", ".ndjson", ".json", ".parquet")
_SAMPLES: Final = (".json", ".yml", ".yaml")

KeyPath = tuple[str, ...]


def value_items(request: Request, path: KeyPath, *, in_header: bool) -> Iterator[CompletionItem]:
    """Yield the allowed values at `path`; nothing for free text."""
    if in_header or request.kind is Kind.OBJECT:
        yield from _declared(request, path)
    elif request.kind is Kind.EVALUATION:
        yield from evaluation_items(request, path)
        yield from _declared(request, path)
    elif path == (ITEM, "role"):
        known = request.snapshot.project(request.path).settings.roles
        for index, role in enumerate(dict.fromkeys([*known, *ROLES])):
            rank = (10 if role in known else 40) + index
            yield CompletionItem(role, "enum", rank, is_deprecated=role in SUPERSEDED_ROLES)
    elif path == (ITEM, "expected_template_data_keys", ITEM):
        yield from name_items(dict.fromkeys([*declared_inputs(request), *read_inputs(request)]), "input")
    fact = keys_at(request.kind, path[:-1], in_header=in_header).get(path[-1]) if path else None
    if fact is not None and fact.describe_type == "yes or no":
        yield from table_items(("true", "false"))


def is_list_of_values(request: Request, path: KeyPath, *, in_header: bool) -> bool:
    """Return whether the items of the list at `path` are scalars, not mappings."""
    inside = _in_example(path)
    if len(inside) > 1 and inside[-1] == ITEM:
        return "properties" not in example_schema(request, inside)
    fact = keys_at(request.kind, path[:-2], in_header=in_header).get(path[-2]) if len(path) > 1 else None
    types = fact.describe_type if fact is not None else ""
    return path[-1:] == (ITEM,) and types.startswith(("list", "any")) and "mappings" not in types


def _in_example(path: KeyPath) -> KeyPath:
    """Return the path inside an example; empty elsewhere."""
    return path[2:] if path[:2] == ("examples", ITEM) else ()


# -- headers and prompt objects --------------------------------------------------------------------


def _declared(request: Request, path: KeyPath) -> Iterator[CompletionItem]:
    source = _DECLARED.get(path)
    below = path[2:]  # the name of an experiment or a metric
    if below:
        source = {"experiments": _EXPERIMENT, "metrics": _METRIC}.get(path[0], {}).get(below, source)
        if path[0] == "metrics" and below[0] == "columns":
            source = _dataset_columns
    if source is not None:
        yield from source(request)
    elif inside := _in_example(path):
        yield from _schema_values(example_schema(request, inside))
    elif (path[-1:] == ("type",) and path[0] in {"input_keys", "output_schema", "experiments"}) or path[
        -2:
    ] == ("type", ITEM):
        yield from table_items(JSON_TYPES)
    elif path[:1] == ("input_keys",) and below == ("default",):
        yield from _schema_values(example_schema(request, path[1:2]))


def example_schema(request: Request, path: KeyPath) -> Mapping[str, Any]:
    """Return the JSON Schema of a value in an example, by its path; empty if it is unknown."""
    if not path:
        return {}
    key = declared_inputs(request).get(path[0])
    schema: Any = key.schema if key else {}
    if path[0] == request.declarations.settings.output_key:
        schema = request.declarations.settings.output_schema
    keys = tuple("" if step == ITEM else step for step in path[1:])
    return schema_at(schema, keys) if isinstance(schema, dict) else {}


def _schema_values(schema: Mapping[str, Any]) -> Iterator[CompletionItem]:
    values = schema.get("enum")
    for index, value in enumerate(values if isinstance(values, list) else ()):
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield CompletionItem(str(value), "enum", 10 + min(index, 80))
    if schema.get("type") == "boolean":
        yield from table_items(("true", "false"))


def _undeclared(request: Request) -> Iterator[CompletionItem]:
    declared = declared_inputs(request)
    yield from name_items(
        (name for name in read_inputs(request) if name not in declared), "read, not declared"
    )


def _outputs(request: Request) -> Iterator[CompletionItem]:
    declared = declared_inputs(request)
    keys = (str(key) for each in request.declarations.examples for key in each.data if key not in declared)
    yield from name_items(dict.fromkeys(keys), "key of the examples")


def _samples(request: Request) -> Iterator[CompletionItem]:
    for item in file_paths(str(Path(request.path).parent), _SAMPLES):
        if item.label != "package.json":
            yield item


def _dataset_columns(request: Request) -> Iterator[CompletionItem]:
    """Yield the columns of the datasets of the file's experiments."""
    found: dict[str, None] = {}
    for declared in request.declarations.settings.experiments.values():
        known = known_columns(Path(request.path).parent / declared.dataset)
        found |= dict.fromkeys(known.columns)
    yield from name_items(dict.fromkeys(["response", *found]), "column")


_Source = Callable[[Request], Iterator[CompletionItem]]
_DECLARED: Final[dict[KeyPath, _Source]] = {
    ("input_keys", ITEM): _undeclared,
    ("output_key",): _outputs,
    ("output_type",): lambda _request: table_items(OUTPUT_TYPES),
    ("encoding",): lambda _request: table_items(ENCODING_NAMES),
    ("samples",): _samples,
    ("functions",): lambda request: file_paths(str(Path(request.path).parent), (".py",)),
}
_METRIC: Final[dict[KeyPath, _Source]] = {
    ("use",): used_metric_items,
    ("model",): model_items,
    ("embeddings",): model_items,
}
_EXPERIMENT: Final[dict[KeyPath, _Source]] = {
    ("dataset",): lambda request: file_paths(str(Path(request.path).parent), _DATASETS),
    ("models", ITEM): model_items,
    ("metrics", ITEM): metric_items,
    ("engine",): lambda _request: table_items(get_args(Engine)),
}


def value_documentation(request: Request, path: KeyPath, name: str) -> str:
    """Return the description of a value, in Markdown; empty if nothing but its name is known."""
    if path[-2:] == ("metrics", ITEM) or (path[:1] == ("metrics",) and path[2:] == ("use",)):
        return metric_documentation(request, name)
    return known_value(path, name)
