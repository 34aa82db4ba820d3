/** Errors of a rendering: why there is none, or what is wrong with it. */

import { CodeText } from "../shared/codeText";
import { baseName } from "../shared/format";
import { Icon } from "../shared/icons";
import type { RenderingFailure } from "../wire/preview";
import { reveal, shown } from "./store";

/** With `isOutdated`, over the last rendering that worked, which stays where it is. */
export function Failure({
  failure,
  isOutdated = false,
}: {
  failure: RenderingFailure;
  isOutdated?: boolean;
}) {
  const { line, path, excerpt } = failure;
  const elsewhere = path !== null && path !== shown.value.result?.path;
  const place = line === null ? "" : `${elsewhere ? `${baseName(path)}, ` : ""}line ${line + 1}`;
  const body = (
    <>
      <Icon name="warning" />
      <span class="failure-text">
        <strong>Cannot render{place === "" ? "" : `: ${place}`}</strong>
        <span>
          <CodeText text={failure.message} />
        </span>
        {isOutdated ? <span class="aside">This is the last rendering that worked.</span> : null}
      </span>
    </>
  );
  return (
    <div class="failure" role="alert">
      {line === null ? (
        <div class="failure-head">{body}</div>
      ) : (
        <button
          type="button"
          class="failure-head"
          id="go-to-failure"
          title="Go to the line"
          onClick={() => reveal(line, elsewhere ? { path } : {})}
        >
          {body}
        </button>
      )}
      {excerpt === null || excerpt === "" ? null : (
        <pre tabIndex={0} aria-label="The rendered lines around it">
          {excerpt}
        </pre>
      )}
    </div>
  );
}

/** An error that the real library raises later, although the rendering can be shown. */
export function Problems({ problems }: { problems: readonly RenderingFailure[] }) {
  return problems.length === 0 ? null : (
    <ul class="problems" aria-label="Problems">
      {problems.map(({ message }) => (
        <li key={message}>
          <Icon name="warning" />
          <span>
            <CodeText text={message} />
          </span>
        </li>
      ))}
    </ul>
  );
}
