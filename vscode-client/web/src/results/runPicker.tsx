/** Selects the current run and the runs to compare it with. */

import { count } from "../shared/format";
import { type Item, Picker, searchItems } from "../shared/picker";
import type { HistoryRun } from "../wire/results";
import { moment } from "./formatScores";
import { chooseRun, run, source, toggleAgainst, view } from "./store";

/** Returns the selectable runs, the latest first: those of the report, else all of the experiment. */
function items(withOthers: boolean): Item[] {
  const { runs = [], history = [], others = [] } = view.value ?? {};
  const isLive = source.value?.live !== undefined;
  const older = (found: readonly HistoryRun[]) =>
    found
      .filter(({ path }) => isLive && !runs.some((each) => each.path === path))
      .map((each) => ({ ...each, texts: Object.values(each.scores) }));
  const own = [
    ...runs.map((each) => ({ ...each, texts: each.metrics.map(({ text }) => text) })),
    ...older(history).map((each) => ({ ...each, promptName: "" })),
  ];
  return [
    ...latestFirst(own, ""),
    ...(withOthers ? latestFirst(older(others), "Other prompts and experiments") : []),
  ];
}

type Listed = Pick<HistoryRun, "path" | "started" | "promptName" | "models" | "isComplete"> & {
  /** The scores. */
  texts: string[];
};

function latestFirst(runs: readonly Listed[], group: string): Item[] {
  return runs
    .toSorted((left, right) => right.started.localeCompare(left.started))
    .map(({ path, started, promptName, models, texts, isComplete }) => ({
      key: path,
      label: moment(started),
      detail: [promptName, isComplete ? "" : "partial", models.join(" + "), texts.join(", ")]
        .filter((text) => text !== "")
        .join(" · "),
      group,
    }));
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
      search={(query) => searchItems(items(false), query)}
      isCurrent={({ key }) => key === run.value?.path}
      onChoose={({ key }) => chooseRun(key)}
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
      search={(query) =>
        searchItems(
          items(true).filter(({ key }) => key !== run.value?.path),
          query,
        )
      }
      isCurrent={({ key }) => others.some(({ path }) => path === key)}
      onChoose={({ key }) => toggleAgainst(key)}
    />
  );
}
