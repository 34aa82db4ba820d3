import { expect, it } from "vitest";

import { oneAtATime } from "../src/restart";

/** A restart whose runs end when they are told to. */
function controlled(): { restart: () => Promise<void>; ends: (() => void)[]; overlaps: () => boolean } {
  const ends: (() => void)[] = [];
  let running = 0;
  let overlapped = false;
  return {
    restart: () => {
      running += 1;
      overlapped ||= running > 1;
      return new Promise<void>((resolve) => {
        ends.push(() => {
          running -= 1;
          resolve();
        });
      });
    },
    ends,
    overlaps: () => overlapped,
  };
}

it("runs one restart for all calls that come while another runs", async () => {
  const { restart, ends, overlaps } = controlled();
  const request = oneAtATime(restart);
  const first = request();
  const waiting = [request(), request(), request()];
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await first;
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  await Promise.all(waiting);
  expect(ends).toHaveLength(2);
  expect(overlaps()).toBe(false);
});

it("goes on after a restart that failed", async () => {
  let runs = 0;
  const request = oneAtATime(() => {
    runs += 1;
    return runs === 1 ? Promise.reject(new Error("no server")) : Promise.resolve();
  });
  const first = request();
  const second = request();
  await expect(first).rejects.toThrow("no server");
  await second;
  expect(runs).toBe(2);
});
