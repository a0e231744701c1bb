import type { DroppedFile } from './upload.ts';

/**
 * Read dropped files, including those in folders. Call this in the event handler, since the browser drops them
 * afterwards.
 */
export function readDropped(data: DataTransfer): Promise<DroppedFile[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((entry) => entry?.isDirectory)) {
    return Promise.resolve([...data.files].map((file) => ({ file, path: null })));
  }
  return Promise.all(entries.map((entry) => (entry === null ? [] : readEntry(entry)))).then((files) => files.flat());
}

async function readEntry(entry: FileSystemEntry): Promise<DroppedFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File | null>((resolve) =>
      (entry as FileSystemFileEntry).file(resolve, () => resolve(null)),
    );
    const path = entry.fullPath.replace(/^\//, '');
    return file === null ? [] : [{ file, path: path.includes('/') ? path : null }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: DroppedFile[] = [];
  for (;;) {
    // Browsers return a folder's entries in parts. The last part is empty.
    const part = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (part.length === 0) return files;
    for (const child of part) files.push(...(await readEntry(child)));
  }
}
