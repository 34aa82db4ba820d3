/** The rows of the run: filters, table, and details of the selected row. */

import type { Run } from "../wire/results";
import { Details } from "./details";
import { Filters } from "./filters";
import { Grid } from "./grid";
import { current, filter } from "./store";
import { useRows } from "./useRows";

export function Rows({ run }: { run: Run }) {
  const found = useRows(run.path, filter.value);
  const place = current.value;
  return (
    <div class={place === undefined ? "rows" : "rows with-details"}>
      <Filters run={run} total={found.total} />
      {found.failure === "" ? null : (
        <p class="failure" role="alert">
          {found.failure}
        </p>
      )}
      <Grid run={run} found={found} />
      {place === undefined ? null : <Details key={`${run.path} ${place}`} run={run} place={place} />}
    </div>
  );
}
