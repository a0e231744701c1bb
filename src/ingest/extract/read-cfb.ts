import { CompoundFile } from './archive/cfb.ts';
import { ExtractError } from './errors.ts';
import { readHwp } from './hwp/read-hwp.ts';
import type { Reading, ReadResult } from './reader.ts';

/**
 * Read the document in a compound file, which is a Hancom document or an encrypted office document ([MS-OFFCRYPTO]).
 * The error names the binary formats of older office programs, which are not read.
 * @throws ExtractError `encrypted`, `unsupported_type`, and errors of the document
 */
export async function readCfb(bytes: Uint8Array, reading: Reading): Promise<ReadResult> {
  const file = new CompoundFile(bytes);
  if (file.has('FileHeader')) return readHwp(file, reading);
  if (file.has('EncryptedPackage'))
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  throw new ExtractError('unsupported_type', `${kindOf(file)} is not supported; save it in a newer format`);
}

function kindOf(file: CompoundFile): string {
  if (file.has('WordDocument')) return 'the format of Word before 2007 (.doc)';
  if (file.has('Workbook') || file.has('Book')) return 'the format of Excel before 2007 (.xls)';
  if (file.has('PowerPoint Document')) return 'the format of PowerPoint before 2007 (.ppt)';
  if (file.has('__properties_version1.0')) return 'the message format of Outlook (.msg)';
  return 'this kind of compound file';
}
