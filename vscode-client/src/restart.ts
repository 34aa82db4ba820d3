/** Serializes restarts: one runs, and at most one waits. */

/**
 * Returns a function that runs `restart` and resolves when a restart that began after the call has ended.
 * Calls during a restart share the next one.
 */
export function oneAtATime(restart: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;

  function begin(): Promise<void> {
    running = restart().finally(() => {
      running = undefined;
    });
    return running;
  }

  return () => {
    if (queued !== undefined) {
      return queued;
    }
    if (running === undefined) {
      return begin();
    }
    queued = running
      .catch(() => undefined)
      .then(() => {
        queued = undefined;
        return begin();
      });
    return queued;
  };
}
