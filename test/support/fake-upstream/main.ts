import { fstatSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { base64Of, vectorOf } from './vectors.ts';

// Fast upstream of the openai protocol for benchmarks, in a separate process:
//   node main.ts [--delay-ms 50] [--format base64|float] [--port 0]
// It prints {"url": …} (a provider's base URL) and serves until it is killed or its standard input, if a pipe, ends.
// All requests get the same vectors: a body is made once for each (count, dimension, format).

const { values } = parseArgs({
  options: {
    'delay-ms': { type: 'string', default: '0' },
    format: { type: 'string', default: '' },
    dimensions: { type: 'string', default: '1536' },
    port: { type: 'string', default: '0' },
  },
});
const delayMs = Number(values['delay-ms']);
const nativeDimension = Number(values.dimensions);
const bodies = new Map<string, Buffer>();

/** Return the body of an answer, in the requested format unless `--format` is set. */
function bodyFor(count: number, dimensions: number, requested: string): Buffer {
  const format = values.format === '' ? requested : values.format;
  const key = `${count}/${dimensions}/${format}`;
  const made = bodies.get(key);
  if (made) return made;
  const data = Array.from({ length: count }, (_, index) => {
    const vector = vectorOf('bench', String(index), dimensions);
    return { object: 'embedding', index, embedding: format === 'base64' ? base64Of(vector) : Array.from(vector) };
  });
  const usage = { prompt_tokens: count * 10, total_tokens: count * 10 };
  const body = Buffer.from(JSON.stringify({ object: 'list', data, model: 'bench', usage }));
  bodies.set(key, body);
  return body;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    let body: Buffer;
    try {
      const parsed = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const count = Array.isArray(parsed['input']) ? parsed['input'].length : 1;
      body = bodyFor(
        count,
        Number(parsed['dimensions'] ?? nativeDimension),
        String(parsed['encoding_format'] ?? 'float'),
      );
    } catch {
      response.writeHead(400).end();
      return;
    }
    const answer = (): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    };
    if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(values.port), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/v1` })}\n`);
});
// Exit with the benchmark that started this process and holds the other end of the pipe.
const stdin = fstatSync(0);
if (stdin.isFIFO() || stdin.isSocket()) process.stdin.resume().on('end', () => process.exit(0));
