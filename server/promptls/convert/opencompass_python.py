"""Reads the datasets and models of an OpenCompass configuration in Python, without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from promptls.convert.python_interpreter import Files, Interpreter, Names, parse_configuration
from promptls.convert.python_values import as_data
from promptls.text.errors import UserError
from promptls.text.format import in_code
from promptls.text.suggest import did_you_mean

_DATASET_KEYS: Final = ("abbr", "name", "path", "reader_cfg", "infer_cfg", "eval_cfg")
_MODEL_KEYS: Final = ("type", "max_seq_len", "meta_template")
_INFER: Final = "infer_cfg"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The datasets of a file, each a mapping with `infer_cfg`, and its models.

    `unread` are expressions that could not be evaluated, and `missing` the configuration modules that were
    not found.
    """

    datasets: tuple[Mapping[str, Any], ...]
    unread: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()

    def chosen(self, name: str | None) -> Mapping[str, Any]:
        """Return the dataset with a name, or the first; raises UserError that suggests the closest name."""
        names = self.names()
        if name is None:
            return self.datasets[0]
        if name not in names:
            message = f"the file configures no dataset `{name}`{did_you_mean(name, names)}"
            raise UserError(message, remedy=f"choose one of {in_code(names)}")
        return self.datasets[names.index(name)]

    def names(self) -> tuple[str, ...]:
        """Return the names of the datasets: `abbr`, else `name`, else their index."""
        return tuple(
            str(each.get("abbr") or each.get("name") or number)
            for number, each in enumerate(self.datasets, start=1)
        )


def read_configuration(text: str, files: Files | None = None) -> Configuration:
    """Return the datasets that the file configures; raises UserError if there are none.

    They are the items of `datasets`, as in OpenCompass, else of the lists whose names end in `_datasets`;
    without such a list, one dataset is composed of the variables that end in `infer_cfg`, `reader_cfg` and
    `eval_cfg`.
    """
    interpreter = Interpreter(files)
    names = interpreter.read(parse_configuration(text))
    own = names.get("datasets")
    lists = {"datasets": own} if isinstance(own, list | tuple) else names
    found = list(_from_lists(lists)) or list(_from_lists(names)) or list(_from_variables(names))
    missing = tuple(interpreter.missing)
    if not found:
        if missing:
            raise UserError(
                f"the file configures no dataset, as `{missing[0]}` is not found",
                remedy="install OpenCompass where promptls runs, or let the setting `opencompass` name the "
                "folder of its checkout",
            )
        raise UserError(
            "the file configures no dataset with an `infer_cfg`",
            remedy="it needs a variable whose name ends in `infer_cfg`, or in `_datasets`",
        )
    datasets = tuple(as_data({key: each[key] for key in _DATASET_KEYS if key in each}) for each in found)
    models = tuple(map(_as_model, _dicts_in(names.get("models"))))
    written = str(datasets) + str(models)
    unread = [source for source in interpreter.unread if source in written]
    whole = (each for each in unread if not any(each != other and each in other for other in unread))
    return Configuration(datasets, tuple(whole), models, missing)


def datasets_in(names: Names) -> list[dict[str, Any]]:
    """Return every dataset among the variables of a file.

    Without one, the configurations that end in `infer_cfg`, each with the reader whose name differs only in
    its last word. For configurations that are copied into datasets, the copies are used.
    """
    listed = list(_from_lists(names))
    if listed:
        return listed
    found = []
    for name, value in names.items():
        if name.endswith(_INFER) and isinstance(value, dict):
            reader = names.get(f"{name.removesuffix(_INFER)}reader_cfg")
            found.append({_INFER: value, **({"reader_cfg": reader} if isinstance(reader, dict) else {})})
    return found


def models_among(names: Names) -> list[dict[str, Any]]:
    """Return the models in lists whose names end in `models`."""
    lists = [value for name, value in names.items() if name.endswith("models")]
    return [model for items in lists for model in _dicts_in(items)]


def _dicts_in(items: Any) -> list[dict[str, Any]]:
    """Return the mappings in a list, without duplicates."""
    found = items if isinstance(items, list | tuple) else ()
    return list({id(each): each for each in found if isinstance(each, dict)}.values())


def _as_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model that affect its prompts, with its OpenCompass name."""
    name = model.get("abbr") or "_".join(str(model.get("path", "")).split("/")[-2:])
    settings: dict[str, Any] = as_data({key: model[key] for key in _MODEL_KEYS if key in model})
    return {"abbr": str(name), **settings}


def _from_lists(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the datasets in lists whose names end in `datasets`, without duplicates."""
    seen: set[int] = set()
    for name, value in names.items():
        if not name.endswith("datasets") or not isinstance(value, list | tuple):
            continue
        for each in value:
            if isinstance(each, dict) and isinstance(each.get(_INFER), dict) and id(each) not in seen:
                seen.add(id(each))
                yield each


def _from_variables(names: Names) -> Iterator[dict[str, Any]]:
    """Yield the single dataset of a file that sets only the configurations."""
    found: dict[str, Any] = {}
    for name, value in names.items():
        for key in (_INFER, "reader_cfg", "eval_cfg"):
            if name.endswith(key) and isinstance(value, dict):
                found.setdefault(key, value)
    if _INFER in found:
        yield found
