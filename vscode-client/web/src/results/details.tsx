/** The details of one row: request, response, expected answer and scores. */

import { useMemo, useState } from "preact/hooks";

import { BidiText } from "../shared/bidiText";
import { Choice } from "../shared/choice";
import { CloseButton } from "../shared/closeButton";
import { CopyButton } from "../shared/copyButton";
import { count, money } from "../shared/format";
import { MarkedText } from "../shared/markedText";
import { Pieces } from "../shared/pieces";
import { aroundChanges, compareTexts } from "../shared/textDiff";
import { useAnswer } from "../shared/useAnswer";
import type { Cells, Run } from "../wire/results";
import { inputsOf, shortScore, verdictOf } from "./columns";
import { duration } from "./formatScores";
import { NoteEditor } from "./noteEditor";
import { current, source } from "./store";

export function Details({ run, place }: { run: Run; place: number }) {
  const from = source.value;
  const { answer, failure } = useAnswer(() => from?.rows(run.path, { places: [place] }, 0, 1), [from]);
  const cells = answer?.rows[0]?.cells;
  const close = (): void => {
    current.value = undefined;
    document.getElementById("rows-grid")?.focus();
  };
  return (
    <aside
      class="details"
      aria-label="Details of the row"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          close();
        }
      }}
    >
      <div class="details-head">
        <h2>
          Row <BidiText text={cells?.id ?? String(place + 1)} />
        </h2>
        {cells !== undefined && run.models.length > 1 ? <bdi class="badge">{cells.model}</bdi> : null}
        {Number(cells?.repeat ?? 1) > 1 ? <span class="badge">repeat {cells?.repeat}</span> : null}
        <span class="spacer" />
        {cells === undefined ? null : (
          <CopyButton
            what="the row as JSON"
            onCopy={() => from?.copy(JSON.stringify(cells, null, 2), "the row")}
          />
        )}
        <CloseButton label="Close the details" title="Close (Escape)" onClick={close} />
      </div>
      {failure === "" ? null : <p class="failure">{failure}</p>}
      {cells === undefined ? null : (
        <div class="details-body">
          <NoteEditor place={place} />
          <Scores run={run} cells={cells} />
          <Answer run={run} cells={cells} />
          <Sent run={run} place={place} />
          <Fields title="Row" fields={inputsOf(run, cells)} />
          <Call cells={cells} isFree={run.free} />
        </div>
      )}
    </aside>
  );
}

function Scores({ run, cells }: { run: Run; cells: Cells }) {
  return run.metrics.length === 0 ? null : (
    <dl class="scores" aria-label="Scores of the row">
      {run.metrics.map((metric) => {
        const cell = cells[metric.name] ?? "";
        const reason = cells[`${metric.name}_reason`] ?? "";
        return (
          <div key={metric.name}>
            <dt>
              <BidiText text={metric.name} />
            </dt>
            <dd>
              <span class={`verdict ${verdictOf(metric, cell)}`}>
                <BidiText text={shortScore(cell)} />
              </span>
              {reason === "" ? null : (
                <span class="reason">
                  <MarkedText text={reason} />
                </span>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

type Form = "Answer" | "Difference";

/** The response, and its difference from the expected answer if there is one. */
function Answer({ run, cells }: { run: Run; cells: Cells }) {
  const pairs = run.expected.filter(([expected]) => (cells[expected] ?? "") !== "");
  const [form, setForm] = useState<Form>("Answer");
  const { error = "", problem = "", response = "" } = cells;
  return (
    <section aria-label="Response">
      <div class="chart-head">
        <h3>Response</h3>
        <span class="spacer" />
        {pairs.length === 0 || error !== "" ? null : (
          <Choice
            label="Form of the response"
            names={["Answer", "Difference"]}
            current={form}
            onChoose={setForm}
          />
        )}
      </div>
      {error === "" ? null : (
        <div class="failure">
          <p>
            <MarkedText text={error} />
          </p>
        </div>
      )}
      {problem === "" ? null : (
        <p class="hint warn">
          <MarkedText text={problem} />
        </p>
      )}
      {form === "Difference" ? (
        pairs.map(([expected, said]) => (
          <Difference
            key={expected}
            expected={expected}
            before={cells[expected] ?? ""}
            after={cells[said] ?? ""}
          />
        ))
      ) : response === "" ? (
        error === "" ? (
          <p class="empty">The response is empty.</p>
        ) : null
      ) : (
        <pre class="box">
          <MarkedText text={response} />
        </pre>
      )}
      {form === "Answer"
        ? pairs.map(([expected]) => (
            <div key={expected} class="expected">
              <h3>
                Expected
                {expected === "expected" ? null : (
                  <>
                    {" "}
                    in <BidiText text={expected} />
                  </>
                )}
              </h3>
              <pre class="box">
                <MarkedText text={cells[expected] ?? ""} />
              </pre>
            </div>
          ))
        : null}
    </section>
  );
}

function Difference({ expected, before, after }: { expected: string; before: string; after: string }) {
  const pieces = useMemo(() => aroundChanges(compareTexts(before, after)), [before, after]);
  return (
    <div class="box difference">
      <p class="hint">
        From what is expected in <bdi>{expected}</bdi> to what was said
        {before === after ? ": the same." : "."}
      </p>
      <Pieces pieces={pieces} />
    </div>
  );
}

/** The messages, fetched on demand because they may be long. */
function Sent({ run, place }: { run: Run; place: number }) {
  const [isOpen, setOpen] = useState(false);
  const from = source.value;
  const { answer, failure } = useAnswer(
    () => (isOpen ? from?.messages(run.path, place) : undefined),
    [isOpen, from],
  );
  const messages = answer?.messages;
  return (
    <details class="sent" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Messages as sent
        {Array.isArray(messages) ? <span class="muted"> {count(messages.length, "message")}</span> : null}
      </summary>
      {failure === "" ? null : <p class="failure">{failure}</p>}
      {messages === null ? (
        <p class="empty">
          The messages are not available: the model was a test model, or the cache was cleared.
        </p>
      ) : null}
      {(messages ?? []).map(({ role, content }, at) => (
        <div key={at} class="message">
          <span class="role">
            <BidiText text={role} />
          </span>
          <pre class="box">
            <MarkedText text={typeof content === "string" ? content : JSON.stringify(content, null, 2)} />
          </pre>
        </div>
      ))}
    </details>
  );
}

function Fields({ title, fields }: { title: string; fields: readonly [string, string][] }) {
  return fields.length === 0 ? null : (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="fields">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>
              <BidiText text={name} />
            </dt>
            <dd>
              <MarkedText text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Call({ cells, isFree }: { cells: Cells; isFree: boolean }) {
  const figures: [string, string][] = [
    ["model", cells.model ?? ""],
    ["tokens in", cells.input_tokens ?? ""],
    ["in from the provider's cache", unlessZero(cells.cached_input_tokens)],
    ["tokens out", cells.output_tokens ?? ""],
    ["of reasoning", unlessZero(cells.reasoning_tokens)],
    ["time", cells.seconds ? duration(Number(cells.seconds)) : ""],
    ["cost", isFree ? "free" : cells.cost ? money(Number(cells.cost)) : ""],
    ["ended by", cells.finish_reason ?? ""],
    ["from the cache", cells.cached ?? ""],
  ];
  return <Fields title="Call" fields={figures.filter(([, value]) => value !== "")} />;
}

function unlessZero(value = ""): string {
  return value === "0" ? "" : value;
}
