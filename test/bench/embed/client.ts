import { Pool } from 'undici';

export interface Target {
  /** Base URL, without a slash at its end. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whose CPU is read; null: nobody's. */
  readonly pid: number | null;
}

/** What one request sends. `body` null: a GET. */
export interface Shot {
  readonly path: string;
  readonly body: string | null;
}

/** What one request is, made anew for each. */
export type Aim = () => Shot;

export interface Reply {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Clients of one target that send one request after the other, all on connections kept alive. */
export class Clients {
  readonly #target: Target;
  readonly #pool: Pool;
  readonly #inFlight: number;
  readonly #basePath: string;

  constructor(target: Target, inFlight: number) {
    const { origin, pathname } = new URL(target.url);
    this.#target = target;
    this.#inFlight = inFlight;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#pool = new Pool(origin, { connections: inFlight, pipelining: 1 });
  }

  /** @throws Error for any status but 200 */
  async send({ path, body }: Shot): Promise<Reply> {
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

  /** Requests for `ms`; resolves with the time that each took, in milliseconds, ascending. */
  async drive(aim: Aim, ms: number): Promise<number[]> {
    const times: number[] = [];
    const endMs = performance.now() + ms;
    const client = async () => {
      while (performance.now() < endMs) {
        const shot = aim();
        const beganMs = performance.now();
        await this.send(shot);
        times.push(performance.now() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: this.#inFlight }, client));
    return times.sort((a, b) => a - b);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
