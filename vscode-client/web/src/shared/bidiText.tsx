/** A word of somebody else's in one line: it turns nothing around it, and hides no character. */

import { revealed } from "./hidden";

export function BidiText({ text }: { text: string }) {
  return <bdi>{revealed(text).shown}</bdi>;
}
