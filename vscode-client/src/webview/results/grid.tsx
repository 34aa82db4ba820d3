/** The table of the rows: only those in sight are in the page, however many there are. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Row, Run } from "../../results/view";
import { revealed } from "../shared/hidden";
import { isNumeric, shortScore, verdictOf } from "./columns";
import { columns, current, notes, selected, toggleSelected, want, wanted } from "./store";
import type { FoundRows } from "./useRows";

const HEIGHT = 30;
const HEAD = 32;
/** Rows beyond the ones in sight. */
const AROUND = 12;
/** Characters of a cell that can be in sight. */
const MOST_CHARACTERS = 300;

export function Grid({ run, found }: { run: Run; found: FoundRows }) {
  const holder = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  const total = found.total ?? 0;
  const start = Math.max(0, Math.floor(sight.top / HEIGHT) - AROUND);
  const end = Math.min(total, Math.ceil((sight.top + sight.height) / HEIGHT) + AROUND);
  const key = JSON.stringify([run.path, wanted.value]);
  useEffect(() => {
    found.need(start, end);
  });
  useLayoutEffect(() => {
    setActive(0);
    holder.current?.scrollTo({ top: 0 });
  }, [key]);
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) {
      return undefined;
    }
    const size = new ResizeObserver(() => {
      setSight({ top: element.scrollTop, height: element.clientHeight });
    });
    size.observe(element);
    return () => {
      size.disconnect();
    };
  }, []);

  const intoSight = (place: number): void => {
    const element = holder.current;
    if (element !== null) {
      const top = place * HEIGHT;
      if (top < element.scrollTop) {
        element.scrollTop = top;
      } else if (top + HEIGHT + HEAD > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + HEIGHT + HEAD - element.clientHeight;
      }
    }
  };
  // The details that open take room from the table: their row stays in sight.
  useLayoutEffect(() => {
    if (current.value !== undefined) {
      intoSight(active);
    }
  }, [sight.height]);
  const go = (place: number): void => {
    const next = Math.max(0, Math.min(total - 1, place));
    setActive(next);
    intoSight(next);
    // Details that stand open follow.
    const row = found.row(next);
    if (current.value !== undefined && row !== undefined) {
      current.value = row.place;
    }
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.target !== holder.current) {
      return;
    }
    const page = Math.max(1, Math.floor(sight.height / HEIGHT) - 2);
    const target = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: total - 1,
    }[event.key];
    const row = found.row(active);
    if (target !== undefined) {
      event.preventDefault();
      go(target);
    } else if (event.key === "Enter" && row !== undefined) {
      current.value = current.value === row.place ? undefined : row.place;
    } else if (event.key === " " && row !== undefined) {
      event.preventDefault();
      toggleSelected(row.place);
    } else if (event.key === "Escape") {
      current.value = undefined;
    }
  };
  const names = columns.value;
  const widths = names.map((name) => widthOf(name, run));
  const template = `34px ${widths.map(([least, share]) => `minmax(${least}px, ${share}fr)`).join(" ")} 40px`;
  // Every line is as wide as the widest needs to be, so that the columns stand below one another.
  const width = `max(100%, ${74 + widths.reduce((sum, [least]) => sum + least, 0)}px)`;
  const rows = Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset);
  return (
    <div
      class="grid"
      id="rows-grid"
      role="grid"
      ref={holder}
      tabIndex={0}
      aria-label="Rows of the run: arrows move, Enter opens, Space selects"
      aria-rowcount={total + 1}
      aria-colcount={names.length + 2}
      aria-multiselectable="true"
      aria-activedescendant={total === 0 ? undefined : `row-${active}`}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget;
        setSight({ top: scrollTop, height: clientHeight });
      }}
      onKeyDown={pressed}
    >
      <div class="grid-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, width }}>
        <span role="columnheader">
          <span class="only-heard">Selected</span>
        </span>
        {names.map((name) => (
          <Head key={name} name={name} isNumber={isNumeric(name, run)} />
        ))}
        <span role="columnheader">
          <span class="only-heard">Thumb and note</span>
        </span>
      </div>
      <div class="grid-body" role="rowgroup" style={{ height: `${total * HEIGHT}px`, width }}>
        {rows.map((at) => (
          <Line
            key={at}
            at={at}
            row={found.row(at)}
            run={run}
            names={names}
            template={template}
            isActive={at === active}
            onChoose={(row) => {
              setActive(at);
              current.value = current.value === row.place ? undefined : row.place;
            }}
          />
        ))}
      </div>
      {found.total === 0 && found.failure === "" ? (
        <p class="empty nothing" role="status">
          No row is like this.
        </p>
      ) : null}
    </div>
  );
}

/** Ascending, then descending, then the order of the data set again. */
function Head({ name, isNumber }: { name: string; isNumber: boolean }) {
  const { sort, descending } = wanted.value;
  const isSorted = sort === name;
  const direction = isSorted ? (descending === true ? "descending" : "ascending") : "none";
  return (
    <span role="columnheader" aria-sort={direction} class={isNumber ? "right" : undefined}>
      <button
        type="button"
        class="link"
        title={`Sort by ${name}`}
        onClick={() => {
          want(
            !isSorted
              ? { sort: name, descending: undefined }
              : descending === true
                ? { sort: undefined, descending: undefined }
                : { descending: true },
          );
        }}
      >
        <bdi>{name}</bdi>
        {isSorted ? <span aria-hidden="true">{descending === true ? " ↓" : " ↑"}</span> : null}
      </button>
    </span>
  );
}

interface LineProperties {
  at: number;
  row: Row | undefined;
  run: Run;
  names: readonly string[];
  template: string;
  isActive: boolean;
  onChoose: (row: Row) => void;
}

function Line({ at, row, run, names, template, isActive, onChoose }: LineProperties) {
  const isShown = row !== undefined && row.place === current.value;
  const isSelected = row !== undefined && selected.value.has(row.place);
  const note = row === undefined ? undefined : notes.value[String(row.place)];
  const failed = row !== undefined && (row.cells["error"] ?? "") !== "";
  return (
    <div
      id={`row-${at}`}
      role="row"
      aria-rowindex={at + 2}
      aria-selected={isSelected}
      class={`line${isActive ? " active" : ""}${isShown ? " shown" : ""}${failed ? " failed" : ""}`}
      style={{ gridTemplateColumns: template, top: `${at * HEIGHT}px` }}
      onClick={() => {
        if (row !== undefined && document.getSelection()?.isCollapsed !== false) {
          onChoose(row);
        }
      }}
    >
      {row === undefined ? (
        <span role="gridcell" aria-busy="true" class="waiting" aria-label="is being fetched" />
      ) : (
        <>
          <span role="gridcell" class="check">
            <input
              type="checkbox"
              tabIndex={-1}
              checked={isSelected}
              aria-label={`Select row ${row.cells["id"] ?? row.place + 1}`}
              onClick={(event) => {
                event.stopPropagation();
              }}
              onChange={() => {
                toggleSelected(row.place);
              }}
            />
          </span>
          {names.map((name) => (
            <Cell key={name} run={run} name={name} text={row.cells[name] ?? ""} />
          ))}
          <span role="gridcell" class="marks" title={note?.text}>
            {note === undefined ? "" : <Mark thumb={note.thumb} hasText={note.text !== ""} />}
          </span>
        </>
      )}
    </div>
  );
}

function Mark({ thumb, hasText }: { thumb: "up" | "down" | null; hasText: boolean }) {
  const words = [thumb === null ? "" : `thumb ${thumb}`, hasText ? "a note" : ""].filter((each) => each !== "").join(", ");
  return (
    <span role="img" aria-label={words} class={thumb === null ? undefined : thumb}>
      {thumb === "up" ? "▲" : thumb === "down" ? "▼" : ""}
      {hasText ? "✎" : ""}
    </span>
  );
}

function Cell({ run, name, text }: { run: Run; name: string; text: string }) {
  const metric = run.metrics.find((each) => each.name === name);
  const short = revealed(text.slice(0, MOST_CHARACTERS)).shown;
  if (metric !== undefined) {
    return (
      <span role="gridcell" class={`verdict ${verdictOf(metric, text)}${metric.kind === "numeric" ? " right" : ""}`}>
        <bdi>{shortScore(short)}</bdi>
      </span>
    );
  }
  return (
    <span role="gridcell" class={isNumeric(name, run) ? "right number" : name === "error" || name === "problem" ? "bad" : undefined}>
      <bdi>{isNumeric(name, run) ? shortScore(short) : short}</bdi>
    </span>
  );
}

/** The least width of a column in pixels, and its share of what is left. */
function widthOf(name: string, run: Run): [number, number] {
  if (name === "id") {
    return [64, 0.4];
  }
  if (run.metrics.some((metric) => metric.name === name)) {
    return [Math.max(90, Math.min(180, 28 + 7 * name.length)), 0.6];
  }
  return isNumeric(name, run) ? [86, 0.4] : [160, 2];
}
