"""What a setting may be: the names of files, models, metrics and providers, each with what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from promptls.features.completion.paths import file_paths
from promptls.features.settings_file.place import Keys
from promptls.features.settings_file.schema import Schema
from promptls.rules.facts.named_metrics import taken_by
from promptls.workspace.python_names import functions_in
from promptls.workspace.snapshot import Snapshot

_FILES: Final = {"functions": (".py",), "dataset": (".csv", ".jsonl", ".ndjson", ".json", ".parquet")}
"""How the files end that a setting may name."""
_MOST_PYTHON_FILES: Final = 50
_TABLE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_OPTION: Final = 3
"""How many keys lead to an option of a metric: `metrics`, its name, and the option's."""


def is_name(keys: Keys) -> bool:
    """Whether names are known for the setting that `keys` lead to, though its schema may not say so."""
    return keys[:1] == ("metrics",) and len(keys) == _OPTION and keys[2] in {"model", "embeddings"}


def names(snapshot: Snapshot, path: str, text: str, keys: Keys, schema: Schema) -> Iterator[tuple[str, str]]:
    """The texts that a setting may be."""
    if "enum" in schema:
        yield from ((str(each), "") for each in schema["enum"])
        return
    last = keys[-1] if keys else ""
    if last in _FILES:
        yield from ((item.label, "") for item in file_paths(str(Path(path).parent), _FILES[last]))
    elif last == "encoding":
        from promptls.tokens.encodings import ENCODING_NAMES

        yield from ((name, "") for name in ENCODING_NAMES)
    elif last == "provider":
        from promptls.models.registry import PROVIDERS

        yield from PROVIDERS.items()
    elif last == "api_key_env":
        yield from _key_names()
    elif last == "roles":
        from promptls.systems.prompt_poet.vocabulary import ROLES

        yield from ((role, "") for role in ROLES)
    elif last == "use" or (last == "metrics" and len(keys) > 1):
        yield from _metrics(snapshot, path, with_named=last == "metrics")
    elif last in {"default_model", "models", "judge"} or is_name(keys):
        yield from _models(snapshot, path)
    elif last == "model" and value_beside(text, keys, "provider") == "local":
        from promptls.models.weights import LOCAL_MODELS

        yield from ((name, "on this machine") for name in LOCAL_MODELS)


def metric_options(path: str, text: str, keys: Keys) -> Mapping[str, str]:
    """What may be set of the metric that `keys` lead to, by its `use`; each with what it is in a word."""
    use = value_beside(text, (*keys, ""), "use")
    taken = taken_by(use, Path(path).parent) if use else None
    needed = dict.fromkeys(taken.required if taken else (), "needed")
    return {**needed, **dict.fromkeys(taken.optional if taken else (), "option")}


def value_beside(text: str, keys: Keys, name: str) -> str:
    """The text that stands under another key of the same table; empty where none is found.

    The table is found by its name, on a line of its own or as one line of another, broken or not.
    """
    *around, _ = keys
    header = re.search(rf"^[ \t]*\[[ \t]*(?:tool\.promptls\.)?{_dotted(around)}[ \t]*\]", text, re.MULTILINE)
    if header is not None:
        next_table = _TABLE.search(text, header.end())
        section = text[header.end() : next_table.start() if next_table else len(text)]
        found = re.search(rf"^[ \t]*{name}[ \t]*=[ \t]*[\"']([^\"'\r\n]*)", section, re.MULTILINE)
    else:
        begin = rf"^[^\r\n]*\b{re.escape(around[-1])}[ \t]*=[ \t]*{{[^\r\n]*"
        value = rf"\b{name}[ \t]*=[ \t]*[\"']([^\"'\r\n]*)"
        found = re.search(begin + value, text, re.MULTILINE)
    return found[1] if found else ""


def _dotted(keys: list[str]) -> str:
    return r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys)


def _metrics(snapshot: Snapshot, path: str, *, with_named: bool) -> Iterator[tuple[str, str]]:
    from promptls.metrics.registry import READY_METRICS

    if with_named:
        for name, metric in snapshot.project(path).settings.metrics.items():
            yield name, f"{metric.use}, with options"
    folder = Path(path).parent
    for index, item in enumerate(file_paths(str(folder), (".py",))):
        if index >= _MOST_PYTHON_FILES:
            break
        for function in functions_in(str(folder / item.label)) or ():
            if any(name.endswith("_metric") for name in function.decorators):
                yield f"{item.label}:{function.name}", "metric"
    yield from ((name, "ready metric") for name in READY_METRICS)


def _models(snapshot: Snapshot, path: str) -> Iterator[tuple[str, str]]:
    from promptls.models.weights import LOCAL_MODELS

    for name, model in snapshot.project(path).settings.models.items():
        yield name, f"{model.provider}: {model.model}"
    for name in LOCAL_MODELS:
        yield f"local:{name}", "on this machine"
    for name in snapshot.editor_models:
        yield f"vscode:{name}", "of the editor"
    yield "echo", "for tests"


def _key_names() -> Iterator[tuple[str, str]]:
    from promptls.models.providers import TABLE

    for provider, row in TABLE.items():
        yield from ((name, provider) for name in row.key_envs)
