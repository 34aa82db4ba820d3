"""Creates a prompt from a template, with its accompanying files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, Literal, get_args

from promptls.convert.parts_template import flow
from promptls.workspace.disk import has_prompt_name, stem_of

NewKind = Literal["parts", "object", "evaluation"]
Beside = Literal["sample", "dataset", "experiment"]
KINDS: Final[tuple[NewKind, ...]] = get_args(NewKind)
BESIDE: Final[tuple[Beside, ...]] = get_args(Beside)
_WORDS: Final = {
    "parts": "a parts template",
    "object": "a prompt object",
    "evaluation": "an evaluation prompt",
}

_DECLARED: Final = """\
input_keys:
  question: {type: string, description: What the user wants to know.}
output_key: answer
output_type: str
examples:
  - question: How many days are there in a week?
    answer: There are seven days in a week.
"""
_PARTS: Final = """\
- name: task
  role: system
  content: |
    Answer the question in one short sentence.

- name: question
  role: user
  content: |
    {{ escape_special_characters(question) }}
"""
_OBJECT: Final = """\
instruction: Answer the question in one short sentence.
"""
_EVALUATION: Final = """\
reader_cfg:
  input_columns: [question]
  output_column: expected
infer_cfg:
  prompt_template:
    type: PromptTemplate
    template:
      round:
        - role: HUMAN
          prompt: |-
            Answer the question in one short sentence.
            Question: {question}
        - role: BOT
          prompt: ""
  retriever: {type: ZeroRetriever}
  inferencer: {type: GenInferencer}
"""
_SAMPLE: Final = """\
short:
  question: What is the capital of France?
several lines:
  question: |
    I put two apples and three pears into a bowl.
    How many pieces of fruit are in it?
"""
_DATASET: Final = """\
id,question,expected
1,What color is the sky on a clear day?,blue
2,How many legs does a spider have?,eight
3,Which planet do we live on?,Earth
"""


def new_prompt(name: str, kind: NewKind, beside: Collection[Beside]) -> dict[str, str]:
    """Return the texts of the new files by path relative to the prompt's folder, the prompt itself first.

    An experiment includes its dataset. The rows of an evaluation prompt are its samples.
    """
    files = {f"{name}.yml.j2": "".join(_prompt(name, kind, beside))}
    if "sample" in beside and kind != "evaluation":
        files[f"samples/{name}.yml"] = _SAMPLE
    if "dataset" in beside or "experiment" in beside:
        files[f"datasets/{name}.csv"] = _DATASET
    return files


def beginnings(path: str) -> Iterator[tuple[str, str]]:
    """Yield the templates for an empty file at `path`: the title and text of each."""
    name = stem_of(path) if has_prompt_name(path) else "prompt"
    for kind in KINDS:
        yield f"Insert {_WORDS[kind]}", next(iter(new_prompt(name, kind, ()).values()))


def _prompt(name: str, kind: NewKind, beside: Collection[Beside]) -> Iterator[str]:
    dataset = flow(f"datasets/{name}.csv")
    if kind == "evaluation":
        if "dataset" in beside or "experiment" in beside:
            yield f"path: {dataset}\n"
        yield _EVALUATION
        if "experiment" in beside:
            yield _experiment(dataset)
        return
    if kind == "parts":
        yield "{#---\n"
    yield f"name: {flow(name)}\ndescription: Answers a question.\n"
    if kind == "object":
        yield _OBJECT
    yield _DECLARED
    if "sample" in beside:
        yield f"samples: {flow(f'samples/{name}.yml')}\n"
    if "experiment" in beside:
        yield _experiment(dataset)
    if kind == "parts":
        yield f"---#}}\n{_PARTS}"


def _experiment(dataset: str) -> str:
    return (
        f"experiments:\n  answers:\n    dataset: {dataset}\n    metrics: [string_presence]\n"
        "    temperature: 0\n    max_tokens: 60\n"
    )
