"""A rendered prompt as Markdown, the lines of its parts, and its token counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

from promptls.ide.hover.markdown import sample_text
from promptls.models.model import ModelReference
from promptls.models.model_names import find_model
from promptls.models.providers import price_of, window_of
from promptls.rendering.file_rendering import FileRendering, TokenRange, rendered_parts
from promptls.rendering.outcome import Rendering
from promptls.semantic.kind import Kind
from promptls.text.errors import UsageError
from promptls.text.escape import markdown_fence, markdown_prose, markdown_text
from promptls.text.format import plural
from promptls.tokens import UnknownEncodingError, chat_tokens, encoding_name
from promptls.tokens.tokenizer_files import encoding_title
from promptls.workspace.contract import included_part_names
from promptls.workspace.snapshot import Snapshot


def part_lines(snapshot: Snapshot, path: str, rendering: Rendering) -> dict[int, int]:
    """Return the 0-based line of the file that begins each rendered part, by the part's index.

    Parts from other files, or that cannot be distinguished, are left out.
    """
    template = snapshot.template(path)
    if template is None:
        return {}
    by_part = rendered_parts(template, included_part_names(snapshot, path), rendering)
    return {
        part.index: template.source.line_column(placed.span.start).line
        for placed, parts in zip(template.parts, by_part, strict=False)
        for part in parts
    }


def preview_markdown(made: FileRendering, left_out: str | None = None, title: str | None = None) -> str:
    """Return the rendering as Markdown, with roles and tokens; or the error with its location.

    `left_out` describes what was not run for it. The title is the path of the file by default.
    """
    lines = [
        f"# {markdown_text(title or made.job.path)}",
        "",
        f"with {sample_text(made.sample)}, {encoding_title(made.job.encoding)}",
        "",
    ]
    if left_out is not None:
        lines += [left_out, ""]
    rendering, failure = made.rendering, made.failure
    if failure is not None:
        place = f"{failure.path or made.job.path}:{failure.line + 1}: " if failure.line is not None else ""
        lines += [
            "**It does not render.**",
            "",
            f"{markdown_text(place)} {markdown_prose(failure.message)}".lstrip(),
            "",
        ]
        if failure.excerpt:
            lines += _fence(failure.excerpt)
    if rendering is not None:
        limit = f" of {made.token_limit:,}" if made.token_limit else ""
        retained = f", {rendering.tokens_kept:,} kept" if rendering.tokens_kept != rendering.tokens else ""
        lines += [f"{plural(rendering.tokens, 'token')}{limit}{retained}", ""]
        for part in rendering.parts:
            cut = "" if part.kept else ", cut"
            heading = f"{markdown_text(str(part.name))} ({markdown_text(str(part.role))}"
            lines += [
                f"## {heading}, {plural(part.tokens, 'token')}{cut})",
                "",
                *_fence(part.content),
            ]
        lines += [f"- {markdown_prose(problem.message)}" for problem in rendering.problems]
    return "\n".join(lines).rstrip("\n") + "\n"


def _fence(content: Any) -> list[str]:
    """Return the content as a fenced code block, with more backticks than it contains in a row."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    return [markdown_fence(text.rstrip("\n")), ""]


class TokenReport(NamedTuple):
    """The token counts of a rendered prompt."""

    total: int
    as_chat: int | None
    """The tokens of the retained parts as chat messages; None if the chat format is not public."""
    ranges: tuple[TokenRange | None, ...]
    """For each rendered part, its range over the dataset's rows; None if it has none of its own."""
    model: str | None
    window: int | None
    """The model's context window, in tokens."""
    cost: float | None
    """The cost of the prompt's tokens in US dollars; None if no price is known."""


def token_report(snapshot: Snapshot, made: FileRendering, model: ModelReference | None) -> TokenReport | None:
    """Return the token report of a rendering; None if there is no rendering."""
    rendering = made.rendering
    if rendering is None:
        return None
    retained = [part.tokens for part in rendering.parts if part.kept]
    as_chat = chat_tokens(retained, made.job.encoding)
    return TokenReport(
        total=rendering.tokens,
        as_chat=as_chat,
        ranges=_ranges(snapshot, made, rendering),
        model=model.name if model else None,
        window=window_of(model) if model else None,
        cost=price_of(model).cost(as_chat or rendering.tokens_kept, None) if model else None,
    )


def model_of(snapshot: Snapshot, path: str) -> ModelReference | None:
    """Return the first model of the file's experiments, if it is known."""
    template = snapshot.template(path)
    experiments = (template.declarations.settings.experiments if template else None) or {}
    names = [name for experiment in experiments.values() for name in experiment.models]
    try:
        return find_model(names[0], snapshot.project(path).settings.models) if names else None
    except UsageError:
        return None


def encoding_of(model: ModelReference) -> str | None:
    """Return the name of the encoding that counts the model's tokens; None if its tokenizer is unknown."""
    try:
        encoding_name(model.model)
    except UnknownEncodingError:
        return None
    return model.model


def report_json(made: FileRendering, report: TokenReport) -> dict[str, Any]:
    """Return the report as JSON; counts are tokens, `cost` is US dollars, shares are between 0 and 1."""
    rendering = made.rendering
    assert rendering is not None
    rows = made.rows
    return {
        "total": report.total,
        "kept": rendering.tokens_kept,
        "asChat": report.as_chat,
        "limit": made.token_limit,
        "encoding": made.job.encoding,
        "approximate": made.is_approximate,
        "sample": made.sample.name,
        "model": report.model,
        "window": report.window,
        "windowShare": report.total / report.window if report.window else None,
        "cost": report.cost,
        "rows": {"dataset": rows.dataset, "count": rows.rows, **_range_json(rows.total)} if rows else None,
        "parts": [
            {
                "name": part.name,
                "role": part.role,
                "tokens": part.tokens,
                "kept": part.kept,
                "sections": [{"name": each.name, "tokens": each.tokens} for each in part.sections],
                **_range_json(tokens),
            }
            for part, tokens in zip(rendering.parts, report.ranges, strict=True)
        ],
    }


def _range_json(tokens: TokenRange | None) -> dict[str, int]:
    return {} if tokens is None else {"min": tokens.minimum, "median": tokens.median, "max": tokens.maximum}


def _ranges(snapshot: Snapshot, made: FileRendering, rendering: Rendering) -> tuple[TokenRange | None, ...]:
    found: list[TokenRange | None] = [None] * len(rendering.parts)
    path = made.job.path
    template = snapshot.template(path)
    of_parts = made.rows.parts if made.rows else ()
    if template is None or snapshot.kind(path) is not Kind.PARTS or len(of_parts) != len(template.parts):
        return tuple(found)
    by_part = rendered_parts(template, included_part_names(snapshot, path), rendering)
    for token_range, rendered in zip(of_parts, by_part, strict=True):
        if len(rendered) == 1:
            found[rendered[0].index] = token_range
    times = Counter(part.name for part in rendering.parts)
    for part in rendering.parts:
        if times[part.name] == 1 and made.rows is not None and part.name in made.rows.included:
            found[part.index] = made.rows.included[part.name]
    return tuple(found)
