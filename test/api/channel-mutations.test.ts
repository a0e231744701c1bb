import { test } from 'vitest';
import { checkMutations } from './channel-mutations.ts';

test('200 seeded mutations of a valid delivery are refused', () => checkMutations(200));
