/**
 * Process that tries to leave its confinement: it gets the targets as its argument and prints the result of each attempt. It
 * stays until its stdin ends.
 * `process.stdin` is a socket, so its constructor opens others, which no JavaScript permission forbids.
 */
import type net from 'node:net';

export interface ConfinedTargets {
  readonly socketPath: string;
  readonly abstractSocket: string;
  readonly port: number;
  readonly parentPid: number;
}

/** Result of each attempt: `connected`, `done`, or the code of the error. */
export interface ConfinedReport {
  readonly socket: string;
  readonly abstractSocket: string;
  readonly loopback: string;
  readonly signal: string;
  readonly uid: number;
}

const Socket = process.stdin.constructor as typeof net.Socket;

function connect(target: net.SocketConnectOpts): Promise<string> {
  return new Promise((resolve) => {
    const socket = new Socket();
    socket.once('connect', () => resolve('connected')).once('error', (error) => resolve(codeOf(error)));
    socket.connect(target);
  });
}

function signal(pid: number): string {
  try {
    process.kill(pid, 0);
    return 'done';
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}

const targets = JSON.parse(process.argv[2] ?? '') as ConfinedTargets;
const report: ConfinedReport = {
  socket: await connect({ path: targets.socketPath }),
  abstractSocket: await connect({ path: targets.abstractSocket }),
  loopback: await connect({ host: '127.0.0.1', port: targets.port }),
  signal: signal(targets.parentPid),
  uid: process.getuid?.() ?? -1,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.stdin.resume().once('end', () => process.exit(0));
