"""The environment of child processes, and their end with their parent."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_BASE: Final = frozenset(
    {
        # The locations of programs, libraries and temporary files.
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP", "PWD",
        "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
        # Required by Windows to start a process.
        "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
        "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "NUMBER_OF_PROCESSORS",
        "PROCESSOR_ARCHITECTURE", "OS",
        # Settings of text, time and terminals.
        "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI",
        # The locations of caches and models.
        "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "NLTK_DATA", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE",
        "SENTENCE_TRANSFORMERS_HOME", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE", "TORCH_HOME",
        "RAGAS_CACHE_HOME", "RAGAS_DO_NOT_TRACK", "RAY_ADDRESS", "RAY_TMPDIR",
        "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM",
        # Trust in HTTPS certificates. Proxy variables may contain a password: only a run gets them, by
        # NETWORK.
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    }
)  # fmt: skip
_PREFIXES: Final = ("LC_", "XDG_", "PYTHON", "COVERAGE_", "COV_CORE_", "PROMPTLS_", "PYTEST_")
NETWORK: Final = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
"""The variables for network access, in upper case; a run gets them."""
PROVIDER_KEYS: Final = frozenset(
    {
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK", "OLLAMA_API_KEY", "VLLM_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY",
        "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "TOGETHER_API_KEY",
    }
)  # fmt: skip
"""The variables with the keys of the providers in `promptls.models.providers`."""
_hidden: dict[str, str] = {}
"""The variables removed from this process, whose values are masked in all output."""
_SECRET: Final = re.compile(r"KEY|TOKEN(?!IZERS)|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def is_harmless(name: str) -> bool:
    """Return whether the variable is safe for every process."""
    upper = name.upper()
    return upper in _BASE or (upper.startswith(_PREFIXES) and not _SECRET.search(upper))


def minimal_environment(names: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that are safe for every process, and those of `names` that are set."""
    named = set(names)
    return {name: value for name, value in os.environ.items() if name in named or is_harmless(name)}


def readable_variables(names: Iterable[str], named: Collection[str] = ()) -> tuple[str, ...]:
    """Filter `names` in the settings of a project to those that its functions and metrics may read.

    The key of a provider is excluded, unless the models of a run have `named` it.
    """
    return tuple(name for name in names if name not in PROVIDER_KEYS or name in named)


def visible_variables(names: Iterable[str]) -> dict[str, str]:
    """Return those of the variables that are set, with their values."""
    return {name: os.environ[name] for name in names if name in os.environ}


def network_variables() -> frozenset[str]:
    """Return the names of the variables for network access, in the spelling of this environment."""
    return frozenset(name for name in os.environ if name.upper() in NETWORK)


def restrict_environment(names: Iterable[str]) -> dict[str, str]:
    """Remove all variables from this process except safe ones and `names`.

    Return the removed variables. Metrics and functions imported afterwards cannot read them.
    """
    named = set(names)
    removed = [name for name in os.environ if not (name in named or is_harmless(name))]
    hidden = {name: os.environ.pop(name) for name in removed}
    _hidden.update(hidden)
    return hidden


@contextmanager
def restricted_environment(names: Iterable[str]) -> Iterator[None]:
    """Hide all variables except safe ones and `names` inside the `with` block."""
    hidden = restrict_environment(names)
    try:
        yield
    finally:
        for name, value in hidden.items():
            os.environ.setdefault(name, value)
            _hidden.pop(name, None)


def whole_environment() -> dict[str, str]:
    """Return the variables of this process, including hidden ones; only for masking secrets."""
    return {**_hidden, **os.environ}


IMPORT_FOLDER: Final = Path(__file__).parents[2]
"""The folder that processes start in, which contains only promptls.

`-m` puts the working directory first on the import path: in a user's folder, a file named like a library
would be run.
"""


async def start_module(
    *module: str, names: Iterable[str] = (), messages: IO[bytes] | None = None, limit: int
) -> Process:
    """Start a module of promptls with its arguments, which reads from and writes to pipes.

    It gets the safe variables and those of `names`, and writes errors to the file `messages`. Its longest
    line has `limit` bytes.
    """
    import asyncio  # not needed where prompts are rendered

    return await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", *module],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=messages,
        limit=limit,
        cwd=IMPORT_FOLDER,
        env=minimal_environment(names),
    )


def claim_standard_output() -> TextIO:
    """Return the standard output for messages; what libraries print goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    return own


def end_with_owner() -> None:
    """Have the system end this process when the thread that started it ends; only supported by Linux.

    Elsewhere, and before this call, a process must detect the end of standard input.
    """
    if sys.platform != "linux":
        return
    import ctypes

    set_parent_death_signal = 1
    owner = os.getppid()
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:  # the parent ended just before
        os._exit(1)


def usable_cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def find_program(name: str) -> str | None:
    """Return the path of a program of the user; the working directory is not searched, unlike by Windows."""
    file = f"{name}.exe" if os.name == "nt" else name
    paths = (Path(folder, file) for folder in search_path())
    return next((str(path) for path in paths if path.is_file() and os.access(path, os.X_OK)), None)


def search_path() -> list[str]:
    """Return the folders that are searched for programs, without those relative to the working directory."""
    return [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
