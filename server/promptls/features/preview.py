"""A rendered prompt for people: which line made which part, and the whole as Markdown."""

from __future__ import annotations

import json
from typing import Any

from promptls.rendering.file_rendering import FileRendering, rendered_parts
from promptls.rendering.outcome import Rendering
from promptls.text.counted import counted
from promptls.workspace.included_parts import included_part_names
from promptls.workspace.snapshot import Snapshot


def part_lines(snapshot: Snapshot, path: str, rendering: Rendering) -> dict[int, int]:
    """The line of the file, from 0, that begins each rendered part, by the part's index.

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


def preview_markdown(made: FileRendering) -> str:
    """The rendering as Markdown, with roles and tokens; or why there is none, with the place."""
    lines = [
        f"# {made.job.path}",
        "",
        f"with `{made.sample.name}` ({made.sample.source}), {made.job.encoding}",
        "",
    ]
    rendering, failure = made.rendering, made.failure
    if failure is not None:
        place = f"{failure.path or made.job.path}:{failure.line + 1}: " if failure.line is not None else ""
        lines += ["**It does not render.**", "", f"{place}{failure.message}", ""]
        if failure.excerpt:
            lines += _fenced(failure.excerpt)
    if rendering is not None:
        limit = f" of {made.token_limit:,}" if made.token_limit else ""
        kept = f", {rendering.tokens_kept:,} kept" if rendering.tokens_kept != rendering.tokens else ""
        lines += [f"{counted(rendering.tokens, 'token')}{limit}{kept}", ""]
        for part in rendering.parts:
            cut = "" if part.kept else ", cut"
            lines += [
                f"## {part.name} ({part.role}, {counted(part.tokens, 'token')}{cut})",
                "",
                *_fenced(part.content),
            ]
        lines += [f"- {problem.message}" for problem in rendering.problems]
    return "\n".join(lines).rstrip("\n") + "\n"


def _fenced(content: Any) -> list[str]:
    """The content as a block of code, between more backticks than it holds in a row."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, text.rstrip("\n"), fence, ""]
