import type { ServerResponse } from 'node:http';
import { SECURITY_HEADERS } from './security-headers.ts';

type HeaderValue = string | readonly string[];

const BASE: readonly string[] = Object.entries(SECURITY_HEADERS).flat();

/**
 * Headers of the response to a request, until it is written. A list is written as it is; `setHeader` of Node keeps each
 * header in an object first, which takes longer than all else that is done with them.
 */
export class ReplyHeaders {
  readonly #list: HeaderValue[];

  private constructor(list: HeaderValue[]) {
    this.#list = list;
  }

  /** Make the headers that every response has. */
  static of(requestId: string): ReplyHeaders {
    return new ReplyHeaders([...BASE, 'X-Request-Id', requestId]);
  }

  /** Make a copy, so that headers which cannot be written are not those of the error either. */
  copy(): ReplyHeaders {
    return new ReplyHeaders([...this.#list]);
  }

  /** Names and values in turn, as `writeHead` takes them. */
  get list(): (string | string[])[] {
    return this.#list as (string | string[])[];
  }

  /** Set a header, in place of an earlier one of this name. */
  set(name: string, value: HeaderValue): void {
    const list = this.#list;
    for (let at = 0; at < list.length; at += 2) {
      if (isSameName(list[at] as string, name)) {
        list[at + 1] = value;
        return;
      }
    }
    list.push(name, value);
  }

  setAll(headers: Readonly<Record<string, HeaderValue>> | undefined): void {
    for (const name in headers) this.set(name, headers[name] ?? '');
  }

  /** Hand the headers to a response that Koa writes. */
  applyTo(res: ServerResponse): void {
    const list = this.#list;
    for (let at = 0; at < list.length; at += 2) res.setHeader(list[at] as string, list[at + 1] as HeaderValue);
  }
}

function isSameName(one: string, other: string): boolean {
  return one === other || (one.length === other.length && one.toLowerCase() === other.toLowerCase());
}
