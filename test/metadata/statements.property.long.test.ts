import { testStatements } from './test-statements.ts';

testStatements({ matches: 1_000, effects: 100, noise: 3_000 });
