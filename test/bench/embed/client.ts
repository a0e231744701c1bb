import { Pool } from 'undici';

export interface Target {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Process whose CPU time is read, or null. */
  readonly pid: number | null;
}

/** Content of one request. Without a body, it is a GET. */
export interface RequestContent {
  readonly path: string;
  readonly body: string | null;
}

/** Function that creates the content of each request. */
export type MakeRequest = () => RequestContent;

export interface Reply {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Clients of one target. Each sends sequential requests on a persistent connection. */
export class Clients {
  readonly #target: Target;
  readonly #pool: Pool;
  readonly #concurrency: number;
  readonly #basePath: string;

  constructor(target: Target, concurrency: number) {
    const { origin, pathname } = new URL(target.url);
    this.#target = target;
    this.#concurrency = concurrency;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#pool = new Pool(origin, { connections: concurrency, pipelining: 1 });
  }

  /** Send one request. @throws Error for any status but 200 */
  async send({ path, body }: RequestContent): Promise<Reply> {
    const reply = await this.#pool.request({
      method: body === null ? 'GET' : 'POST',
      path: this.#basePath + path,
      headers: { ...this.#target.headers, ...(body === null ? {} : { 'content-type': 'application/json' }) },
      body,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of reply.body) chunks.push(chunk as Buffer);
    if (reply.statusCode !== 200) {
      throw new Error(`${path} answered ${reply.statusCode}: ${Buffer.concat(chunks).toString().slice(0, 300)}`);
    }
    return { headers: reply.headers, body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks) };
  }

  /** Send requests for `ms`. @returns times of all requests in milliseconds, ascending */
  async drive(makeRequest: MakeRequest, ms: number): Promise<number[]> {
    const times: number[] = [];
    const endMs = performance.now() + ms;
    const client = async () => {
      while (performance.now() < endMs) {
        const content = makeRequest();
        const beganMs = performance.now();
        await this.send(content);
        times.push(performance.now() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: this.#concurrency }, client));
    return times.sort((a, b) => a - b);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
