/** A choice among a few options, as a row of buttons. */

interface Properties<Name extends string> {
  label: string;
  names: readonly Name[];
  current: Name;
  onChoose: (name: Name) => void;
}

export function Choice<Name extends string>({ label, names, current, onChoose }: Properties<Name>) {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next =
      step === undefined ? undefined : names[(names.indexOf(current) + step + names.length) % names.length];
    if (next !== undefined) {
      event.preventDefault();
      onChoose(next);
      const holder = event.currentTarget as HTMLElement;
      (holder.children[names.indexOf(next)] as HTMLElement | undefined)?.focus();
    }
  };
  return (
    <div class="choice" role="radiogroup" aria-label={label} onKeyDown={move}>
      {names.map((name) => (
        <button
          type="button"
          key={name}
          role="radio"
          aria-checked={name === current}
          tabIndex={name === current ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
