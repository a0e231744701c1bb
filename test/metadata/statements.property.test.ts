import { testStatements } from './test-statements.ts';

testStatements({ matches: 100, effects: 15, noise: 300 });
