"""A rendered prompt for people: which line made which part, and the whole as Markdown."""

from __future__ import annotations

import json
from typing import Any

from promptls.ide.hover.hover import sample_words
from promptls.rendering.file_rendering import FileRendering, rendered_parts
from promptls.rendering.outcome import Rendering
from promptls.text.escape import markdown_fence, markdown_prose, markdown_text
from promptls.text.format import plural
from promptls.workspace.contract import included_part_names
from promptls.workspace.snapshot import Snapshot


def part_lines(snapshot: Snapshot, path: str, rendering: Rendering) -> dict[int, int]:
    """Return the line of the file, from 0, that begins each rendered part, by the part's index.

    Parts that come from another file, or cannot be told apart, are left out.
    """
    template = snapshot.template(path)
    if template is None:
        return {}
    became = rendered_parts(template, included_part_names(snapshot, path), rendering)
    return {
        part.index: template.source.place(placed.span.start).line
        for placed, parts in zip(template.parts, became, strict=False)
        for part in parts
    }


def preview_markdown(made: FileRendering, left_out: str | None = None) -> str:
    """Return the rendering as Markdown, with roles and tokens; or why there is none, with the place.

    `left_out` says what was not run for it.
    """
    lines = [
        f"# {markdown_text(made.job.path)}",
        "",
        f"with {sample_words(made.sample)}, {made.job.encoding}",
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
            lines += _fenced(failure.excerpt)
    if rendering is not None:
        limit = f" of {made.token_limit:,}" if made.token_limit else ""
        kept = f", {rendering.tokens_kept:,} kept" if rendering.tokens_kept != rendering.tokens else ""
        lines += [f"{plural(rendering.tokens, 'token')}{limit}{kept}", ""]
        for part in rendering.parts:
            cut = "" if part.kept else ", cut"
            heading = f"{markdown_text(str(part.name))} ({markdown_text(str(part.role))}"
            lines += [
                f"## {heading}, {plural(part.tokens, 'token')}{cut})",
                "",
                *_fenced(part.content),
            ]
        lines += [f"- {markdown_prose(problem.message)}" for problem in rendering.problems]
    return "\n".join(lines).rstrip("\n") + "\n"


def _fenced(content: Any) -> list[str]:
    """Return the content as a block of code, between more backticks than it holds in a row."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    return [markdown_fence(text.rstrip("\n")), ""]
