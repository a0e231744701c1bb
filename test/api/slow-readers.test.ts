import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

// The memory of large answers is reused once they are sent.
let installation: TestApi;
let key: string;
const TEXTS = 100;
const ANSWERS = 16;

beforeAll(async () => {
  installation = await openTestApi({ worker: false });
  key = await installation.key();
});
afterAll(() => installation.close());

const textsOf = (name: string) => Array.from({ length: TEXTS }, (_, i) => `${name} is text number ${i}`);

async function embed(name: string): Promise<string> {
  const reply = await fetch(`${installation.api.url}/v1/embeddings`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: textsOf(name) }),
  });
  return reply.text();
}

/** Split the bytes of consecutive answers into their bodies. */
function bodiesIn(bytes: Buffer): string[] {
  const bodies: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at) + 4;
    const length = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', at, end))?.[1]);
    bodies.push(bytes.toString('utf8', end, end + length));
    at = end + length;
  }
  return bodies;
}

test('an answer that is read late is unchanged by the answers to other clients', async () => {
  const socket: Socket = connect(Number(new URL(installation.api.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  for (let i = 0; i < ANSWERS; i++) {
    const body = JSON.stringify({ input: textsOf(`late ${i}`) });
    const close = i === ANSWERS - 1 ? 'Connection: close\r\n' : '';
    socket.write(
      `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${close}` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  // The answers exceed the socket buffers, so that some wait in the server while others are sent.
  for (let i = 0; i < 2 * ANSWERS; i++) expect(JSON.parse(await embed(`other ${i}`)).data).toHaveLength(TEXTS);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.resume();
  await once(socket, 'end');
  const late = bodiesIn(Buffer.concat(chunks));
  expect(late).toHaveLength(ANSWERS);
  for (const [i, body] of late.entries()) expect(body === (await embed(`late ${i}`)), `late ${i}`).toBe(true);
});
