import { checkReader } from './conformance.ts';
import { openWebPlace } from './places/web-place.ts';

checkReader('websites', openWebPlace);
