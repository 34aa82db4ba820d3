/** The preview page. */

import { LiveRegion } from "../shared/announce";
import { CopyButton } from "../shared/copyButton";
import { baseName } from "../shared/format";
import { tabId, Tabs } from "../shared/tabs";
import type { PreviewResult, Rendering } from "../wire/preview";
import { AnswerPane, AskButton } from "./answerPane";
import { Budget } from "./budget";
import { Chat } from "./chat";
import { DataView } from "./dataView";
import { DiffView } from "./diffView";
import { EvaluationLine } from "./evaluationLine";
import { Failure, Problems } from "./failure";
import { hasValues, NoSample, Nothing, PLACEHOLDERS } from "./nothing";
import { OriginTip } from "./origin";
import { OneText, Plain } from "./plain";
import { currentRequest, RequestView } from "./requestView";
import { SamplePicker } from "./samplePicker";
import { contentOf } from "./sourceMap";
import { SourcePane } from "./sourcePane";
import { type View, VIEWS } from "./state";
import { answerIsOpen, copy, ended, inEditor, manageTrust, show, shown, sourcePlace, view } from "./store";
import { Tokens } from "./tokens";

export function App() {
  const { result, rendering, failure, outdated } = shown.value;
  return (
    <div class={pageClass(sourcePlace.value !== undefined, answerIsOpen.value && result !== undefined)}>
      <SourcePane />
      <header class="bar">
        <h1 class="only-heard">Preview{result === undefined ? "" : ` of ${baseName(result.path)}`}</h1>
        {ended.value ? (
          <p class="ended" role="alert">
            The preview has ended. Run <code>promptls preview</code> again and reload this page.
          </p>
        ) : null}
        {result === undefined ? null : (
          <div class="heading">
            <SamplePicker result={result} />
            <span class="spacer" />
            {rendering === undefined ? null : <AskButton result={result} />}
            {rendering === undefined ? null : (
              <CopyButton
                id="copy"
                label="Copy"
                what={copied(view.value, rendering, result).what}
                onCopy={() => {
                  const { text, what } = copied(view.value, rendering, result);
                  copy(text, what);
                }}
              />
            )}
          </div>
        )}
        {result === undefined ? null : <Budget result={result} rendering={rendering} />}
        {failure === undefined || outdated ? null : <Failure failure={failure} />}
        {rendering === undefined ? null : (
          <Tabs
            label="Views of the rendering"
            names={VIEWS}
            current={view.value}
            onChoose={show}
            controls="view"
          />
        )}
      </header>
      <main>
        <div
          id="view"
          class={outdated ? "outdated" : undefined}
          role={rendering === undefined ? undefined : "tabpanel"}
          aria-labelledby={rendering === undefined ? undefined : tabId(view.value)}
          aria-busy={outdated}
          key={view.value}
        >
          {rendering === undefined || result === undefined ? (
            failure === undefined ? (
              <Waiting />
            ) : (
              <Nothing failure={failure} result={result} />
            )
          ) : (
            <>
              <Problems problems={rendering.problems} />
              {result.leftOut == null ? null : <LeftOut reason={result.leftOut} />}
              {result.standIns.length === 0 ? null : (
                <p class="hint">
                  {result.leftOut == null ? "Nothing provides" : "For"}{" "}
                  {result.standIns.map((name) => `${name}()`).join(", ")}
                  {result.leftOut == null ? ":" : ","} a stand-in returns its first argument.
                </p>
              )}
              {result.sample?.name === PLACEHOLDERS && hasValues(result.data) && view.value !== "Data" ? (
                <NoSample data={result.data} />
              ) : null}
              {result.viewer == null ? null : <EvaluationLine viewer={result.viewer} />}
              <ViewOf view={view.value} rendering={rendering} result={result} />
            </>
          )}
        </div>
        {failure === undefined || !outdated ? null : <Failure failure={failure} isOutdated />}
      </main>
      <AnswerPane />
      <OriginTip />
      <LiveRegion />
    </div>
  );
}

function LeftOut({ reason }: { reason: string }) {
  return (
    <p class="hint">
      {reason}
      {inEditor ? (
        <>
          {" "}
          <button type="button" class="link" id="manage-trust" onClick={manageTrust}>
            Manage Workspace Trust
          </button>
        </>
      ) : null}
    </p>
  );
}

function pageClass(hasSource: boolean, hasAnswer: boolean): string {
  return `page${hasSource ? " with-source" : ""}${hasAnswer ? " with-answer" : ""}`;
}

function Waiting() {
  return (
    <div class="waiting" role="status">
      <span class="only-heard">Rendering</span>
      <i />
      <i />
      <i />
    </div>
  );
}

interface ViewProperties {
  view: View;
  rendering: Rendering;
  result: PreviewResult;
}

function ViewOf({ view: name, rendering, result }: ViewProperties) {
  switch (name) {
    case "Chat":
      return <Chat parts={rendering.parts} />;
    case "Text":
      // The meta template arranges the prompts of an evaluation; they do not simply follow each other.
      return result.viewer == null ? (
        <OneText parts={rendering.parts} />
      ) : (
        <Plain text={textOf(name, rendering, result)} label="The prompts" />
      );
    case "Tokens":
      return <Tokens parts={rendering.parts} encoding={result.encoding} />;
    case "Request":
      return <RequestView messages={rendering.messages} result={result} />;
    case "Data":
      return <DataView key={`${result.uri} ${result.sample?.name}`} result={result} />;
    case "Diff":
      return <DiffView key={result.uri} rendering={rendering} />;
    default:
      return <Plain text={textOf(name, rendering, result)} label={name} isJson={name !== "YAML"} />;
  }
}

function textOf(name: View, rendering: Rendering, result: PreviewResult): string {
  switch (name) {
    case "Messages":
      return JSON.stringify(rendering.messages, null, 2);
    case "YAML":
      return rendering.text;
    case "Data":
      return JSON.stringify(result.data, null, 2);
    case "Request":
      return currentRequest(rendering.messages, result);
    default:
      return (
        rendering.string ??
        rendering.parts
          .filter(({ kept }) => kept)
          .map(contentOf)
          .join("")
      );
  }
}

function copied(name: View, rendering: Rendering, result: PreviewResult): { text: string; what: string } {
  const descriptions: Partial<Record<View, string>> = {
    Messages: "the messages",
    YAML: "the rendered YAML",
    Data: "the data",
    Request: "the request",
  };
  return { text: textOf(name, rendering, result), what: descriptions[name] ?? "the prompt" };
}
