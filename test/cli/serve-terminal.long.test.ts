import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CAN_MAKE_TERMINAL } from './service.ts';
import { startOnTerminal } from './terminal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'serve-terminal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!CAN_MAKE_TERMINAL)(
  'serve says at a terminal where it is and how to stop it, without lines of JSON',
  async () => {
    const terminal = startOnTerminal(
      ['serve', '--port', '0'],
      { SERVICE_DATA_DIR: folder, SERVICE_BUILT_IN_MODEL: 'lexical' },
      { columns: 200, rows: 30 },
    );
    await terminal.shows('press Ctrl-C to stop it');
    terminal.pressKeys('\u0003');
    // The shell around it ends by the same Ctrl-C.
    expect(await terminal.code).toBe(130);
    const lines = stripVTControlCharacters(terminal.raw()).split('\r\n').slice(0, 7);
    expect(lines.map((line) => line.split(/[ :]/)[0])).toEqual([
      ...['created', 'search', 'listening', 'admin', 'curl', 'console', 'press'],
    ]);
    expect(terminal.raw()).not.toContain('{"level"');
  },
);
