/** The parts as messages of a chat, as the model receives them. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { announce } from "../shared/announce";
import { CopyButton } from "../shared/copyButton";
import { count, grouped } from "../shared/format";
import { Icon } from "../shared/icons";
import { rectsOf } from "../shared/markedText";
import type { Part } from "../wire/preview";
import { MappedText } from "./mappedText";
import { describeOrigin } from "./origin";
import { contentOf, segmentsOf } from "./sourceMap";
import { colorOf, keysOf, nameOf, shortLength } from "./state";
import { copy, currentPart, places, reveal, revealSegment, walked } from "./store";

/** If there are more parts, those that are not visible are not laid out. */
const MANY = 150;
/** How many characters a click adds: more would make layout slow. */
const MORE_CHARACTERS = 60_000;

export function Chat({ parts }: { parts: readonly Part[] }) {
  const [focused, setFocused] = useState(0);
  if (parts.length === 0) {
    return <p class="empty">The template renders to no parts.</p>;
  }
  const keys = keysOf(parts);
  const inOrder = Math.min(focused, parts.length - 1);
  return (
    <ol class={parts.length > MANY ? "chat many" : "chat"} aria-label="Parts of the prompt">
      {parts.map((part, place) => (
        <PartItem
          key={keys[place]}
          part={part}
          isInOrder={place === inOrder}
          onFocus={() => setFocused(place)}
        />
      ))}
    </ol>
  );
}

function PartItem({ part, isInOrder, onFocus }: { part: Part; isInOrder: boolean; onFocus: () => void }) {
  const content = contentOf(part);
  const short = shortLength(content);
  const [opened, setOpened] = useState(0);
  const item = useRef<HTMLLIElement>(null);
  const here = places.value.filter((place) => place.part === part.index);
  // Text that was made at the cursor is always shown.
  const needed = here.length === 0 ? 0 : (here[0]?.end ?? 0);
  const length =
    opened > 0 || needed > short ? Math.max(opened, Math.min(content.length, needed + 400)) : short;
  const shownText = content.length > length ? content.slice(0, length) : content;
  const isCurrent = currentPart.value === part.index;
  useFollowing(item, isCurrent, here[0]?.start);

  const name = nameOf(part);
  const tokens = count(part.tokens, "token");
  const description = `${part.role} part ${name}, ${tokens}${part.kept ? "" : ", cut by the limit"}`;
  return (
    <li
      ref={item}
      class={`part ${colorOf(part.role)}${part.kept ? "" : " cut"}${isCurrent ? " current" : ""}`}
      id={`part-${part.index}`}
      tabIndex={isInOrder ? 0 : -1}
      aria-label={description}
      aria-current={isCurrent ? "location" : undefined}
      onFocus={onFocus}
      onBlur={() => {
        walked.value = undefined;
      }}
      onKeyDown={(event) => {
        if (event.target === event.currentTarget) {
          walk(event, part);
        }
      }}
    >
      <div class="part-heading">
        <bdi class="role">{part.role}</bdi>
        <bdi class="name" title={name}>
          {part.name}
        </bdi>
        <span class="spacer" />
        <span class="actions">
          <CopyButton what={`part ${name}`} onCopy={() => copy(content, `part ${name}`)} />
          {part.line === null ? null : (
            <button
              type="button"
              class="quiet"
              aria-label={`Go to ${name} in the template`}
              title={`Go to line ${part.line + 1} (Enter)`}
              onClick={() => reveal(part.line ?? 0)}
            >
              <Icon name="open" />
            </button>
          )}
        </span>
        {part.kept ? null : <span class="badge warn">cut</span>}
        {typeof part.truncationPriority === "number" && part.truncationPriority > 0 ? (
          <span class="aside" title="Truncation priority: the highest is cut first">
            priority {part.truncationPriority}
          </span>
        ) : null}
        <span class="aside number" title={tokens}>
          {grouped(part.tokens)}
        </span>
      </div>
      {content === "" ? (
        <p class="empty">No content.</p>
      ) : (
        <div class={shownText.length < content.length ? "content shortened" : "content"} dir="auto">
          <MappedText part={part} text={shownText} />
        </div>
      )}
      {shownText.length < content.length ? (
        <button
          type="button"
          class="more"
          onClick={() => setOpened(Math.max(opened, length) + MORE_CHARACTERS)}
        >
          Show {content.length - length > MORE_CHARACTERS ? `${grouped(MORE_CHARACTERS)} more` : "all"} of{" "}
          {grouped(content.length)} characters
        </button>
      ) : opened > 0 && short < content.length ? (
        <button type="button" class="more" onClick={() => setOpened(0)}>
          Show less
        </button>
      ) : null}
    </li>
  );
}

/** Scrolls to the text made at the cursor if the cursor has moved and the text is not visible. */
function useFollowing(
  item: { current: HTMLElement | null },
  isCurrent: boolean,
  start: number | undefined,
): void {
  useLayoutEffect(() => {
    const scroller = document.getElementById("view");
    if (!isCurrent || item.current === null || scroller === null) {
      return;
    }
    const node = item.current.querySelector(".text")?.firstChild;
    const rect =
      (start === undefined || node === null || node === undefined
        ? undefined
        : rectsOf(node, start, start + 1)[0]) ?? item.current.getBoundingClientRect();
    const box = scroller.getBoundingClientRect();
    if (rect.top < box.top || rect.top + Math.min(rect.height, 20) > box.bottom) {
      scroller.scrollBy({ top: rect.top - box.top - box.height / 3, behavior: "instant" });
    }
  }, [isCurrent, start]);
}

/**
 * Up and down move between parts, left and right between the segments of this part, Enter goes to the
 * template.
 */
function walk(event: KeyboardEvent, part: Part): void {
  const item = event.currentTarget as HTMLElement;
  const segments = segmentsOf(part);
  switch (event.key) {
    case "ArrowDown":
    case "ArrowUp": {
      const next = event.key === "ArrowDown" ? item.nextElementSibling : item.previousElementSibling;
      (next as HTMLElement | null)?.focus();
      break;
    }
    case "Home":
      (item.parentElement?.firstElementChild as HTMLElement | null)?.focus();
      break;
    case "End":
      (item.parentElement?.lastElementChild as HTMLElement | null)?.focus();
      break;
    case "ArrowRight":
    case "ArrowLeft": {
      const at = segments.findIndex(({ start }) => start === walked.value?.start);
      const segment =
        segments[Math.max(0, Math.min(segments.length - 1, at + (event.key === "ArrowRight" ? 1 : -1)))];
      if (segment === undefined) {
        return;
      }
      walked.value = { part: part.index, start: segment.start, end: segment.end };
      announce(
        `${contentOf(part).slice(segment.start, Math.min(segment.end, segment.start + 80))}. ${describeOrigin(segment).join(", ")}`,
        0,
      );
      break;
    }
    case "Enter": {
      const segment = segments.find(({ start }) => start === walked.value?.start) ?? segments[0];
      if (walked.value !== undefined && segment !== undefined) {
        revealSegment(segment);
      } else if (part.line !== null) {
        reveal(part.line);
      } else if (segment !== undefined) {
        revealSegment(segment);
      }
      break;
    }
    default:
      return;
  }
  event.preventDefault();
}
