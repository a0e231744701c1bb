import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let lance: typeof import('@lancedb/lancedb') | null = null;
let arrow: typeof import('apache-arrow') | null = null;

/** Load LanceDB on first use, since loading takes longer than most commands. A server loads it at startup. */
export function loadLance(): typeof import('@lancedb/lancedb') {
  lance ??= require('@lancedb/lancedb') as typeof import('@lancedb/lancedb');
  return lance;
}

/**
 * Load Apache Arrow on first use. It has separate builds for import and for require. LanceDB accepts only tables of the
 * latter.
 */
export function loadArrow(): typeof import('apache-arrow') {
  arrow ??= require('apache-arrow') as typeof import('apache-arrow');
  return arrow;
}
