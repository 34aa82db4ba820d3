/** The truncation lab page. */

import { LiveRegion } from "../shared/announce";
import { CodeText } from "../shared/codeText";
import { CopyButton } from "../shared/copyButton";
import { baseName, count, grouped, percent } from "../shared/format";
import { mount } from "../shared/mount";
import { followTheme } from "../shared/theme";
import type { Cell, Lab } from "../wire/lab";
import { Limits, Steps, Turns } from "./charts";
import { bestOf, cellAt, headerLines, stepsOf, type Tried } from "./lab";
import {
  applied,
  apply,
  attempt,
  attemptFree,
  begin,
  CACHES,
  copy,
  ended,
  explore,
  failure,
  isBusy,
  isStale,
  lab,
  progress,
  tried,
} from "./store";

function Page() {
  const found = lab.value;
  const at = tried.value;
  const cell = found === undefined || at === undefined ? undefined : cellAt(found, at);
  return (
    <main id="lab" class={isBusy.value ? "busy" : undefined} aria-busy={isBusy.value}>
      {ended.value ? (
        <p class="stale" role="alert">
          The preview has ended. Run promptls preview again and reload this page.
        </p>
      ) : null}
      {failure.value === "" ? null : (
        <div class="failure" role="alert">
          <p>
            <CodeText text={failure.value} />
          </p>
        </div>
      )}
      {found === undefined ? (
        failure.value === "" ? (
          <p class="hint" role="status">
            {progress.value === "" ? "Simulating the chat, turn by turn …" : progress.value}
          </p>
        ) : null
      ) : (
        <>
          <Head found={found} />
          {isStale.value ? (
            <p class="stale" role="status">
              The prompt has changed since.
              <button type="button" onClick={() => explore({})}>
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
          <label class="labeled">
            Grows
            <select
              id="input"
              value={found.input}
              onChange={(event) => explore({ input: event.currentTarget.value })}
            >
              {found.inputs.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <label class="labeled">
          Cache
          <select
            id="cache"
            value={found.cache.name}
            title={found.cache.description}
            onChange={(event) => explore({ cache: event.currentTarget.value })}
          >
            {CACHES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <p class="hint">
        <bdi>{found.input}</bdi> of <bdi>{chat?.name}</bdi> (<bdi>{chat?.source}</bdi>) grows over{" "}
        {count(turns, "turn")}
        {chat === undefined || chat.generated === 0 ? "" : `, ${chat.generated} of them generated`}, to{" "}
        {count(chat?.tokens.at(-1) ?? 0, "token")}
        {found.chats.length > 1 ? `; the shares are of ${found.chats.length} chats` : ""}.{" "}
        {found.approximate ? "≈ " : ""}
        {found.encoding}.
      </p>
    </>
  );
}

function Advice({ found, cell }: { found: Lab; cell: Cell }) {
  const best = bestOf(found, cell.limit);
  const isBest = best?.step === cell.step;
  return (
    <section class="advice" aria-label="The best step">
      <div class="advice-head">
        <strong>
          {best?.step == null
            ? `Limit ${grouped(cell.limit)}: any step`
            : `Best step: ${count(best.step, "token")}`}
        </strong>
        {found.step !== null && best?.step === found.step && found.limit === cell.limit ? (
          <span class="badge">as it is now</span>
        ) : null}
        <span class="spacer" />
        {isBest || best?.step == null ? null : (
          <button type="button" onClick={() => attempt({ step: best.step ?? cell.step })}>
            Show it
          </button>
        )}
        <CopyButton
          what="header lines"
          label="Copy header lines"
          onCopy={() => {
            copy(headerLines({ limit: cell.limit, step: best?.step ?? cell.step }), "header lines");
          }}
        />
      </div>
      <p>{best?.reason ?? found.advice}</p>
      {found.unstable === null ? null : (
        <p>
          The beginning changes in the part “<bdi>{found.unstable.part}</bdi>”, after{" "}
          {count(found.unstable.tokens, "token")}: no step helps the following text.
        </p>
      )}
      <dl class="figures" aria-label={`Limit ${cell.limit}, step ${cell.step}`}>
        <Figure name="read from the cache" value={percent(cell.cacheRate)} />
        {found.measured == null ? null : (
          <Figure name="measured in the last run" value={percent(found.measured.cacheRate)} />
        )}
        <Figure name="kept of what fits" value={percent(cell.keptRate)} />
        <Figure name="tokens lost needlessly" value={grouped(cell.needless)} />
        <Figure name="turns that restart the cache" value={grouped(cell.breaks)} />
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
        onChange={(limit) => attempt({ limit })}
        onType={(limit) => attemptFree({ limit })}
      />
      <Stepper
        id="step"
        label="Step"
        values={stepsOf(found, at.limit)}
        value={at.step}
        onChange={(step) => attempt({ step })}
        onType={(step) => attemptFree({ step })}
      />
      <Apply at={at} />
    </div>
  );
}

function Apply({ at }: { at: Tried }) {
  const isApplied = applied.value?.limit === at.limit && applied.value.step === at.step;
  return (
    <button
      type="button"
      class="primary"
      id="apply"
      title={`Write token_limit: ${at.limit} and truncation_step: ${at.step} into the header`}
      disabled={isApplied}
      onClick={apply}
    >
      {isApplied ? "Applied" : "Apply"}
    </button>
  );
}

interface StepperProperties {
  id: string;
  label: string;
  values: readonly number[];
  value: number;
  /** One of the values. */
  onChange: (value: number) => void;
  /** Any number, by keyboard. */
  onType: (value: number) => void;
}

/** A slider over the tried values, and a field for any other value. */
function Stepper({ id, label, values, value, onChange, onType }: StepperProperties) {
  return (
    <div class="stepper slider">
      <label for={id}>{label}</label>
      <input
        type="range"
        aria-label={`${label} among those that were tried`}
        min="0"
        max={values.length - 1}
        value={values.indexOf(value)}
        aria-valuetext={count(value, "token")}
        onInput={(event) => onChange(values[Number(event.currentTarget.value)] ?? value)}
      />
      <input
        id={id}
        type="number"
        min="1"
        value={value}
        title="Any other number is tried too"
        onChange={(event) => {
          const typed = Math.floor(Number(event.currentTarget.value));
          if (typed >= 1) {
            onType(typed);
          } else {
            event.currentTarget.value = String(value);
          }
        }}
      />
    </div>
  );
}

followTheme();
mount(<Page />);
begin();
