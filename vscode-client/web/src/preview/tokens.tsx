/** The view of all tokens with their ids. */

import { useMemo, useState } from "preact/hooks";

import { announce } from "../shared/announce";
import { count, grouped } from "../shared/format";
import { MarkedText } from "../shared/markedText";
import { useAnswer } from "../shared/useAnswer";
import type { Part, TokensAnswer } from "../wire/preview";
import { contentOf } from "./sourceMap";
import { colorOf, nameOf } from "./state";
import { ask } from "./store";
import { tokenMarks, tokenText } from "./tokenText";

const PAGE_TOKENS = 5000;

export function Tokens({ parts, encoding }: { parts: readonly Part[]; encoding: string }) {
  const { answer, failure } = useAnswer(async () => {
    const { texts } = await ask<TokensAnswer>("tokens", { texts: parts.map(contentOf), encoding });
    return { parts, texts };
  }, [parts, encoding]);
  const [pointed, setPointed] = useState<{ part: number; token: number }>();
  if (failure !== "") {
    return <p class="empty">{failure}</p>;
  }
  if (answer === undefined) {
    return <p class="empty">Counting …</p>;
  }
  return (
    <div class="tokens">
      <p class="hint">
        {encoding}. Point at a token for its id, or go through them with <kbd>←</kbd> <kbd>→</kbd>.
      </p>
      {answer.parts.map((part, place) => (
        <PartTokens
          key={part.index}
          part={part}
          ids={answer.texts[place]?.ids ?? []}
          starts={answer.texts[place]?.starts ?? []}
          pointed={pointed?.part === part.index ? pointed.token : undefined}
          onPoint={(token) => setPointed(token === undefined ? undefined : { part: part.index, token })}
        />
      ))}
    </div>
  );
}

interface PartProperties {
  part: Part;
  ids: readonly number[];
  starts: readonly number[];
  pointed: number | undefined;
  onPoint: (token: number | undefined) => void;
}

function PartTokens({ part, ids, starts, pointed, onPoint }: PartProperties) {
  const [most, setMost] = useState(PAGE_TOKENS);
  const text = contentOf(part);
  const made = useMemo(() => tokenText(text, ids, starts, most), [text, ids, starts, most]);
  const tints = useMemo(() => tokenMarks(made), [made]);
  const token = pointed === undefined ? undefined : made.tokens[pointed];
  const marks = useMemo(
    () => (token === undefined ? tints : [...tints, { start: token.start, end: token.end, kind: "walked" }]),
    [tints, token],
  );
  const name = nameOf(part);
  return (
    <section
      class={`part ${colorOf(part.role)}${part.kept ? "" : " cut"}`}
      aria-label={`${part.role} part ${name}`}
    >
      <div class="part-heading">
        <bdi class="role">{part.role}</bdi>
        <bdi class="name">{part.name}</bdi>
        <span class="spacer" />
        <output class="token-id">
          {token === undefined
            ? ""
            : `${JSON.stringify(token.text)} · ${token.ids.map((id) => `#${id}`).join(" ")}`}
        </output>
        <span class="aside number" title={count(ids.length, "token")}>
          {grouped(ids.length)}
        </span>
      </div>
      <pre
        class="token-text"
        tabIndex={0}
        aria-label={`Tokens of ${name}`}
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (step !== undefined && made.tokens.length > 0) {
            event.preventDefault();
            const next = Math.max(0, Math.min(made.tokens.length - 1, (pointed ?? -1) + step));
            const to = made.tokens[next];
            onPoint(next);
            announce(`${JSON.stringify(to?.text)}, id ${to?.ids.join(" and ")}`, 0);
          }
        }}
      >
        <MarkedText
          text={made.shown}
          marks={marks}
          onPoint={(offset) => onPoint(offset === undefined ? undefined : tokenAt(made.tokens, offset))}
        />
      </pre>
      {made.tokens.length < most || ids.length <= most ? null : (
        <button type="button" class="more" onClick={() => setMost(most + PAGE_TOKENS)}>
          Show more of {count(ids.length, "token")}
        </button>
      )}
    </section>
  );
}

function tokenAt(tokens: readonly { end: number }[], offset: number): number | undefined {
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tokens[middle] as { end: number }).end <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < tokens.length ? low : undefined;
}
