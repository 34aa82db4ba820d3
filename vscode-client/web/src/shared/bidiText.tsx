/**
 * Foreign text in a line: its direction does not affect its surroundings, and hidden characters are visible.
 */

import { revealed } from "./hidden";

export function BidiText({ text }: { text: string }) {
  return <bdi>{revealed(text).shown}</bdi>;
}
