/** The filters of the rows. */

import { useEffect } from "preact/hooks";

import { announce } from "../shared/announce";
import { count, grouped } from "../shared/format";
import { Icon } from "../shared/icons";
import type { RowKind, Run } from "../wire/results";
import { ColumnPicker } from "./columnPicker";
import { Actions } from "./rowActions";
import { Search } from "./rowSearch";
import { filter, isWrapped, notes, setFilter, view } from "./store";

const KINDS: [RowKind, string][] = [
  ["all", "All rows"],
  ["failing", "Failing"],
  ["good", "Good"],
  ["error", "With an error"],
  ["problem", "In the wrong format"],
];

export function Filters({ run, total }: { run: Run; total: number | undefined }) {
  const { kind = "all", equal = {} } = filter.value;
  const others = view.value?.runs.filter(({ path }) => path !== run.path) ?? [];
  const [first] = view.value?.runs ?? [];
  // Only the first run is compared with all others.
  const comparable = run.path === first?.path ? others : others.filter(({ path }) => path === first?.path);
  useEffect(() => {
    if (total !== undefined) {
      announce(total === 0 ? "No row matches" : count(total, "row"));
    }
  }, [total, JSON.stringify(filter.value)]);
  return (
    <div class="filters" role="toolbar" aria-label="Rows">
      <Search />
      <select
        id="kind"
        aria-label="Which rows"
        value={kind}
        onChange={(event) => {
          const chosen = event.currentTarget.value as RowKind;
          setFilter({ kind: chosen === "all" ? undefined : chosen });
        }}
      >
        {KINDS.filter(([name]) => name !== "problem" || run.invalid > 0).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      {run.metrics
        .filter(({ kind: its, bars }) => its === "discrete" && bars.length > 0)
        .map(({ name, bars }) => (
          <Values key={name} column={name} values={bars.map(({ label }) => label)} />
        ))}
      {run.models.length > 1 ? <Values column="model" values={run.models} /> : null}
      {comparable.map((other) => (
        <Toggle
          key={other.path}
          id="changed"
          label={comparable.length === 1 ? "Changed" : `Changed since ${other.name}`}
          title={`Only rows whose response or score differs from ${other.name}`}
          isOn={filter.value.changedFrom === other.path}
          onToggle={(isOn) => setFilter({ changedFrom: isOn ? other.path : undefined })}
        />
      ))}
      {Object.keys(notes.value).length === 0 ? null : (
        <Toggle
          id="noted"
          label="Noted"
          title="Only rows with a thumb or a note"
          isOn={filter.value.noted === true}
          onToggle={(noted) => setFilter({ noted })}
        />
      )}
      {Object.entries(equal)
        .filter(
          ([column]) =>
            column !== "model" &&
            !run.metrics.some(({ name, kind: its }) => name === column && its === "discrete"),
        )
        .map(([column, text]) => (
          <button
            type="button"
            key={column}
            class="chip"
            aria-label={`Remove the filter: ${column} is ${text === "" ? "empty" : text}`}
            onClick={() => setFilter({ equal: without(equal, column) })}
          >
            <bdi>{`${column} = ${text === "" ? "nothing" : text}`}</bdi>
            <Icon name="close" />
          </button>
        ))}
      <span class="found number">
        {total === undefined
          ? ""
          : total === run.rows
            ? count(total, "row")
            : `${grouped(total)} of ${count(run.rows, "row")}`}
      </span>
      <span class="ends">
        <Actions run={run} total={total ?? 0} />
        <ColumnPicker run={run} />
        <button
          type="button"
          id="wrap"
          class="toggle"
          aria-pressed={isWrapped.value}
          title="Show several lines of each cell"
          onClick={() => {
            isWrapped.value = !isWrapped.value;
          }}
        >
          Wrap
        </button>
      </span>
    </div>
  );
}

function Values({ column, values }: { column: string; values: readonly string[] }) {
  const { equal = {} } = filter.value;
  const chosen = equal[column];
  return (
    <select
      id={`value-${column}`}
      aria-label={column}
      title={column}
      class={chosen === undefined ? "narrow" : "narrow chosen"}
      value={chosen ?? ANY}
      onChange={(event) => {
        const { value } = event.currentTarget;
        setFilter({ equal: value === ANY ? without(equal, column) : { ...equal, [column]: value } });
      }}
    >
      <option value={ANY}>{column}</option>
      {values.map((value) => (
        <option key={value} value={value}>
          {column}: {value}
        </option>
      ))}
      {values.includes(chosen ?? "") || chosen === "" ? <option value="">{column}: none</option> : null}
    </select>
  );
}

/** No score has this text. */
const ANY = "\u0000";

function without(equal: Record<string, string>, column: string): Record<string, string> | undefined {
  const rest = Object.entries(equal).filter(([name]) => name !== column);
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

interface ToggleProperties {
  id: string;
  label: string;
  title: string;
  isOn: boolean;
  onToggle: (isOn: boolean) => void;
}

function Toggle({ id, label, title, isOn, onToggle }: ToggleProperties) {
  return (
    <button
      type="button"
      id={id}
      class="toggle"
      aria-pressed={isOn}
      title={title}
      onClick={() => onToggle(!isOn)}
    >
      {label}
    </button>
  );
}
