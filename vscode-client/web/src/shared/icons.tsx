/** Icons of the pages, in the color of the surrounding text. */

const PATHS = {
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  check: "M3 8.5l3.2 3.2L13 5",
  open: "M9 2.5h4.5V7M13.5 2.5L8 8M6.5 3.5h-4v10h10v-4",
  sliders: "M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 2.5v4M5 9.5v4",
  down: "M4 6.5l4 4 4-4",
  left: "M9.5 4l-4 4 4 4",
  right: "M6.5 4l4 4-4 4",
  search: "M11 11l3 3M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z",
  warning: "M8 2.5l6 11H2zM8 6.5v3.5M8 11.5v.6",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.5 4L3 6.5 5.5 9",
  chart: "M2.5 2.5v11h11M5 10l2.5-3 2 1.5L13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  play: "M4.5 3l8 5-8 5z",
  stop: "M4 4h8v8H4z",
  thumbUp:
    "M5.5 7.5L8 2.5c1 0 1.6.7 1.5 1.7l-.3 2.3h3.3c.8 0 1.3.7 1.1 1.5l-1 4c-.2.6-.6 1-1.2 1H5.5zM2.5 7.5h3V13h-3z",
  thumbDown:
    "M5.5 8.5L8 13.5c1 0 1.6-.7 1.5-1.7l-.3-2.3h3.3c.8 0 1.3-.7 1.1-1.5l-1-4c-.2-.6-.6-1-1.2-1H5.5zM2.5 8.5h3V3h-3z",
  edit: "M3 13l.8-3.2L10.6 3l2.4 2.4-6.8 6.8z",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
