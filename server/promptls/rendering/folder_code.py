"""The code in a folder that rendering runs, for asking the user beforehand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from promptls.dialects.opencompass.vocabulary import EMBEDDING_RETRIEVERS
from promptls.rendering.evaluation_asking import is_package_there
from promptls.security.trust import FolderCode
from promptls.semantic.evaluation import evaluation_of
from promptls.semantic.kind import Kind
from promptls.workspace.contract import functions_path
from promptls.workspace.snapshot import Snapshot


def code_of_rendering(snapshot: Snapshot, paths: Iterable[str]) -> FolderCode:
    """Return the Python files and models that rendering the files at `paths` loads from their folders."""
    files = list(paths)
    python = dict.fromkeys(name for path in files for name in _functions(snapshot, path))
    models = dict.fromkeys(name for path in files for name in _sentence_models(snapshot, path))
    return FolderCode(tuple(python), tuple(models))


def _functions(snapshot: Snapshot, path: str) -> Iterator[str]:
    file = functions_path(snapshot, path)
    if file is not None and snapshot.exists(file):
        yield os.path.basename(file)  # noqa: PTH119 - also for a name that is invalid for a file


def _sentence_models(snapshot: Snapshot, path: str) -> Iterator[str]:
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is not Kind.EVALUATION or not is_package_there():
        return
    evaluation = evaluation_of(template.source.whole)
    if evaluation is not None and evaluation.retriever_class in EMBEDDING_RETRIEVERS:
        yield f"the sentence model of its {evaluation.retriever_class}"
