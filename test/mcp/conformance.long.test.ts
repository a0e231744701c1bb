import { testConformance } from './conformance.ts';

testConformance(() => true);
