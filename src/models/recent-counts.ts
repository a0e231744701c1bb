/** Number of slots, a power of two. */
const SLOTS = 8192;
/** Maximum length of a slice that V8 copies. A longer slice would keep the whole text in memory. */
const CHARS_MAX = 12;

/**
 * Token counts of short pre-tokens. A hash of the characters selects the slot; the next pre-token with that hash
 * replaces the previous one. Known pre-tokens are compared within the text, because slicing and looking up takes three
 * times as long.
 */
export class RecentCounts {
  readonly #pretokens: string[] = new Array<string>(SLOTS).fill('');
  readonly #counts = new Uint8Array(SLOTS);

  /** Return the count of `text[from .. to)`. Call `count` if it is unknown. */
  countOf(text: string, from: number, to: number, count: (pretoken: string) => number): number {
    if (to - from > CHARS_MAX) return count(text.slice(from, to));
    let hash = 0;
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x9e3779b1);
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    if (isAt(this.#pretokens[slot] as string, text, from, to)) return this.#counts[slot] as number;
    const pretoken = text.slice(from, to);
    const tokens = count(pretoken);
    this.#pretokens[slot] = pretoken;
    this.#counts[slot] = tokens;
    return tokens;
  }
}

function isAt(pretoken: string, text: string, from: number, to: number): boolean {
  if (pretoken.length !== to - from) return false;
  for (let at = from; at < to; at++) if (pretoken.charCodeAt(at - from) !== text.charCodeAt(at)) return false;
  return true;
}
