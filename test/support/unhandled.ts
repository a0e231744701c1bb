import { onTestFinished } from 'vitest';

/** Collect unhandled rejections until the end of the test. Any of them would end a server. */
export function unhandledRejections(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const keep = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', keep);
  onTestFinished(() => void process.off('unhandledRejection', keep));
  return unhandled;
}
