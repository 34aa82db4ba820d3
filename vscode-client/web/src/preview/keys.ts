/** Keyboard shortcuts of the page, active outside of text fields. */

import { stepRow } from "./samplePicker";
import { VIEWS } from "./state";
import { answerIsOpen, askModel, closeAnswer, show, shown, sourcePlace, toggleControls } from "./store";

export function listenForKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
      return;
    }
    const view = VIEWS[Number(event.key) - 1];
    const { result } = shown.value;
    if (view !== undefined && shown.value.rendering !== undefined) {
      show(view);
    } else if (event.key === "/") {
      document.getElementById("sample")?.click();
    } else if (event.key === "c") {
      document.getElementById("copy")?.click();
    } else if (event.key === "l") {
      toggleControls();
    } else if (event.key === "a" && result !== undefined && shown.value.rendering !== undefined) {
      void askModel();
    } else if (event.key === "Escape" && answerIsOpen.value) {
      closeAnswer();
    } else if (event.key === "Escape" && sourcePlace.value !== undefined) {
      sourcePlace.value = undefined;
    } else if ((event.key === "[" || event.key === "]") && result !== undefined) {
      stepRow(result, event.key === "]" ? 1 : -1);
    } else {
      return;
    }
    event.preventDefault();
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== "range")
  );
}
