import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { HOSTILE_MARKDOWN } from '../../ingest/hostile-markdown.ts';
import { makeOdf } from '../../support/office-samples.ts';

const MIB = 1024 * 1024;
/** Duration of an attack, in milliseconds. */
export const ATTACK_MS = 6_000;
/** Time for which a connection doesn't read its response, in milliseconds. */
const HELD_MS = 1_000;
/** Static file for attack 7. It is built, not committed. */
export const BUNDLE = '/docs/assets/swagger-ui-bundle.js';

/** Server that is attacked, and the rights of the attacker. */
export interface Target {
  readonly url: string;
  readonly key: string;
  readonly other: string;
  readonly count: (status: number) => void;
}

/** Function that repeats its requests until the signal aborts. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

async function send(target: Target, method: string, path: string, body: string | Buffer, type = 'application/json') {
  const headers = { Authorization: `Bearer ${target.key}`, 'Content-Type': type };
  try {
    const reply = await fetch(target.url + path, { method, headers, body });
    target.count(reply.status);
    return (await reply.json()) as Record<string, unknown>;
  } catch {
    target.count(0);
    return {};
  }
}

/** Run `once` repeatedly on several connections. */
function repeated(connections: number, attack: (target: Target, nth: number) => Promise<unknown>): Attack {
  let nth = 0;
  return async (target, signal) => {
    const work = async () => {
      while (!signal.aborted) await attack(target, nth++);
    };
    await Promise.all(Array.from({ length: connections }, work));
  };
}

const tiny = () =>
  Buffer.concat([Buffer.from('{"filename":"a","x":['), Buffer.alloc(63 * MIB, '{},'), Buffer.from('{}]}')]);
const text16 = () => Buffer.from(JSON.stringify({ query: 'x', more: 'y'.repeat(15 * MIB) }));
const condition = (n: number) => ({ type: 'eq', key: `k${n}`, value: 'v' });
const filterOf = (conditions: number) =>
  JSON.stringify({
    query: 'merger',
    filter: { type: 'or', filters: Array.from({ length: conditions }, (_, n) => condition(n)) },
  });
const links = () => Buffer.from((HOSTILE_MARKDOWN['open links'] as (chars: number) => string)(20 * MIB));
const cells = `<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000"><text:p>wide</text:p></table:table-cell></table:table-row>`;
const sheet = () => makeOdf('spreadsheet', `<table:table table:name="S">${cells.repeat(4)}</table:table>`);
const uploadOf = (filename: string, bytes: Buffer) =>
  JSON.stringify({ filename, content_base64: bytes.toString('base64'), on_duplicate: 'allow' });

/** Workflow whose few blocks multiply its input. */
const multiplying = () => {
  const text = '{{inputs.text}} '.repeat(10);
  const blocks = [1, 2, 3, 4].map((n) => ({ id: `b${n}`, type: 'template', with: { text } }));
  return { inputs: { text: { type: 'string', default: 'x' } }, blocks };
};
const texts = () => Array.from({ length: 100 }, (_, n) => `text ${n}`);

const BULK = '/v1/buckets/default/documents/metadata/bulk';
export const SEARCH = '/v2/buckets/default/search';
export const UPLOAD = '/v1/buckets/default/documents';
const UPLOAD_ELSEWHERE = '/v1/buckets/elsewhere/documents';
/** Bucket for the other caller's uploads during an attack. */
export const ELSEWHERE = 'elsewhere';

/** Factories of attacks by name, in the order of the rules in docs/security.md. */
export const ATTACKS: Readonly<Record<string, () => Attack>> = {
  '1. 64 MB of tiny objects in JSON': () => posted(2, UPLOAD, tiny()),
  '1. 16 MB to a search': () => posted(2, SEARCH, text16()),
  '2. 20 MB of open links in Markdown': () => {
    const body = uploadOf('links.md', links());
    return async (target, signal) => {
      await send(target, 'POST', UPLOAD, body);
      await delay(ATTACK_MS, undefined, { signal }).catch(() => undefined);
    };
  },
  '2. sheets of a million repeated cells': () => {
    const body = uploadOf('cells.ods', sheet());
    return repeated(1, async (target) => {
      await send(target, 'POST', UPLOAD, body);
      await delay(1_000);
    });
  },
  '3. filters of 10,000 conditions': () => posted(8, SEARCH, Buffer.from(filterOf(10_000))),
  '3. filters of 50 conditions': () => posted(40, SEARCH, Buffer.from(filterOf(50))),
  '4. 200 bodies of 16 MB at 1.6 kB/s': () => slowBodies,
  '5. dry runs that count': () =>
    repeated(4, (target, nth) => {
      const statement = `UPDATE documents SET x = '1' WHERE salary LIKE '${nth % 10}%'`;
      return send(target, 'PATCH', BULK, JSON.stringify({ statement, dry_run: true }));
    }),
  '6. searches for words': () =>
    repeated(4, (target, nth) => send(target, 'POST', SEARCH, JSON.stringify({ query: `merger word${nth}` }))),
  '7. 300 connections to a static file': () => unread(300, { method: 'GET', path: BUNDLE, isSecret: false }),
  '8. outputs of workflows that nobody reads': () => {
    const body = JSON.stringify({ mode: 'simulate', inputs: { text: 'x'.repeat(25_000) } });
    return async (target, signal) => {
      const workflow = { name: `multiply ${Date.now()}`, definition: multiplying() };
      const { id } = await send(target, 'POST', '/v1/workflows', JSON.stringify(workflow));
      await send(target, 'POST', `/v1/workflows/${id}/publish`, '{}');
      await unread(20, { method: 'POST', path: `/v1/workflows/${id}/run`, body })(target, signal);
    };
  },
  '9. templates of sources that repeat a column': () => {
    const config = { table: 't', text: '{{b}}'.repeat(1_100) };
    return posted(8, '/v1/memory/sources', Buffer.from(JSON.stringify({ name: 's', connection: 'rows', config })));
  },
  '10. begun sign-ins': () =>
    repeated(40, async (target) => {
      const reply = await fetch(`${target.url}/v1/sessions/oidc`, { redirect: 'manual' }).catch(() => null);
      await reply?.body?.cancel();
      target.count(reply?.status ?? 0);
    }),
  '11. maps of a bucket': () => unread(40, { method: 'GET', path: '/v1/buckets/default/map' }),
  '12. large answers that nobody reads': () =>
    unread(200, { method: 'POST', path: '/v1/embeddings', body: JSON.stringify({ input: texts() }) }),
};

/** Post one body repeatedly on several connections. */
function posted(connections: number, path: string, body: Buffer): Attack {
  return repeated(connections, (target) => send(target, 'POST', path, body));
}

/** Send requests on many connections, and read only the first bytes of each response. After a second, start again. */
function unread(
  connections: number,
  request: { method: string; path: string; body?: string; isSecret?: false },
): Attack {
  const { method, path, body = '', isSecret = true } = request;
  return async (target, signal) => {
    const { hostname, port } = new URL(target.url);
    const head = [
      `${method} ${path} HTTP/1.1`,
      ...[`Host: ${hostname}`, 'Accept-Encoding: identity', 'Content-Type: application/json'],
      ...(isSecret ? [`Authorization: Bearer ${target.key}`] : []),
      ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ].join('\r\n');
    while (!signal.aborted) {
      const sockets = Array.from({ length: connections }, () => {
        const socket = connect(Number(port), hostname).on('error', () => target.count(0));
        socket.once('data', (start) => {
          socket.pause();
          target.count(Number(start.toString('latin1', 9, 12)));
        });
        socket.write(`${head}\r\n\r\n${body}`);
        return socket;
      });
      await delay(HELD_MS, undefined, { signal }).catch(() => undefined);
      for (const socket of sockets) socket.destroy();
    }
  };
}

/**
 * Announce large bodies, and send them slowly. Meanwhile, a large body of another caller must be accepted, into a
 * bucket that isn't measured.
 */
async function slowBodies(target: Target, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(target.url);
  const head = `POST ${UPLOAD} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${target.key}\r\nContent-Type: application/json\r\nContent-Length: ${16 * MIB}\r\n\r\n`;
  const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).on('error', () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(head);
  while (!signal.aborted) {
    for (const socket of sockets) socket.write(Buffer.alloc(1600, ' '));
    await delay(1_000);
    const answer = { ...target, key: target.other };
    await send(answer, 'POST', UPLOAD_ELSEWHERE, JSON.stringify({ filename: 'a.txt', text: 'word '.repeat(200_000) }));
  }
  for (const socket of sockets) socket.destroy();
}
