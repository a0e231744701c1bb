import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDataDir } from '../../src/appliance/data-dir.ts';
import { Secret } from '../../src/platform/secret.ts';

const logger = pino({ level: 'silent' });
const otherDatabase = new Secret('postgres://user:password@db.example/other');
const isRoot = process.getuid?.() === 0;

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'data-dir-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const modeOf = () => statSync(dataDir).mode & 0o777;

it.runIf(isRoot)('a command with another database keeps the folder open to the embedded PostgreSQL', () => {
  mkdirSync(path.join(dataDir, 'postgres'));
  for (const databaseUrl of [otherDatabase, null]) {
    chmodSync(dataDir, 0o710);
    makeDataDir({ dataDir, databaseUrl }, logger);
    expect(modeOf()).toBe(0o710);
  }
});

it('a folder that others can read is closed to them', () => {
  mkdirSync(path.join(dataDir, 'objects'));
  chmodSync(dataDir, 0o755);
  makeDataDir({ dataDir, databaseUrl: otherDatabase }, logger);
  expect(modeOf()).toBe(0o700);
});
