import { LeanClient } from '../lean-client.ts';

/** Searches of one bucket over HTTP, by clients whose own cost is negligible. */
export class LeanSearches {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /**
   * Search for each query, several at a time, each on its own connection.
   *
   * @returns milliseconds of each search, and searches per second
   * @throws Error if nothing is found
   */
  async run(
    queries: readonly string[],
    flights: number,
    options: { readonly top_k: number; readonly mode: string },
  ): Promise<{ readonly ms: readonly number[]; readonly perSecond: number }> {
    const ms: number[] = [];
    let next = 0;
    const search = async () => {
      const client = await LeanClient.open(this.#url, { authorization: `Bearer ${this.#key}` });
      while (next < queries.length) {
        const body = JSON.stringify({ query: queries[next++], ...options });
        const beganMs = performance.now();
        const reply = await client.post(body);
        ms.push(performance.now() - beganMs);
        const { results } = JSON.parse(reply.toString()) as { results: readonly unknown[] };
        if (results.length === 0) throw new Error(`${this.#url} found nothing for ${body}`);
      }
      client.close();
    };
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: flights }, search));
    return { ms, perSecond: queries.length / ((performance.now() - beganMs) / 1_000) };
  }
}
