/** The tokens of the parts compared with the limit, with sliders for other limits. */

import { count, grouped, milliseconds, percent } from "../shared/format";
import { Icon } from "../shared/icons";
import { Slider } from "../shared/slider";
import type { PreviewResult, Rendering } from "../wire/preview";
import { colorOf, nameOf, sliderEnd } from "./state";
import { choice, choose, controls, inEditor, openLab, toggleControls } from "./store";

export function Budget({ result, rendering }: { result: PreviewResult; rendering: Rendering | undefined }) {
  const limit = result.tokenLimit;
  const tokens = rendering?.tokens ?? 0;
  const kept = rendering?.tokensKept ?? 0;
  const isOver = limit !== null && kept > limit;
  const isTried = choice.value.limit !== undefined || choice.value.step !== undefined;
  return (
    <div class="budget">
      <div class="totals">
        <span id="tokens" class={isOver ? "total over" : "total"}>
          {rendering === undefined ? null : <strong>{grouped(kept)}</strong>}
          {rendering === undefined
            ? ""
            : limit === null
              ? ` token${kept === 1 ? "" : "s"}`
              : ` of ${count(limit, "token")}`}
        </span>
        {rendering === undefined || limit === null || kept > limit ? null : (
          <span class="aside">{percent(kept / limit)}</span>
        )}
        {tokens > kept ? <span class="warn">{grouped(tokens - kept)} cut</span> : null}
        {kept > (limit ?? kept) ? <span class="warn">{grouped(kept - (limit ?? 0))} over</span> : null}
        <span class="spacer" />
        <span class="aside wide">{result.encoding}</span>
        {rendering === undefined || rendering.seconds === 0 ? null : (
          <span class="aside wide number" title="To render and count">
            {milliseconds(rendering.seconds)}
          </span>
        )}
        <button
          type="button"
          class="quiet"
          id="controls"
          aria-expanded={controls.value}
          aria-controls="sliders"
          aria-label="Limit and step"
          title="Limit and step (L)"
          onClick={toggleControls}
        >
          <Icon name="sliders" />
        </button>
      </div>
      {rendering === undefined ? null : <Bar rendering={rendering} limit={limit} />}
      {controls.value ? (
        <div class="sliders" id="sliders">
          <Slider
            id="limit"
            label="Limit"
            value={limit}
            end={sliderEnd(tokens, choice.value.limit === undefined ? limit : tokens)}
            isTried={choice.value.limit !== undefined}
            onChange={(value) => choose({ limit: value })}
          />
          <Slider
            id="step"
            label="Step"
            value={result.truncationStep}
            end={sliderEnd(limit === null ? tokens / 2 : limit / 2)}
            isTried={choice.value.step !== undefined}
            onChange={(value) => choose({ step: value })}
          />
          {inEditor ? (
            <button
              type="button"
              class="quiet"
              title="Simulate a growing chat under limits and steps"
              onClick={openLab}
            >
              <Icon name="chart" />
              Truncation lab
            </button>
          ) : (
            <a
              class="quiet"
              href="lab"
              target="_blank"
              rel="noopener"
              title="Simulate a growing chat under limits and steps"
            >
              <Icon name="chart" />
              Truncation lab
            </a>
          )}
          {isTried ? (
            <button
              type="button"
              class="quiet"
              title="Reset to the values of the file"
              aria-label="Limit and step of the file"
              onClick={() => choose({ limit: undefined, step: undefined })}
            >
              <Icon name="undo" />
            </button>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

const MAX_PIECES = 200;

/** Screen readers get the same information from the list of parts. */
function Bar({ rendering, limit }: { rendering: Rendering; limit: number | null }) {
  const whole = Math.max(rendering.tokens, limit ?? 0, 1);
  const parts = rendering.parts.length > MAX_PIECES ? [] : rendering.parts;
  return (
    <div class="bar-of-parts" aria-hidden="true">
      {parts.map((part) => (
        <span
          key={part.index}
          class={`piece ${colorOf(part.role)}${part.kept ? "" : " cut"}`}
          style={{ width: `${(100 * part.tokens) / whole}%` }}
          title={`${nameOf(part)}: ${count(part.tokens, "token")}${part.kept ? "" : ", cut"}`}
          onClick={() => document.getElementById(`part-${part.index}`)?.scrollIntoView({ block: "nearest" })}
        />
      ))}
      {parts.length === 0 ? (
        <span class="piece other" style={{ width: `${(100 * rendering.tokensKept) / whole}%` }} />
      ) : null}
    </div>
  );
}
