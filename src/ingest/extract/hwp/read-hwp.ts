import { inflateRawSync } from 'node:zlib';
import type { CompoundFile } from '../archive/cfb.ts';
import { BlockWriter } from '../block-writer.ts';
import { ExtractError, isOutOfMemory } from '../errors.ts';
import { PackagePictures } from '../office/package-pictures.ts';
import { normalizeNewlines } from '../read-text.ts';
import { type Reading, type ReadResult, resultOf, type SkippedPart, type UnpackBudget } from '../reader.ts';
import { decryptDistributed } from './hwp-distribution.ts';
import { outlineOf, readHead } from './hwp-head.ts';
import { readRecords } from './hwp-records.ts';
import { HwpSection } from './hwp-section.ts';

const SIGNATURE = 'HWP Document File';
const COMPRESSED = 1 << 0;
const DISTRIBUTED = 1 << 2;
/** Encryption flags: by password, by rights management, by certificate, by both. */
const ENCRYPTED = (1 << 1) | (1 << 4) | (1 << 8) | (1 << 10);

/**
 * Read the text of a Hancom document of version 5 ("HWP Document File Formats 5.0" by Hancom), section by section:
 * headings by outline level, list items, tables, text boxes, equations as their script, notes. Omit comments, headers
 * and footers. `skipped` lists damaged sections. If no section is readable, use the file's preview text.
 */
export async function readHwp(file: CompoundFile, { sink, images, budget }: Reading): Promise<ReadResult> {
  const header = file.read('FileHeader');
  if (header === null || header.length < 40 || !header.toString('latin1').startsWith(SIGNATURE)) {
    throw new ExtractError(
      'unsupported_type',
      'this kind of compound file is not supported; save the document in another format',
    );
  }
  const flags = header.readUInt32LE(36);
  if ((flags & ENCRYPTED) !== 0)
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  const isCompressed = (flags & COMPRESSED) !== 0;
  const isDistributed = (flags & DISTRIBUTED) !== 0;
  const head = readHead(unpack(file.read('DocInfo'), isCompressed, budget));
  const folder = isDistributed ? 'ViewText' : 'BodyText';
  const skipped: SkippedPart[] = [];
  let read = 0;
  let hasText = false;
  for (let number = 0; file.has(`${folder}/Section${number}`); number++) {
    const stored = file.read(`${folder}/Section${number}`) as Buffer;
    const stream = unpack(isDistributed ? decryptDistributed(stored) : stored, isCompressed, budget);
    if (stream === null) {
      skipped.push({ name: `Section${number}`, category: 'corrupt' });
      continue;
    }
    head.numbering.outline = outlineOf(stream) ?? head.numbering.outline;
    const writer = new BlockWriter((block) => {
      hasText ||= block.text.trim() !== '';
      sink.add(block);
    });
    const section = new HwpSection(writer, head.roles, head.numbering);
    for (const record of readRecords(stream)) section.take(record);
    section.end();
    writer.end();
    read++;
    await sink.flush();
  }
  if (read === 0) addPreview(file, (text) => sink.add({ kind: 'paragraph', text }));
  const pictures = new PackagePictures(images);
  for (const { path, isCompressed: own } of pictures.wants(hasText) ? head.embedded : [])
    await pictures.take(path, {}, async () => unpack(file.read(path), own ?? isCompressed, budget));
  return resultOf('hwp', { skipped: [...skipped, ...pictures.skipped] });
}

/** Unpack a stream, or return null if it is missing or damaged. @throws ExtractError `too_large` */
function unpack(stored: Buffer | null, isCompressed: boolean, budget: UnpackBudget): Buffer | null {
  if (stored === null) return null;
  let stream = stored;
  if (isCompressed) {
    try {
      stream = inflateRawSync(stored, { maxOutputLength: Math.max(1, budget.bytesLeft) });
    } catch (error) {
      if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
        throw new ExtractError(
          'too_large',
          'the document unpacks to more bytes than may be read; divide it into smaller files',
          error,
        );
      }
      if (isOutOfMemory(String(error))) throw error;
      return null;
    }
  }
  budget.bytesLeft -= stream.length;
  return stream;
}

function addPreview(file: CompoundFile, add: (text: string) => void): void {
  const preview = file.read('PrvText');
  if (preview === null || preview.length < 2) {
    throw new ExtractError('corrupt', 'no section of the document can be read');
  }
  for (const line of normalizeNewlines(preview.toString('utf16le')).split('\n')) add(line);
}
