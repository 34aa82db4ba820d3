/** The distribution of a metric's values: a bar for each class or range. */

import { BidiText } from "../shared/bidiText";
import { grouped, percent } from "../shared/format";
import type { Metric } from "../wire/results";

interface Properties {
  metric: Metric;
  onChoose?: ((label: string) => void) | undefined;
}

/** The number of classes with a bar; rarer classes appear only in the rows. */
const MOST = 24;

export function Bars({ metric, onChoose }: Properties) {
  const total = metric.bars.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(...metric.bars.map(({ count }) => count), 1);
  return (
    <div class="bars">
      <h3>
        <BidiText text={metric.name} />
      </h3>
      <table aria-label={`Values of ${metric.name}`}>
        <tbody>
          {metric.bars.slice(0, MOST).map(({ label, count }) => (
            <tr key={label} class={metric.good === null ? undefined : label === metric.good ? "good" : "bad"}>
              <th scope="row">
                {onChoose === undefined ? (
                  <BidiText text={label} />
                ) : (
                  <button
                    type="button"
                    class="link"
                    title={`Show the rows that are “${label}”`}
                    onClick={() => onChoose(label)}
                  >
                    <BidiText text={label} />
                  </button>
                )}
              </th>
              <td class="drawn" aria-hidden="true">
                <i style={{ width: `${(100 * count) / most}%` }} />
              </td>
              <td class="number" title={percent(count / Math.max(total, 1))}>
                {grouped(count)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {metric.bars.length > MOST ? <p class="hint">and {grouped(metric.bars.length - MOST)} more</p> : null}
    </div>
  );
}
