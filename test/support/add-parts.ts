import { fromBufferPromise } from 'yauzl';
import { writeZip, type ZipEntry } from './write-zip.ts';

/** Add entries to an archive, or replace those of the same name. */
export async function addParts(archive: Buffer, parts: Readonly<Record<string, string | Uint8Array>>): Promise<Buffer> {
  const zip = await fromBufferPromise(archive);
  const entries: ZipEntry[] = [];
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName in parts) continue;
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    entries.push({ name: entry.fileName, data: Buffer.concat(chunks), isStored: entry.compressionMethod === 0 });
  }
  for (const [name, data] of Object.entries(parts)) entries.push({ name, data });
  return writeZip(entries);
}

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Build the relationships of a part from types by target, with the ids `rId1`, `rId2` and so on. */
export function relationshipsOf(targets: Readonly<Record<string, string>>): string {
  const items = Object.entries(targets).map(
    ([target, type], index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${items.join('')}</Relationships>`;
}
