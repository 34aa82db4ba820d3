/** A marked piece of a text, in UTF-16 code units. */
export interface Mark {
  start: number;
  end: number;
  /** A highlight of the style sheet: `::highlight(kind)`. */
  kind: string;
}
