import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

// HTTP proxy in front of one upstream that only forwards bytes, as a floor of a gateway's CPU, in a separate process:
//   node bare-proxy.ts http://127.0.0.1:9000/v1
// It prints {"url": …} and serves until its standard input ends.

const upstream = new URL(process.argv[2] as string);
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

const server = createServer((incoming, response) => {
  const { method, headers } = incoming;
  const { hostname, port } = upstream;
  const outgoing = request({ agent, hostname, port, method, path: incoming.url, headers }, (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    pipeline(reply, response, () => {});
  });
  outgoing.on('error', () => response.destroy());
  pipeline(incoming, outgoing, () => {});
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}${upstream.pathname}` })}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
