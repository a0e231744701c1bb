/**
 * Server that reads and drops every body and responds with `{}`: the floor of an attack, without any work of the
 * service. It sends its address to its parent process. An attacker may close its connection at any time.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  request.on('end', () => response.setHeader('Content-Type', 'application/json').end('{}'));
  request.resume();
});
server.on('connection', (socket) => socket.on('error', () => undefined));
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
