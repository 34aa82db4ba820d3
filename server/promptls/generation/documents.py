"""The documents that test data is made from, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from promptls.generation.graph import CONTENT, DOCUMENT, SOURCE, Node
from promptls.models.keys import key_mask
from promptls.text.failure import Failure, FilePlace, WrongUse
from promptls.text.nearest import did_you_mean

ENDINGS: Final = (".md", ".markdown", ".rst", ".txt")
"""The endings of documents that are looked for in folders."""

_CONVERTED: Final = {".pdf", ".docx", ".doc", ".odt", ".pptx", ".epub", ".html", ".htm"}


def read_documents(paths: Iterable[Path], base: Path | None = None) -> list[Node]:
    """A node for each document at the paths; of a folder, for each one below it, in the order of names.

    `source` is the path from `base`, or the name alone of a file that does not lie below it. What the
    environment holds as a secret is taken out of the texts. Raises `WrongUse` for a path that leads to no
    text, and where there is none at all.
    """
    mask = key_mask()
    nodes: dict[Path, Node] = {}
    for path in paths:
        for file in _files(path):
            if file.resolve() in nodes:
                continue
            text = mask.mask(_text(file))
            if text.strip():
                properties = {CONTENT: text, SOURCE: _shown(file, base)}
                nodes[file.resolve()] = Node(properties, DOCUMENT)
    if not nodes:
        raise WrongUse("the documents hold no text", remedy="name text files, or folders that have some")
    return list(nodes.values())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in ENDINGS and each.is_file()]
    if not found:
        listed = ", ".join(f"`{ending}`" for ending in ENDINGS)
        raise WrongUse("there is no document in the folder", FilePlace(path), f"documents end in {listed}")
    # What stands in a hidden folder was written for no reader.
    yield from (each for each in found if not any(part[0] == "." for part in each.relative_to(path).parts))


def _text(file: Path) -> str:
    if file.suffix.lower() in _CONVERTED:
        raise WrongUse(
            f"documents of the form `{file.suffix}` are not read",
            FilePlace(file),
            "turn it into Markdown or plain text first",
        )
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        names = [each.name for each in file.parent.iterdir()] if file.parent.is_dir() else []
        raise WrongUse(
            f"the document does not exist{did_you_mean(file.name, names)}", FilePlace(file), "check the path"
        ) from None
    except UnicodeDecodeError:
        raise WrongUse("the document is no text in UTF-8", FilePlace(file), "save it in UTF-8") from None
    except OSError as error:
        raise Failure(f"the document cannot be read: {error.strerror}", FilePlace(file)) from None


def _shown(file: Path, base: Path | None) -> str:
    try:
        return file.resolve().relative_to((base or Path.cwd()).resolve()).as_posix()
    except ValueError:
        return file.name
