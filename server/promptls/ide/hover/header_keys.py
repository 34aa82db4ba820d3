"""Hover of header keys and of the things that their values name: datasets, functions, metrics, models."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.datasets.dataset_files import known_columns, row_lines
from promptls.dialects.ragas.saved_prompt import form_of
from promptls.dialects.ragas.saved_prompt_keys import saved_key
from promptls.ide.code_lenses import scores_text
from promptls.ide.experiment_runs import ExperimentRuns, change_text
from promptls.ide.hover.markdown import Hover, code, fact_text, sample_text
from promptls.ide.key_facts import fact_at, known_value
from promptls.ide.symbols.declared import NamedValue, file_beside, metric_file, named_metric, named_value_at
from promptls.models.providers import TABLE, price_of, window_of
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.samples import samples_of
from promptls.security.files import file_status, is_file
from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.yaml.expected import ITEM
from promptls.syntax.yaml.nodes import Node, Scalar, Sequence, key_text, scalar_text
from promptls.text.errors import UsageError, UserError
from promptls.text.escape import markdown_fence, markdown_prose, markdown_text
from promptls.text.format import in_dollars, plural
from promptls.tokens import ENCODING_NAMES, UnknownEncodingError, encoding_name
from promptls.workspace.python_functions import functions_in
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.metrics.metric import Metric


def hover_header(
    kind: Kind,
    template: Template,
    offset: int,
    latest: FileRendering | None,
    runs: Callable[[], tuple[ExperimentRuns, ...]],
) -> Hover | None:
    """Return the hover text of the key at `offset` of the file's declarations."""
    tree = template.declarations.tree
    found = _at(tree, offset) if tree else None
    if found is None:
        return None
    keys, node, is_key = found
    if not is_key:
        text = known_value(keys, scalar_text(node) or "")
        return Hover(node.span, text) if text else None
    in_header = template.header is not None
    form = form_of(template.declarations.data) if kind is Kind.OBJECT and not in_header else None
    fact = saved_key(form, keys) if form else fact_at(kind, keys, in_header=in_header)
    texts = [fact_text(fact) if fact else ""]
    if (
        keys in {("instruction",), ("prompt", "instruction")}
        and latest is not None
        and latest.rendering is not None
    ):
        rendered = plural(latest.rendering.tokens, "token")
        texts.append(f"{rendered} with {sample_text(latest.sample)}, {latest.job.encoding}")
    if keys[0] == "experiments":
        texts += [_table(each) for each in runs() if len(keys) == 1 or keys[1] == each.name]
    text = "\n\n".join(text for text in texts if text)
    return Hover(node.span, text) if text else None


def _at(node: Node, offset: int, above: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Node, bool] | None:
    """Return the innermost key or scalar at `offset`, with the path to it, and whether it is a key."""
    if isinstance(node, Scalar):
        return above, node, False
    if isinstance(node, Sequence):
        below = [((*above, ITEM), item) for item in node.items]
    else:
        below = [((*above, key_text(entry) or ""), entry.value) for entry in node.entries]
        for (keys, _), entry in zip(below, node.entries, strict=True):
            if entry.key.span.touches(offset):
                return keys, entry.key, True
    inside = (_at(each, offset, keys) for keys, each in below if each.span.touches(offset))
    return next((found for found in inside if found), None)


def _table(runs: ExperimentRuns) -> str:
    """Return the scores of the last run as a table in Markdown."""
    last = runs.last
    if last is None:
        return f"{code(runs.name)} has not been run yet"
    if not last.metrics:
        return f"{code(runs.name)}: {markdown_text(scores_text(runs))}"
    rows = [
        f"| {markdown_text(metric.name)} | {markdown_text(metric.text + change_text(last, metric))} "
        f"| {metric.scored} |"
        for metric in last.metrics
    ]
    stale = "\n\nThe prompt has changed since: these scores are stale." if last.stale else ""
    failed = f", {last.failed} failed" if last.failed else ""
    models = ", ".join(map(markdown_text, last.models))
    heading = f"{code(runs.name)}, last run {code(last.name)} with {models}: {last.rows} rows{failed}"
    return f"{heading}\n\n| metric | score | rows |\n| :-- | --: | --: |\n" + "\n".join(rows) + stale


_MAX_NAMES: Final = 20
_UNITS: Final = ("bytes", "kB", "MB", "GB")
_THOUSAND: Final = 1000
_MILLION: Final = 1_000_000
_LOGIN: Final = re.compile(r"(?<=//)[^/@]*@")
"""The user name and password in a URL."""


def hover_named(
    snapshot: Snapshot, path: str, template: Template, offset: int, latest: FileRendering | None
) -> Hover | None:
    """Return the hover text of the object named by the value at `offset`; None if it does not exist."""
    value = named_value_at(template, offset)
    if value is None:
        return None
    texts: Iterable[str]
    file = Path(file_beside(path, value.name))
    match value.kind:
        case "dataset" | "samples" | "functions" if not is_file(file):
            texts = [f"there is no file {code(file.name)} there"]
        case "dataset":
            texts = _dataset(file)
        case "samples":
            texts = _samples(snapshot, path, file, value)
        case "functions":
            texts = _functions(file)
        case "metric":
            texts = _metric(snapshot, path, value)
        case "model":
            texts = _model(snapshot, path, value)
        case "encoding":
            texts = _encoding(value.name, latest)
    text = "\n\n".join(texts)
    return Hover(value.span, text) if text else None


def _names(names: Collection[object]) -> str:
    shown = ", ".join(code(str(name)) for name in list(names)[:_MAX_NAMES])
    return f"{shown}, …" if len(names) > _MAX_NAMES else shown


def _size(file: Path) -> str:
    status = file_status(file)
    size: float = status.st_size if status else 0
    for unit in _UNITS[:-1]:
        if size < _THOUSAND:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:.3g} {_UNITS[-1]}"


def _dataset(file: Path) -> Iterator[str]:
    known = known_columns(file)
    if known.failure is not None:
        yield f"the dataset cannot be read: {markdown_prose(known.failure.message)}"
        return
    rows = len(row_lines(file))
    # For a large file, only the columns are read.
    count = f"{plural(rows, 'row')}, " if rows else ""
    yield f"dataset {code(file.name)}: {count}{_size(file)}"
    yield f"{plural(len(known.columns), 'column')}: {_names(known.columns)}"


def _samples(snapshot: Snapshot, path: str, file: Path, value: NamedValue) -> Iterator[str]:
    try:
        found = [each for each in samples_of(snapshot, path) if each.source == value.name]
    except UserError as failure:
        yield f"the samples cannot be read: {markdown_prose(failure.message)}"
        return
    count = f"{plural(len(found), 'sample')}, " if found else ""
    yield f"samples {code(file.name)}: {count}{_size(file)}"
    yield "\n".join(f"- {code(each.name)}: {_names(each.data)}" for each in found[:_MAX_NAMES])


def _functions(file: Path) -> Iterator[str]:
    found = [each for each in functions_in(str(file)) or () if each.signature]
    yield f"{plural(len(found), 'function')} that the template may call"
    if found:
        yield markdown_fence("\n".join(each.signature for each in found[:_MAX_NAMES]), "python")


def _metric(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[str]:
    """Yield the page of a built-in metric, or the signature and docstring of a function, which is not run."""
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric

    chosen = named_metric(snapshot, path, value.name)
    ready = chosen.use if chosen is not None else value.name
    if ready in BUILTIN_METRICS:
        yield _builtin_signature(BUILTIN_METRICS[ready])
        yield page_of_metric(ready)
        note = f", with the options that {code(value.name)} is given" if chosen is not None else ""
        yield f"{BUILTIN_METRICS[ready].kind} metric of promptls, ready to use{note}"
        return
    file, name = metric_file(snapshot, path, value)
    functions = (functions_in(file) or ()) if file is not None else ()
    found = next((each for each in functions if each.name == name), None)
    if file is None or found is None:
        return
    yield markdown_fence(found.signature or found.name, "python")
    if found.documentation:
        yield markdown_prose(inspect.cleandoc(found.documentation))
    kinds = [each.removesuffix("_metric") for each in found.decorators if each.endswith("_metric")]
    what = f"{kinds[0]} metric" if kinds else "metric"
    options = f", with the options that {code(value.name)} is given" if chosen is not None else ""
    yield (
        f"{what} of {code(Path(file).name)}{options}; its arguments are `response` and the columns that its "
        "parameters name"
    )


def _builtin_signature(metric: Metric) -> str:
    """Return the signature of the metric, with its columns and options."""
    from promptls.metrics.grading import MODEL_PARAMETERS

    parameters = inspect.signature(metric.function).parameters.values()
    shown = ", ".join(
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in parameters
        if each.name not in MODEL_PARAMETERS
    )
    return f"```python\n{metric.name}({shown})\n```"


def _model(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[str]:
    from promptls.models.model_names import find_model

    project = snapshot.project(path)
    try:
        reference = find_model(value.name, project.settings.models, Path(path).parent)
    except UsageError as unknown:
        yield markdown_prose(unknown.message)
        return
    provider = TABLE[reference.provider]
    yield f"{code(reference.model)} of {code(reference.provider)}: {provider.summary}"
    lines = [f"- window: {plural(window, 'token')}"] if (window := window_of(reference)) is not None else []
    price = price_of(reference)
    if (price.input, price.output) == (0.0, 0.0):
        lines.append("- price: free")
    elif price.input is not None or price.output is not None:
        shown = [
            f"{in_dollars(each * _MILLION)} for a million tokens {direction}"
            for each, direction in ((price.input, "in"), (price.output, "out"))
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
    """Yield whether an API key is set in the server's environment, without showing the key."""
    names = (own,) if own is not None else usual
    present = next((name for name in names if os.environ.get(name, "").strip()), None)
    if present is not None:
        yield f"- key: there is one in {code(present)}"
    elif names and (needs_key or own is not None):
        yield f"- key: none; {' or '.join(map(code, names))} is not set where the server runs"


def _encoding(name: str, latest: FileRendering | None) -> Iterator[str]:
    try:
        encoding = encoding_name(name)
    except UnknownEncodingError:
        return
    used = "" if encoding == name else f", which {code(name)} uses"
    default = ", the default" if encoding == ENCODING_NAMES[0] else ""
    yield f"tiktoken's encoding {code(encoding)}{default}{used}: tokens are counted with it, exactly"
    if latest is not None and latest.rendering is not None:
        yield f"the prompt with {code(latest.sample.name)}: {plural(latest.rendering.tokens, 'token')}"
