const waiting: (() => void)[] = [];

/**
 * Yield to the event loop between slices of work that take some milliseconds each. Only one caller resumes in each
 * iteration of the loop, so that the slices of many requests never add up to a long block.
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
