/** Foreign text in a line: its direction does not affect its neighbors, and hidden characters are shown. */

import { revealed } from "./hidden";

export function BidiText({ text }: { text: string }) {
  return <bdi>{revealed(text).shown}</bdi>;
}
