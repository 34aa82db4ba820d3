/** Actions on the selected or found rows: run again, export. */

import { CloseButton } from "../shared/closeButton";
import { errorMessage } from "../shared/errorMessage";
import { count, grouped } from "../shared/format";
import type { ExportForm, RowFilter, Run } from "../wire/results";
import type { Live } from "./source";
import { fail, filter, selected, source } from "./store";

const FORMS: Record<ExportForm, string> = {
  csv: "CSV",
  jsonl: "JSON lines",
  junit: "JUnit (whole run)",
  html: "HTML report (whole run)",
};

/** Actions on the selected rows or, without a selection, on all found rows. */
export function Actions({ run, total }: { run: Run; total: number }) {
  const from = source.value;
  const chosen = [...selected.value];
  const rows: RowFilter = chosen.length === 0 ? filter.value : { places: chosen };
  const rowCount =
    chosen.length === 0
      ? Object.keys(filter.value).length === 0
        ? "all"
        : count(total, "row")
      : `${grouped(chosen.length)} selected`;
  const live = from?.live;
  const again = (its: Live, fresh: boolean): void => {
    its.numbers(run.path, rows).then(
      (answer) => its.runAgain(run.prompt, { experiment: run.experiment, rows: answer.rows, fresh }),
      (error: unknown) => fail(errorMessage(error)),
    );
  };
  return (
    <>
      {live === undefined || (chosen.length === 0 && !isFiltered(filter.value)) ? null : (
        <>
          <button
            type="button"
            id="rerun"
            disabled={chosen.length === 0 && total === 0}
            title="Runs the experiment on these rows only; cached answers are reused"
            onClick={() => again(live, false)}
          >
            Run {rowCount} again
          </button>
          <button
            type="button"
            id="rerun-fresh"
            disabled={chosen.length === 0 && total === 0}
            title="Asks the models again instead of using cached answers"
            onClick={() => again(live, true)}
          >
            Fresh
          </button>
        </>
      )}
      {chosen.length === 0 ? null : (
        <CloseButton
          label="Clear the selection"
          onClick={() => {
            selected.value = new Set();
          }}
        />
      )}
      <select
        id="export"
        aria-label={`Export ${rowCount}`}
        disabled={chosen.length === 0 && total === 0}
        value=""
        onChange={(event) => {
          const form = event.currentTarget.value as ExportForm;
          event.currentTarget.value = "";
          from?.export(run.path, run.name, rows, form);
        }}
      >
        <option value="" disabled hidden>
          Export {rowCount}
        </option>
        {(from?.forms ?? []).map((form) => (
          <option key={form} value={form}>
            {FORMS[form]}
          </option>
        ))}
      </select>
    </>
  );
}

/** Returns whether the query excludes rows; sorting excludes none. */
function isFiltered(filter: RowFilter): boolean {
  return Object.keys(filter).some((key) => key !== "sort" && key !== "descending");
}
