import { expect, test } from 'vitest';
import { readHeaders } from '../../src/channels/verify-delivery.ts';

// The server's time in the middle of a second, 1,000 s after 1970.
const NOW_MS = 1_000_999;

test.each([
  [700, true],
  [1300, true],
  [699, false],
  [1301, false],
])('contract 5.6: at 1000.999 s, a delivery of second %i is fresh: %s', (second, isFresh) => {
  const read = () => readHeaders({ timestamp: String(second), signature: 'a' }, NOW_MS);
  if (isFresh) expect(read()).toEqual({ timestamp: String(second), signature: 'a' });
  else expect(read).toThrow('more than 300 seconds');
});
