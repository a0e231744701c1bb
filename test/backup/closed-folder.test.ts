import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTarget, withOpenTarget } from '../../src/backup/target.ts';

// Root may write everywhere, so another user makes the backups.
const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;
const user = isRoot ? 'nobody' : userInfo().username;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'service-closed-'));
  chmodSync(folder, 0o755);
});
afterEach(() => {
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true, force: true });
});

async function asOther<T>(work: () => Promise<T>): Promise<T> {
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

const open = (directory: string) =>
  openTarget(
    { dataDir: '/nowhere', objects: null, s3: {} as never },
    { kind: 'folder', directory },
    { logger: pino({ level: 'silent' }), creates: true },
  );

it('a folder in which the user may not write is refused with the name of the user and a command', async () => {
  const target = path.join(folder, 'backups');
  chmodSync(folder, 0o555);
  await expect(asOther(() => open(target))).rejects.toMatchObject({
    code: 'backup_target_unusable',
    message:
      `cannot use the folder ${target} for backups (EACCES): the user "${user}" may not write there; ` +
      `choose another folder, or give it to this user as root: install -d -o ${user} ${target}`,
  });
});

it('a folder below one that the user may not enter is refused with the name of that one', async () => {
  const target = path.join(folder, 'backups');
  chmodSync(folder, 0o600);
  await expect(asOther(() => open(target))).rejects.toMatchObject({
    message: expect.stringContaining(`the user "${user}" may not enter ${folder}; choose another folder`),
  });
});

it('a backup that meets a folder of another user there names the user', async () => {
  chmodSync(folder, 0o777);
  const contents = path.join(folder, 'contents');
  mkdirSync(contents);
  chmodSync(contents, 0o555);
  const write = async () => {
    const target = await open(folder);
    await withOpenTarget(target, ({ objects }) => objects.put('contents/ab/abc', Buffer.from('x')));
  };
  await expect(asOther(write)).rejects.toMatchObject({
    code: 'backup_target_unusable',
    message: expect.stringContaining(`give it to this user as root: chown -R ${user} ${folder}`),
  });
});
