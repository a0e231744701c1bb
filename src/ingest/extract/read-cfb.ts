import { CompoundFile } from './archive/cfb.ts';
import { ExtractError } from './errors.ts';
import { refusalOf } from './format-names.ts';
import { readHwp } from './hwp/read-hwp.ts';
import type { Reading, ReadResult } from './reader.ts';

/**
 * Read the document in a compound file: a Hancom document or an encrypted office document ([MS-OFFCRYPTO]). The error
 * names the binary formats of older office programs, which are not supported.
 * @throws ExtractError `encrypted`, `unsupported_type`, and errors of the document
 */
export async function readCfb(bytes: Uint8Array, reading: Reading): Promise<ReadResult> {
  const file = new CompoundFile(bytes);
  if (file.has('FileHeader')) return readHwp(file, reading);
  if (file.has('EncryptedPackage'))
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  throw new ExtractError(
    'unsupported_type',
    refusalOf(extensionOf(file)) ?? 'this kind of compound file is not supported',
  );
}

/** Streams that identify formats in compound files. */
const STREAMS: ReadonlyArray<readonly [string, string]> = [
  ['WordDocument', 'doc'],
  ['Workbook', 'xls'],
  ['Book', 'xls'],
  ['PowerPoint Document', 'ppt'],
  ['__properties_version1.0', 'msg'],
  ['VisioDocument', 'vsd'],
  ['Quill', 'pub'],
  ['Props9', 'mpp'],
  ['Props12', 'mpp'],
  ['Props14', 'mpp'],
];

function extensionOf(file: CompoundFile): string {
  return STREAMS.find(([stream]) => file.has(stream))?.[1] ?? '';
}
