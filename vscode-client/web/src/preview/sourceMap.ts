/** Maps template places to rendered text, and back. */

import type { PackedSegments, Part } from "../wire/preview";

export interface Cursor {
  uri: string;
  /** From 0. */
  line: number;
  /** In UTF-16 code units, from 0. */
  character: number;
}

interface Position {
  /** From 0. */
  line: number;
  /** In UTF-16 code units, from 0. */
  character: number;
}

/** A range of a part's content, in UTF-16 code units, with its origin. */
export interface Segment {
  start: number;
  end: number;
  /** An index into the result's `files`. */
  file: number;
  range: { start: Position; end: Position };
  /** True if the template contains the text verbatim. */
  verbatim: boolean;
  /** Descriptions of the enclosing loop iterations, outermost first. */
  iterations: string[];
  dataPath: string | null;
}

/** A piece of a part's content. */
export interface Place {
  part: number;
  start: number;
  end: number;
}

const WIDTH = 10;
const unpacked = new WeakMap<PackedSegments, Segment[]>();

/** Returns the segments of a part's content, in order; empty if they are unknown. */
export function segmentsOf(part: Part): readonly Segment[] {
  const packed = part.sourceMap ?? undefined;
  if (packed === undefined) {
    return [];
  }
  let found = unpacked.get(packed);
  if (found === undefined) {
    found = [];
    for (let at = 0; at < packed.segments.length; at += WIDTH) {
      found.push(segmentAmong(packed, packed.segments.slice(at, at + WIDTH) as Row));
    }
    unpacked.set(packed, found);
  }
  return found;
}

type Row = [number, number, number, number, number, number, number, number, number, number];

function segmentAmong({ iterations, dataPaths }: PackedSegments, row: Row): Segment {
  const [start, end, file, line, character, lastLine, lastCharacter, verbatim, iteration, path] = row;
  return {
    start,
    end,
    file,
    range: { start: { line, character }, end: { line: lastLine, character: lastCharacter } },
    verbatim: verbatim === 1,
    iterations: iterations[iteration] ?? [],
    dataPath: dataPaths[path] ?? null,
  };
}

/** Returns the segment with the character at an offset; segments are in text order. */
export function segmentAt(segments: readonly Segment[], offset: number): Segment | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const segment = segments[middle];
    if (segment !== undefined && segment.end <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const found = segments[low];
  return found !== undefined && found.start <= offset ? found : undefined;
}

/** How close the cursor is to the origin of a segment. */
enum Nearness {
  Elsewhere,
  /** Directly after it. */
  After,
  /** On the line on which it begins, if nothing else is at the cursor. */
  OnLine,
  Within,
}

/** Returns all rendered ranges that were made from the template text at the cursor. */
export function placesAt(parts: readonly Part[], files: readonly string[], cursor: Cursor): Place[] {
  let found: (Place & { size: number })[] = [];
  let nearest = Nearness.After;
  for (const part of parts) {
    for (const segment of segmentsOf(part)) {
      const near = files[segment.file] === cursor.uri ? nearness(segment, cursor) : Nearness.Elsewhere;
      if (near >= nearest) {
        found = near > nearest ? [] : found;
        nearest = near;
        const { start: from, end: to } = segment.range;
        const place = segment.verbatim ? lineOf(segment, contentOf(part), cursor) : segment;
        const size =
          near === Nearness.OnLine ? 0 : (to.line - from.line) * 10_000 + (to.character - from.character);
        found.push({ part: part.index, start: place.start, end: place.end, size });
      }
    }
  }
  // For nested places, the innermost one counts.
  const smallest = Math.min(...found.map(({ size }) => size));
  return found
    .filter(({ size, end, start }) => size === smallest && end > start)
    .map(({ part, start, end }) => ({ part, start, end }));
}

function nearness({ range: { start, end } }: Segment, { line, character }: Cursor): Nearness {
  const isAfter = line > start.line || (line === start.line && character >= start.character);
  const isBefore = line < end.line || (line === end.line && character < end.character);
  if (isAfter && isBefore) {
    return Nearness.Within;
  }
  if (line === start.line) {
    return Nearness.OnLine;
  }
  return line === end.line && character === end.character ? Nearness.After : Nearness.Elsewhere;
}

/** Returns the line at the cursor if the text was copied verbatim. */
function lineOf(segment: Segment, content: string, cursor: Cursor): { start: number; end: number } {
  if (segment.range.start.line === segment.range.end.line) {
    return segment;
  }
  let start = segment.start;
  for (let line = segment.range.start.line; line < cursor.line; line += 1) {
    const next = content.indexOf("\n", start);
    if (next < 0 || next + 1 >= segment.end) {
      return segment;
    }
    start = next + 1;
  }
  const next = content.indexOf("\n", start);
  return { start, end: next < 0 ? segment.end : Math.min(next, segment.end) };
}

/** Returns the part whose template text contains the line: the last one that begins at or before it. */
export function partAt(parts: readonly Part[], line: number): Part | undefined {
  let best: Part | undefined;
  for (const part of parts) {
    if (part.line !== null && part.line <= line && (best?.line ?? -1) <= part.line) {
      best = part;
    }
  }
  return best;
}

/** Returns the content as text; a list or mapping as JSON. */
export function contentOf(part: { content: unknown }): string {
  const { content } = part;
  return typeof content === "string"
    ? content
    : content === undefined
      ? ""
      : JSON.stringify(content, null, 2);
}

/** Describes the origin of a segment: file and line, loop iterations, data. */
export function segmentOrigin(
  segment: Segment,
  files: readonly string[],
  name: (uri: string) => string,
): string[] {
  const file = files[segment.file];
  const place =
    file === undefined
      ? `line ${segment.range.start.line + 1}`
      : `${name(file)}:${segment.range.start.line + 1}`;
  return [place, ...(segment.dataPath === null ? [] : [segment.dataPath]), ...segment.iterations];
}
