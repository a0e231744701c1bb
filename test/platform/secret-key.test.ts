import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Secret } from '../../src/platform/secret.ts';
import { deriveKeyRing, readOrCreateSecretKey } from '../../src/platform/secret-key.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'service-secret-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it('the secret key is created once, for the owner only, and read again', () => {
  const first = readOrCreateSecretKey(dataDir).reveal();
  expect(Buffer.from(first, 'base64url')).toHaveLength(32);
  expect(statSync(path.join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600);
  expect(readOrCreateSecretKey(dataDir).reveal()).toBe(first);
});

it('every purpose has its own derived key, and the derivation is deterministic', () => {
  const ring = deriveKeyRing(new Secret('a'.repeat(32)));
  const keys = Object.values(ring).map((key: Buffer) => key.toString('hex'));
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.every((key) => key.length === 64)).toBe(true);
  expect(deriveKeyRing(new Secret('a'.repeat(32)))).toEqual(ring);
  expect(deriveKeyRing(new Secret('b'.repeat(32))).apiKeyPepper).not.toEqual(ring.apiKeyPepper);
});
