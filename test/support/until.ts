import { setTimeout as delay } from 'node:timers/promises';

/** Wait until `check` returns something other than null, undefined or false. Call it every `everyMs`. */
export async function until<T>(
  check: () => Promise<T | null | undefined | false>,
  options: { withinMs?: number; everyMs?: number; what?: string } = {},
): Promise<T> {
  const { withinMs = 20_000, everyMs = 20, what = 'condition' } = options;
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await check();
    if (value !== null && value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`${what} was not met within ${withinMs} ms`);
    await delay(everyMs);
  }
}
