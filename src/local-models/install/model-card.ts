import { open } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const CARD_BYTES_MAX = 64 * 1024;
const LICENCE_CHARACTERS_MAX = 200;

/**
 * Metadata of a model card. `license` is an identifier or a list of them; `license_name` names the licence for
 * `license: other` (https://huggingface.co/docs/hub/model-cards).
 */
const CardData = z.looseObject({
  license: z.union([z.string(), z.array(z.string())]).optional(),
  license_name: z.string().optional(),
});

/** Return the licence from a model card's metadata; null if missing or unreadable. */
export function licenceOf(metadata: unknown): string | null {
  const parsed = CardData.safeParse(metadata);
  if (!parsed.success) return null;
  const { license, license_name: name } = parsed.data;
  const licences = [license ?? []].flat();
  const text = licences.map((each) => (each === 'other' && name ? name : each)).join(', ');
  return text === '' ? null : text.slice(0, LICENCE_CHARACTERS_MAX);
}

/** Return the licence stated in the first 64 KiB of a folder's model card (`README.md`); null without one. */
export async function licenceOfFolder(folder: string): Promise<string | null> {
  const card = await readStart(path.join(folder, 'README.md'));
  const metadata = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card)?.[1];
  if (metadata === undefined) return null;
  try {
    return licenceOf(parse(metadata));
  } catch {
    return null; // the card is for people; an invalid one doesn't stop the installation
  }
}

async function readStart(file: string): Promise<string> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(CARD_BYTES_MAX), 0, CARD_BYTES_MAX, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return ''; // for example, a folder of this name
  } finally {
    await handle.close();
  }
}
