/** How an evaluation prompt is put together, and in which meta template. */

import type { Viewer } from "../../protocol";
import { count, grouped } from "../shared/format";
import { choose } from "./store";

/** The in-context examples that the retriever chose, as they stand in the prompt. */
function Examples({ viewer: { examples, dropped } }: { viewer: Viewer }) {
  const total = examples.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <details class="examples">
      <summary>
        {count(examples.length, "in-context example")}, {count(total, "token")}
        {dropped === 0 ? "" : `; ${grouped(dropped)} left out to fit the limit`}
      </summary>
      <ol>
        {examples.map(({ row, text, tokens }, index) => (
          <li key={index}>
            <span class="hint">
              training row {grouped(row + 1)} · {count(tokens, "token")}
            </span>
            <pre>{text}</pre>
          </li>
        ))}
      </ol>
    </details>
  );
}

export function EvaluationLine({ viewer }: { viewer: Viewer }) {
  return (
    <div class="options-row">
      <span class="hint">
        {viewer.inferencer} · {viewer.retriever}
        {viewer.prompts.length > 1 ? ` · ${count(viewer.prompts.length, "prompt")}, one for each label` : ""}
      </span>
      {viewer.metaTemplates.length < 2 ? null : (
        <label class="labelled">
          Meta template
          <select
            id="meta-template"
            value={viewer.metaTemplate}
            onChange={(event) => {
              choose({ metaTemplate: event.currentTarget.value });
            }}
          >
            {viewer.metaTemplates.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {viewer.examples.length === 0 ? null : <Examples viewer={viewer} />}
    </div>
  );
}
