import { readFile } from 'node:fs/promises';
import { AppError } from '../../src/platform/errors.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { repeatingTask } from '../../src/platform/repeating-task.ts';
import { Secret } from '../../src/platform/secret.ts';
import { type Certificates, expiryOf, faultOf, type Identity } from './certificates.ts';

const LOOK_MS = 30_000;

/** Certificate in the operator's files, which are reread to notice changes. Invalid changes are ignored. */
export class FileCertificates implements Certificates {
  readonly #files: { readonly certFile: string; readonly keyFile: string };
  readonly #logger: Logger;
  readonly #lookMs: number;
  #present: Identity | null = null;
  #refused = '';
  #watching: Service | null = null;

  constructor(
    files: { readonly certFile: string; readonly keyFile: string },
    { logger, lookMs = LOOK_MS }: { readonly logger: Logger; readonly lookMs?: number },
  ) {
    this.#files = files;
    this.#logger = logger;
    this.#lookMs = lookMs;
  }

  async open(): Promise<Identity> {
    const { certFile, keyFile } = this.#files;
    const identity = await this.#read().catch((cause: NodeJS.ErrnoException) => {
      throw unusable(
        `cannot read ${certFile} and ${keyFile} (${cause.code}): check tls.cert_file and tls.key_file`,
        cause,
      );
    });
    const fault = faultOf(identity, null);
    if (fault !== null) throw unusable(`${certFile} with ${keyFile} cannot be used: ${fault}`);
    if (expiryOf(identity) < Date.now())
      this.#logger.error({ file: certFile }, 'the certificate has expired; replace it');
    this.#present = identity;
    return identity;
  }

  watch(onChange: (identity: Identity) => void): void {
    const look = async () => {
      const identity = await this.#read();
      if (identity.chain === this.#present?.chain && identity.key.reveal() === this.#present.key.reveal()) return;
      const fault = faultOf(identity, null);
      if (fault === null) {
        this.#present = identity;
        onChange(identity);
        this.#logger.info({ expires_at: new Date(expiryOf(identity)) }, 'the certificate was replaced');
      } else if (identity.chain !== this.#refused) {
        // Possibly only one of the two files has been replaced so far.
        this.#refused = identity.chain;
        this.#logger.warn({ fault }, 'the changed certificate files are not used; the server keeps its certificate');
      }
    };
    this.#watching = repeatingTask('look at the certificate files', this.#lookMs, this.#logger, look);
    void this.#watching.start(new AbortController().signal);
  }

  async close(): Promise<void> {
    await this.#watching?.stop();
  }

  async #read(): Promise<Identity> {
    const { certFile, keyFile } = this.#files;
    const [chain, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
    return { chain, key: new Secret(key) };
  }
}

function unusable(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'certificate_unusable', status: 500, message, cause });
}
