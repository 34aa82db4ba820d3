"""`promptls truncate`: the truncation lab as a table or picture."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.arguments import whole_number
from promptls.cli.permission import add_trust_argument, trust_to_render
from promptls.cli.safe_stream import live_progress
from promptls.cli.terminal import Column, TableRow, paint, print_failure, print_json, printed_path, table
from promptls.text.errors import FilePlace, UsageError
from promptls.text.format import in_code, plural

if TYPE_CHECKING:
    from rich.progress import TaskID

    from promptls.rendering.job import LabRequest
    from promptls.rendering.outcome import RenderFailure
    from promptls.rendering.worker import Limits
    from promptls.truncation.lab_report import BestJson, CellJson, LabJson
    from promptls.workspace.snapshot import Snapshot


DESCRIPTION = """\
Simulate a growing chat, truncate each turn to the token limit as Prompt Poet does, and show for
each truncation step how many tokens are read from the provider's prefix cache and how much of
the chat is kept. Recommends the step with the best combination. The chats are rows of the
dataset that contain a list of messages, or the file's sample; missing turns are made up.
Functions files are run, so their folder must be trusted; on a terminal, you are asked once.

examples:
  promptls truncate chat.yml.j2
  promptls truncate chat.yml.j2 --limit 2000,4000 --turns 60
  promptls truncate chat.yml.j2 --step 100,400 --cache openai
  promptls truncate chat.yml.j2 --plot truncation.svg

exit codes: 0 done, 1 rendering or truncation failed, 2 usage error"""

WIDTH = 100
"""The width that text is wrapped at."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file, the limits and steps to try, the chat and the output format."""
    parser.add_argument("file", metavar="FILE", help="the prompt file (a list of parts)")
    tried = parser.add_argument_group("candidates")
    tried.add_argument(
        "--limit", metavar="TOKENS", type=whole_numbers, help="token limits, separated by commas"
    )
    tried.add_argument("--step", metavar="TOKENS", type=whole_numbers, help="steps, separated by commas")
    tried.add_argument(
        "--cache",
        metavar="NAME",
        help="prefix cache to simulate: exact, openai, anthropic, google, deepseek, vllm (default: by model)",
    )
    chat = parser.add_argument_group("chat")
    chat.add_argument("--input", metavar="NAME", help="input that grows (default: the one that adds parts)")
    chat.add_argument("--turns", metavar="N", type=whole_number, help="number of turns")
    data = chat.add_mutually_exclusive_group()
    data.add_argument("--rows", metavar="N", type=whole_number, help="use the first N rows of the dataset")
    data.add_argument("--sample", metavar="NAME", help="use the sample with this name")
    form = parser.add_argument_group("output")
    form.add_argument(
        "--plot",
        metavar="FILE",
        help="draw a chart to FILE (.svg, .png or .pdf)",
    )
    form.add_argument("--json", action="store_true", help="print the complete result as JSON")
    add_trust_argument(parser)


def whole_numbers(word: str) -> tuple[int, ...]:
    """Parse comma-separated numbers, each 1 or more."""
    return tuple(whole_number(each.strip()) for each in word.split(","))


def execute(arguments: argparse.Namespace) -> int:
    """Explore and print; return 1 if the prompt does not render, or cannot be truncated to its limit."""
    from promptls.cli.chosen_files import choose_one, refuse_other_files
    from promptls.experiments.history import measured_cache
    from promptls.lint.runner import explained
    from promptls.rendering.make import limits_for
    from promptls.rendering.outcome import RenderFailure

    picture = picture_file(arguments.plot) if arguments.plot is not None else None
    chosen, path = choose_one(arguments.file)
    refuse_other_files(chosen.snapshot, path)
    trust_to_render(chosen, [path], this_time=arguments.trust)
    snapshot = chosen.snapshot
    request = _request(snapshot, path, arguments)
    found = asyncio.run(_explore(request, limits_for(snapshot, path), quiet=arguments.json))
    if isinstance(found, RenderFailure):
        print_failure(explained(snapshot, path, found), path)
        return 1
    found["measured"] = measured_cache(Path(path))
    if arguments.json:
        print_json(found)
    else:
        _print(found, request)
    if picture is not None:
        save_picture(found, picture)
        print(f"The picture is in {printed_path(picture)}.", file=sys.stderr)
    return int(any(cell["failures"] for cell in found["cells"] if cell["limit"] == _shown_limit(found)))


def _request(snapshot: Snapshot, path: str, arguments: argparse.Namespace) -> LabRequest:
    from promptls.rendering.lab import LabOptions, lab_request
    from promptls.rendering.samples import sample_named

    limits: tuple[int, ...] = arguments.limit or ()
    steps: tuple[int, ...] = arguments.step or ()
    sample = sample_named(snapshot, path, arguments.sample) if arguments.sample else None
    options = LabOptions(
        limit=limits[0] if len(limits) == 1 else None,
        step=steps[0] if len(steps) == 1 else None,
        limits=limits if len(limits) > 1 else (),
        steps=steps if len(steps) > 1 else (),
        turns=arguments.turns,
        rows=arguments.rows,
        input=arguments.input,
        cache=arguments.cache,
    )
    return lab_request(snapshot, path, options, sample)


async def _explore(request: LabRequest, limits: Limits, *, quiet: bool) -> LabJson | RenderFailure:
    from promptls.rendering.lab import explore

    if quiet or not sys.stderr.isatty():
        return await explore(request, limits)

    with live_progress() as bar:
        tasks: dict[str, TaskID] = {}

        def notify(what: str, done: int, count: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=count)
            bar.update(tasks[what], completed=done)

        return await explore(request, limits, notify)


def _shown_limit(found: LabJson) -> int:
    """Return the limit whose steps are shown individually: the current one, or else the middle one."""
    if found["limit"] in found["limits"]:
        return int(found["limit"] or 0)
    return found["limits"][len(found["limits"]) // 2]


def _print(found: LabJson, request: LabRequest) -> None:
    limit = _shown_limit(found)
    best = next(each for each in found["best"] if each["limit"] == limit)
    print("\n".join(_heading(found, request, limit)), end="\n\n")
    cells = [cell for cell in found["cells"] if cell["limit"] == limit]
    columns = [Column("", "left"), *(Column(name, "right") for name in _COLUMNS)]
    print(table(columns, (_row(cell, found, best) for cell in cells)))
    print(f"\n{fill('Best: ' + best['reason'], WIDTH)}")
    others = [each for each in found["best"] if each["limit"] != limit]
    if others:
        print("\nUnder other limits:")
        print(table(_OTHER_COLUMNS, (_other_row(each, found["cells"]) for each in others)))
    if found["unstable"]:
        part, tokens = found["unstable"]["part"], plural(found["unstable"]["tokens"], "token")
        why = (
            f"Note: the part `{part}` differs from turn to turn, and is never cut: only the {tokens} ahead "
            "of it can be read from a cache, whatever the step. Put it after the chat."
        )
        print(f"\n{fill(why, WIDTH)}")


_COLUMNS = ("step", "from cache", "kept", "lost needlessly", "new beginnings")
_OTHER_COLUMNS = (
    Column("  limit", "right"),
    Column("best step", "right"),
    Column("from cache", "right"),
    Column("kept", "right"),
)


def _heading(found: LabJson, request: LabRequest, limit: int) -> Iterator[str]:
    first = found["chats"][0]
    turns = len(first["tokens"])
    made_up = "all made up" if first["generated"] == turns else f"{first['generated']} of them made up"
    made_up = f", {made_up}" if first["generated"] else ""
    names = in_code(chat["name"] for chat in found["chats"])
    path = paint(printed_path(request.job.path), "bold")
    yield f"{path} with {names} ({first['source']}), {found['encoding']}"
    grows = f"`{found['input']}` grows over {plural(turns, 'turn')}{made_up}"
    yield f"{grows}, to {max(first['tokens']):,} tokens; the limit is {limit:,}"
    yield paint(f"cache: {found['cache']['name']}, {found['cache']['description']}", "dim")
    if (measured := found.get("measured")) is not None:
        models = " and ".join(measured["models"])
        share = f"{measured['cacheRate']:.0%} of the input tokens"
        yield paint(f"measured: {share} were read from the cache of {models} in {measured['run']}", "dim")


def _row(cell: CellJson, found: LabJson, best: BestJson) -> TableRow:
    turns = sum(len(chat["tokens"]) for chat in found["chats"])
    is_best = cell["step"] == best["step"]
    is_present = cell["step"] == found["step"]
    mark = "best" if is_best else "now" if is_present else ""
    cells = (
        mark,
        f"{cell['step']:,}",
        f"{cell['cacheRate']:.0%}",
        f"{cell['keptRate']:.0%}",
        f"{cell['needless'] / max(turns, 1):,.0f} a turn",
        f"{cell['breaks']:,} of {turns:,}",
    )
    return TableRow(cells, "green" if is_best else "bold" if is_present else None)


def _other_row(best: BestJson, cells: Sequence[CellJson]) -> TableRow:
    limit, step = best["limit"], best["step"]
    cell = next((each for each in cells if (each["limit"], each["step"]) == (limit, step)), None)
    if cell is None:
        return TableRow((f"{limit:,}", "any" if "never reaches" in best["reason"] else "none", "", ""))
    return TableRow((f"{limit:,}", f"{step:,}", f"{cell['cacheRate']:.0%}", f"{cell['keptRate']:.0%}"))


FORMS: Final = (".svg", ".png", ".pdf")
_CACHED, _FRESH, _LOST, _BEST = "#2f7d5b", "#e0a526", "#d5d9de", "#b3261e"
_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a9099",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "figure.facecolor": "white",
}


def picture_file(word: str) -> Path:
    """Return the file for the chart.

    Raises UsageError if its format is unsupported, or its folder or matplotlib is missing.
    """
    path = Path(word).absolute()
    if path.suffix.lower() not in FORMS:
        raise UsageError("this is not a picture format", FilePlace(path), f"choose one of {', '.join(FORMS)}")
    if not path.parent.is_dir():
        raise UsageError("there is no such folder", FilePlace(path.parent), "create it first")
    if find_spec("matplotlib") is None:
        raise UsageError(
            "pictures need matplotlib, which is not installed",
            remedy="pip install 'promptls[plot]'",
        )
    return path


def save_picture(found: LabJson, path: Path) -> None:
    """Draw the effect of each step under the current limit, and the turns with the current and best step."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    best = drawn_cell(found)
    present = drawn_cell(found, found["step"] or 1)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10.5, 7.2), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.05, 1))
        above, below = halves
        _draw_steps(above.subplots(1, 1), found, best)
        shown = [best] if best is present else [present, best]
        for axes, cell in zip(
            below.subplots(1, len(shown), sharey=True, squeeze=False)[0], shown, strict=True
        ):
            _draw_turns(axes, cell, "best" if cell is best else "now", found)
        figure.suptitle(
            f"{Path(found['path']).name}: `{found['input']}` under a limit of {best['limit']:,} tokens",
            x=0.01,
            ha="left",
            fontsize=13,
            fontweight="bold",
        )
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _draw_steps(axes: Any, found: LabJson, best: CellJson) -> None:
    cells = [cell for cell in found["cells"] if cell["limit"] == best["limit"]]
    steps = [cell["step"] for cell in cells]
    axes.plot(steps, [cell["cacheRate"] for cell in cells], color=_CACHED, marker="o", markersize=4)
    axes.plot(steps, [cell["keptRate"] for cell in cells], color=_FRESH, marker="s", markersize=4)
    last = cells[-1]
    for rate, text, color in (
        (last["cacheRate"], "read from the cache", _CACHED),
        (last["keptRate"], "kept of what fits", _FRESH),
    ):
        axes.annotate(text, (steps[-1], rate), (8, 0), textcoords="offset points", va="center", color=color)
    axes.axvline(best["step"], color=_BEST, linewidth=1, linestyle="--", zorder=0)
    axes.annotate(
        f"best: {best['step']:,}", (best["step"], 1.0), (4, 2), textcoords="offset points", color=_BEST
    )
    axes.set_ylim(0, 1.04)
    axes.margins(x=0.02)
    axes.yaxis.set_major_formatter(lambda share, _place: f"{share:.0%}")
    axes.xaxis.set_major_formatter(lambda step, _place: f"{step:,.0f}")
    axes.grid(axis="y", color="#e6e9ed", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("truncation step, in tokens")
    axes.set_title(f"What a step costs and gains (cache: {found['cache']['name']})")


def _draw_turns(axes: Any, cell: CellJson, word: str, found: LabJson) -> None:
    turns = cell["turns"]
    numbers = range(1, len(turns["tokens"]) + 1)
    fresh = [kept - cached for kept, cached in zip(turns["tokens"], turns["cached"], strict=True)]
    axes.bar(numbers, turns["cached"], width=0.9, color=_CACHED, label="from the cache")
    axes.bar(numbers, fresh, width=0.9, bottom=turns["cached"], color=_FRESH, label="new")
    axes.bar(numbers, turns["lost"], width=0.9, bottom=turns["tokens"], color=_LOST, label="cut")
    axes.axhline(cell["limit"], color=_BEST, linewidth=1)
    axes.set_xlim(0.4, len(turns["tokens"]) + 0.6)
    axes.yaxis.set_major_formatter(lambda tokens, _place: f"{tokens:,.0f}")
    chat = found["chats"][0]
    axes.set_xlabel("turn, all made up" if chat["generated"] == len(numbers) else f"turn of {chat['name']}")
    axes.set_title(f"Step {cell['step']:,} ({word}): {cell['cacheRate']:.0%} from the cache")
    if word == "best":
        axes.legend(loc="upper left", ncols=3, handlelength=1, columnspacing=1.2, fontsize=9)


def drawn_cell(found: LabJson, step: int | None = None) -> CellJson:
    """Return the cell of a step, by default the best one, under the current limit, or the middle one."""
    limit = _shown_limit(found)
    if step is None:
        step = next(best["step"] for best in found["best"] if best["limit"] == limit)
    cells = [cell for cell in found["cells"] if cell["limit"] == limit]
    return next((cell for cell in cells if cell["step"] == step), cells[0])
