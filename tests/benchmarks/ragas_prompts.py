"""Compares `promptls.Prompt` with the real Ragas on generated prompt objects.

    python tests/benchmarks/ragas_prompts.py                       both releases, 2,000 objects each
    python tests/benchmarks/ragas_prompts.py --python 0.1.0=PATH   with the Ragas of that interpreter

The first time, each release is installed into its own environment. Prints the number of compared objects, and
fails at the first difference.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ragas_peer import outcome

from promptls import Prompt

RELEASES = ("0.1.0", "0.1.21")
NAMES = ("question", "context", "answer", "a b", "", "a.b", "ünïcode", "0")
TEXTS = ("", "plain", "a\nb", "{", "}", "{question}", "{{answer}}", '{"a": 1}', "é ✓", '"quoted"', "[1, 2]")
VALUES: tuple[Any, ...] = (*TEXTS, None, 5, 2.5, True, [], {}, ["a"], {"a": {"b": "{c}"}}, [{"x": "y"}])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="RELEASE=PATH")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    given = dict(word.split("=", 1) for word in arguments.python)
    for release in RELEASES:
        interpreter = Path(given[release]) if release in given else environment(release)
        jobs = made_jobs(random.Random(arguments.seed), arguments.count)
        theirs = peer_outcomes(interpreter, jobs)

        def make(of: str = release, **fields: Any) -> Prompt:
            return Prompt(ragas_version=of, **fields)

        for job, their in zip(jobs, theirs, strict=True):
            our = outcome(make, job)
            if our != their:
                different = [key for key in their if our.get(key) != their[key]]
                reported = [f"  Ragas    {their[key]!r}\n  promptls {our.get(key)!r}" for key in different]
                sys.exit("\n".join([f"Ragas {release}: {different} of {json.dumps(job)}", *reported]))
        accepted = sum(their["accepted"] for their in theirs)
        formatted = sum(their.get("formatted") is not None for their in theirs)
        print(f"Ragas {release}: {len(jobs):,} alike, {accepted:,} accepted, {formatted:,} formatted")


def made_jobs(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Return prompt objects, valid and invalid, with inputs to format them with."""
    return [made_job(chance) for _ in range(count)]


def made_job(chance: random.Random) -> dict[str, Any]:
    keys = chance.sample(NAMES, chance.choice((1, 1, 2, 3)))
    output = chance.choice(("output", "output", "answer"))
    fields: dict[str, Any] = {
        "name": chance.choice(("triage", "a.b", "é", "")),
        "instruction": chance.choice(("Answer.", "Answer {question}", "Give {{x}}", *TEXTS)),
        "input_keys": keys,
        "output_key": output,
        "output_type": chance.choice(("json", "json", "str", "JSON", "string")),
        "examples": [
            {key: chance.choice(VALUES) for key in [*keys, output] if chance.random() > 0.03}
            for _ in range(chance.choice((0, 1, 1, 2)))
        ],
    }
    if chance.random() < 0.3:
        fields["output_format_instruction"] = chance.choice(TEXTS)
    if chance.random() < 0.3:
        fields["language"] = chance.choice(("german", "日本語"))
    for key in list(fields):
        if chance.random() < 0.04:
            del fields[key]
        elif chance.random() < 0.04:
            fields[key] = chance.choice(VALUES)
    if fields.get("language") == "" or "\n" in f"{fields.get('name')}{fields.get('language')}":
        return made_job(chance)  # Ragas saves under any name, promptls only under valid names of files
    inputs = {key: chance.choice(VALUES) for key in keys if key and chance.random() > 0.05}
    if chance.random() < 0.05:
        inputs["more"] = 1
    return {"fields": fields, "inputs": inputs}


def environment(release: str) -> Path:
    """Return the interpreter of an environment with this Ragas, created if necessary."""
    cache = Path(os.environ.get("PROMPTLS_CACHE") or Path.home() / ".cache" / "promptls")
    interpreter = cache / f"ragas-{release}" / "bin" / "python"
    if not interpreter.exists():
        print(f"installing Ragas {release} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(interpreter.parents[1])], check=True)
    check = [str(interpreter), "-c", "import ragas.llms.prompt"]
    if subprocess.run(check, capture_output=True, check=False).returncode:
        packages = [f"ragas=={release}", *(f"langchain{part}<0.3" for part in ("", "-core", "-community"))]
        others = ("langchain-openai<0.2", "pyarrow<20")  # newer ones do not go together with it
        install = [str(interpreter), "-m", "pip", "install", "--quiet", *packages, *others]
        subprocess.run(install, check=True)
    return interpreter


def peer_outcomes(interpreter: Path, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the outcomes of the same prompt objects in the real Ragas."""
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "jobs.json"
        request.write_text(json.dumps(jobs), "utf-8")
        script = Path(__file__).with_name("ragas_peer.py")
        done = subprocess.run(
            [str(interpreter), str(script), str(request)], stdout=subprocess.PIPE, text=True, check=True
        )
    outcomes: list[dict[str, Any]] = json.loads(done.stdout)
    return outcomes


if __name__ == "__main__":
    main()
