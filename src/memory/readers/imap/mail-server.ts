import { ImapFlow } from 'imapflow';
import type { ImapSettings } from '../../../platform/imap-settings.ts';
import { readCa } from '../certificates.ts';
import { SourceFault } from '../source-reader.ts';
import { requestAccessToken } from './access-token.ts';
import { toImapFault } from './imap-faults.ts';

const CONNECT_MS_MAX = 30_000;
/** Maximum silence of the server during a command. */
const SILENCE_MS_MAX = 120_000;
/** Size limits of one response: for a list of a million numbers, and for a message read at once. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const LITERAL_BYTES_MAX = 32 * 1024 * 1024;

/** Folder opened for reading. */
export interface OpenFolder {
  readonly client: ImapFlow;
  /** Number that changes when the server renumbers its messages (RFC 9051, section 2.3.1.1). */
  readonly uidValidity: string;
}

/** Connection to a mail server. It opens on first use, and reopens if it was lost between two uses. */
export class MailServer {
  readonly #settings: ImapSettings;
  #client: ImapFlow | null = null;
  #opening: Promise<ImapFlow> | null = null;

  constructor(settings: ImapSettings) {
    this.#settings = settings;
  }

  /** Use the connection without a folder. @throws SourceFault */
  async withClient<T>(signal: AbortSignal, work: (client: ImapFlow) => Promise<T>): Promise<T> {
    const release = this.#closeOnAbort(signal);
    try {
      return await work(await this.#connected(signal));
    } catch (error) {
      signal.throwIfAborted();
      throw toImapFault(error, this.#settings, null);
    } finally {
      release();
    }
  }

  /** Use a folder read-only (EXAMINE). Others wait until the work is done. @throws SourceFault */
  async withFolder<T>(path: string, signal: AbortSignal, work: (folder: OpenFolder) => Promise<T>): Promise<T> {
    const using = this.eachOfFolder(path, signal, async function* once(folder) {
      yield await work(folder);
    });
    for await (const result of using) return result;
    throw new Error('the work has no result');
  }

  /**
   * Yield what `work` yields while a folder is open read-only (EXAMINE). Others wait until the end.
   *
   * @throws SourceFault
   */
  async *eachOfFolder<T>(
    path: string,
    signal: AbortSignal,
    work: (folder: OpenFolder) => AsyncIterable<T>,
  ): AsyncGenerator<T, void> {
    const release = this.#closeOnAbort(signal);
    try {
      const client = await this.#connected(signal);
      const lock = await client.getMailboxLock(path, { readOnly: true });
      try {
        const validity = client.mailbox === false ? undefined : client.mailbox.uidValidity;
        if (validity === undefined) {
          throw new SourceFault('source_unavailable', `the mail server does not number the messages of "${path}"`);
        }
        yield* work({ client, uidValidity: String(validity) });
      } finally {
        lock.release();
      }
    } catch (error) {
      signal.throwIfAborted();
      throw toImapFault(error, this.#settings, path);
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.#client?.close();
  }

  #closeOnAbort(signal: AbortSignal): () => void {
    const onAbort = () => this.#client?.close();
    signal.addEventListener('abort', onAbort, { once: true });
    return () => signal.removeEventListener('abort', onAbort);
  }

  async #connected(signal: AbortSignal): Promise<ImapFlow> {
    signal.throwIfAborted();
    if (this.#client?.usable === true) return this.#client;
    this.#opening ??= this.#connect(signal).finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #connect(signal: AbortSignal): Promise<ImapFlow> {
    const { host, port, security, user, login } = this.#settings;
    const ca = await readCa(this.#settings.ca);
    const secret =
      'password' in login
        ? { pass: login.password.reveal() }
        : { accessToken: (await requestAccessToken(login, signal)).reveal() };
    const client = new ImapFlow({
      host,
      port,
      auth: { user, ...secret },
      secure: security === 'tls',
      doSTARTTLS: security === 'starttls',
      tls: ca === null ? {} : { ca },
      // Disable logging, which would include commands.
      logger: false,
      disableAutoIdle: true,
      connectionTimeout: CONNECT_MS_MAX,
      greetingTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENCE_MS_MAX,
      maxLineLength: LINE_BYTES_MAX,
      maxLiteralSize: LITERAL_BYTES_MAX,
      maxResponseSize: 2 * LITERAL_BYTES_MAX,
    });
    // Ignore connection errors here, since each command reports them.
    client.on('error', () => {});
    this.#client = client;
    await client.connect();
    return client;
  }
}
