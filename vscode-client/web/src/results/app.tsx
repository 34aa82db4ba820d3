/** The results page: the selected runs and pages. */

import { LiveRegion } from "../shared/announce";
import { CloseButton } from "../shared/closeButton";
import { baseName, count, sentence } from "../shared/format";
import { Icon } from "../shared/icons";
import { tabId, Tabs } from "../shared/tabs";
import { Classes } from "./classes";
import { Compare } from "./compare";
import { Overview } from "./overview";
import { Rows } from "./rows";
import { RunPicker } from "./runPicker";
import { NotRun, notRun, preparing, running, RunQuestion, RunsInProgress } from "./runs";
import { failure, isBusy, page, pages, run, source } from "./store";

const VIEWS = { Overview, Rows, Compare, Classes } as const;

export function App() {
  const shown = run.value;
  const View = VIEWS[page.value];
  return (
    <main class={isBusy.value ? "results busy" : "results"} aria-busy={isBusy.value}>
      {failure.value === "" ? null : (
        <div class="failure lonely" role="alert">
          <p>{sentence(failure.value)}</p>
          {shown === undefined ? null : (
            <CloseButton
              label="Dismiss"
              onClick={() => {
                failure.value = "";
              }}
            />
          )}
        </div>
      )}
      {shown === undefined ? (
        <>
          <div class="lonely">
            <RunsInProgress />
            {failure.value !== "" ? null : notRun.value === undefined ? (
              <p class="hint" role="status">
                Reading the results …
              </p>
            ) : (
              <NotRun />
            )}
          </div>
        </>
      ) : (
        <>
          <header class="bar">
            <Title />
            <RunsInProgress />
            <Tabs
              label="Results"
              names={pages.value}
              current={page.value}
              onChoose={(name) => {
                page.value = name;
              }}
              controls="view"
            />
          </header>
          <div
            id="view"
            role="tabpanel"
            class={`view-${page.value.toLowerCase()}`}
            aria-labelledby={tabId(page.value)}
          >
            <View run={shown} />
          </div>
        </>
      )}
      <RunQuestion />
      <LiveRegion />
    </main>
  );
}

function Title() {
  const shown = run.value;
  const live = source.value?.live;
  if (shown === undefined) {
    return null;
  }
  // A second run at the same time would call the models, and cost, twice.
  const isRunning =
    preparing.value !== "" || running.value.some(({ experiment }) => experiment === shown.experiment);
  return (
    <div class="title">
      <h1>
        <bdi>{shown.experiment}</bdi>
      </h1>
      <span class="muted of">
        <bdi>{baseName(shown.promptName)}</bdi>
      </span>
      {shown.failed === 0 ? null : <span class="badge bad">{count(shown.failed, "row")} failed</span>}
      {shown.isComplete ? null : (
        <span class="badge" title="This run covers only some rows">
          partial
        </span>
      )}
      {shown.stale ? (
        <span class="badge warn" title="The prompt has changed since this run">
          stale
        </span>
      ) : null}
      <div class="title-ends">
        <RunPicker />
        {live === undefined ? null : (
          <>
            {live.open === undefined ? null : (
              <button
                type="button"
                class="quiet"
                id="open-table"
                aria-label="Open the table as CSV"
                title={`Open ${shown.path}`}
                onClick={() => live.open?.(shown.path)}
              >
                <Icon name="open" />
              </button>
            )}
            {shown.canComplete ? (
              <button
                type="button"
                id="run-others"
                disabled={isRunning}
                title="Completes the run: runs the missing rows, and keeps its answers"
                onClick={() => {
                  live.runAgain(shown.prompt, { experiment: shown.experiment, complete: shown.path });
                }}
              >
                Run the other rows
              </button>
            ) : null}
            <button
              type="button"
              id="run-again"
              disabled={isRunning}
              onClick={() => live.runAgain(shown.prompt, { experiment: shown.experiment })}
            >
              Run again
            </button>
            <button
              type="button"
              id="run-fresh"
              disabled={isRunning}
              title="Asks the models again instead of using cached answers"
              onClick={() => live.runAgain(shown.prompt, { experiment: shown.experiment, fresh: true })}
            >
              Run again, fresh
            </button>
          </>
        )}
      </div>
    </div>
  );
}
