/** Selects the columns of the table. */

import { type Item, Picker } from "../shared/picker";
import type { Run } from "../wire/results";
import { usualColumns } from "./columns";
import { chosenColumns, columns } from "./store";

const USUAL = "\u0000usual";

export function ColumnPicker({ run }: { run: Run }) {
  const search = (query: string): Promise<{ items: Item[]; more: boolean }> => {
    const found = run.columns.filter((column) => column.toLowerCase().includes(query.toLowerCase()));
    const shown = new Set(columns.value);
    const items = [
      ...(chosenColumns.value === undefined ? [] : [{ key: USUAL, label: "Default columns", group: "" }]),
      ...found.map((column) => ({ key: column, label: column, group: shown.has(column) ? "Shown" : "More" })),
    ];
    const order = ["", "Shown", "More"];
    return Promise.resolve({
      items: items.sort((left, right) => order.indexOf(left.group) - order.indexOf(right.group)),
      more: false,
    });
  };
  return (
    <Picker
      id="columns"
      label="Columns"
      current={<span>Columns</span>}
      placeholder="Show or hide a column"
      search={search}
      isCurrent={({ key }) => columns.value.includes(key)}
      onChoose={({ key }) => {
        const shown = columns.value;
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
