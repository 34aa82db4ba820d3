// @vitest-environment happy-dom

import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";

import type { Live, Source } from "../../src/results/source";
import { saveNote, show, source } from "../../src/results/store";
import { type FoundRows, useRows } from "../../src/results/useRows";
import type { RowFilter } from "../../src/wire/results";
import { mount, unmount } from "../page";
import { run, view } from "./pieces";

const queries: RowFilter[] = [];

afterEach(() => {
  unmount();
  source.value = undefined;
  queries.length = 0;
});

it("does not answer a query with the rows of an earlier render", async () => {
  source.value = {
    rows: (_run, filter) => {
      queries.push(filter);
      const total = filter.search === undefined ? 2 : 0;
      return Promise.resolve({ total, start: 0, rows: [] });
    },
  } as Partial<Source> as Source;
  const rendered: FoundRows[] = [];
  function Rows({ search }: { search?: string }) {
    const before = rendered.at(-1);
    rendered.push(useRows("run.csv", search === undefined ? {} : { search }));
    // The effect of a child that has not been rendered again.
    before?.need(0, 1);
    return null;
  }
  await mount(<Rows />);
  await act(() => render(<Rows search="nothing" />, document.body));
  await expect.poll(() => rendered.at(-1)?.total).toBe(0);
  expect(queries).toEqual([{}, { search: "nothing" }]);
});

it("finds a row with a note after the note is stored", async () => {
  const stored: number[] = [];
  let store = (): void => undefined;
  source.value = {
    rows: () => Promise.resolve({ total: stored.length, start: 0, rows: [] }),
    live: {
      note: (_run, place, thumb, text) =>
        new Promise((resolve) => {
          store = () => {
            stored.push(place);
            resolve({ notes: { [String(place)]: { thumb, text } } });
          };
        }),
    } as Partial<Live> as Live,
  } as Partial<Source> as Source;
  let total: number | undefined;
  function Rows() {
    ({ total } = useRows("/results/first.csv", { noted: true }));
    return null;
  }
  show(view([run("first")]));
  const saved = saveNote(1, "down", "");
  await mount(<Rows />);
  await expect.poll(() => total).toBe(0);
  store();
  await saved;
  await expect.poll(() => total).toBe(1);
});
