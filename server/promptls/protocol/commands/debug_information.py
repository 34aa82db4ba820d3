"""`promptls.debugInformation`: what `promptls doctor` finds, and what the client said of itself."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls import __version__
from promptls.text.failure import Failure

if TYPE_CHECKING:
    from promptls.protocol.session import Session

# The doctor loads every vocabulary, which a server would keep; and it looks at the settings of the
# folder that it runs in, from which Python must not import anything.
_DOCTOR: Final = (
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
    "from promptls.cli.main import main; sys.exit(main(['doctor', '--json']))"
)


async def debug_information(
    session: Session, _arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The doctor's checks as JSON, and the facts of the session; never a secret."""
    folder = session.snapshot.roots[0] if session.snapshot.roots else str(Path.home())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _DOCTOR,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    output, errors = await process.communicate()
    try:
        checks = json.loads(output)
    except ValueError:
        said = errors.decode(errors="replace").strip().splitlines()
        raise Failure(f"`promptls doctor` failed: {said[-1] if said else 'it said nothing'}") from None
    return {
        "version": __version__,
        "client": {
            name: sorted(value) if isinstance(value, frozenset) else value
            for name, value in asdict(session.flags).items()
        },
        "encoding": session.unit.value,
        "trusted": session.trusted,
        "folders": list(session.snapshot.roots),
        "openFiles": len(session.snapshot.open_files),
        "checks": checks,
    }
