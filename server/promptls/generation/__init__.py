"""Test data out of documents: a knowledge graph, scenarios, and queries with reference answers.

The names of this package are for programs, and are imported when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptls.generation.asker import Asker
    from promptls.generation.distribution import draw_scenarios
    from promptls.generation.documents import read_documents
    from promptls.generation.draw import Draw, Group
    from promptls.generation.embedding_extractor import EmbeddingExtractor
    from promptls.generation.extractors import (
        EntityExtractor,
        Extractor,
        HeadingExtractor,
        KeyphraseExtractor,
        SummaryExtractor,
    )
    from promptls.generation.graph import KnowledgeGraph, Node, Relationship
    from promptls.generation.model_asker import AskingSettings, opened_asker
    from promptls.generation.model_extractor import (
        ModelExtractor,
        model_entities,
        model_keyphrases,
        model_summary,
    )
    from promptls.generation.relationships import (
        CosineSimilarityBuilder,
        JaccardSimilarityBuilder,
        RelationshipBuilder,
    )
    from promptls.generation.rows import rows_of, write_rows
    from promptls.generation.scenario import Persona, Sample, Scenario
    from promptls.generation.splitters import HeadingSplitter, PassageSplitter, Pieces, Splitter, pieces_of
    from promptls.generation.synthesis import Samples, generate_sample, generate_samples
    from promptls.generation.synthesizers import SYNTHESIZERS, QuerySynthesizer, Synthesizer
    from promptls.generation.transforms import (
        Parallel,
        Transform,
        apply_transforms,
        default_transforms,
        transform,
    )

_HOMES = {
    "asker": ["Asker"],
    "distribution": ["draw_scenarios"],
    "documents": ["read_documents"],
    "draw": ["Draw", "Group"],
    "embedding_extractor": ["EmbeddingExtractor"],
    "extractors": [
        "EntityExtractor",
        "Extractor",
        "HeadingExtractor",
        "KeyphraseExtractor",
        "SummaryExtractor",
    ],
    "graph": ["KnowledgeGraph", "Node", "Relationship"],
    "model_asker": ["AskingSettings", "opened_asker"],
    "model_extractor": ["ModelExtractor", "model_entities", "model_keyphrases", "model_summary"],
    "relationships": ["CosineSimilarityBuilder", "JaccardSimilarityBuilder", "RelationshipBuilder"],
    "rows": ["rows_of", "write_rows"],
    "scenario": ["Persona", "Sample", "Scenario"],
    "splitters": ["HeadingSplitter", "PassageSplitter", "Pieces", "Splitter", "pieces_of"],
    "synthesis": ["Samples", "generate_sample", "generate_samples"],
    "synthesizers": ["SYNTHESIZERS", "QuerySynthesizer", "Synthesizer"],
    "transforms": ["Parallel", "Transform", "apply_transforms", "default_transforms", "transform"],
}
_HOME = {name: f"promptls.generation.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "SYNTHESIZERS",
    "Asker",
    "AskingSettings",
    "CosineSimilarityBuilder",
    "Draw",
    "EmbeddingExtractor",
    "EntityExtractor",
    "Extractor",
    "Group",
    "HeadingExtractor",
    "HeadingSplitter",
    "JaccardSimilarityBuilder",
    "KeyphraseExtractor",
    "KnowledgeGraph",
    "ModelExtractor",
    "Node",
    "Parallel",
    "PassageSplitter",
    "Persona",
    "Pieces",
    "QuerySynthesizer",
    "Relationship",
    "RelationshipBuilder",
    "Sample",
    "Samples",
    "Scenario",
    "Splitter",
    "SummaryExtractor",
    "Synthesizer",
    "Transform",
    "apply_transforms",
    "default_transforms",
    "draw_scenarios",
    "generate_sample",
    "generate_samples",
    "model_entities",
    "model_keyphrases",
    "model_summary",
    "opened_asker",
    "pieces_of",
    "read_documents",
    "rows_of",
    "transform",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
