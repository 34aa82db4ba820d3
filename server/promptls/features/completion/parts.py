"""Whole pieces of a prompt file: a part, a part with sections, the header, an example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.features.completion.item import Item

_PART: Final = "- name: ${1:name}\n  role: ${2|system,user,assistant|}\n  content: |\n    $0"
_SECTIONS: Final = (
    "- name: ${1:name}\n  role: ${2|system,user,assistant|}\n  sections:\n    - name: ${3:section}\n"
    "      content: |\n        $0"
)
_TRUNCATABLE: Final = (
    "- name: ${1:name}\n  role: ${2|user,assistant|}\n  truncation_priority: ${3:1}\n  content: |\n    $0"
)
_LOOP: Final = (
    "{% for ${1:message} in ${2:messages} %}\n- name: ${1:message} {{ loop.index }}\n"
    "  role: {{ ${1:message}.role }}\n  truncation_priority: 1\n  content: |\n"
    "    {{ escape_special_characters(${1:message}.content) }}\n{% endfor %}"
)
_HEADER: Final = (
    "{#---\nname: ${1:name}\ndescription: ${2:What the prompt does.}\ninput_keys:\n"
    "  ${3:text}: {type: ${4:string}}\n---#}\n"
)
_OBJECT: Final = (
    "name: ${1:name}\ninstruction: |\n  ${2:What is to be done.}\ninput_keys: [${3:text}]\n"
    "output_key: ${4:answer}\n"
    "output_type: ${5|json,str|}\n"
)
_EVALUATION: Final = (
    "infer_cfg:\n  prompt_template:\n    type: PromptTemplate\n    template:\n      round:\n"
    '        - {role: HUMAN, prompt: "${1:Question: {question\\}}"}\n  retriever: {type: ZeroRetriever}\n'
    "  inferencer: {type: GenInferencer}\nreader_cfg:\n  input_columns: [${2:question}]\n"
    "  output_column: ${3:answer}\n"
)

_WORD: Final = re.compile(r"\ufeff?\s*[A-Za-z][\w -]*\s*")
_PLACEHOLDER: Final = re.compile(r"\$\{\d+(?::((?:[^}\\]|\\.)*)|\|([^,|]*)[^|]*\|)\}|\$\d")


def is_one_word(text: str) -> bool:
    """Whether nothing but a word stands in a file: the beginning of what its writer looks for."""
    return _WORD.fullmatch(text) is not None


def piece_documentation(label: str) -> str:
    """What a whole piece looks like, in Markdown; empty for what is none."""
    snippet = next((item.snippet for item in file_items() if item.label == label), "")
    return shown_snippet(snippet)


def shown_snippet(snippet: str) -> str:
    """A snippet as Markdown, with its placeholders filled in; empty for none."""
    text = _PLACEHOLDER.sub(lambda match: (match[1] or match[2] or "").replace("\\}", "}"), snippet)
    return f"```yaml\n{text.rstrip()}\n```" if text else ""


def part_items(*, behind_dash: bool) -> Iterator[Item]:
    """Whole parts; without their first dash where that stands already."""
    for rank, (label, snippet, detail) in enumerate(
        (
            ("part", _PART, "name, role, content"),
            ("part with sections", _SECTIONS, "name, role, sections"),
            ("part that may be truncated", _TRUNCATABLE, "with truncation_priority"),
            ("parts for a history", _LOOP, "a part for each message"),
        )
    ):
        if behind_dash and not snippet.startswith("- "):
            continue
        text = snippet.removeprefix("- ") if behind_dash else snippet
        plain = "name: " if behind_dash else "- name: "
        yield Item(
            label,
            "snippet",
            5 + rank if not behind_dash else 40 + rank,
            text=plain,
            snippet=text,
            detail=detail,
        )


def header_item() -> Item:
    """The header, for a file that has none."""
    return Item(
        "header",
        "snippet",
        3,
        text="{#---\nname: \n---#}\n",
        snippet=_HEADER,
        detail="what the prompt declares",
    )


def file_items() -> Iterator[Item]:
    """What an empty file may begin with."""
    yield header_item()
    yield from part_items(behind_dash=False)
    yield Item("prompt object", "snippet", 20, text="instruction: ", snippet=_OBJECT, detail="Ragas")
    yield Item(
        "evaluation prompt", "snippet", 21, text="infer_cfg:\n", snippet=_EVALUATION, detail="OpenCompass"
    )
