/** Renders a sentence, with text between backticks as code. */

export function CodeText({ text }: { text: string }) {
  return <>{text.split("`").map((piece, at) => (at % 2 === 1 ? <code key={at}>{piece}</code> : piece))}</>;
}
