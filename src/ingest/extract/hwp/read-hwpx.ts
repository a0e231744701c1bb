import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import { ExtractError } from '../errors.ts';
import { readPackage } from '../office/opf.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { HwpxBody } from './hwpx-body.ts';
import { HwpxHead } from './hwpx-head.ts';

const PACKAGE = 'Contents/content.hpf';
const HEADER = 'Contents/header.xml';
const SECTION = /^Contents\/section(\d+)\.xml$/;

/**
 * Read the text of an OWPML document (KS X 6101), section by section: headings by outline level and list items, both
 * with their numbers, tables, text boxes, equations as their script, footnotes and endnotes. Omit deleted text,
 * comments, headers and footers.
 */
export async function readHwpx(zip: Zip, { sink }: Reading): Promise<ReadResult> {
  if (await isEncrypted(zip))
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  const sections = await findSections(zip);
  if (sections.length === 0) throw new ExtractError('corrupt', 'the document has no section');
  const head = new HwpxHead();
  if (zip.has(HEADER)) await parseXml(zip.stream(HEADER), head);
  for (const section of sections) {
    const writer = new BlockWriter((block) => sink.add(block));
    await parseXml(zip.stream(section), new HwpxBody(writer, head.roles, head.numbering), () => sink.flush());
    writer.end();
  }
  return resultOf('hwpx');
}

/** Find the sections in the order of the package's spine, else by number. */
async function findSections(zip: Zip): Promise<string[]> {
  if (zip.has(PACKAGE)) {
    // Some writers give paths from the root of the archive, others from the package's folder.
    const { spine } = await readPackage(zip, PACKAGE);
    const named = spine.map(({ part }) => (zip.has(part) ? part : part.replace(/^Contents\//, '')));
    const sections = named.filter((part) => SECTION.test(part) && zip.has(part));
    if (sections.length > 0) return sections;
  }
  const numberOf = (name: string) => Number(SECTION.exec(name)?.[1]);
  return [...zip.names()].filter((name) => SECTION.test(name)).sort((a, b) => numberOf(a) - numberOf(b));
}

async function isEncrypted(zip: Zip): Promise<boolean> {
  if (!zip.has('META-INF/manifest.xml')) return false;
  let found = false;
  await parseXml(zip.stream('META-INF/manifest.xml'), {
    open(name) {
      if (name.endsWith(':encryption-data')) found = true;
    },
  });
  return found;
}
