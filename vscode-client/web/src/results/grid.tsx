/** The table of rows. Only visible rows are in the page. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { useResize } from "../shared/useResize";
import type { Run } from "../wire/results";
import { isNumeric, widthOf } from "./columns";
import { Head } from "./gridHead";
import { Line } from "./gridLine";
import { columns, columnWidths, current, filter, isWrapped, rowHeight, toggleSelected } from "./store";
import type { FoundRows } from "./useRows";

const HEAD = 32;
/** Rows rendered beyond the visible ones. */
const AROUND = 12;

export function Grid({ run, found }: { run: Run; found: FoundRows }) {
  const holder = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  const total = found.total ?? 0;
  const height = rowHeight.value;
  const start = Math.max(0, Math.floor(sight.top / height) - AROUND);
  const end = Math.min(total, Math.ceil((sight.top + sight.height) / height) + AROUND);
  const key = JSON.stringify([run.path, filter.value]);
  useEffect(() => found.need(start, end));
  useLayoutEffect(() => {
    setActive(0);
    holder.current?.scrollTo({ top: 0 });
  }, [key]);
  useResize(holder, ({ scrollTop, clientHeight }) => setSight({ top: scrollTop, height: clientHeight }));

  const intoSight = (place: number): void => {
    const element = holder.current;
    if (element !== null) {
      const top = place * height;
      if (top < element.scrollTop) {
        element.scrollTop = top;
      } else if (top + height + HEAD > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + height + HEAD - element.clientHeight;
      }
    }
  };
  // Open details shrink the table: their row stays visible.
  useLayoutEffect(() => {
    if (current.value !== undefined) {
      intoSight(active);
    }
  }, [sight.height]);
  const go = (place: number): void => {
    const next = Math.max(0, Math.min(total - 1, place));
    setActive(next);
    intoSight(next);
    // The open details move with the selection.
    const row = found.row(next);
    if (current.value !== undefined && row !== undefined) {
      current.value = row.place;
    }
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.target !== holder.current) {
      return;
    }
    const page = Math.max(1, Math.floor(sight.height / height) - 2);
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
  const widths = names.map((name): [number, number] => {
    const chosen = columnWidths.value[name];
    return chosen === undefined ? widthOf(name, run) : [chosen, 0];
  });
  const template = `34px ${widths.map(([least, share]) => (share === 0 ? `${least}px` : `minmax(${least}px, ${share}fr)`)).join(" ")} 40px`;
  // All lines have the width of the widest one, so that the columns are aligned.
  const width = `max(100%, ${74 + widths.reduce((sum, [least]) => sum + least, 0)}px)`;
  const rows = Array.from({ length: Math.max(0, end - start) }, (_, offset) => start + offset);
  return (
    <div
      class={isWrapped.value ? "grid wrapped" : "grid"}
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
      <div class="grid-body" role="rowgroup" style={{ height: `${total * height}px`, width }}>
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
        <div class="empty no-rows">
          <p role="status">No row matches.</p>
          <button
            type="button"
            onClick={() => {
              filter.value = {};
            }}
          >
            Show all rows
          </button>
        </div>
      ) : null}
    </div>
  );
}
