"""Large files: what editors request of them is computed in time slices before it is requested."""

from __future__ import annotations

from typing import Final

from promptls.facts import recording, unrecorded
from promptls.server.context import Context
from promptls.server.progress import in_slices
from promptls.syntax.source import Source
from promptls.text.steps import Steps, finish

MANY_CHUNKS: Final = 100
"""How many new chunks take so long to analyze, some tens of milliseconds, that other files would wait."""
_FEW: Final = 20
"""How many chunks show what is read of each chunk."""


async def prepare(context: Context, path: str, source: Source) -> None:
    """Compute what the first requests about a file with the text `source` read of it."""
    await in_slices(context, _steps(context, path, source))


def _steps(context: Context, path: str, source: Source) -> Steps[None]:
    """Answer the requests for the beginning of the text, which records the facts that they read of a chunk.

    Then compute these facts of each chunk, and the results that are cached for the whole file.
    """
    from promptls.ide.document_symbols import document_symbols
    from promptls.ide.ranges import folds
    from promptls.ide.semantic_tokens import file_run_steps
    from promptls.lint.runner import check, check_steps

    beginning = context.snapshot.with_open(path, source.beginning(_FEW), 0)
    with recording(beginning.reads_about(path)) as reads:
        check(beginning, path)
        finish(file_run_steps(beginning, path, context.encoding))
        folds(beginning, path)
        document_symbols(beginning, path)
    yield
    for chunk in source.chunks:
        for column in reads.columns:
            unrecorded(column, chunk)
        yield
    snapshot = context.snapshot.with_open(path, source, 0)
    yield from check_steps(snapshot, path)
    yield from file_run_steps(snapshot, path, context.encoding)
