/** The indentation of text that is pasted into a block scalar. */

const HEADER = /(?:^|[\s:-])[|>][-+\d]*\s*(?:#.*)?$/;

/**
 * Returns a pasted text with the indentation of the block scalar that contains the place, or undefined where it
 * is pasted as it is. `above` are the lines above, `before` and `after` the text around the place on its own line.
 */
export function indentPasted(
  above: readonly string[],
  before: string,
  after: string,
  pasted: string,
): string | undefined {
  const lines = pasted.split(/\r?\n/);
  const isInside = before.trim() !== "";
  const width = widthOf(isInside || after.trim() === "" ? before : before + after);
  if (lines.length < 2 || width > before.length || !isInBlockScalar(above, width)) {
    return undefined;
  }
  const widths = lines.filter((line) => line.trim() !== "").map(widthOf);
  const [first = 0, ...others] = widths;
  if (others.length === 0 || (first === 0 && Math.min(...others) >= width)) {
    return undefined; // copied from within a line of such a scalar
  }
  const common = Math.min(...widths);
  const indentation = " ".repeat(width);
  const [head = "", ...rest] = lines.map((line) => line.slice(Math.min(common, widthOf(line))));
  const isLast = (index: number) => index === rest.length - 1 && after.trim() !== "";
  const indented = rest.map((line, index) =>
    line.trim() === "" && !isLast(index) ? "" : indentation + line,
  );
  return [head, ...indented].join("\n");
}

function widthOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether a line with this indentation, below these lines, is in a block scalar. */
function isInBlockScalar(above: readonly string[], width: number): boolean {
  let column = width;
  for (const line of above.toReversed()) {
    // Statements of Jinja may begin at the left edge anywhere.
    if (line.trim() !== "" && widthOf(line) < column && !/^\s*\{[%#]/.test(line)) {
      if (HEADER.test(line)) {
        return true;
      }
      column = widthOf(line);
    }
  }
  return false;
}
