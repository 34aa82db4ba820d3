/** The difference between the current rendering and the last commit's, part by part. */

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { count, sentence, signed } from "../shared/format";
import { type Item, Picker, searchItems } from "../shared/picker";
import { Pieces } from "../shared/pieces";
import { aroundChanges, compareTexts } from "../shared/textDiff";
import { useAnswer } from "../shared/useAnswer";
import type { CommittedAnswer, Rendering } from "../wire/preview";
import { compareParts, type PartChange } from "./compare";
import { contentOf } from "./sourceMap";
import { colorOf, nameOf } from "./state";
import { ask, choice, reveal, shown } from "./store";

/** The commit or prompt to compare with; by default the last commit. */
const against = signal<string | undefined>(undefined);

export function DiffView({ rendering }: { rendering: Rendering }) {
  const { uri, sample } = shown.value.result ?? {};
  const { answer: found, failure } = useAnswer(() => {
    const data = sample?.row === undefined ? { sample: sample?.name } : { row: sample.row };
    const other = against.value === undefined ? {} : { against: against.value };
    return ask<CommittedAnswer>("committed", { ...choice.value, ...data, ...other });
  }, [uri, JSON.stringify(choice.value), sample?.name, sample?.row, against.value]);
  if (failure !== "") {
    return (
      <>
        {against.value === undefined ? null : <Versions found={found} />}
        <p class="empty">{sentence(failure)}</p>
      </>
    );
  }
  if (found === undefined) {
    return <p class="empty">Rendering the last commit …</p>;
  }
  return (
    <>
      <Versions found={found} />
      {found.rendering === null ? (
        <p class="empty">
          The prompt of <CommitName {...found.commit} /> does not render with this data:{" "}
          {found.failure?.message}
        </p>
      ) : (
        <Changes before={found.rendering} after={rendering} commit={found.commit} />
      )}
    </>
  );
}

/** Chooses what to compare with: a commit, or another prompt of the folder. */
function Versions({ found }: { found: CommittedAnswer | undefined }) {
  const current = against.value ?? "the last commit";
  const items: Item[] = [
    { key: "", label: "the last commit", group: "Commits" },
    ...(found?.others ?? []).map(({ name, subject, date }) => ({
      key: name,
      label: name,
      detail: subject,
      group: date === "" ? "Prompts" : "Commits",
    })),
  ];
  return (
    <div class="options-row">
      <Picker
        id="against"
        label="Compared with"
        placeholder="Search, or type a branch, tag or commit"
        current={<bdi>{current}</bdi>}
        search={(query) => {
          const typed = query.trim();
          const isListed = typed === "" || items.some(({ key }) => key === typed);
          const other = { key: typed, label: typed, group: "Another" };
          return searchItems(isListed ? items : [...items, other], query);
        }}
        isCurrent={({ key }) => key === (against.value ?? "")}
        onChoose={({ key }) => {
          against.value = key === "" ? undefined : key;
        }}
      />
    </div>
  );
}

function CommitName({ name, subject }: CommittedAnswer["commit"]) {
  return (
    <span class="commit">
      <code>{name}</code> <bdi>{subject}</bdi>
    </span>
  );
}

interface ChangesProperties {
  before: Rendering;
  after: Rendering;
  commit: CommittedAnswer["commit"];
}

function Changes({ before, after, commit }: ChangesProperties) {
  const changes = useMemo(() => compareParts(before.parts, after.parts), [before, after]);
  const different = changes.filter(({ kind }) => kind !== "same");
  return (
    <div class="diff">
      <p class="hint">
        Against <CommitName {...commit} />
        {commit.date === "" ? null : (
          <>
            , <time dateTime={commit.date}>{new Date(commit.date).toLocaleDateString()}</time>
          </>
        )}
        :{" "}
        {different.length === 0 ? (
          "the same."
        ) : (
          <>
            {count(different.length, "part")} of {changes.length} differ,{" "}
            <TokenChange tokens={after.tokens - before.tokens} /> tokens.
          </>
        )}
      </p>
      <ul class="chat" aria-label="Parts that differ">
        {inRuns(changes).map((run) =>
          run[0]?.kind === "same" ? (
            <li
              class="part same"
              key={`same-${run[0].after?.index}`}
              title={run.map(({ after: part }) => part?.name).join(", ")}
            >
              <span class="aside">{count(run.length, "part")} unchanged</span>
            </li>
          ) : (
            run.map((each) => <Change key={`${each.before?.index}-${each.after?.index}`} change={each} />)
          ),
        )}
      </ul>
    </div>
  );
}

/** Groups adjacent equal lines. */
function inRuns(changes: readonly PartChange[]): PartChange[][] {
  const runs: PartChange[][] = [];
  for (const each of changes) {
    const last = runs.at(-1);
    if (last !== undefined && last[0]?.kind === "same" && each.kind === "same") {
      last.push(each);
    } else {
      runs.push([each]);
    }
  }
  return runs;
}

function TokenChange({ tokens }: { tokens: number }) {
  return (
    <span class={tokens === 0 ? "number" : tokens > 0 ? "number added" : "number removed"}>
      {signed(tokens)}
    </span>
  );
}

const WORDS = { same: "unchanged", changed: "changed", added: "new", removed: "removed" } as const;

function Change({ change }: { change: PartChange }) {
  const { kind, before, after, tokens } = change;
  const part = after ?? before;
  const left = before === undefined ? "" : contentOf(before);
  const right = after === undefined ? "" : contentOf(after);
  const pieces = useMemo(() => aroundChanges(compareTexts(left, right)), [left, right]);
  if (part === undefined) {
    return null;
  }
  const line = after?.line ?? null;
  return (
    <li class={`part ${colorOf(part.role)} ${kind}`}>
      <div class="part-heading">
        <bdi class="role">{part.role}</bdi>
        {line === null ? (
          <bdi class="name">{nameOf(part)}</bdi>
        ) : (
          <button type="button" class="name link" onClick={() => reveal(line)}>
            <bdi>{nameOf(part)}</bdi>
          </button>
        )}
        <span class="spacer" />
        <span class={`badge ${kind}`}>{WORDS[kind]}</span>
        <TokenChange tokens={tokens} />
      </div>
      <Pieces pieces={pieces} />
    </li>
  );
}
