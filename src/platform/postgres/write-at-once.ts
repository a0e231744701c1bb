/**
 * Run code of postgres.js 3.4.9 that writes to a connection so that it writes at once. By itself it writes in a callback of
 * `setImmediate`, which runs only after everything that was ready to run, or a turn of the event loop later: in a server with
 * much to do that is milliseconds, for each query (docs/decisions/0063-queries-are-sent-at-once.md).
 *
 * @param submit synchronous: no other code can see that the function is replaced meanwhile
 */
export function writeAtOnce(submit: () => void): void {
  const { setImmediate } = globalThis;
  const left: (() => void)[] = [];
  // It returns nothing, which `clearImmediate` leaves alone.
  const keep = (callback: () => void): void => {
    left.push(callback);
  };
  globalThis.setImmediate = keep as unknown as typeof setImmediate;
  try {
    submit();
  } finally {
    globalThis.setImmediate = setImmediate;
    for (const write of left) write();
  }
}
