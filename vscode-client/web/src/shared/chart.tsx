/** A chart, with the same numbers as a table for screen readers and for reading. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { Choice } from "./choice";
import { grouped } from "./format";
import { Scrolled } from "./scrolled";

export interface Series {
  label: string;
  /** The CSS variable of a color. */
  color: string;
  values: (number | null)[];
  /** The values for tooltips if the bars are stacked. */
  shown?: (number | null)[];
  /** Formats a value. */
  format: (value: number) => string;
  /** Bars instead of a line; later series are drawn in front. */
  bars?: boolean;
  dashed?: boolean;
}

interface Properties {
  title: string;
  /** A sentence that describes the chart. */
  summary: string;
  /** The label of the axis: `step`. */
  axis: string;
  places: number[];
  series: Series[];
  /** Values shown only in the table, such as the parts of a stacked bar. */
  tableOnly?: Series[];
  range?: [number, number];
  /** The selected place; a click selects another one. */
  chosen?: number | undefined;
  onChoose?: (place: number) => void;
  /** The label of the selected place in the table: `best`. */
  noteOf?: (place: number) => string;
  children?: ComponentChildren;
}

type Form = "Chart" | "Table";

export function Chart(properties: Properties) {
  const { title, summary, series, children } = properties;
  const [form, setForm] = useState<Form>("Chart");
  return (
    <section class="chart" aria-label={title}>
      <div class="chart-head">
        <h2>{title}</h2>
        <span class="spacer" />
        <Choice label={`${title}: form`} names={["Chart", "Table"]} current={form} onChoose={setForm} />
      </div>
      {children}
      {form === "Chart" ? (
        <>
          <p class="legend" aria-hidden="true">
            {series.map(({ label, color, dashed }) => (
              <span key={label}>
                <i class={dashed === true ? "dashed" : ""} style={{ "--color": `var(${color})` }} />
                {label}
              </span>
            ))}
          </p>
          <Drawing {...properties} />
          <p class="only-heard">{summary} The view “Table” contains the numbers.</p>
        </>
      ) : (
        <Numbers {...properties} />
      )}
    </section>
  );
}

const HEIGHT = 190;

function Drawing({ summary, places, series, range, chosen, onChoose, axis: name }: Properties) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef({ chosen, onChoose });
  latest.current = { chosen, onChoose };
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme((number) => number + 1));
    observer.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) {
      return undefined;
    }
    const style = getComputedStyle(document.body);
    const color = (name: string): string => style.getPropertyValue(name).trim() || style.color;
    const bars = uPlot.paths.bars?.({ size: [0.7, 40], radius: 0.1 });
    const options: uPlot.Options = {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: {
        x: { time: false, range: () => [-0.5, places.length - 0.5] },
        y: { range: range ?? ((_plot, _low, high) => [0, high * 1.05]) },
      },
      axes: [
        {
          ...axis(style),
          grid: { show: false },
          size: 26,
          space: 44,
          incrs: [1, 2, 3, 5, 10, 20, 50, 100, 200, 500],
          values: (_plot, splits) =>
            splits.map((at) => (places[at] === undefined ? "" : grouped(places[at]))),
        },
        {
          ...axis(style),
          grid: { stroke: color("--chart-grid"), width: 1 },
          size: 48,
          values: (_plot, splits) => splits.map((value) => series[0]?.format(value) ?? ""),
        },
      ],
      series: [
        {},
        ...series.map<uPlot.Series>((each) => ({
          label: each.label,
          stroke: color(each.color),
          width: each.bars === true ? 0 : 2,
          ...(each.bars === true
            ? {
                fill: color(each.color),
                ...(bars === undefined ? {} : { paths: bars }),
                points: { show: false },
              }
            : {
                points: {
                  show: each.dashed !== true && places.length <= 40,
                  size: 5,
                  fill: color(each.color),
                },
              }),
          ...(each.dashed === true ? { dash: [4, 4] } : {}),
        })),
      ],
      hooks: {
        drawClear: [
          (drawn) => {
            const at = latest.current.chosen === undefined ? -1 : places.indexOf(latest.current.chosen);
            if (at >= 0) {
              const { ctx, bbox } = drawn;
              const x = drawn.valToPos(at, "x", true);
              ctx.save();
              ctx.fillStyle = color("--chart-chosen");
              const width = Math.min(48 * devicePixelRatio, (0.9 * bbox.width) / Math.max(places.length, 1));
              ctx.fillRect(x - width / 2, bbox.top, width, bbox.height);
              ctx.restore();
            }
          },
        ],
        setCursor: [(drawn) => setPointed(drawn.cursor.idx ?? undefined)],
      },
    };
    const data: uPlot.AlignedData = [places.map((_, at) => at), ...series.map(({ values }) => values)];
    const made = new uPlot(options, data, element);
    plot.current = made;
    const size = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    size.observe(element);
    return () => {
      size.disconnect();
      made.destroy();
    };
  }, [JSON.stringify([places, series.map(({ values, label }) => [label, values]), range]), theme]);
  useLayoutEffect(() => plot.current?.redraw(), [chosen]);
  const [pointed, setPointed] = useState<number>();
  const place = pointed === undefined ? undefined : places[pointed];
  return (
    <>
      <div
        class={onChoose === undefined ? "drawing" : "drawing choosable"}
        ref={holder}
        role="img"
        aria-label={summary}
        onClick={() => {
          const at = plot.current?.cursor.idx;
          const clicked = at === null || at === undefined ? undefined : places[at];
          if (clicked !== undefined) {
            latest.current.onChoose?.(clicked);
          }
        }}
      />
      <p class="reading" aria-hidden="true">
        {place === undefined || pointed === undefined
          ? name
          : `${name} ${grouped(place)}: ${series
              .map((each) => `${each.label} ${formatAt(each, pointed)}`)
              .join(", ")}`}
      </p>
    </>
  );
}

function Numbers({ title, axis, places, series, tableOnly, chosen, onChoose, noteOf }: Properties) {
  const columns = [...series, ...(tableOnly ?? [])];
  return (
    <Scrolled label={title}>
      <table aria-label={title}>
        <thead>
          <tr>
            <th scope="col">{axis}</th>
            {columns.map(({ label }) => (
              <th scope="col" key={label}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.map((place, at) => (
            <tr key={place} aria-current={place === chosen ? "true" : undefined}>
              <th scope="row">
                {onChoose === undefined ? (
                  grouped(place)
                ) : (
                  <button type="button" class="link" onClick={() => onChoose(place)}>
                    {grouped(place)}
                  </button>
                )}
                {noteOf === undefined || noteOf(place) === "" ? null : (
                  <span class="badge">{noteOf(place)}</span>
                )}
              </th>
              {columns.map((each) => (
                <td key={each.label}>{formatAt(each, at)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}

function axis(style: CSSStyleDeclaration): uPlot.Axis {
  return {
    stroke: style.getPropertyValue("--muted").trim(),
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
}

function formatAt({ shown, values, format }: Series, at: number): string {
  const value = (shown ?? values)[at];
  return value === null || value === undefined ? "–" : format(value);
}
