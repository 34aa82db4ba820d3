/** A button that opens a list with a search field. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { errorMessage } from "./errorMessage";
import { Icon } from "./icons";

export interface Item {
  key: string;
  label: string;
  detail?: string;
  group: string;
}

interface Found {
  items: Item[];
  more: boolean;
}

interface Properties {
  id: string;
  /** The label of the choice: `Sample`. */
  label: string;
  current: ComponentChildren;
  placeholder: string;
  /** Returns the items that match the query, from an index on, and whether there are more. */
  search: (query: string, start: number) => Promise<Found>;
  isCurrent: (item: Item) => boolean;
  onChoose: (item: Item) => void;
}

/** Returns the items whose label or detail contains the query. */
export function searchItems(items: readonly Item[], query: string): Promise<Found> {
  const needle = query.trim().toLowerCase();
  const matching = items.filter(({ label, detail = "" }) =>
    `${label} ${detail}`.toLowerCase().includes(needle),
  );
  return Promise.resolve({ items: matching, more: false });
}

export function Picker({ id, label, current, placeholder, search, isCurrent, onChoose }: Properties) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div class="picker">
      <button
        type="button"
        ref={button}
        id={id}
        class="field"
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") {
            event.preventDefault();
            setOpen(true);
          }
        }}
      >
        <span class="only-heard">{label}: </span>
        <span class="picked">{current}</span>
        <Icon name="down" />
      </button>
      {isOpen ? (
        <List
          label={label}
          placeholder={placeholder}
          search={search}
          isCurrent={isCurrent}
          onClose={close}
          onChoose={(item) => {
            close();
            onChoose(item);
          }}
        />
      ) : null}
    </div>
  );
}

const EDGE = 8;

/** Moves a popup left until it is inside the page, so that focusing it scrolls nothing. */
function moveInside(popup: HTMLElement): void {
  const { left, right } = popup.getBoundingClientRect();
  const over = Math.min(right - (window.innerWidth - EDGE), left - EDGE);
  if (over > 0) {
    popup.style.left = `-${over}px`;
  }
}

type ListProperties = Pick<Properties, "label" | "placeholder" | "search" | "isCurrent" | "onChoose"> & {
  onClose: () => void;
};

function List({ label, placeholder, search, isCurrent, onChoose, onClose }: ListProperties) {
  const [query, setQuery] = useState("");
  const [items, setItems] = useState<Item[]>([]);
  const [hasMore, setMore] = useState(false);
  const [note, setNote] = useState("");
  const [active, setActive] = useState(0);
  const holder = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const requests = useRef(0);
  const name = useId();

  const load = (start: number): void => {
    requests.current += 1;
    const number = requests.current;
    search(query, start).then(
      (found) => {
        if (number === requests.current) {
          const all = start === 0 ? found.items : [...items, ...found.items];
          setItems(all);
          setMore(found.more);
          setNote(all.length === 0 ? "Nothing matches." : "");
          if (start === 0) {
            setActive(query === "" ? Math.max(0, all.findIndex(isCurrent)) : 0);
          }
        }
      },
      (error: unknown) => {
        if (number === requests.current) {
          setNote(errorMessage(error));
        }
      },
    );
  };
  useEffect(() => load(0), [query]);
  useLayoutEffect(() => {
    if (holder.current !== null) {
      moveInside(holder.current);
    }
    input.current?.focus();
  }, []);
  useLayoutEffect(
    () => document.getElementById(`${name}-${active}`)?.scrollIntoView({ block: "nearest" }),
    [active, items],
  );
  useEffect(() => {
    const outside = (event: PointerEvent): void => {
      if (holder.current?.parentElement?.contains(event.target as Node) !== true) {
        onClose();
      }
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);

  const go = (place: number): void => {
    setActive(Math.max(0, Math.min(items.length - 1, place)));
    if (place >= items.length - 1 && hasMore) {
      load(items.length);
    }
  };
  const pressed = (event: KeyboardEvent): void => {
    const target = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 10,
      PageUp: active - 10,
    }[event.key];
    if (target !== undefined) {
      event.preventDefault();
      go(target);
    } else if (event.key === "Enter" && items[active] !== undefined) {
      event.preventDefault();
      onChoose(items[active]);
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      onClose();
    }
    event.stopPropagation();
  };
  return (
    <div class="popup" ref={holder}>
      <div class="search">
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          role="combobox"
          spellcheck={false}
          autocomplete="off"
          aria-label={`Search ${label.toLowerCase()}`}
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${name}-list`}
          aria-activedescendant={items.length === 0 ? undefined : `${name}-${active}`}
          placeholder={placeholder}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={pressed}
        />
      </div>
      <div
        id={`${name}-list`}
        class="options"
        role="listbox"
        tabIndex={-1}
        aria-label={label}
        onScroll={(event) => {
          const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
          if (hasMore && scrollTop + clientHeight > scrollHeight - 200) {
            setMore(false);
            load(items.length);
          }
        }}
      >
        {items.map((item, place) => (
          <div key={item.key} role="presentation">
            {item.group === items[place - 1]?.group ? null : (
              <div class="group" role="presentation">
                {item.group}
              </div>
            )}
            <div
              id={`${name}-${place}`}
              role="option"
              class={place === active ? "option active" : "option"}
              aria-selected={isCurrent(item)}
              onPointerMove={() => setActive(place)}
              onClick={() => onChoose(item)}
            >
              <bdi class="option-label">{item.label}</bdi>
              {item.detail === undefined ? null : <bdi class="option-detail">{item.detail}</bdi>}
            </div>
          </div>
        ))}
      </div>
      {note === "" ? null : <p class="note">{note}</p>}
    </div>
  );
}
