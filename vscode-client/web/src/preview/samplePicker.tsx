/** The data of the rendering: a sample, or any row of the dataset. */

import { grouped } from "../shared/format";
import { Icon } from "../shared/icons";
import { type Item, Picker } from "../shared/picker";
import type { DatasetRowsAnswer, PreviewResult, SampleName } from "../wire/preview";
import { ask, choose } from "./store";

export function SamplePicker({ result }: { result: PreviewResult }) {
  const { sample, samples, dataset } = result;
  const named = samples.filter(({ row }) => row === undefined);
  const rows = result.viewer?.rows;
  const row = shownRow(result);
  const hasRows = rows !== undefined || (dataset ?? null) !== null;

  const search = async (query: string, start: number): Promise<{ items: Item[]; more: boolean }> => {
    const terms = query.toLowerCase().split(/\s+/);
    const items = start > 0 ? [] : named.filter((each) => matches(each, terms)).map(itemOf);
    if (!hasRows) {
      return { items, more: false };
    }
    const skipped = start === 0 ? 0 : start - named.filter((each) => matches(each, terms)).length;
    const found = await ask<DatasetRowsAnswer>("rows", { search: query, start: skipped });
    const group =
      query.trim() === ""
        ? `${found.dataset} · ${grouped(found.total)} rows`
        : `${found.dataset} · ${grouped(found.matching)} of ${grouped(found.total)} rows`;
    items.push(
      ...found.rows.map((each) => ({
        key: `row ${each.row}`,
        label: `row ${each.row + 1}`,
        detail: each.text,
        group,
      })),
    );
    return { items, more: found.start + found.rows.length < found.matching };
  };
  return (
    <div class="sample">
      <Picker
        id="sample"
        label="Sample data"
        placeholder={hasRows ? "Search samples and rows" : "Search samples"}
        current={
          <>
            <bdi>{row === undefined ? (sample?.name ?? "no data") : `row ${row + 1}`}</bdi>
            {sample === null || sample.source === "" || sample.source === sample.name ? null : (
              <bdi class="aside from">{sample.source}</bdi>
            )}
          </>
        }
        search={search}
        isCurrent={({ key }) => key === (row === undefined ? `sample ${sample?.name}` : `row ${row}`)}
        onChoose={({ key }) => {
          choose(
            key.startsWith("row ")
              ? { row: Number(key.slice(4)), sample: undefined }
              : { sample: key.slice("sample ".length), row: undefined },
          );
        }}
      />
      {hasRows ? (
        <>
          <Step
            name="left"
            label="Previous row"
            shortcut="["
            isOff={row === undefined || row === 0}
            onStep={() => stepRow(result, -1)}
          />
          <Step
            name="right"
            label="Next row"
            shortcut="]"
            isOff={rows !== undefined && row === rows - 1}
            onStep={() => stepRow(result, 1)}
          />
        </>
      ) : null}
    </div>
  );
}

/** Returns the index of the current row, from 0, if the data is a row of the dataset. */
function shownRow(result: PreviewResult): number | undefined {
  return result.viewer?.row ?? result.sample?.row;
}

/** Goes to a neighbor of the current row, or to the first row. */
export function stepRow(result: PreviewResult, by: number): void {
  const row = shownRow(result);
  choose({ row: row === undefined ? 0 : Math.max(0, row + by), sample: undefined });
}

function matches({ name, source }: SampleName, query: readonly string[]): boolean {
  const text = `${name} ${source}`.toLowerCase();
  return query.every((word) => text.includes(word));
}

function itemOf({ name, source }: SampleName): Item {
  return { key: `sample ${name}`, label: name, detail: source, group: "Samples" };
}

interface StepProperties {
  name: "left" | "right";
  label: string;
  shortcut: string;
  isOff: boolean;
  onStep: () => void;
}

function Step({ name, label, shortcut, isOff, onStep }: StepProperties) {
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={`${label} (${shortcut})`}
      disabled={isOff}
      onClick={onStep}
    >
      <Icon name={name} />
    </button>
  );
}
