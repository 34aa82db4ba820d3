/** The page of the truncation lab. */

import { signal } from "@preact/signals";
import { render } from "preact";

import type { Lab, LabCell, LabOptions } from "../../protocol";
import type { FromPage, ToPage } from "../../truncation/messages";
import { announce, LiveRegion } from "../shared/announce";
import { Chart } from "../shared/chart";
import { CopyButton } from "../shared/copyButton";
import { baseName, count, grouped, percent } from "../shared/format";
import { connect } from "../shared/host";
import { followTheme } from "../shared/theme";
import { bestOf, cellAt, cellsOf, firstTried, headerLines, stepsOf, type Tried } from "./lab";

const lab = signal<Lab | undefined>(undefined);
const tried = signal<Tried | undefined>(undefined);
const failure = signal("");
const isBusy = signal(true);
const isStale = signal(false);
const options = signal<LabOptions>({});
const CACHES = ["exact", "openai", "anthropic", "google", "deepseek", "vllm"];

const host = connect<ToPage, FromPage>((message) => {
  isBusy.value = message.type === "busy";
  switch (message.type) {
    case "show": {
      const { found, failure: why, cancelled } = message.result;
      isStale.value = cancelled;
      failure.value = why?.message ?? "";
      if (found !== null) {
        const before = lab.value?.path === found.path ? tried.value : undefined;
        lab.value = found;
        tried.value = firstTried(found, before);
        announce(found.advice, 0);
      }
      return;
    }
    case "fail":
      failure.value = message.message;
      return;
    case "stale":
      isStale.value = true;
      return;
    case "busy":
      failure.value = "";
  }
});

function explore(next: LabOptions): void {
  options.value = { ...options.value, ...next };
  host.post({ type: "explore", options: options.value });
}

function attempt(next: Partial<Tried>): void {
  const found = lab.value;
  const before = tried.value;
  if (found === undefined || before === undefined) {
    return;
  }
  const limit = next.limit ?? before.limit;
  // Another limit has other steps: its best one is shown.
  tried.value = next.step === undefined ? firstTried(found, { limit, step: bestOf(found, limit)?.step ?? before.step }) : { limit, step: next.step };
  const cell = tried.value === undefined ? undefined : cellAt(found, tried.value);
  if (cell !== undefined) {
    announce(`Limit ${cell.limit}, step ${cell.step}: ${percent(cell.cacheRate)} from the cache, ${percent(cell.keptRate)} kept.`);
  }
}

function Page() {
  const found = lab.value;
  const at = tried.value;
  const cell = found === undefined || at === undefined ? undefined : cellAt(found, at);
  return (
    <main id="lab" class={isBusy.value ? "busy" : undefined} aria-busy={isBusy.value}>
      {failure.value === "" ? null : (
        <div class="failure" role="alert">
          <p>{failure.value}</p>
        </div>
      )}
      {found === undefined ? (
        failure.value === "" ? (
          <p class="hint" role="status">
            Growing the chat, turn by turn …
          </p>
        ) : null
      ) : (
        <>
          <Head found={found} />
          {isStale.value ? (
            <p class="stale" role="status">
              The prompt has changed since.
              <button
                type="button"
                onClick={() => {
                  explore({});
                }}
              >
                Explore again
              </button>
            </p>
          ) : null}
          {at === undefined || cell === undefined ? null : (
            <>
              <Advice found={found} cell={cell} />
              <Steppers found={found} at={at} />
              <Steps found={found} cell={cell} />
              <Turns found={found} cell={cell} />
              <Limits found={found} cell={cell} />
            </>
          )}
        </>
      )}
      <LiveRegion />
    </main>
  );
}

function Head({ found }: { found: Lab }) {
  const [chat] = found.chats;
  const turns = chat?.tokens.length ?? 0;
  return (
    <>
      <div class="lab-head">
        <h1>
          <bdi>{baseName(found.path)}</bdi>
        </h1>
        <span class="spacer" />
        {found.inputs.length < 2 ? null : (
          <label class="labelled">
            Grows
            <select
              id="input"
              value={found.input}
              onChange={(event) => {
                explore({ input: event.currentTarget.value });
              }}
            >
              {found.inputs.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <label class="labelled">
          Cache
          <select
            id="cache"
            value={found.cache.name}
            title={found.cache.words}
            onChange={(event) => {
              explore({ cache: event.currentTarget.value });
            }}
          >
            {CACHES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <p class="hint">
        <bdi>{found.input}</bdi> of <bdi>{chat?.name}</bdi> (<bdi>{chat?.source}</bdi>) grows over {count(turns, "turn")}
        {chat === undefined || chat.generated === 0 ? "" : `, ${chat.generated} of them made up`}, to {count(chat?.tokens.at(-1) ?? 0, "token")}
        {found.chats.length > 1 ? `; the shares are of ${found.chats.length} chats` : ""}. {found.approximate ? "≈ " : ""}
        {found.encoding}.
      </p>
    </>
  );
}

function Advice({ found, cell }: { found: Lab; cell: LabCell }) {
  const best = bestOf(found, cell.limit);
  const isBest = best?.step === cell.step;
  return (
    <section class="advice" aria-label="The best step">
      <div class="advice-head">
        <strong>{best?.step == null ? `Limit ${grouped(cell.limit)}: any step` : `Best step: ${count(best.step, "token")}`}</strong>
        {found.step !== null && best?.step === found.step && found.limit === cell.limit ? <span class="badge">as it is now</span> : null}
        <span class="spacer" />
        {isBest || best?.step == null ? null : (
          <button
            type="button"
            onClick={() => {
              attempt({ step: best.step ?? cell.step });
            }}
          >
            Show it
          </button>
        )}
        <CopyButton
          what="header lines"
          label="Copy header lines"
          onCopy={() => {
            const text = headerLines({ limit: cell.limit, step: best?.step ?? cell.step });
            host.post({ type: "copy", text, what: "header lines" });
          }}
        />
      </div>
      <p>{best?.reason ?? found.advice}</p>
      {found.unstable === null ? null : (
        <p>
          The beginning changes in the part “<bdi>{found.unstable.part}</bdi>”, behind {count(found.unstable.tokens, "token")}: no step can help
          what stands behind it.
        </p>
      )}
      <dl class="figures" aria-label={`Limit ${cell.limit}, step ${cell.step}`}>
        <Figure name="read from the cache" value={percent(cell.cacheRate)} />
        <Figure name="kept of what fits" value={percent(cell.keptRate)} />
        <Figure name="tokens lost needlessly" value={grouped(cell.needless)} />
        <Figure name="turns that begin anew" value={grouped(cell.breaks)} />
      </dl>
    </section>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Steppers({ found, at }: { found: Lab; at: Tried }) {
  return (
    <div class="tried">
      <Stepper
        id="limit"
        label="Limit"
        values={found.limits}
        value={at.limit}
        onChange={(limit) => {
          attempt({ limit });
        }}
      />
      <Stepper
        id="step"
        label="Step"
        values={stepsOf(found, at.limit)}
        value={at.step}
        onChange={(step) => {
          attempt({ step });
        }}
      />
    </div>
  );
}

interface StepperProperties {
  id: string;
  label: string;
  values: readonly number[];
  value: number;
  onChange: (value: number) => void;
}

/** A slider over the values that were tried. */
function Stepper({ id, label, values, value, onChange }: StepperProperties) {
  return (
    <div class="stepper slider">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min="0"
        max={values.length - 1}
        value={values.indexOf(value)}
        aria-valuetext={count(value, "token")}
        onInput={(event) => {
          onChange(values[Number(event.currentTarget.value)] ?? value);
        }}
      />
      <output for={id}>{grouped(value)}</output>
    </div>
  );
}

function Steps({ found, cell }: { found: Lab; cell: LabCell }) {
  const cells = cellsOf(found, cell.limit);
  const best = bestOf(found, cell.limit)?.step;
  return (
    <Chart
      title={`Steps under a limit of ${grouped(cell.limit)}`}
      summary={`For each step, the share of the prompts that is read from the cache and the share that is kept.${best == null ? "" : ` The best step is ${best}.`}`}
      axis="step"
      places={cells.map(({ step }) => step)}
      range={[0, 1]}
      series={[
        { label: "read from the cache", colour: "--vscode-charts-blue", values: cells.map(({ cacheRate }) => cacheRate), words: percent },
        { label: "kept of what fits", colour: "--vscode-charts-green", values: cells.map(({ keptRate }) => keptRate), words: percent },
      ]}
      tableOnly={[
        { label: "lost needlessly", colour: "", values: cells.map(({ needless }) => needless), words: grouped },
        { label: "new beginnings", colour: "", values: cells.map(({ breaks }) => breaks), words: grouped },
      ]}
      chosen={cell.step}
      onChoose={(step) => {
        attempt({ step });
      }}
      noteOf={(step) => (step === best ? "best" : step === found.step ? "now" : "")}
    />
  );
}

function Turns({ found, cell }: { found: Lab; cell: LabCell }) {
  const { tokens, cached, lost } = cell.turns;
  const whole = tokens.map((kept, turn) => kept + (lost[turn] ?? 0));
  return (
    <Chart
      title={`Turn by turn, with a step of ${grouped(cell.step)}`}
      summary={`For each of ${tokens.length} turns, the tokens that are read from the cache, new, and removed.`}
      axis="turn"
      places={tokens.map((_, turn) => turn + 1)}
      series={[
        { label: "removed", colour: "--chart-removed", values: whole, words: grouped, bars: true },
        { label: "new", colour: "--vscode-charts-yellow", values: tokens, words: grouped, bars: true },
        { label: "read from the cache", colour: "--vscode-charts-blue", values: cached, words: grouped, bars: true },
        { label: "limit", colour: "--muted", values: tokens.map(() => cell.limit), words: grouped, dashed: true },
      ].map((each) =>
        // The bars stand behind one another: what is read is each one's own.
        each.label === "removed"
          ? { ...each, shown: lost }
          : each.label === "new"
            ? { ...each, shown: tokens.map((kept, turn) => kept - (cached[turn] ?? 0)) }
            : each,
      )}
    >
      {found.chats.length > 1 ? (
        <p class="hint">
          Of <bdi>{found.chats[0]?.name}</bdi>.
        </p>
      ) : null}
      {cell.failures.map((words) => (
        <p class="hint warn" key={words}>
          {words}
        </p>
      ))}
    </Chart>
  );
}

function Limits({ found, cell }: { found: Lab; cell: LabCell }) {
  const cells = found.limits.map((limit) => cellAt(found, { limit, step: bestOf(found, limit)?.step ?? stepsOf(found, limit)[0] ?? 1 }));
  return (
    <Chart
      title="Limits, each with its best step"
      summary="For each limit with its best step, the share of the prompts that is read from the cache and the share that is kept."
      axis="limit"
      places={found.limits}
      range={[0, 1]}
      series={[
        { label: "read from the cache", colour: "--vscode-charts-blue", values: cells.map((each) => each?.cacheRate ?? null), words: percent },
        { label: "kept of what fits", colour: "--vscode-charts-green", values: cells.map((each) => each?.keptRate ?? null), words: percent },
      ]}
      tableOnly={[{ label: "best step", colour: "", values: found.limits.map((limit) => bestOf(found, limit)?.step ?? null), words: grouped }]}
      chosen={cell.limit}
      onChoose={(limit) => {
        attempt({ limit });
      }}
      noteOf={(limit) => (limit === found.limit ? "now" : "")}
    />
  );
}

followTheme();
render(<Page />, document.getElementById("root") as HTMLElement);
host.post({ type: "ready" });
