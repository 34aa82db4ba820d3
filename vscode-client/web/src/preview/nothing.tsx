/** Placeholders for a missing rendering or missing data, with the next step. */

import { CopyButton } from "../shared/copyButton";
import { baseName } from "../shared/format";
import { Icon } from "../shared/icons";
import type { PreviewResult, RenderingFailure } from "../wire/preview";
import { choose, copy, reveal, show } from "./store";

/** The sample that promptls generates. */
export const PLACEHOLDERS = "placeholders";

/** Returns whether the prompt has inputs. */
export function hasValues(data: unknown): data is Record<string, unknown> {
  return typeof data === "object" && data !== null && Object.keys(data).length > 0;
}

const FIRST_PARTS = `- name: instructions
  role: system
  content: |
    You are a helpful assistant.
- name: question
  role: user
  content: |
    {{ question }}
`;

/** There is no earlier rendering to show below the failure. */
export function Nothing({
  failure,
  result,
}: {
  failure: RenderingFailure;
  result: PreviewResult | undefined;
}) {
  const { line, path } = failure;
  const isEmpty = failure.kind === "parts" && line === null && failure.renderedLine === null;
  return (
    <div class="nothing">
      <p>
        {isEmpty
          ? "The template has no parts yet. Copy two parts and paste them into it."
          : "The prompt appears here when it renders, and stays visible while you type."}
      </p>
      <p class="ways">
        {isEmpty ? (
          <CopyButton what="two parts" label="Copy two parts" onCopy={() => copy(FIRST_PARTS, "two parts")} />
        ) : null}
        {result === undefined ? null : (
          <button
            type="button"
            onClick={() => reveal(line ?? 0, path === null || path === result.path ? {} : { path })}
          >
            {line === null
              ? "Show the template"
              : `Go to line ${line + 1}${path === null || path === result.path ? "" : ` of ${baseName(path)}`}`}
          </button>
        )}
      </p>
    </div>
  );
}

/** The data is generated; the data view edits it in place and saves it as a sample. */
export function NoSample({ data }: { data: Record<string, unknown> }) {
  return (
    <div class="hint no-sample">
      <p>These values are placeholders.</p>
      <button
        type="button"
        id="replace-placeholders"
        onClick={() => {
          choose({ data });
          show("Data");
        }}
      >
        <Icon name="edit" /> Write your own
      </button>
    </div>
  );
}
