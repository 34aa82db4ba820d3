/** Selects the current run and the runs to compare it with. */

import { count } from "../shared/format";
import { type Item, Picker } from "../shared/picker";
import type { HistoryRun } from "../wire/results";
import { moment } from "./formatScores";
import { chooseRun, run, source, toggleAgainst, view } from "./store";

/** Returns the selectable runs: those of the report, else all of the experiment, latest first. */
function items(withOthers: boolean): Item[] {
  const shown = view.value;
  const own = (shown?.runs ?? []).map((each) => ({
    path: each.path,
    started: each.started,
    promptName: each.promptName,
    models: each.models,
    scores: each.metrics.map(({ text }) => text),
    isComplete: each.isComplete,
    group: "",
  }));
  const known = (runs: readonly HistoryRun[], group: string) =>
    runs.map((each) => ({
      path: each.path,
      started: each.started,
      promptName: group === "" ? "" : each.promptName,
      models: each.models,
      scores: Object.values(each.scores),
      isComplete: each.isComplete,
      group,
    }));
  const older =
    source.value?.live === undefined
      ? []
      : [
          ...known(shown?.history ?? [], ""),
          ...(withOthers ? known(shown?.others ?? [], "Other prompts and experiments") : []),
        ];
  const all = [...own, ...older.filter(({ path }) => !own.some((each) => each.path === path))];
  return all
    .sort((left, right) => left.group.localeCompare(right.group) || right.started.localeCompare(left.started))
    .map(({ path, started, promptName, models, scores, isComplete, group }) => ({
      key: path,
      label: moment(started),
      detail: [promptName, isComplete ? "" : "partial", models.join(" + "), scores.join(", ")]
        .filter((text) => text !== "")
        .join(" · "),
      group,
    }));
}

async function search(query: string, withOthers = false): Promise<{ items: Item[]; more: boolean }> {
  const needle = query.toLowerCase();
  const found = items(withOthers).filter(({ label, detail = "" }) =>
    `${label} ${detail}`.toLowerCase().includes(needle),
  );
  return Promise.resolve({ items: found, more: false });
}

/** Returns whether there is a run to compare with. */
export function hasOthers(): boolean {
  return items(true).length > 1;
}

export function RunPicker() {
  const shown = run.value;
  if (shown === undefined || items(false).length < 2) {
    return shown === undefined ? null : <span class="muted number">{moment(shown.started)}</span>;
  }
  return (
    <Picker
      id="run"
      label="Run"
      current={<bdi>{moment(shown.started)}</bdi>}
      placeholder="Find a run"
      search={(query) => search(query)}
      isCurrent={({ key }) => key === run.value?.path}
      onChoose={({ key }) => {
        chooseRun(key);
      }}
    />
  );
}

/** Selects the runs to compare with the current one. */
export function AgainstPicker() {
  const others = view.value?.runs.slice(0, -1) ?? [];
  const [only] = others;
  const promptName = only?.prompt === run.value?.prompt ? "" : `${only?.promptName ?? ""}, `;
  if (source.value?.live === undefined) {
    return null;
  }
  return (
    <Picker
      id="against"
      label="Compared with"
      current={
        <bdi>
          {others.length === 0
            ? "no run"
            : others.length === 1
              ? `${promptName}${moment(only?.started ?? "")}`
              : count(others.length, "run")}
        </bdi>
      }
      placeholder="Add or remove a run"
      search={async (query) => {
        const found = await search(query, true);
        return { ...found, items: found.items.filter(({ key }) => key !== run.value?.path) };
      }}
      isCurrent={({ key }) => others.some(({ path }) => path === key)}
      onChoose={({ key }) => {
        toggleAgainst(key);
      }}
    />
  );
}
