/** Selects the columns of the table. */

import { type Item, Picker, searchItems } from "../shared/picker";
import type { Run } from "../wire/results";
import { usualColumns } from "./columns";
import { chosenColumns, columns } from "./store";

const USUAL = "\u0000usual";

export function ColumnPicker({ run }: { run: Run }) {
  const shown = columns.value;
  const more = run.columns.filter((column) => !shown.includes(column));
  const items: Item[] = [
    ...(chosenColumns.value === undefined ? [] : [{ key: USUAL, label: "Default columns", group: "" }]),
    ...run.columns
      .filter((column) => shown.includes(column))
      .map((column) => ({ key: column, label: column, group: "Shown" })),
    ...more.map((column) => ({ key: column, label: column, group: "More" })),
  ];
  return (
    <Picker
      id="columns"
      label="Columns"
      current={<span>Columns</span>}
      placeholder="Show or hide a column"
      search={(query) => searchItems(items, query)}
      isCurrent={({ key }) => shown.includes(key)}
      onChoose={({ key }) => {
        if (key === USUAL) {
          chosenColumns.value = undefined;
        } else if (shown.includes(key)) {
          chosenColumns.value = shown.length === 1 ? shown : shown.filter((column) => column !== key);
        } else {
          chosenColumns.value = [...(chosenColumns.value ?? usualColumns(run)), key];
        }
      }}
    />
  );
}
