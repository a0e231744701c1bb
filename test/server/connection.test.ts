import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RawClient } from './support.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

/** Start a bare server of Node; `calls` are those of `socket.destroySoon`, which does nothing here. */
async function startBareServer(headers: Record<string, string>) {
  const calls: { socket: Socket; responseIsFinished: boolean; socketIsWritable: boolean }[] = [];
  let called = () => {};
  const firstCall = new Promise<void>((resolve) => {
    called = resolve;
  });
  const server = createServer((req, res) => {
    const { socket } = req;
    socket.destroySoon = () => {
      calls.push({ socket, responseIsFinished: res.writableFinished, socketIsWritable: socket.writable });
      called();
    };
    res.writeHead(200, { 'Content-Length': '2', ...headers }).end('ok');
  });
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, calls, firstCall, sockets };
}

// `Connection` replaces `destroySoon`; see docs/decisions/0011-http-connection-handling.md.
describe('Node calls socket.destroySoon at the end of a response', () => {
  test('Node calls destroySoon once after a response with Connection: close, and closes by nothing else', async () => {
    const { port, calls, firstCall, sockets } = await startBareServer({ Connection: 'close' });
    const client = await RawClient.connect(port);
    client.write(REQUEST);
    await client.until(/\r\n\r\nok$/);
    await firstCall;
    // When another connection has its response, Node has done all that it does for the first one.
    const other = await RawClient.connect(port);
    other.write(REQUEST);
    await other.until(/\r\n\r\nok$/);
    const [socket] = sockets;
    const own = calls.filter((call) => call.socket === socket);
    expect(own).toMatchObject([{ responseIsFinished: true, socketIsWritable: true }]);
    expect(socket).toMatchObject({ destroyed: false, writableEnded: false });
    expect(client.socket.readableEnded).toBe(false);
  });

  test('Node does not call destroySoon after a response that keeps the connection', async () => {
    const { port, calls } = await startBareServer({});
    const client = await RawClient.connect(port);
    client.write(REQUEST);
    await client.until(/\r\n\r\nok$/);
    client.write(REQUEST);
    await client.until(/\r\n\r\nok[\s\S]*\r\n\r\nok$/);
    expect(calls).toEqual([]);
  });
});
