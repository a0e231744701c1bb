import { it } from 'vitest';
import { checkPlans } from './gateway-property.ts';

it.each([
  ['with a cache', 128 * 1024 * 1024],
  ['without a cache', 0],
])(
  '%s, every text gets the vector it gets alone, in order, and no vendor embeds a text twice at the same time',
  async (_, cacheBytes) => {
    await checkPlans(cacheBytes, 2);
  },
);
