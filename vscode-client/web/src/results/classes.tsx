/** Precision and recall of each class, and the confusion matrix. */

import { BidiText } from "../shared/bidiText";
import { count, grouped, percent } from "../shared/format";
import { Scrolled } from "../shared/scrolled";
import type { Classification, Run } from "../wire/results";
import { showRows } from "./store";

export function Classes({ run }: { run: Run }) {
  return (
    <div class="classes">
      {run.classes.map((report) => (
        <Report key={`${report.predicted} ${report.model ?? ""}`} report={report} columns={run.columns} />
      ))}
    </div>
  );
}

interface Properties {
  report: Classification;
  /** The classes of the table, for which rows can be filtered. */
  columns: readonly string[];
}

function Report({ report, columns }: Properties) {
  const { expected, predicted, model, rows, accuracy, failed, unlabeled, unanswered } = report;
  const aside = [
    failed > 0 ? `${count(failed, "row")} failed` : "",
    unlabeled > 0 ? `${count(unlabeled, "row")} without an expected class` : "",
    unanswered > 0 ? `${count(unanswered, "answer")} without a class` : "",
  ].filter((text) => text !== "");
  return (
    <section
      class="classification"
      aria-label={`Classes of ${predicted}${model === null ? "" : ` with ${model}`}`}
    >
      <h2>
        <bdi>{predicted}</bdi> <span class="muted">against</span> <bdi>{expected}</bdi>
        {model === null ? null : <bdi class="badge">{model}</bdi>}
      </h2>
      <p class="hint">
        {percent(accuracy)} of {count(rows, "row")} exactly as expected
        {aside.length === 0 ? "" : `; ${aside.join(", ")}`}.
      </p>
      <Scrolled label="Precision, recall and F1">
        <table aria-label="Precision, recall and F1">
          <thead>
            <tr>
              <th scope="col">class</th>
              <th scope="col" title="Of the rows predicted as this class, the share that belongs to it">
                precision
              </th>
              <th scope="col" title="Of the rows of this class, the share that was predicted as it">
                recall
              </th>
              <th scope="col" title="The harmonic mean of both">
                F1
              </th>
              <th scope="col">expected</th>
              <th scope="col">predicted</th>
            </tr>
          </thead>
          <tbody>
            {report.classes.map((each) => (
              <tr key={each.name}>
                <th scope="row">
                  <BidiText text={each.name} />
                </th>
                <Share value={each.precision} />
                <Share value={each.recall} />
                <Share value={each.f1} />
                <td>{grouped(each.support)}</td>
                <td>{grouped(each.predicted)}</td>
              </tr>
            ))}
            {report.averages.map((each) => (
              <tr key={each.name} class="average">
                <th scope="row">{each.name} average</th>
                <td>{percent(each.precision)}</td>
                <td>{percent(each.recall)}</td>
                <td>{percent(each.f1)}</td>
                <td />
                <td />
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
      {report.confusion.length === 0 ? null : <Confusion report={report} columns={columns} />}
    </section>
  );
}

function Share({ value }: { value: number }) {
  return (
    <td class="share">
      <i style={{ width: `calc(${value} * (100% - 76px))` }} aria-hidden="true" />
      <span>{percent(value)}</span>
    </td>
  );
}

/** Rows are the expected classes, columns the predicted ones; the diagonal is correct. */
function Confusion({ report: { names, confusion, expected, predicted, model }, columns }: Properties) {
  // A label for several classes, or for no class, is in no cell.
  const canShow = (name: string): boolean =>
    !name.startsWith("(") && columns.includes(expected) && columns.includes(predicted);
  const most = Math.max(1, ...confusion.flat());
  return (
    <Scrolled label="Confusion matrix">
      <table class="confusion">
        <caption>Confusion matrix: rows are the expected classes, columns the predicted ones</caption>
        <thead>
          <tr>
            <td />
            {names.map((name) => (
              <th scope="col" key={name}>
                <BidiText text={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {confusion.map((line, row) => (
            <tr key={names[row]}>
              <th scope="row">
                <BidiText text={names[row] ?? ""} />
              </th>
              {line.map((value, column) => (
                <td
                  key={names[column]}
                  class={value === 0 ? "none" : row === column ? "right" : "wrong"}
                  style={{ "--share": `${Math.round(10 + (24 * value) / most)}%` }}
                >
                  {value === 0 ? (
                    <span aria-label="0">·</span>
                  ) : !canShow(names[row] ?? "(") || !canShow(names[column] ?? "(") ? (
                    grouped(value)
                  ) : (
                    <button
                      type="button"
                      class="link"
                      aria-label={`${count(value, "row")} expected ${names[row]}, predicted ${names[column]}`}
                      onClick={() => {
                        const equal = { [expected]: names[row] ?? "", [predicted]: names[column] ?? "" };
                        showRows({ equal: model === null ? equal : { ...equal, model } });
                      }}
                    >
                      {grouped(value)}
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}
