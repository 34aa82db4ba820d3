/** How an evaluation prompt is put together, and in which meta template. */

import type { Viewer } from "../../protocol";
import { count } from "../shared/format";
import { choose } from "./store";

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
    </div>
  );
}
