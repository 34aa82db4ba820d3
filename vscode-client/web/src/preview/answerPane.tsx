/** The answer of a model below the prompt: streaming, comparison with the last answer, and actions. */

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";

import { CloseButton } from "../shared/closeButton";
import { CodeText } from "../shared/codeText";
import { CopyButton } from "../shared/copyButton";
import { errorMessage } from "../shared/errorMessage";
import { count, grouped, money, sentence } from "../shared/format";
import { revealed } from "../shared/hidden";
import { Icon } from "../shared/icons";
import { type Item, Picker, searchItems } from "../shared/picker";
import { Pieces } from "../shared/pieces";
import { Splitter } from "../shared/splitter";
import { aroundChanges, compareTexts } from "../shared/textDiff";
import type { PreviewResult, SaveArguments, SingleAnswer } from "../wire/preview";
import {
  answerHeight,
  answerIsOpen,
  answers,
  asking,
  askModel,
  closeAnswer,
  confirm,
  copy,
  model,
  readAnswers,
  resizeAnswer,
  saveData,
  shown,
  stopAsking,
} from "./store";

const isCompared = signal(false);

/** The button that asks the model with the current rendering. */
export function AskButton({ result }: { result: PreviewResult }) {
  const name = model.value ?? answers.value?.model ?? result.request.models[0] ?? "";
  return (
    <button
      type="button"
      class="primary"
      id="ask"
      title={`Ask ${name} about ${result.sample?.name ?? "this prompt"} (A)`}
      disabled={asking.value.isRunning}
      onClick={() => void askModel()}
    >
      <Icon name="play" />
      <span>
        Ask <bdi class="wide">{shortName(name)}</bdi>
      </span>
    </button>
  );
}

/** Returns the model's name without its provider. */
function shortName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

export function AnswerPane() {
  const { result } = shown.value;
  return answerIsOpen.value && result !== undefined ? <Pane result={result} /> : null;
}

function Pane({ result }: { result: PreviewResult }) {
  const { isRunning, text, question, message } = asking.value;
  useEffect(() => {
    void readAnswers();
  }, [result.uri, result.sample?.name, result.sample?.source, JSON.stringify(result.request.models)]);
  const stored = answers.value?.answers ?? [];
  const last = stored.at(-1);
  const before = stored.at(-2);
  const isStreaming = isRunning || text !== "";
  return (
    <section
      class={answerHeight.value === undefined ? "answer" : "answer resized"}
      aria-label="Answer of the model"
      style={{ height: answerHeight.value === undefined ? "" : `${answerHeight.value}px` }}
    >
      <Splitter label="Height of the answer" height={answerHeight.value} onResize={resizeAnswer} />
      <div class="answer-head">
        <ModelPicker result={result} />
        <span class="spacer" />
        {isRunning ? (
          <button type="button" id="stop" onClick={stopAsking}>
            <Icon name="stop" /> Stop
          </button>
        ) : null}
        {last === undefined || isStreaming ? null : (
          <CopyButton what="the answer" onCopy={() => copy(last.response, "the answer")} />
        )}
        <CloseButton label="Close the answer" title="Close (Escape)" onClick={closeAnswer} />
      </div>
      <div class="answer-text" tabIndex={0} aria-busy={isRunning}>
        {question === undefined ? null : (
          <div class="hint" role="alert">
            <p>{question.text}</p>
            <div class="ways">
              <button type="button" class="primary" onClick={() => confirm(true)}>
                {question.action}
              </button>
              <button type="button" onClick={() => confirm(false)}>
                Cancel
              </button>
            </div>
          </div>
        )}
        {message === "" ? null : (
          <div class="hint" role="alert">
            <p>{sentence(message)}</p>
            {isRunning ? null : (
              <div class="ways">
                <button type="button" onClick={() => void askModel()}>
                  Ask again
                </button>
              </div>
            )}
          </div>
        )}
        {isStreaming ? (
          <>
            <pre class="plain">{revealed(text).shown}</pre>
            {isRunning ? (
              <p class="aside" role="status">
                {text === "" ? "Waiting for the first words …" : "Answering …"}
              </p>
            ) : null}
          </>
        ) : last === undefined ? (
          <p class="empty">No model was asked about {result.sample?.name ?? "this data"} yet.</p>
        ) : (
          <Answered answer={last} before={before} digest={answers.value?.digest ?? ""} />
        )}
      </div>
      {isStreaming ? null : (
        <Saving key={`${result.uri} ${result.sample?.name} ${last?.response}`} response={last?.response} />
      )}
    </section>
  );
}

function ModelPicker({ result }: { result: PreviewResult }) {
  const { models = [], model: standard = result.request.models[0] ?? "" } = answers.value ?? {};
  const current = model.value ?? standard;
  const items: Item[] = models.map(({ name, detail }) => ({
    key: name,
    label: name,
    detail,
    group: "Models",
  }));
  return (
    <Picker
      id="model"
      label="Model"
      placeholder="Search, or type a name such as openai:gpt-4o-mini"
      current={<bdi>{current}</bdi>}
      search={(query) => {
        const typed = query.trim();
        const isListed = !typed.includes(":") || items.some(({ key }) => key === typed);
        const other = { key: typed, label: typed, detail: "", group: "Another model" };
        return searchItems(isListed ? items : [...items, other], query);
      }}
      isCurrent={({ key }) => key === current}
      onChoose={({ key }) => {
        model.value = key;
      }}
    />
  );
}

interface AnsweredProperties {
  answer: SingleAnswer;
  before: SingleAnswer | undefined;
  /** The hash of the current messages. */
  digest: string;
}

function Answered({ answer, before, digest }: AnsweredProperties) {
  const pieces = useMemo(
    () => (before === undefined ? [] : aroundChanges(compareTexts(before.response, answer.response))),
    [before, answer],
  );
  const isSame = before?.response === answer.response;
  return (
    <>
      <p class="aside facts" id="facts">
        {facts(answer).join(" · ")}
      </p>
      {digest !== "" && digest !== answer.digest ? (
        <p class="hint">The prompt has changed since this answer.</p>
      ) : null}
      {before === undefined ? null : isSame ? (
        <p class="hint">The same answer as the last one, by {before.model}.</p>
      ) : (
        <label class="check">
          <input
            type="checkbox"
            id="compare-answers"
            checked={isCompared.value}
            onChange={(event) => {
              isCompared.value = event.currentTarget.checked;
            }}
          />
          Changes from the last answer, by {before.model} at {time(before.date)}
        </label>
      )}
      {isCompared.value && before !== undefined && !isSame ? (
        <Pieces pieces={pieces} />
      ) : (
        <pre class="plain">{revealed(answer.response).shown}</pre>
      )}
    </>
  );
}

/** Returns tokens, cost and time of an answer, with its model and date. */
function facts(answer: SingleAnswer): string[] {
  const { model: name, inputTokens, outputTokens, cost, seconds, shortcomings, date } = answer;
  return [
    name,
    `${count(inputTokens ?? 0, "token")} in, ${grouped(outputTokens ?? 0)} out`,
    ...(cost === null ? [] : [cost === 0 ? "free" : money(cost)]),
    `${seconds.toFixed(1)} s`,
    time(date),
    ...shortcomings,
  ];
}

function time(date: string): string {
  const at = new Date(date);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday
    ? at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : at.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
}

/** Adds the data, and the answer if there is one, to the files of the prompt. */
function Saving({ response }: { response: string | undefined }) {
  const [message, setMessage] = useState("");
  const save = (to: SaveArguments["to"]): void => {
    saveData(to, response === undefined ? {} : { response }).then(setMessage, (error: unknown) => {
      setMessage(sentence(errorMessage(error)));
    });
  };
  return (
    <div class="answer-foot">
      {response === undefined ? null : (
        <button
          type="button"
          title="The data and this answer, as an example in the header"
          onClick={() => save("example")}
        >
          Add as example
        </button>
      )}
      <button
        type="button"
        title="The data and this answer, as a row of the dataset"
        onClick={() => save("dataset")}
      >
        Add to dataset
      </button>
      {message === "" ? null : (
        <span role="status">
          <CodeText text={message} />
        </span>
      )}
    </div>
  );
}
