// @vitest-environment happy-dom

import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { App } from "../../src/results/app";
import { notRun, running } from "../../src/results/runs";
import type { Live } from "../../src/results/source";
import {
  current,
  fail,
  failure,
  show,
  showNothing,
  source,
  view as shownView,
} from "../../src/results/store";
import type { Notes, Row, Thumb } from "../../src/wire/results";
import { click, find, mount, textOf, unmount } from "../page";
import { comparison, run, sourceWith, view } from "./pieces";

// Charts need a canvas.
vi.mock("../../src/shared/chart", () => ({ Chart: () => null }));
vi.mock("../../src/results/scatter", () => ({ Scatter: () => null }));

const ROWS: Row[] = [
  { place: 0, cells: { id: "T-1", row_text: "Nothing loads", response: "high", exact: "correct" } },
  { place: 1, cells: { id: "T-2", row_text: "A typo", response: "high", exact: "incorrect" } },
];

const LIVE: Live = {
  choose: () => undefined,
  open: undefined,
  note: () => Promise.resolve({ notes: {} }),
  numbers: () => Promise.reject(new Error("no rows")),
  runAgain: () => undefined,
  confirm: () => undefined,
  cancelRun: () => undefined,
};

beforeEach(async () => {
  source.value = sourceWith(ROWS);
  await mount(<App />);
});

afterEach(() => {
  unmount();
  shownView.value = undefined;
  current.value = undefined;
  notRun.value = undefined;
  running.value = [];
  failure.value = "";
});

async function openTab(name: string): Promise<void> {
  await click(find('[role="tab"]', name));
  // Answers of the source.
  await act(() => Promise.resolve());
}

it("waits for the results", () => {
  expect(textOf(".hint")).toBe("Reading the results …");
});

it("says that a prompt was not run yet", async () => {
  await act(() => {
    notRun.value = { prompt: "/triage.yml.j2", name: "triage.yml.j2" };
  });
  expect(textOf("main")).toContain("triage.yml.j2 has not been run yet.");
});

it("takes the runs of another prompt away where a prompt was not run yet", async () => {
  await act(() => {
    show(view([run("first")]), "Overview");
  });
  await act(() => {
    notRun.value = { prompt: "/triage.yml.j2", name: "triage.yml.j2" };
    showNothing();
  });
  expect(textOf("main")).toContain("triage.yml.j2 has not been run yet.");
  expect(document.querySelector("h1")).toBeNull();
});

it("says why the results cannot be read, below the results that are there", async () => {
  await act(() => {
    show(view([run("first")]), "Overview");
    fail("the table of the run does not exist");
  });
  expect(textOf('[role="alert"]')).toBe("The table of the run does not exist");
  expect(textOf("h1")).toBe("main");
});

it("shows the scores of a run", async () => {
  await act(() => {
    show(view([run("first")]), "Overview");
  });
  expect(textOf("#view")).toContain("exact");
  expect(textOf("#view")).toContain("50 %");
});

describe("the table", () => {
  beforeEach(async () => {
    await act(() => {
      show(view([run("first")]), "Overview");
    });
    await openTab("Rows");
  });

  it("shows the cells of the rows", () => {
    const grid = textOf('[role="grid"]');
    expect(grid).toContain("T-1");
    expect(grid).toContain("T-2");
    expect(grid).toContain("incorrect");
  });

  it("wraps long cells where the reader asks for it", async () => {
    expect(find(".grid.wrapped")).toBeUndefined();
    await click(find("#wrap"));
    expect(find(".grid.wrapped")).toBeDefined();
    await click(find("#wrap"));
  });

  it("shows the details of a row", async () => {
    await act(() => {
      current.value = 1;
    });
    await act(() => Promise.resolve());
    expect(textOf("#view")).toContain("Row T-2");
    expect(textOf("#view")).toContain("exactincorrect");
  });
});

describe("what the reader asks for", () => {
  const asked = vi.fn<Live["runAgain"]>();

  beforeEach(async () => {
    source.value = { ...sourceWith(ROWS), live: { ...LIVE, runAgain: asked } };
    asked.mockClear();
    await act(() => {
      show(view([run("first", { cached: 2, rows: 4 })]), "Overview");
    });
  });

  it("is told how many answers were known", () => {
    expect(textOf("#cached")).toBe("2 of 4 answers were known from earlier runs.");
  });

  it("is run again, or afresh", async () => {
    await click(find("#run-again"));
    await click(find("#run-fresh"));
    expect(asked.mock.calls.map(([, again]) => again)).toEqual([
      { experiment: "main" },
      { experiment: "main", fresh: true },
    ]);
  });

  it("is not run twice at the same time", async () => {
    await act(() => {
      running.value = [{ id: "1", experiment: "main", message: "1 of 4", share: 0.25, canCancel: false }];
    });
    await click(find("#run-fresh"));
    expect(asked).not.toHaveBeenCalled();
  });

  it("is completed where it is partial", async () => {
    expect(find("#run-others")).toBeUndefined();
    const partial = run("first", {
      isComplete: false,
      canComplete: true,
      rowsChosen: "2",
      path: "/a/first.csv",
    });
    await act(() => {
      show(view([partial]), "Overview");
    });
    await click(find("#run-others"));
    expect(asked.mock.calls.map(([, again]) => again)).toEqual([
      { experiment: "main", complete: "/a/first.csv" },
    ]);
  });

  it("keeps a note that is typed while a thumb is being kept", async () => {
    const kept: [Thumb | null, string, (answer: { notes: Notes }) => void][] = [];
    source.value = {
      ...sourceWith(ROWS),
      live: {
        ...LIVE,
        note: (_run, _place, thumb, text) =>
          new Promise((resolve) => {
            kept.push([thumb, text, resolve]);
          }),
      },
    };
    await openTab("Rows");
    await act(() => {
      current.value = 1;
    });
    await act(() => Promise.resolve());
    await click(find("#thumb-down"));
    await act(() => {
      const field = find("#note") as HTMLTextAreaElement;
      field.value = "Too vague";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await act(() => {
      kept[0]?.[2]({ notes: { "1": { thumb: "down", text: "" } } });
    });
    await act(() => {
      find("#note")?.dispatchEvent(new Event("change", { bubbles: true }));
    });
    expect(kept.map(([thumb, text]) => [thumb, text])).toEqual([
      ["down", ""],
      ["down", "Too vague"],
    ]);
  });
});

describe("a comparison", () => {
  const both = [run("first"), run("second")];

  async function compare(found: ReturnType<typeof comparison>): Promise<void> {
    await act(() => {
      show(view(both, { comparisons: [found] }), "Overview");
    });
    await openTab("Compare");
  }

  it("says what the difference of each metric means", async () => {
    await compare(comparison({}));
    expect(textOf(".compare")).toContain("better by 50 points");
  });

  it("says why two runs cannot be compared", async () => {
    await compare(comparison({}, { problem: "the runs have no row in common", metrics: [] }));
    expect(textOf(".compare")).toContain("he runs have no row in common");
  });

  it("shows rows side by side", async () => {
    await compare(comparison({}));
    expect(textOf(".compare")).toContain("T-2");
    expect(textOf(".pair-inputs")).toContain("Nothing loads");
    expect(textOf(".compare")).toContain("low");
  });

  it("is not there for one run of a report", async () => {
    await act(() => {
      show(view([run("first")]), "Overview");
    });
    expect(find('[role="tab"]', "Compare")).toBeUndefined();
  });
});
