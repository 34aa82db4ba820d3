"""The JSON file of a knowledge graph. Its form is the one in which Ragas keeps its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptls.datasets.atomic import replaced
from promptls.generation.graph import KnowledgeGraph, Node, Relationship
from promptls.text.failure import Failure, FilePlace, WrongUse

_REMEDY = "remove the file, and it is made again from the documents"


def save(graph: KnowledgeGraph, path: Path) -> None:
    """The graph is kept at `path`; raises OSError."""
    value = {
        "nodes": [
            {"id": node.id, "type": node.type, "properties": dict(node.properties)} for node in graph.nodes
        ],
        "relationships": [
            {
                "id": each.id,
                "type": each.type,
                "source": each.source,
                "target": each.target,
                "bidirectional": each.bidirectional,
                "properties": dict(each.properties),
            }
            for each in graph.relationships
        ],
    }
    with replaced(path) as stream:
        json.dump(value, stream, ensure_ascii=False, indent=1, default=str)
        stream.write("\n")


def load(path: Path) -> KnowledgeGraph:
    """The graph at `path`; raises `WrongUse` where there is no file, and `Failure` for what is no graph."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise WrongUse("there is no such graph", FilePlace(path), "check the path") from None
    except OSError as error:
        raise Failure(f"the graph cannot be read: {error.strerror}", FilePlace(path)) from None
    except json.JSONDecodeError as error:
        place = FilePlace(path, error.lineno - 1, error.colno - 1)
        raise Failure("the graph is not valid JSON from here on", place, _REMEDY) from None
    except (ValueError, RecursionError):
        raise Failure("the graph is no JSON in UTF-8", FilePlace(path), _REMEDY) from None
    nodes, relationships = (_list(value, key, path) for key in ("nodes", "relationships"))
    try:
        return KnowledgeGraph(
            [Node(dict(each["properties"]), str(each["type"]), str(each["id"])) for each in nodes],
            [
                Relationship(
                    str(each["source"]),
                    str(each["target"]),
                    str(each["type"]),
                    dict(each["properties"]),
                    bool(each["bidirectional"]),
                )
                for each in relationships
            ],
        )
    except KeyError as error:
        raise Failure(f"something in the graph lacks {error}", FilePlace(path), _REMEDY) from None
    except (TypeError, ValueError):
        raise Failure("something in the graph is no mapping", FilePlace(path), _REMEDY) from None
    except WrongUse as error:
        raise Failure(error.message, FilePlace(path), _REMEDY) from None


def _list(value: Any, key: str, path: Path) -> list[Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, list):
        raise Failure(f"the file has no list `{key}`, so it is no graph", FilePlace(path), _REMEDY)
    return found
