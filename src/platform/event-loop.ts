const waiting: (() => void)[] = [];

/**
 * Wait for a turn of the event loop of one's own. Work that takes some milliseconds asks for one before each slice: of
 * all who ask, one goes on in each turn, so that the slices of many requests never add up to one long stop.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeNext);
}
