import { ApiError, errorOf } from './api.ts';
import { refreshAll } from './events.ts';
import { csrfToken, waitForSignIn } from './session.ts';
import { createStore, type Store } from './store.ts';

export interface UploadReply {
  readonly id: string;
  readonly job_id: string | null;
  readonly duplicate_of?: string;
  readonly warnings: readonly string[];
}

/** File that a person dropped on a bucket. */
export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly sizeBytes: number;
  readonly state: 'waiting' | 'sending' | 'stored' | 'failed';
  /** 0..1 of the bytes. */
  readonly progress: number;
  readonly reply: UploadReply | null;
  readonly error: ApiError | null;
}

/** Fields of an upload besides its file. */
type Fields = Readonly<Record<string, string>>;

const SENDING_MAX = 3;
const SHOWN_MAX = 500;

let nextId = 1;

/** Queue of files for a bucket, sent a few at a time. */
export class UploadQueue {
  readonly uploads: Store<readonly Upload[]> = createStore<readonly Upload[]>([]);
  readonly #address: string;
  readonly #files: { readonly id: number; readonly file: File; readonly fields: Fields }[] = [];
  #sending = 0;

  constructor(address: string) {
    this.#address = address;
    addEventListener('beforeunload', (event) => {
      if (this.#sending > 0) event.preventDefault();
    });
  }

  add(files: Iterable<File>, fields: Fields = {}): void {
    for (const file of files) {
      const id = nextId;
      nextId += 1;
      const upload: Upload = {
        id,
        name: file.name,
        sizeBytes: file.size,
        state: 'waiting',
        progress: 0,
        reply: null,
        error: null,
      };
      this.uploads.set([upload, ...this.uploads.get()].slice(0, SHOWN_MAX));
      this.#files.push({ id, file, fields });
    }
    this.#sendNext();
  }

  clearEnded(): void {
    this.uploads.set(this.uploads.get().filter(({ state }) => state === 'waiting' || state === 'sending'));
  }

  #sendNext(): void {
    while (this.#sending < SENDING_MAX) {
      const next = this.#files.shift();
      if (next === undefined) return;
      this.#sending += 1;
      this.#send(next).finally(() => {
        this.#sending -= 1;
        this.#sendNext();
      });
    }
  }

  async #send({ id, file, fields }: { id: number; file: File; fields: Fields }): Promise<void> {
    this.#update(id, { state: 'sending' });
    try {
      const onProgress = (progress: number) => this.#update(id, { progress });
      const reply = await sendFile(this.#address, file, fields, onProgress);
      this.#update(id, { state: 'stored', progress: 1, reply });
      refreshAll();
    } catch (error) {
      this.#update(id, { state: 'failed', error: error instanceof ApiError ? error : new ApiError(0, String(error)) });
    }
  }

  #update(id: number, change: Partial<Upload>): void {
    this.uploads.set(this.uploads.get().map((upload) => (upload.id === id ? { ...upload, ...change } : upload)));
  }
}

const queues = new Map<string, UploadQueue>();

/** Queue of a bucket, which continues while a person visits other pages. */
export function uploadQueueOf(address: string): UploadQueue {
  const known = queues.get(address) ?? new UploadQueue(address);
  queues.set(address, known);
  return known;
}

async function sendFile(
  address: string,
  file: File,
  fields: Fields,
  onProgress: (share: number) => void,
): Promise<UploadReply> {
  for (;;) {
    const answer = await post(address, file, fields, onProgress);
    if (answer.status === 401) await waitForSignIn();
    else if (answer.status >= 200 && answer.status < 300) return JSON.parse(answer.text) as UploadReply;
    else throw errorOf(answer.status, answer.text, answer.retryAfter);
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

/** Send a file as multipart. `fetch` does not report the progress of a request. */
function post(address: string, file: File, fields: Fields, onProgress: (share: number) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
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
    // The server closes the connection of an oversized body while the browser still sends.
    request.onerror = () => reject(new ApiError(0, '', { code: 'upload_interrupted' }));
    request.send(body);
  });
}
