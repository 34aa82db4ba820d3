/** A sentence, with what stands between backticks as code. */

export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((piece, at) => (at % 2 === 1 ? <code key={at}>{piece}</code> : piece))}</>;
}
