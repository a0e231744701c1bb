import { createCipheriv } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { writeCfb } from './write-cfb.ts';
import { writeZip } from './write-zip.ts';

/** Record of a stream. Its tag is the offset from the first tag of the format. */
export interface SampleRecord {
  readonly tag: number;
  readonly level: number;
  readonly data: Buffer;
}

const FIRST_TAG = 0x10;

export function hwpRecord(tag: number, level: number, data: Uint8Array = Buffer.alloc(0)): SampleRecord {
  return { tag: FIRST_TAG + tag, level, data: Buffer.from(data) };
}

/**
 * Make a paragraph: a header with the index of its shape, and a text.
 *
 * @param marks controls of eight units before it
 */
export function hwpParagraph(
  text: string,
  options: { level?: number; shape?: number; marks?: number[] } = {},
): SampleRecord[] {
  const { level = 0, shape = 0, marks = [] } = options;
  const header = Buffer.alloc(24);
  header.writeUInt16LE(shape, 8);
  const units = marks.flatMap((code) => [code, 1, 2, 3, 4, 5, 6, code]);
  const body = Buffer.alloc(units.length * 2);
  units.forEach((unit, i) => {
    body.writeUInt16LE(unit, i * 2);
  });
  const content = Buffer.concat([body, Buffer.from(`${text}\r`, 'utf16le')]);
  return [hwpRecord(50, level, header), hwpRecord(51, level + 1, content)];
}

export function hwpControl(id: string, level: number): SampleRecord {
  return hwpRecord(55, level, Buffer.from(id.split('').reverse().join(''), 'latin1'));
}

/** Make a table below the preceding paragraph of level 0. */
export function hwpTable(rows: readonly (readonly string[])[]): SampleRecord[] {
  const records = [hwpControl('tbl ', 1), hwpRecord(61, 2, Buffer.alloc(8))];
  rows.forEach((cells, row) => {
    cells.forEach((cell, column) => {
      const list = Buffer.alloc(24);
      list.writeUInt16LE(column, 8);
      list.writeUInt16LE(row, 10);
      records.push(hwpRecord(56, 2, list), ...hwpParagraph(cell, { level: 2 }));
    });
  });
  return records;
}

export function hwpStream(records: readonly SampleRecord[]): Buffer {
  return Buffer.concat(
    records.flatMap(({ tag, level, data }) => {
      const isLong = data.length >= 0xfff;
      const header = Buffer.alloc(isLong ? 8 : 4);
      header.writeUInt32LE((tag | (level << 10) | ((isLong ? 0xfff : data.length) << 20)) >>> 0, 0);
      if (isLong) header.writeUInt32LE(data.length, 4);
      return [header, data];
    }),
  );
}

/** Shapes of paragraphs: 0 plain, 1 an outline of the first level, 2 a bullet. */
const DOC_INFO = hwpStream(
  [0, 1 << 23, 3 << 23].map((attributes) => {
    const data = Buffer.alloc(54);
    data.writeUInt32LE(attributes >>> 0, 0);
    return hwpRecord(9, 0, data);
  }),
);

export interface HwpOptions {
  /** 1 compressed, 2 with a password, 4 for distribution */
  readonly flags?: number;
  readonly preview?: string;
  /** Streams that replace generated ones. */
  readonly streams?: Readonly<Record<string, Uint8Array>>;
}

/** Make a Hancom document of version 5 with the given sections. */
export function makeHwp(sections: readonly (readonly SampleRecord[])[], options: HwpOptions = {}): Buffer {
  const { flags = 1, preview = 'preview text', streams = {} } = options;
  const pack = (stream: Buffer) => ((flags & 1) !== 0 ? deflateRawSync(stream) : stream);
  const header = Buffer.alloc(256);
  header.write('HWP Document File', 'latin1');
  header.writeUInt32LE(0x05000300, 32);
  header.writeUInt32LE(flags, 36);
  const isDistributed = (flags & 4) !== 0;
  const bodies = sections.map((records, index) => {
    const packed = pack(hwpStream(records));
    const name = `${isDistributed ? 'ViewText' : 'BodyText'}/Section${index}`;
    return [name, isDistributed ? distribute(packed) : packed] as const;
  });
  return writeCfb({
    FileHeader: header,
    DocInfo: pack(DOC_INFO),
    PrvText: Buffer.from(preview, 'utf16le'),
    ...Object.fromEntries(bodies),
    ...streams,
  });
}

/** Encrypt a section as in distribution documents: the first record of the section has the key in scrambled form. */
function distribute(packed: Buffer): Buffer {
  const seed = 0x1234567;
  const key = Buffer.from('0123456789abcdef', 'latin1');
  const data = Buffer.alloc(256, 0x5a);
  data.writeUInt32LE(seed, 0);
  key.copy(data, 4 + (seed & 15));
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 214_013) + 2_531_011) | 0;
    return (state >>> 16) & 0x7fff;
  };
  let value = 0;
  for (let at = 0, left = 0; at < data.length; at++, left--) {
    if (left === 0) {
      value = next() & 0xff;
      left = (next() & 15) + 1;
    }
    if (at >= 4) data.writeUInt8(data.readUInt8(at) ^ value, at);
  }
  const cipher = createCipheriv('aes-128-ecb', key, null);
  cipher.setAutoPadding(false);
  const padded = Buffer.concat([packed, Buffer.alloc((16 - (packed.length % 16)) % 16)]);
  return Buffer.concat([hwpStream([hwpRecord(12, 0, data)]), cipher.update(padded)]);
}

const HWPX_SPACES = ['paragraph:hp', 'section:hs', 'head:hh']
  .map((pair) => pair.split(':'))
  .map(([name, prefix]) => `xmlns:${prefix}="http://www.hancom.co.kr/hwpml/2011/${name}"`)
  .join(' ');

/** Make an OWPML document. Paragraph shapes: 0 plain, 1 outline of level 1, 2 bullet. @param sections of `hs:sec` */
export function makeHwpx(sections: readonly string[], manifest = ''): Buffer {
  const items = sections.map(
    (_, index) => `<opf:item id="s${index}" href="Contents/section${index}.xml" media-type="application/xml"/>`,
  );
  const shape = (id: number, type: string) =>
    `<hh:paraPr id="${id}"><hh:heading type="${type}" idRef="0" level="0"/></hh:paraPr>`;
  return writeZip([
    { name: 'mimetype', data: 'application/hwp+zip', isStored: true },
    {
      name: 'META-INF/manifest.xml',
      data: `<odf:manifest xmlns:odf="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">${manifest}</odf:manifest>`,
    },
    {
      name: 'Contents/content.hpf',
      data: `<opf:package xmlns:opf="http://www.idpf.org/2007/opf/"><opf:manifest>${items.join('')}</opf:manifest><opf:spine>${sections.map((_, index) => `<opf:itemref idref="s${index}"/>`).join('')}</opf:spine></opf:package>`,
    },
    {
      name: 'Contents/header.xml',
      data: `<hh:head ${HWPX_SPACES}>${shape(0, 'NONE')}${shape(1, 'OUTLINE')}${shape(2, 'BULLET')}</hh:head>`,
    },
    ...sections.map((content, index) => ({
      name: `Contents/section${index}.xml`,
      data: `<?xml version="1.0" encoding="UTF-8"?><hs:sec ${HWPX_SPACES}>${content}</hs:sec>`,
    })),
  ]);
}

export function hwpxParagraph(text: string, shape = 0): string {
  return `<hp:p paraPrIDRef="${shape}"><hp:run><hp:t>${text}</hp:t></hp:run></hp:p>`;
}
