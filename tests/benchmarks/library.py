"""The time of `promptls.load(…).render(…)`, compared with the real Prompt Poet.

    python tests/benchmarks/library.py                      50, 500 and 5,000 lines
    python tests/benchmarks/library.py --python PATH        with the Prompt Poet of that interpreter

The first time, Prompt Poet is installed into its own environment. Each rendering has new data, as in a chat
that grows by a turn. The run fails unless both results are equal, to the character and to the token.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from prompt_poet_environment import peer_environment
from templates import template

import promptls
from promptls.tokens import load

SIZES = (50, 500, 5_000)
REPEATS = 15
"""The number of renderings of each kind: the first, and others whose median counts."""
STEP = 100


class Kind(NamedTuple):
    """What is measured, and the corresponding job of Prompt Poet."""

    name: str
    is_counted: bool = False
    from_cache: bool = False


KINDS = (
    Kind("load, render"),
    Kind("the same, Prompt Poet with from_cache", from_cache=True),
    Kind("load, render, count, truncate", is_counted=True),
    Kind("the same, Prompt Poet with from_cache", is_counted=True, from_cache=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter that has Prompt Poet")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    interpreter = arguments.python or peer_environment()
    with tempfile.TemporaryDirectory() as folder:
        jobs = made_jobs(Path(folder), arguments.repeats)
        load("o200k_base")  # both have the vocabulary before the first measurement
        ours = [measured(job) for job in jobs]
        theirs = peer_results(interpreter, Path(folder), jobs) if interpreter else None
    print_table(jobs, ours, theirs)
    different = [
        job["name"]
        for job, our, their in zip(jobs, ours, theirs or (), strict=False)
        if same(our) != same(their)
    ]
    if different:
        sys.exit(f"promptls and Prompt Poet come to something else: {different}")


def made_jobs(folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Return the jobs, each with its own template that has not been compiled yet."""
    jobs = []
    for size in SIZES:
        for index, kind in enumerate(KINDS):
            path = folder / f"{size}-{index}.yml.j2"
            path.write_text(template(size), "utf-8")
            data = [data_of(turn) for turn in range(repeats)]
            whole = promptls.load(path, encoding=lambda text: [0] * len(text)).render(data[-1])
            # A limit that takes some turns out, in tokens of about four characters.
            limit = whole.tokens.total // 4 if kind.is_counted else -1
            jobs.append(
                {
                    "name": f"{size:,} lines: {kind.name}",
                    "path": str(path.rename(path.with_name(f"prompt-{path.name}"))),
                    "data": data,
                    "token_limit": limit,
                    "truncation_step": STEP,
                    "is_counted": kind.is_counted,
                    "from_cache": kind.from_cache,
                }
            )
    return jobs


def data_of(turn: int) -> dict[str, Any]:
    """Return the template data of the `turn`th turn of a chat."""
    roles = ("user", "assistant")
    turns = [
        {"role": roles[index % 2], "text": f"Turn {index}: what about order {index * 37}?\nIt is late."}
        for index in range(turn + 4)
    ]
    documents = [
        {"title": f"Order {index}", "text": f"It left the house on day {index}. " * 5} for index in range(3)
    ]
    return {"user": "Ann", "locale": "en", "tone": "calm", "turns": turns, "documents": documents}


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Return the time of a job in milliseconds."""
    times = []
    for data in job["data"]:
        started = time.perf_counter()
        loaded = promptls.load(
            job["path"], token_limit=job["token_limit"], truncation_step=job["truncation_step"]
        )
        prompt = loaded.render(data)
        if job["is_counted"]:
            prompt = prompt.truncate()
        text = prompt.string
        times.append(1000 * (time.perf_counter() - started))
    tokens = prompt.tokens.total if job["is_counted"] else None
    return {"first": times[0], "next": statistics.median(times[1:]), "string": text, "tokens": tokens}


def same(result: dict[str, Any]) -> tuple[Any, Any]:
    """Return the values that must be equal."""
    return result["string"], result["tokens"]


def peer_results(interpreter: Path, folder: Path, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return Prompt Poet's times for the same jobs."""
    request = folder / "jobs.json"
    request.write_text(json.dumps({"ranks": str(ranks_file(folder)), "jobs": jobs}), "utf-8")
    script = Path(__file__).with_name("prompt_poet_peer.py")
    done = subprocess.run(
        [str(interpreter), str(script), str(request)], stdout=subprocess.PIPE, text=True, check=True
    )
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def ranks_file(folder: Path) -> Path:
    """Return the vocabulary of o200k_base as a file for the peer, so that nothing is downloaded."""
    package = importlib.util.find_spec("bpe_openai")
    assert package is not None
    assert package.submodule_search_locations
    packed = Path(package.submodule_search_locations[0], "data", "o200k_base.tiktoken.gz")
    ranks = folder / "ranks"
    ranks.write_bytes(gzip.decompress(packed.read_bytes()))
    return ranks


def print_table(
    jobs: list[dict[str, Any]], ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None
) -> None:
    """Print a line for each job: milliseconds, and the ratio to Prompt Poet's time."""
    print(f"{'milliseconds':56}{'promptls':>18}{'Prompt Poet':>20}{'ratio':>16}")
    print(f"{'':56}{'first':>9}{'next':>9}{'first':>11}{'next':>9}{'first':>8}{'next':>8}")
    for index, (job, our) in enumerate(zip(jobs, ours, strict=True)):
        line = f"{job['name']:56}{our['first']:9.2f}{our['next']:9.2f}"
        if theirs is not None:
            their = theirs[index]
            line += f"{their['first']:11.2f}{their['next']:9.2f}"
            line += "".join(f"{their[key] / our[key]:7.1f}x" for key in ("first", "next"))
        print(line)


if __name__ == "__main__":
    main()
