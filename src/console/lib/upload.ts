import { ApiError, errorOf } from './api.ts';
import { isAnswering, refreshAll, untilAnswering } from './events.ts';
import { formatBytes } from './format.ts';
import { t } from './i18n.ts';
import { installation } from './installation.ts';
import { csrfToken, waitForSignIn } from './session.ts';
import { createStore, type Store } from './store.ts';

export interface UploadReply {
  readonly id: string;
  readonly job_id: string | null;
  readonly duplicate_of?: string;
  readonly warnings: readonly string[];
}

/** File dropped by the user, with its path if it was in a folder. */
export interface DroppedFile {
  readonly file: File;
  readonly path: string | null;
}

/** Started upload. */
export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly sizeBytes: number;
  readonly state: 'sending' | 'stored' | 'failed';
  /** Uploaded fraction of the bytes, 0 to 1. */
  readonly progress: number;
  readonly reply: UploadReply | null;
  readonly error: ApiError | null;
}

/** Started uploads, newest first, and counts of all. */
export interface QueueState {
  readonly uploads: readonly Upload[];
  readonly total: number;
  readonly stored: number;
  readonly failed: number;
}

/** Fields of an upload other than its file. */
type Fields = Readonly<Record<string, string>>;

interface Waiting {
  readonly dropped: DroppedFile;
  readonly fields: Fields;
}

const EMPTY: QueueState = { uploads: [], total: 0, stored: 0, failed: 0 };
const SENDING_MAX = 3;
/** Maximum uploads of each state in the list. All are counted. */
const SHOWN_MAX = 100;

let nextId = 1;

/** Queue of files for a bucket, which sends a few at a time. */
export class UploadQueue {
  readonly state: Store<QueueState> = createStore<QueueState>(EMPTY);
  readonly #address: string;
  readonly #waiting: Waiting[] = [];
  #failed: Waiting[] = [];
  #sending = 0;

  constructor(address: string) {
    this.#address = address;
    addEventListener('beforeunload', (event) => {
      if (this.#sending > 0) event.preventDefault();
    });
  }

  add(files: readonly DroppedFile[], fields: Fields = {}): void {
    for (const dropped of files) this.#waiting.push({ dropped, fields });
    this.#change(({ total }) => ({ total: total + files.length }));
    this.#sendNext();
  }

  /** Remove the uploads that have ended. */
  clearEnded(): void {
    this.#failed = [];
    this.#change(({ uploads, total, stored, failed }) => ({
      uploads: uploads.filter(({ state }) => state === 'sending'),
      total: total - stored - failed,
      stored: 0,
      failed: 0,
    }));
  }

  /** Retry all files that were not stored. */
  retryFailed(): void {
    this.#waiting.push(...this.#failed);
    this.#failed = [];
    this.#change(({ uploads }) => ({ uploads: uploads.filter(({ state }) => state !== 'failed'), failed: 0 }));
    this.#sendNext();
  }

  #sendNext(): void {
    while (this.#sending < SENDING_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#sending += 1;
      this.#send(next).finally(() => {
        this.#sending -= 1;
        this.#sendNext();
      });
    }
  }

  async #send(waiting: Waiting): Promise<void> {
    const { file, path } = waiting.dropped;
    const id = nextId;
    nextId += 1;
    const upload: Upload = {
      id,
      name: path ?? file.name,
      sizeBytes: file.size,
      state: 'sending',
      progress: 0,
      reply: null,
      error: null,
    };
    this.#change(({ uploads }) => ({ uploads: limitEach([upload, ...uploads]) }));
    const fields = path === null ? waiting.fields : { ...waiting.fields, source_path: path };
    try {
      const max = installation.get()?.upload_bytes_max ?? Number.POSITIVE_INFINITY;
      if (file.size > max) throw new ApiError(413, t('The file is larger than {limit}.', { limit: formatBytes(max) }));
      const onProgress = (progress: number) => this.#update(id, { progress });
      const reply = await sendFile(this.#address, file, fields, onProgress);
      this.#change(({ stored }) => ({ stored: stored + 1 }));
      this.#update(id, { state: 'stored', progress: 1, reply });
      refreshAll();
    } catch (error) {
      this.#failed.push(waiting);
      this.#change(({ failed }) => ({ failed: failed + 1 }));
      this.#update(id, { state: 'failed', error: error instanceof ApiError ? error : new ApiError(0, String(error)) });
    }
  }

  #change(change: (state: QueueState) => Partial<QueueState>): void {
    const before = this.state.get();
    this.state.set({ ...before, ...change(before) });
  }

  #update(id: number, change: Partial<Upload>): void {
    this.#change(({ uploads }) => ({
      uploads: uploads.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)),
    }));
  }
}

/** Keep the newest uploads of each state. */
function limitEach(uploads: readonly Upload[]): readonly Upload[] {
  const counts = { sending: 0, stored: 0, failed: 0 };
  return uploads.filter(({ state }) => {
    counts[state] += 1;
    return counts[state] <= SHOWN_MAX;
  });
}

const queues = new Map<string, UploadQueue>();

/** Return the queue of a bucket, which continues while the user visits other pages. */
export function uploadQueueOf(address: string): UploadQueue {
  const known = queues.get(address) ?? new UploadQueue(address);
  queues.set(address, known);
  return known;
}

/** Send a file. While the service doesn't respond, wait for it, then send the file again. @throws ApiError */
async function sendFile(
  address: string,
  file: File,
  fields: Fields,
  onProgress: (share: number) => void,
): Promise<UploadReply> {
  for (;;) {
    const answer = await post(address, file, fields, onProgress);
    if (answer === null) {
      if (await isAnswering()) throw new ApiError(0, '', { code: 'upload_interrupted' });
      await untilAnswering();
    } else if (answer.status === 401) await waitForSignIn();
    else if (answer.status >= 200 && answer.status < 300) return JSON.parse(answer.text) as UploadReply;
    else throw errorOf(answer.status, answer.text, answer.retryAfter);
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

/**
 * Send a file as multipart. Return null if the connection was closed. Don't use `fetch`, which doesn't report progress.
 */
function post(
  address: string,
  file: File,
  fields: Fields,
  onProgress: (share: number) => void,
): Promise<Answer | null> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    body.append('file', file, file.name);
    request.open('POST', address);
    const token = csrfToken();
    if (token !== null) request.setRequestHeader('X-CSRF-Token', token);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onload = () =>
      resolve({
        status: request.status,
        text: request.responseText,
        retryAfter: request.getResponseHeader('Retry-After'),
      });
    // The server closes the connection of an oversized body while the browser is still sending.
    request.onerror = () => resolve(null);
    request.send(body);
  });
}
