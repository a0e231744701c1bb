import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

/**
 * Replies to a command: lines without line endings. `TAG` stands for the tag of the command, and the line `CLOSE`
 * closes the connection.
 */
export type ImapScript = (command: string) => readonly string[] | null;

/**
 * Start a server that greets as IMAP4rev1 (RFC 3501) and answers each line by a script, for faults that Dovecot doesn't
 * have. If the script has no reply, it answers a command with OK.
 */
export async function startFakeImap(script: ImapScript): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.setEncoding('utf8');
    socket.write('* OK IMAP4rev1 ready\r\n');
    let rest = '';
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [tag = '', ...words] = line.split(' ');
        const reply = script(words.length === 0 ? line : words.join(' ')) ?? ['TAG OK done'];
        for (const each of reply) {
          if (each === 'CLOSE') socket.end();
          else socket.write(`${each.replace(/^TAG/, tag)}\r\n`);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
