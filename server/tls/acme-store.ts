import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { Secret } from '../../src/platform/secret.ts';
import type { AcmeSettings } from '../../src/platform/tls-settings.ts';
import type { Identity } from './certificates.ts';

const CERTIFICATE = '-----BEGIN CERTIFICATE-----';

/** Consecutive failed attempts, and the time from which to try again. */
const Failures = z.object({ settings: z.string(), count: z.int(), reason: z.string(), not_before: z.iso.datetime() });
export interface Failure {
  readonly count: number;
  readonly reason: string;
  readonly notBeforeMs: number;
}

/**
 * Files of a certificate by ACME in the folder `tls` of the data directory, readable by their owner only: the account
 * key; the certificate with its key in one file, so that both are replaced atomically; and the failed attempts.
 */
export class AcmeStore {
  readonly #directory: string;
  readonly #settings: AcmeSettings;

  constructor(dataDir: string, settings: AcmeSettings) {
    this.#directory = path.join(dataDir, 'tls');
    this.#settings = settings;
  }

  async readIdentity(): Promise<Identity | null> {
    const text = await this.#read(`${this.#settings.domain}.pem`);
    const at = text?.indexOf(CERTIFICATE) ?? -1;
    return text === null || at < 0 ? null : { key: new Secret(text.slice(0, at)), chain: text.slice(at) };
  }

  writeIdentity({ key, chain }: Identity): Promise<void> {
    return this.#write(`${this.#settings.domain}.pem`, `${key.reveal().trimEnd()}\n${chain}`);
  }

  /** Read the account key, or create one. */
  async accountKey(): Promise<Secret> {
    const known = await this.#read('account.pem');
    if (known !== null) return new Secret(known);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await this.#write('account.pem', key);
    return new Secret(key);
  }

  /** Read the failed attempts with these settings; null if there are none. */
  async readFailure(): Promise<Failure | null> {
    const text = await this.#read(`${this.#settings.domain}.failures.json`);
    const found = text === null ? null : Failures.safeParse(jsonOf(text)).data;
    if (!found || found.settings !== this.#digest()) return null;
    return { count: found.count, reason: found.reason, notBeforeMs: Date.parse(found.not_before) };
  }

  async writeFailure(failure: Failure | null): Promise<void> {
    const name = `${this.#settings.domain}.failures.json`;
    if (failure === null) return rm(path.join(this.#directory, name), { force: true });
    const { count, reason, notBeforeMs } = failure;
    const text = { settings: this.#digest(), count, reason, not_before: new Date(notBeforeMs).toISOString() };
    await this.#write(name, `${JSON.stringify(text)}\n`);
  }

  #digest(): string {
    return createHash('sha256').update(JSON.stringify(this.#settings)).digest('base64url');
  }

  #read(name: string): Promise<string | null> {
    return readFile(path.join(this.#directory, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
  }

  /** Replace a file atomically, even if the process is killed or the machine fails meanwhile. */
  async #write(name: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const draft = path.join(this.#directory, `.${name}.${randomUUID()}`);
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path.join(this.#directory, name));
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
