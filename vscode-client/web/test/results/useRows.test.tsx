// @vitest-environment happy-dom

import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";

import type { Source } from "../../src/results/source";
import { source } from "../../src/results/store";
import { type FoundRows, useRows } from "../../src/results/useRows";
import type { RowFilter } from "../../src/wire/results";
import { mount, unmount } from "../page";

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
  await act(() => {
    render(<Rows search="nothing" />, document.body);
  });
  await expect.poll(() => rendered.at(-1)?.total).toBe(0);
  expect(queries).toEqual([{}, { search: "nothing" }]);
});
