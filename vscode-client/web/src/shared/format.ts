/** Formats numbers. */

const number = new Intl.NumberFormat("en-US");

export function grouped(value: number): string {
  return number.format(value);
}

/** Returns a number with its unit: `1 token`, `2,400 tokens`. */
export function count(value: number, unit: string): string {
  return `${number.format(value)} ${unit}${value === 1 ? "" : "s"}`;
}

/** Returns a difference with its sign: `+12`, `−3`, `±0`. */
export function signed(value: number): string {
  return value === 0 ? "±0" : `${value > 0 ? "+" : "−"}${number.format(Math.abs(value))}`;
}

export function milliseconds(seconds: number): string {
  const value = seconds * 1000;
  return value < 10 ? `${value.toFixed(1)} ms` : `${grouped(Math.round(value))} ms`;
}

export function percent(share: number): string {
  const value = 100 * share;
  return `${value > 0 && value < 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0)} %`;
}

/** Capitalizes a message that is shown alone. */
export function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}

/** Returns the last segment of a path or URI, decoded. */
export function baseName(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? path;
  try {
    return path.includes("://") ? decodeURIComponent(name) : name;
  } catch {
    return name;
  }
}

/** Formats US dollars like the command line: below one dollar with two significant digits. */
export function money(dollars: number): string {
  if (dollars === 0) {
    return "$0";
  }
  const size = Math.abs(dollars);
  const decimals = size >= 1 ? 2 : Math.min(20, 1 - Math.floor(Math.log10(size)));
  return `$${dollars.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}
