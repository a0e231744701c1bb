import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../platform/errors.ts';
import { type ConfigEdit, editConfigText } from './edit-config-file.ts';

/**
 * Write an entry into a client's configuration file atomically, preserving its mode and owner. Only the owner can read
 * a new file, since it may contain a key.
 * @returns true if the file changed, or would change
 * @throws AppError `config_file_broken` (409), `config_file_changed` (409), `config_file_denied` (403)
 */
export async function writeConfigFile(
  file: string,
  edit: ConfigEdit & { readonly dryRun: boolean },
): Promise<{ readonly changed: boolean; readonly isNew: boolean }> {
  try {
    // Keep a link a link.
    const target = await realpath(file).catch(() => file);
    const before = await readOrNull(target);
    const after = editConfigText(before ?? '', edit);
    const changed = after !== before;
    if (changed && !edit.dryRun) await replace(target, before, after);
    return { changed, isNew: before === null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EISDIR' && code !== 'ENOTDIR') throw error;
    const message = `${file} cannot be read or written (${code})`;
    throw new AppError({ code: 'config_file_denied', status: 403, message, cause: error });
  }
}

async function replace(target: string, before: string | null, after: string): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true });
  const draft = `${target}.${process.pid}.tmp`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (before !== null) {
      const { mode, uid, gid } = await stat(target);
      await chmod(draft, mode & 0o777);
      if (process.getuid?.() === 0) await chown(draft, uid, gid);
    }
    if ((await readOrNull(target)) !== before) {
      const message = `${target} was changed by another program just now; nothing was written, so run the command again`;
      throw new AppError({ code: 'config_file_changed', status: 409, message });
    }
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Read a file as UTF-8; null if it does not exist. */
async function readOrNull(file: string): Promise<string | null> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      const message = `${file} is not UTF-8 text and was not changed`;
      throw new AppError({ code: 'config_file_broken', status: 409, message });
    }
    throw error;
  }
}
