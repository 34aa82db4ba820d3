/** How an evaluation prompt is composed, and with which meta template. */

import { count, grouped } from "../shared/format";
import type { InContextExample, Viewer } from "../wire/preview";
import { choose } from "./store";

/** The in-context examples chosen by the retriever: those in the prompt, and those that do not fit. */
function Examples({ viewer: { examples, dropped } }: { viewer: Viewer }) {
  const total = examples.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <details class="examples">
      <summary>
        {count(examples.length, "in-context example")}, {count(total, "token")}
        {dropped.length === 0 ? "" : `; ${grouped(dropped.length)} left out to fit the limit`}
      </summary>
      <ol>
        {examples.map((example, index) => (
          <Example key={index} {...example} />
        ))}
        {dropped.map(({ label, ...example }, index) => (
          <Example
            key={index}
            {...example}
            left={label === null ? "does not fit" : `does not fit from ${label} on`}
          />
        ))}
      </ol>
    </details>
  );
}

function Example({ row, text, tokens, left }: InContextExample & { left?: string }) {
  return (
    <li class={left === undefined ? undefined : "left-out"}>
      <span class="hint">
        training row {grouped(row + 1)} · {count(tokens, "token")}
        {left === undefined ? "" : ` · ${left}`}
      </span>
      <pre>{text}</pre>
    </li>
  );
}

export function EvaluationLine({ viewer }: { viewer: Viewer }) {
  return (
    <div class="options-row">
      <span class="hint">
        {viewer.inferencer} · {viewer.retriever}
        {viewer.approximation === null ? "" : ` (${viewer.approximation})`}
        {viewer.prompts.length > 1 ? ` · ${count(viewer.prompts.length, "prompt")}, one for each label` : ""}
      </span>
      {viewer.metaTemplates.length < 2 ? null : (
        <label class="labeled">
          Meta template
          <select
            id="meta-template"
            value={viewer.metaTemplate}
            onChange={(event) => choose({ metaTemplate: event.currentTarget.value })}
          >
            {viewer.metaTemplates.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      {viewer.examples.length + viewer.dropped.length === 0 ? null : <Examples viewer={viewer} />}
    </div>
  );
}
