import { parseXml, type XmlAttributes } from '../archive/xml.ts';
import { BlockWriter } from '../block-writer.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { HwpxBody } from './hwpx-body.ts';
import { HwpxHead } from './hwpx-head.ts';

const SLICE_BYTES = 64 * 1024;

/** Elements of OWPML, the successor of HWPML, by HWPML name. */
const ELEMENTS: Readonly<Record<string, string>> = {
  PARASHAPE: 'hh:paraPr',
  NUMBERING: 'hh:numbering',
  PARAHEAD: 'hh:paraHead',
  P: 'hp:p',
  CHAR: 'hp:t',
  TABLE: 'hp:tbl',
  ROW: 'hp:tr',
  CELL: 'hp:tc',
  FOOTNOTE: 'hp:footNote',
  ENDNOTE: 'hp:endNote',
  HEADER: 'hp:header',
  FOOTER: 'hp:footer',
  HIDDENCOMMENT: 'hp:hiddenComment',
  SHAPECOMMENT: 'hp:shapeComment',
  MEMO: 'hp:memo',
  FIELDBEGIN: 'hp:fieldBegin',
  SECDEF: 'hp:secPr',
  SCRIPT: 'hp:script',
  AUTONUM: 'hp:autoNum',
  LINEBREAK: 'hp:lineBreak',
  TAB: 'hp:tab',
  NBSPACE: 'hp:nbSpace',
  FWSPACE: 'hp:fwSpace',
  HYPEN: 'hp:hyphen',
};
const ATTRIBUTES: Readonly<Record<string, string>> = {
  Id: 'id',
  Level: 'level',
  Start: 'start',
  NumFormat: 'numFormat',
  ParaShape: 'paraPrIDRef',
  OutlineShape: 'outlineShapeIDRef',
  HeadingType: 'type',
  Type: 'type',
  Heading: 'idRef',
  Number: 'num',
  NumberType: 'numType',
};

/** Read an HWPML document (`.hml`) like OWPML, which has the same elements under other names. */
export async function readHml(bytes: Uint8Array, { sink }: Reading): Promise<ReadResult> {
  const head = new HwpxHead();
  const writer = new BlockWriter((block) => sink.add(block));
  const body = new HwpxBody(writer, head);
  await parseXml(
    slicesOf(bytes),
    {
      open(name, attributes) {
        const own = renamed(attributes);
        head.open(ELEMENTS[name] ?? name, own);
        if (name === 'PARASHAPE') head.open('hh:heading', own);
        body.open(ELEMENTS[name] ?? name, own);
      },
      close(name) {
        head.close(ELEMENTS[name] ?? name);
        body.close(ELEMENTS[name] ?? name);
      },
      text(text) {
        head.text(text);
        body.text(text);
      },
    },
    () => sink.flush(),
  );
  writer.end();
  return resultOf('hml');
}

function renamed(attributes: XmlAttributes): XmlAttributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [ATTRIBUTES[name] ?? name, value]));
}

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}
