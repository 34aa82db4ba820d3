"""Generation of test data from documents: knowledge graphs, scenarios, and queries with reference answers."""

from promptls.testset.documents import (
    HeadingSplitter,
    PassageSplitter,
    Pieces,
    Splitter,
    pieces_of,
    read_documents,
)
from promptls.testset.graph import KnowledgeGraph, Node, Relationship
from promptls.testset.model_asker import AskingSettings, opened_asker
from promptls.testset.scenarios import Draw, Group, Persona, Scenario
from promptls.testset.synthesis import (
    GeneratedSample,
    Samples,
    generate_sample,
    generate_samples,
    rows_of,
    write_rows,
)
from promptls.testset.synthesizers import SYNTHESIZERS, draw_scenarios
from promptls.testset.synthesizers.base_query import QuerySynthesizer
from promptls.testset.transforms import (
    CosineSimilarityBuilder,
    EmbeddingExtractor,
    Extractor,
    HeadingExtractor,
    JaccardSimilarityBuilder,
    KeyphraseExtractor,
    NERExtractor,
    Parallel,
    RelationshipBuilder,
    SummaryExtractor,
    Transform,
    apply_transforms,
    default_transforms,
    transform,
)
from promptls.testset.transforms.extractors import (
    Asker,
    ModelExtractor,
    model_entities,
    model_keyphrases,
    model_summary,
)

__all__ = [
    "SYNTHESIZERS",
    "Asker",
    "AskingSettings",
    "CosineSimilarityBuilder",
    "Draw",
    "EmbeddingExtractor",
    "Extractor",
    "GeneratedSample",
    "Group",
    "HeadingExtractor",
    "HeadingSplitter",
    "JaccardSimilarityBuilder",
    "KeyphraseExtractor",
    "KnowledgeGraph",
    "ModelExtractor",
    "NERExtractor",
    "Node",
    "Parallel",
    "PassageSplitter",
    "Persona",
    "Pieces",
    "QuerySynthesizer",
    "Relationship",
    "RelationshipBuilder",
    "Samples",
    "Scenario",
    "Splitter",
    "SummaryExtractor",
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
