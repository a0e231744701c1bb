import { test } from 'vitest';
import { checkMutations } from './channel-mutations.ts';

test('1,000 seeded mutations of a valid delivery are refused', () => checkMutations(1000), 120_000);
