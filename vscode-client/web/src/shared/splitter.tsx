/** The upper edge of a pane at the bottom of the page, which resizes it by mouse, touch and keyboard. */

interface Properties {
  label: string;
  /** In pixels; undefined if the pane has the height of its content. */
  height: number | undefined;
  /** Receives undefined for the height of the content. */
  onResize: (height: number | undefined) => void;
}

const STEP = 24;
const DIRECTIONS: Partial<Record<string, number>> = { ArrowUp: 1, ArrowDown: -1 };

export function Splitter({ label, height, onResize }: Properties) {
  const percentage = height === undefined ? undefined : Math.round((100 * height) / window.innerHeight);
  return (
    <div
      class="splitter"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percentage ?? 0}
      aria-valuetext={percentage === undefined ? "as high as the text" : `${percentage} %`}
      title="Drag to resize; double-click for the height of the text"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) {
          onResize(limited(window.innerHeight - event.clientY));
        }
      }}
      onDblClick={() => onResize(undefined)}
      onKeyDown={(event) => {
        const direction = DIRECTIONS[event.key];
        if (direction !== undefined) {
          event.preventDefault();
          const pane = event.currentTarget.parentElement;
          onResize(limited((pane?.offsetHeight ?? 0) + direction * STEP));
        } else if (event.key === "Home") {
          event.preventDefault();
          onResize(undefined);
        }
      }}
    />
  );
}

/** The style sheet limits the height further. */
function limited(height: number): number {
  return Math.round(Math.max(0, Math.min(height, window.innerHeight)));
}
