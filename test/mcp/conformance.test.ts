import { testConformance, testCoverage } from './conformance.ts';

testCoverage();
testConformance((scenario) =>
  ['server-session-lifecycle', 'server-stateless', 'http-header-validation'].includes(scenario),
);
