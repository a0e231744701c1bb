import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Find the files below a directory that contain a text. Files may be deleted meanwhile. @returns relative paths */
export function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => {
      try {
        return readFileSync(file).includes(text);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw error;
      }
    })
    .map((file) => path.relative(directory, file));
}
