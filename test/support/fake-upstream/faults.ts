import type { ServerResponse } from 'node:http';
import type { WireProtocol, WireReply } from './wire.ts';

/** Behaviour of the server for one call. */
export type Behaviour =
  | { readonly kind: 'ok' }
  /** Any status. `body` is sent as JSON, or unchanged if it is a string. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  /** The connection is reset or stalls, before a response or in the middle of one. */
  | { readonly kind: 'reset' | 'reset-mid-body' | 'stall' | 'stall-mid-body' }
  /** A 200 whose body isn't a valid JSON response. */
  | { readonly kind: 'html' | 'empty' | 'truncated-json' }
  /** A 200 of the right form with wrong vectors. */
  | { readonly kind: 'too-few' | 'too-many' | 'wrong-length' | 'nan' | 'zeros' | 'unnormalised' }
  /** NaN as a JSON string, or without quotes as Python writes it. */
  | { readonly kind: 'nan-text' | 'nan-bare' }
  /** `data[].index` in another order (which is allowed), duplicate or out of range. No effect without such a member. */
  | { readonly kind: 'shuffled' | 'duplicate-index' | 'bad-index' }
  /** A correct response with a different number of tokens. */
  | { readonly kind: 'usage'; readonly tokens: number }
  /** A 200 of `bytes` bytes, generated while being sent. */
  | { readonly kind: 'huge'; readonly bytes: number }
  /** A delay, then the behaviour `then`, by default a correct response. */
  | { readonly kind: 'delay'; readonly ms: number; readonly then?: Behaviour };

const HTML = '<!DOCTYPE html><html><head><title>Sign in</title></head><body>proxy login</body></html>';
const CHUNK = Buffer.alloc(65_536, '0.125,');

/** Apply the behaviour's fault to the vectors of a reply. Other behaviours leave the reply unchanged. */
export function spoil(reply: WireReply, behaviour: Behaviour): WireReply {
  const { vectors, indices } = reply;
  const last = indices.length - 1;
  switch (behaviour.kind) {
    case 'too-few':
      return { ...reply, vectors: vectors.slice(0, -1) };
    case 'too-many':
      return { ...reply, vectors: [...vectors, ...vectors.slice(-1)], indices: [...indices, last + 1] };
    case 'wrong-length':
      return { ...reply, vectors: vectors.map((vector, at) => (at === last ? vector.slice(0, -1) : vector)) };
    case 'nan':
      return { ...reply, vectors: vectors.map((vector, at) => (at === last ? vector.with(0, Number.NaN) : vector)) };
    case 'zeros':
      return { ...reply, vectors: vectors.map((vector, at) => (at === last ? vector.map(() => 0) : vector)) };
    case 'unnormalised':
      return { ...reply, vectors: vectors.map((vector) => vector.map((value) => value * 4)) };
    case 'shuffled': {
      return { ...reply, vectors: vectors.toReversed(), indices: indices.toReversed() };
    }
    case 'duplicate-index':
      return { ...reply, indices: indices.map(() => 0) };
    case 'usage':
      return { ...reply, tokens: behaviour.tokens };
    case 'bad-index':
      return { ...reply, indices: indices.map((index) => index + 1) };
    case 'nan-text':
    case 'nan-bare':
      // Base64 has no text for NaN, so send decimal numbers.
      return spoil({ ...reply, base64: false }, { kind: 'nan' });
    default:
      return reply;
  }
}

/** Send the response of a behaviour. */
export function send(response: ServerResponse, wire: WireProtocol, reply: WireReply, behaviour: Behaviour): void {
  // Without an index the order is significant, so send a correct response.
  const isCorrect = behaviour.kind === 'shuffled' && !wire.indexed;
  const { body, headers } = wire.render(isCorrect ? reply : spoil(reply, behaviour));
  const json = { 'content-type': 'application/json', ...headers };
  const text = () => JSON.stringify(body);
  switch (behaviour.kind) {
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'stall':
      return;
    case 'reset-mid-body':
    case 'stall-mid-body': {
      const whole = Buffer.from(text());
      response.writeHead(200, { ...json, 'content-length': whole.length });
      response.write(whole.subarray(0, Math.floor(whole.length / 2)), () => {
        if (behaviour.kind === 'reset-mid-body') response.socket?.resetAndDestroy();
      });
      return;
    }
    case 'status':
      response.writeHead(behaviour.status, { 'content-type': 'application/json', ...behaviour.headers });
      response.end(typeof behaviour.body === 'string' ? behaviour.body : JSON.stringify(behaviour.body ?? {}));
      return;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end(HTML);
      return;
    case 'empty':
      response.writeHead(200, json).end();
      return;
    case 'truncated-json': {
      const whole = text();
      response.writeHead(200, json).end(whole.slice(0, Math.floor(whole.length / 2)));
      return;
    }
    case 'nan-text':
    case 'nan-bare':
      response.writeHead(200, json).end(text().replace('null,', behaviour.kind === 'nan-text' ? '"NaN",' : 'NaN,'));
      return;
    case 'huge':
      response.writeHead(200, json);
      sendHuge(response, behaviour.bytes);
      return;
    default:
      response.writeHead(200, json).end(text());
  }
}

/** Send bytes no faster than the client reads, until it disconnects. */
function sendHuge(response: ServerResponse, bytes: number): void {
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      const chunk = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK;
      left -= chunk.length;
      if (!response.write(chunk)) {
        response.once('drain', more);
        return;
      }
    }
    if (!response.destroyed) response.end();
  };
  more();
}
