"""The origins of characters in an evaluation's prompts: texts of the template, and its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from oracle import recorded
from promptls.rendering.execute import execute
from promptls.rendering.job import EvaluationData, EvaluationJob, RenderJob
from promptls.rendering.outcome import Rendering, rows_of

PATH = "/project/ask.yml.j2"

FEW_SHOT = """\
{# a comment #}
reader_cfg: {input_columns: [q], output_column: a}
examples: [{q: zero, a: nothing}]
ice_template: {template: "Q {q} A {a}"}
prompt_template:
  ice_token: "</E>"
  template: |
    {{ "Be " ~ "brief." }}
    </E>So: {q}
retriever: {type: FixKRetriever, fix_id_list: [0]}
"""


def rendered(text: str, job: EvaluationJob, data: dict[str, Any]) -> Rendering | None:
    made = execute(
        RenderJob(
            path=PATH, text=text, data=data, kind="evaluation prompt", evaluation=job, with_source_map=True
        )
    )
    return made if isinstance(made, Rendering) else None


def pieces(text: str, made: Rendering) -> list[list[tuple[str, str, bool]]]:
    """Return each part's pieces: the characters, the text at their place, and whether they are equal."""
    assert made.source_map is not None
    packed = made.source_map
    return [
        [
            (part.content[start:end], text[first:last], bool(verbatim))
            for start, end, _, first, last, verbatim, *_ in rows_of(numbers)
        ]
        for part, numbers in zip(made.parts, packed["parts"], strict=True)
    ]


def test_examples_lead_to_their_template_and_values_to_their_fields() -> None:
    # The line break after the examples is OpenCompass's own.
    made = rendered(
        FEW_SHOT,
        EvaluationJob(EvaluationData(examples=({"q": "zero", "a": "nothing"},))),
        {"q": "why", "a": "x"},
    )
    assert made is not None
    assert made.string == "Be brief.\nQ zero A nothing\nSo: why\n"
    assert pieces(FEW_SHOT, made) == [
        [
            ("Be brief.", '{{ "Be " ~ "brief." }}', False),
            ("\n", "\n", True),
            ("Q ", "Q ", True),
            ("zero", "{q}", False),
            (" A ", " A ", True),
            ("nothing", "{a}", False),
            ("So: ", "So: ", True),
            ("why", "{q}", False),
            ("\n", "\n", True),
        ]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "prompt_template: &a {template: [*a]}\n",
        "prompt_template: {template: &a {round: [{role: HUMAN, prompt: '{q}'}, *a]}}\n",
        "x: &a [1, 2]\ny: &b [*a, *a]\nz: &c [*b, *b]\nprompt_template: {template: '{q}'}\n",
        "prompt_template: {template: {1: '{q}', yes: x}}\ninferencer: {type: PPLInferencer}\n",
        "infer_cfg: [prompt_template]\n",
        "infer_cfg: {prompt_template: {template: {round: 5}}}\n",
        "prompt_template: {template: '{q}', ice_token: ''}\nretriever: 5\n",
        "reader_cfg: 5\nprompt_template: {template: x}\ninferencer: x\n",
        "5\n",
    ],
)
def test_nothing_strange_in_the_yaml_is_a_crash(text: str) -> None:
    for mapped in (True, False):
        job = RenderJob(
            path=PATH,
            text=text,
            data={"q": "x"},
            kind="evaluation prompt",
            evaluation=EvaluationJob(),
            with_source_map=mapped,
        )
        assert execute(job).to_json()


@pytest.mark.parametrize("data", recorded.parameters("opencompass"))
def test_what_is_said_to_be_the_templates_text_is(data: dict[str, Any]) -> None:
    config = {
        **data["infer_cfg"],
        "reader_cfg": data["reader_cfg"],
        **({"meta_template": data["meta_template"]} if data.get("meta_template") else {}),
    }
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    if "{{" in text:
        text = f"{{% raw %}}{text}{{% endraw %}}"
    job = EvaluationJob(EvaluationData(examples=tuple(data["train"])))
    made, plain = (
        execute(
            RenderJob(
                path=PATH,
                text=text,
                data=data["test"][0],
                kind="evaluation prompt",
                evaluation=job,
                with_source_map=mapped,
            )
        )
        for mapped in (True, False)
    )
    if not isinstance(made, Rendering):
        assert made == plain
        return
    assert isinstance(plain, Rendering)
    assert replace(made, source_map=None, seconds=plain.seconds) == plain
    for part in pieces(text, made):
        assert all(shown == source for shown, source, verbatim in part if verbatim)
