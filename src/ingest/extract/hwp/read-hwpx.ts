import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { readChart } from '../office/charts.ts';
import { readPackage } from '../office/opf.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from '../office/package-pictures.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { HwpxBody } from './hwpx-body.ts';
import { HwpxHead } from './hwpx-head.ts';

const PACKAGE = 'Contents/content.hpf';
const HEADER = 'Contents/header.xml';
const CHART = /^Chart\/[^/]+\.xml$/;
const PICTURE = /^BinData\/[^/]+$/;
const SECTION = /^Contents\/section(\d+)\.xml$/;

/**
 * Read the text of an OWPML document (KS X 6101), section by section: numbered headings by outline level and numbered
 * list items, tables, text boxes, equations as their script, footnotes and endnotes. Omit deleted text, comments,
 * headers and footers.
 */
export async function readHwpx(zip: Zip, { sink, images }: Reading): Promise<ReadResult> {
  if (await isEncrypted(zip))
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  const sections = await findSections(zip);
  if (sections.length === 0) throw new ExtractError('corrupt', 'the document has no section');
  const head = new HwpxHead();
  if (zip.has(HEADER)) await parseXml(zip.stream(HEADER), head);
  const charts = new Map<string, BlockDraft[]>();
  for (const name of zip.names()) if (CHART.test(name)) charts.set(name, await readChart(zip, name));
  let hasText = false;
  for (const section of sections) {
    const writer = new BlockWriter((block) => {
      hasText ||= block.text.trim() !== '';
      sink.add(block);
    });
    await parseXml(zip.stream(section), new HwpxBody(writer, head, charts), () => sink.flush());
    writer.end();
  }
  const pictures = new PackagePictures(images);
  for (const name of pictures.wants(hasText) ? zip.names() : [])
    if (PICTURE.test(name)) await pictures.take(name, {}, () => zip.bytes(name, PICTURE_BYTES_MAX));
  return resultOf('hwpx', { skipped: pictures.skipped });
}

/** Find the sections in the order of the package's spine, else by number. */
async function findSections(zip: Zip): Promise<string[]> {
  if (zip.has(PACKAGE)) {
    // Some writers give paths from the archive's root, others from the package's folder.
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
