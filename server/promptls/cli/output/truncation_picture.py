"""A chart of the truncation lab's result, drawn by matplotlib."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.output.truncation_bars import drawn_cell
from promptls.text.errors import FilePlace, UsageError

if TYPE_CHECKING:
    from promptls.truncation.report import CellJson, LabJson

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
    """Return the file to draw into.

    Raises UsageError where its form or its folder, or matplotlib, is missing.
    """
    path = Path(word).absolute()
    if path.suffix.lower() not in FORMS:
        raise UsageError("this is no form of a picture", FilePlace(path), f"choose one of {', '.join(FORMS)}")
    if not path.parent.is_dir():
        raise UsageError("there is no such folder", FilePlace(path.parent), "make it first")
    if find_spec("matplotlib") is None:
        raise UsageError(
            "pictures need matplotlib, which is not installed",
            remedy="pip install 'promptls[plot]', or give `--plot` no file to draw in the terminal",
        )
    return path


def save_picture(found: LabJson, path: Path) -> None:
    """Draws what each step does under the present limit, and the turns with the present and the best step."""
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
        figure.savefig(path, dpi=160, metadata=_metadata(path))


def _draw_steps(axes: Any, found: LabJson, best: CellJson) -> None:
    cells = [cell for cell in found["cells"] if cell["limit"] == best["limit"]]
    steps = [cell["step"] for cell in cells]
    axes.plot(steps, [cell["cacheRate"] for cell in cells], color=_CACHED, marker="o", markersize=4)
    axes.plot(steps, [cell["keptRate"] for cell in cells], color=_FRESH, marker="s", markersize=4)
    last = cells[-1]
    for rate, text, colour in (
        (last["cacheRate"], "read from the cache", _CACHED),
        (last["keptRate"], "kept of what fits", _FRESH),
    ):
        axes.annotate(text, (steps[-1], rate), (8, 0), textcoords="offset points", va="center", color=colour)
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


def _metadata(path: Path) -> dict[str, Any] | None:
    """Return what makes the same result the same file."""
    return {"Date": None} if path.suffix.lower() == ".svg" else None
