import { it } from 'vitest';
import { followPlans } from './gateway-property.ts';

it.each([
  ['with a cache', 128 * 1024 * 1024],
  ['without a cache', 0],
])(
  '%s, every text gets what it gets alone, in order, and no vendor is asked twice for it at once',
  async (_, cacheBytes) => {
    await followPlans(cacheBytes, 5);
  },
);
