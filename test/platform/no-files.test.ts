import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { NoFilesReport } from '../support/no-files-child.ts';

const CHILD = fileURLToPath(new URL('../support/no-files-child.ts', import.meta.url));
/** More than Node and the sources take. */
const FILES_MAX = 100;

it.skipIf(process.platform === 'win32')(
  'without a free file descriptor no process is started, each reports why, and no rejection stays unhandled',
  async () => {
    const script = `ulimit -n ${FILES_MAX}; exec "$0" --no-warnings "$1"`;
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script, process.execPath, CHILD]);
    const reason = expect.stringContaining('EMFILE');
    expect(JSON.parse(stdout) as NoFilesReport).toEqual({
      settle: expect.objectContaining({ message: reason }),
      ocr: expect.objectContaining({ name: 'OcrFault', kind: 'not_started', message: reason }),
      extract: expect.objectContaining({ name: 'ExtractError', category: 'internal' }),
      confinement: expect.objectContaining({ message: reason }),
      isConfinedLater: true,
      unhandled: [],
    });
  },
);
