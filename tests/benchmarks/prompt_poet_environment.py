"""A virtual environment for the real Prompt Poet, with the same Python version as promptls.

Errors of Python differ between versions: a slice as a key of a dictionary is a TypeError until 3.11.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RELEASE = "prompt-poet==0.0.52"


def peer_environment() -> Path | None:
    """Return the interpreter of an environment with Prompt Poet, created if necessary; None if that fails."""
    cache = Path(os.environ.get("PROMPTLS_CACHE") or Path.home() / ".cache" / "promptls")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = cache / f"prompt-poet-{version}" / "bin" / "python"
    if not interpreter.exists():
        print(f"installing {RELEASE} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(interpreter.parents[1])], check=True)
    check = [str(interpreter), "-c", "import prompt_poet"]
    if subprocess.run(check, capture_output=True, check=False).returncode == 0:
        return interpreter
    install = [str(interpreter), "-m", "pip", "install", "--quiet", RELEASE]
    if subprocess.run(install, check=False).returncode:
        print(f"{RELEASE} cannot be installed: nothing is compared with it.", file=sys.stderr)
        return None
    return interpreter
