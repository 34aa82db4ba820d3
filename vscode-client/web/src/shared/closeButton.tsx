/** A button that closes or clears its container. */

import { Icon } from "./icons";

export function CloseButton({
  label,
  title = label,
  onClick,
}: {
  label: string;
  title?: string;
  onClick: () => void;
}) {
  return (
    <button type="button" class="quiet" aria-label={label} title={title} onClick={onClick}>
      <Icon name="close" />
    </button>
  );
}
