"""Results of the real OpenCompass for each case; see `peer.py` for how it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import peer

# Importing all of OpenCompass takes PyTorch, Transformers and MMEngine, which no case needs.
peer.without_init(
    "opencompass",
    "opencompass.utils",
    "opencompass.models",
    "opencompass.openicl",
    "opencompass.openicl.icl_retriever",
)
peer.absent(
    "datasets", "mmengine", "torch", "tqdm",
    "opencompass.registry", "opencompass.utils.logging", "opencompass.openicl.utils",
)  # fmt: skip
sys.modules["tqdm"] = SimpleNamespace(trange=lambda count, **_: range(count))  # type: ignore[assignment]
sys.modules["opencompass.utils"].get_logger = peer.Absent  # type: ignore[attr-defined]

from opencompass.models.base import LMTemplateParser  # noqa: E402 - the rest must be out of the way
from opencompass.models.base_api import APITemplateParser  # noqa: E402
from opencompass.openicl.icl_prompt_template import PromptTemplate  # noqa: E402
from opencompass.openicl.icl_raw_prompt_template import RawPromptTemplate  # noqa: E402
from opencompass.openicl.icl_retriever.icl_base_retriever import BaseRetriever  # noqa: E402

sys.modules["opencompass.openicl.icl_retriever"].BaseRetriever = BaseRetriever  # type: ignore[attr-defined]

from opencompass.openicl.icl_retriever.icl_fix_k_retriever import FixKRetriever  # noqa: E402
from opencompass.openicl.icl_retriever.icl_sliding_k_retriever import SlidingWindowRetriever  # noqa: E402
from opencompass.openicl.icl_retriever.icl_zero_retriever import ZeroRetriever  # noqa: E402

CLASSES = {
    each.__name__: each
    for each in (PromptTemplate, RawPromptTemplate, FixKRetriever, SlidingWindowRetriever, ZeroRetriever)
}


class Rows(list[Any]):
    """Rows by number, and columns by name, as in a dataset of Hugging Face."""

    def __getitem__(self, key: Any) -> Any:
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def ask(case: dict[str, Any]) -> dict[str, Any]:
    infer = case["infer_cfg"]
    keys = ("ice_template", "prompt_template")
    templates: dict[str, Any] = dict.fromkeys(keys)
    made = outcome(lambda: templates.update({key: built(infer[key]) for key in keys if key in infer}))
    if "error" in made:
        return made
    reader = SimpleNamespace(**case["reader_cfg"])
    dataset = SimpleNamespace(reader=reader, train=case["train"], test=Rows(case["test"]))
    retriever = built({**infer["retriever"], "dataset": dataset})
    picked = retriever.retrieve()
    found: dict[str, Any] = {
        "prompt_type": {key: its.prompt_type if its else None for key, its in templates.items()},
        "ice_idx": picked,
    }
    meta = outcome(lambda: parser(case) and None)
    if "error" in meta:
        found["meta_template_error"] = meta["error"]
    count = min(case.get("count", 1), len(case["test"]))
    found["items"] = [item(case, retriever, templates, picked[index], index) for index in range(count)]
    return found


def built(config: dict[str, Any]) -> Any:
    """Return an object of the class in a configuration, built like OpenCompass's registry does."""
    arguments = {key: value for key, value in config.items() if key != "type"}
    return CLASSES[config.get("type", "PromptTemplate")](**arguments)


def parser(case: dict[str, Any]) -> Any:
    """Return the prompt parser for the model of a case."""
    make = APITemplateParser if case.get("api") else LMTemplateParser
    return make(case.get("meta_template"))


def item(
    case: dict[str, Any], retriever: Any, templates: dict[str, Any], picked: list[int], index: int
) -> dict[str, Any]:
    """Return the examples and the prompts of one row."""
    kept: list[Any] = []
    ice = outcome(lambda: keep(retriever.generate_ice(picked, templates["ice_template"]), kept))
    found: dict[str, Any] = {"ice": ice}
    if "error" in ice:
        return found
    found["ice_python_type"] = type(kept[0]).__name__
    if picked:
        rows, column = case["train"], case["reader_cfg"]["output_column"]
        found["ice_items"] = [
            outcome(lambda row=rows[number]: templates["ice_template"].generate_ice_item(row, row[column]))
            for number in picked
        ]
    if case["infer_cfg"].get("inferencer", {}).get("type") != "PPLInferencer":
        found["generate_item"] = prompt(
            case, lambda: retriever.generate_prompt_for_generate_task(index, kept[0], **templates), "gen"
        )
        return found
    labels = retriever.get_labels(**templates)
    found["labels"] = {"value": labels}
    found["by_label"] = {
        str(label): prompt(
            case,
            lambda label=label: retriever.generate_label_prompt(
                index, kept[0], label, **templates, remain_sep=None
            ),
            "ppl",
        )
        for label in labels
    }
    return found


def prompt(case: dict[str, Any], make: Any, mode: str) -> dict[str, Any]:
    """Return a prompt, and its text or messages without and with the meta template."""
    kept: list[Any] = []
    found = outcome(lambda: keep(make(), kept))
    if "error" in found:
        return found
    found = {**found, "python_type": type(kept[0]).__name__} if mode == "gen" else {"prompt": found}
    found["no_meta"] = outcome(lambda: LMTemplateParser(None).parse_template(kept[0], mode))
    if case.get("meta_template") and "error" not in outcome(lambda: parser(case) and None):
        found["with_meta"] = outcome(lambda: parser(case).parse_template(kept[0], mode))
    return found


def keep(value: Any, kept: list[Any]) -> Any:
    """Return a value, and record it unchanged; `outcome` stores it as JSON."""
    kept.append(value)
    return value


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    """Return the value of a call or its error; the message of a KeyError is the key."""
    try:
        return {"value": peer.plain(call())}
    except KeyError as error:
        return {"error": {"type": "KeyError", "message": str(error.args[0])}}
    except Exception as error:  # noqa: BLE001 - whatever it raises is its result
        return {"error": peer.described(error)}


if __name__ == "__main__":
    peer.answer(ask)
