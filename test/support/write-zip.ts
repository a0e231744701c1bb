import { crc32, deflateRawSync } from 'node:zlib';

/** Entry of an archive. Its headers may differ from its data. */
export interface ZipEntry {
  readonly name: string;
  readonly data: string | Uint8Array;
  /** True to store the data without compression. */
  readonly isStored?: boolean;
  /** `data` is a stream of DEFLATE that unpacks to `declaredBytes` bytes of `declaredCrc`. */
  readonly isDeflated?: boolean;
  readonly declaredBytes?: number;
  readonly declaredCrc?: number;
  /** True to set the flag of encryption. The data is not encrypted. */
  readonly isEncrypted?: boolean;
}

const UTF8_NAMES = 0x800;

/** Write a zip archive (PKWARE APPNOTE 4.3) without checking the entries. */
export function writeZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const data = Buffer.from(entry.data);
    const stored = entry.isStored || entry.isDeflated ? data : deflateRawSync(data);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(UTF8_NAMES | (entry.isEncrypted ? 1 : 0), 2);
    fields.writeUInt16LE(entry.isStored ? 0 : 8, 4);
    fields.writeUInt32LE(entry.declaredCrc ?? crc32(data), 10);
    fields.writeUInt32LE(stored.length, 14);
    fields.writeUInt32LE(entry.declaredBytes ?? data.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, stored]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), fields, rest, name]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 8);
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}
