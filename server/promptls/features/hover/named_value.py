"""What a value of the header names: a data set, samples, functions, a metric, a model, an encoding."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.features.hover.hover import Hover, code
from promptls.features.named_values import NamedValue, file_beside, metric_file, named_metric, named_value_at
from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering
from promptls.text.counted import counted
from promptls.text.dollars import in_dollars
from promptls.text.failure import Failure
from promptls.workspace.python_names import functions_in
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.metrics.metric import Metric

_MOST_NAMES: Final = 20
_UNITS: Final = ("bytes", "kB", "MB", "GB")
_THOUSAND: Final = 1000
_MILLION: Final = 1_000_000
_LOGIN: Final = re.compile(r"(?<=//)[^/@]*@")
"""A name and a password in an address."""


def hover_named(
    snapshot: Snapshot, path: str, template: Template, offset: int, newest: FileRendering | None
) -> Hover | None:
    """What is known of what the value at `offset` names; None where it names nothing that is there."""
    value = named_value_at(template, offset)
    if value is None:
        return None
    match value.kind:
        case "dataset":
            texts = _dataset(Path(file_beside(path, value.name)))
        case "samples":
            texts = _samples(snapshot, path, value)
        case "functions":
            texts = _functions(Path(file_beside(path, value.name)))
        case "metric":
            texts = _metric(snapshot, path, value)
        case "model":
            texts = _model(snapshot, path, value)
        case "encoding":
            texts = _encoding(value.name, newest)
    text = "\n\n".join(texts)
    return Hover(value.span, text) if text else None


def _names(names: Collection[str]) -> str:
    shown = ", ".join(code(name) for name in list(names)[:_MOST_NAMES])
    return f"{shown}, …" if len(names) > _MOST_NAMES else shown


def _size(file: Path) -> str:
    size: float = file.stat().st_size
    for unit in _UNITS[:-1]:
        if size < _THOUSAND:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:.3g} {_UNITS[-1]}"


def _dataset(file: Path) -> Iterator[str]:
    from promptls.datasets.known import known_columns, row_lines

    if not file.is_file():
        yield f"there is no file {code(file.name)} there"
        return
    known = known_columns(file)
    if known.failure is not None:
        yield f"the data set cannot be read: {known.failure.message}"
        return
    rows = len(row_lines(file))
    # Of a large file only the columns are read.
    count = f"{counted(rows, 'row')}, " if rows else ""
    yield f"data set {code(file.name)}: {count}{_size(file)}"
    yield f"{counted(len(known.columns), 'column')}: {_names(known.columns)}"


def _samples(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[str]:
    from promptls.rendering.samples import samples_of

    file = Path(file_beside(path, value.name))
    if not file.is_file():
        yield f"there is no file {code(file.name)} there"
        return
    try:
        found = [each for each in samples_of(snapshot, path) if each.source == value.name]
    except Failure as failure:
        yield f"the samples cannot be read: {failure.message}"
        return
    count = f"{counted(len(found), 'sample')}, " if found else ""
    yield f"samples {code(file.name)}: {count}{_size(file)}"
    yield "\n".join(f"- {code(each.name)}: {_names(each.data)}" for each in found[:_MOST_NAMES])


def _functions(file: Path) -> Iterator[str]:
    if not file.is_file():
        yield f"there is no file {code(file.name)} there"
        return
    found = [each for each in functions_in(str(file)) or () if each.signature]
    yield f"{counted(len(found), 'function')} that the template may call"
    if found:
        yield "```python\n" + "\n".join(each.signature for each in found[:_MOST_NAMES]) + "\n```"


def _metric(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[str]:
    """The page of a ready metric, else the signature and documentation of the function, which is not run."""
    from promptls.metrics.registry import READY_METRICS, page_of_metric

    chosen = named_metric(snapshot, path, value.name)
    ready = chosen.use if chosen is not None else value.name
    if ready in READY_METRICS:
        yield _ready_signature(READY_METRICS[ready])
        yield page_of_metric(ready)
        given = f", with the options that {code(value.name)} is given" if chosen is not None else ""
        yield f"{READY_METRICS[ready].kind} metric of promptls, ready to use{given}"
        return
    file, name = metric_file(snapshot, path, value)
    functions = (functions_in(file) or ()) if file is not None else ()
    found = next((each for each in functions if each.name == name), None)
    if file is None or found is None:
        return
    yield f"```python\n{found.signature or found.name}\n```"
    if found.documentation:
        yield inspect.cleandoc(found.documentation)
    kinds = [each.removesuffix("_metric") for each in found.decorators if each.endswith("_metric")]
    what = f"{kinds[0]} metric" if kinds else "metric"
    options = f", with the options that {code(value.name)} is given" if chosen is not None else ""
    yield (
        f"{what} of {code(Path(file).name)}{options}; its arguments are `response` and the columns that its "
        "parameters name"
    )


def _ready_signature(metric: Metric) -> str:
    """The metric with its columns and options, as a call."""
    from promptls.metrics.judge import ASKED

    parameters = inspect.signature(metric.function).parameters.values()
    shown = ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in parameters
        if each.name not in ASKED
    )
    return f"```python\n{metric.name}({shown})\n```"


def _model(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[str]:
    from promptls.models.prices import price_of
    from promptls.models.providers import TABLE
    from promptls.models.registry import find_model
    from promptls.models.windows import window_of
    from promptls.text.failure import WrongUse

    project = snapshot.project(path)
    try:
        reference = find_model(value.name, project.settings.models, Path(path).parent)
    except WrongUse as unknown:
        yield unknown.message
        return
    provider = TABLE[reference.provider]
    yield f"{code(reference.model)} of {code(reference.provider)}: {provider.summary}"
    lines = [f"- window: {counted(window, 'token')}"] if (window := window_of(reference)) is not None else []
    price = price_of(reference)
    if (price.input, price.output) == (0.0, 0.0):
        lines.append("- price: free")
    elif price.input is not None or price.output is not None:
        shown = [
            f"{in_dollars(each * _MILLION)} for a million tokens {words}"
            for each, words in ((price.input, "in"), (price.output, "out"))
            if each is not None
        ]
        lines.append(f"- price: {', '.join(shown)}")
    lines += _key_lines(reference.api_key_env, provider.key_envs, needs_key=provider.needs_key)
    if reference.base_url is not None:
        lines.append(f"- asked at {code(_LOGIN.sub('', reference.base_url))}")
    yield "\n".join(lines)
    if value.name in project.settings.models and project.path is not None:
        yield f"named in {code(project.path.name)}"


def _key_lines(own: str | None, usual: tuple[str, ...], *, needs_key: bool) -> Iterator[str]:
    """Whether there is a key in the environment of the server; the key itself is never shown."""
    names = (own,) if own is not None else usual
    present = next((name for name in names if os.environ.get(name, "").strip()), None)
    if present is not None:
        yield f"- key: there is one in {code(present)}"
    elif names and (needs_key or own is not None):
        yield f"- key: none; {' or '.join(map(code, names))} is not set where the server runs"


def _encoding(name: str, newest: FileRendering | None) -> Iterator[str]:
    from promptls.tokens.encodings import ENCODING_NAMES, UnknownEncodingError, encoding_name

    try:
        meant = encoding_name(name)
    except UnknownEncodingError:
        return
    used = "" if meant == name else f", which {code(name)} uses"
    default = ", the default" if meant == ENCODING_NAMES[0] else ""
    yield f"tiktoken's encoding {code(meant)}{default}{used}: tokens are counted with it, exactly"
    if newest is not None and newest.rendering is not None:
        yield f"the prompt with {code(newest.sample.name)}: {counted(newest.rendering.tokens, 'token')}"
