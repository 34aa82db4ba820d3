"""Ask the real libraries again, and compare with the recorded results.

    make oracle                                                        all libraries
    PYTHONPATH=tests .venv/bin/python -m oracle.ask ragas --record     record the results of Ragas

The first time, each release of a library is installed from PyPI into its own environment below
$PROMPTLS_CACHE (~/.cache/promptls). Exits with 1 if a result differs from the recorded one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple

from oracle import recorded

CACHE = Path(os.environ.get("PROMPTLS_CACHE") or Path.home() / ".cache" / "promptls") / "oracle"
NOT_ASKED = {"opencompass": {"viewer"}}
"""Recorded results of programs that are not in the library's package."""


class Library(NamedTuple):
    """A library on PyPI."""

    package: str
    releases: tuple[str, ...]
    needs: tuple[str, ...]
    """The packages that prompts need; the library's other dependencies are not installed."""


LIBRARIES = {
    "prompt_poet": Library(
        "prompt-poet",
        ("0.0.52",),
        ("jinja2==3.1.6", "pyyaml==6.0.3", "tiktoken==0.7.0", "bpe-openai==0.1.4"),
    ),
    "ragas": Library("ragas", ("0.1.0", "0.1.3", "0.1.7", "0.1.10", "0.1.21"), ("langchain-core==0.2.43",)),
    "ragas_metrics": Library(
        "ragas",
        ("0.4.3",),
        (
            "langchain-community==0.3.31",
            "langchain-openai==1.1.9",
            "appdirs",
            "datasets",
            "diskcache",
            "gitpython",
            "instructor",
            "nest-asyncio",
            "networkx",
            "pillow",
            "rapidfuzz",
            "rouge-score==0.1.2",
            "sacrebleu==2.6.0",
            "scikit-network",
            "tiktoken",
            "typer",
        ),
    ),
    "opencompass": Library("opencompass", ("0.5.4",), ()),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"one of {', '.join(LIBRARIES)}")
    parser.add_argument("--record", action="store_true", help="write what the libraries do into the cases")
    arguments = parser.parse_args()
    unknown = set(arguments.systems) - LIBRARIES.keys()
    if unknown:
        parser.error(f"unknown system {', '.join(sorted(unknown))}; use one of {', '.join(LIBRARIES)}")
    differences = 0
    for system in arguments.systems or LIBRARIES:
        cases = recorded.cases(system)
        found = ask(system)
        different = [name for name, result in found.items() if result != cases[name].get("expected")]
        for name in different:
            print(f"\n{system}: {name}")
            show_difference(cases[name].get("expected", {}), found[name])
        print(f"{system}: {len(found) - len(different)} of {len(found)} cases as recorded")
        if arguments.record and different:
            record(system, found)
        differences += len(different)
    return 1 if differences and not arguments.record else 0


def ask(system: str) -> dict[str, Any]:
    """Return the results of a system's cases from its library, by name."""
    found: dict[str, Any] = {}
    cases = recorded.cases(system)
    for release in LIBRARIES[system].releases:
        inputs = {name: case for name, case in cases.items() if case.get("release", release) == release}
        done = subprocess.run(
            [environment(system, release), Path(__file__).with_name(f"ask_{system}.py")],
            input=json.dumps(list(inputs.values())).encode(),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            check=True,
        )
        found |= zip(inputs, json.loads(done.stdout), strict=True)
    if len(found) < len(cases):
        names = ", ".join(sorted(cases.keys() - found.keys()))
        raise SystemExit(f"{system}: LIBRARIES lacks the release of these cases: {names}. Add it there.")
    for name, result in found.items():
        for key in NOT_ASKED.get(system, set()) & cases[name].get("expected", {}).keys():
            result[key] = cases[name]["expected"][key]
    return {name: found[name] for name in cases}


def environment(system: str, release: str) -> Path:
    """Return the interpreter of an environment with a release, which is created if necessary."""
    library = LIBRARIES[system]
    folder = CACHE / f"{library.package}-{release}"
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    packages = [f"{library.package}=={release}", *library.needs]
    ready = folder / "packages.json"
    if interpreter.exists() and ready.exists() and json.loads(ready.read_text("utf-8")) == packages:
        return interpreter
    print(f"installing {library.package} {release} …", file=sys.stderr)
    venv.create(folder, clear=True, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet"]
    if library.needs:
        subprocess.run([*pip, *library.needs], check=True)
    subprocess.run([*pip, "--no-deps", packages[0]], check=True)
    ready.write_text(json.dumps(packages), "utf-8")
    return interpreter


def show_difference(before: Any, after: Any, where: str = "expected") -> None:
    """Print every value that has changed."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before | after:
            show_difference(before.get(key), after.get(key), f"{where}.{key}")
    elif before != after:
        print(f"  {where}\n    recorded {before!r}\n    now      {after!r}")


def record(system: str, found: dict[str, Any]) -> None:
    """Write the results into the files of the cases."""
    for path, inside in recorded.files(system).items():
        changed = {name: {**case, "expected": found[name]} for name, case in inside.items()}
        if changed != inside:
            recorded.write(path, changed)
            print(f"{system}: {path.name} is written")


if __name__ == "__main__":
    sys.exit(main())
