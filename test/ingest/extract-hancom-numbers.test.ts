import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { hwpControl, hwpParagraph, hwpRecord, hwpStream, makeHwp } from '../support/hwp-samples.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { writeZip } from '../support/write-zip.ts';

const read = async (bytes: Uint8Array, name: string) => brief((await readHere(bytes, name)).blocks);

/** Level of a numbering: number of its format in HWP, name in OWPML, pattern, first number. */
type SampleLevel = readonly [format: number, name: string, text: string, start?: number];

const LAW: readonly SampleLevel[] = [
  [0, 'DIGIT', '제^1장'],
  [8, 'HANGUL_SYLLABLE', '^2.'],
  [1, 'CIRCLED_DIGIT', '^3'],
  [2, 'ROMAN_CAPITAL', '(^4)'],
];
const PATHS: readonly SampleLevel[] = [
  [0, 'DIGIT', '^1.', 3],
  [0, 'DIGIT', '^1.^2'],
  [5, 'LATIN_SMALL', '^N'],
];
/** Shapes of paragraphs: the kind of their number, the numbering, and the level from 0. */
const SHAPES: ReadonlyArray<readonly [kind: 0 | 1 | 2 | 3, numbering: number, level: number]> = [
  [0, 0, 0],
  [2, 1, 0],
  [2, 1, 1],
  [2, 1, 2],
  [2, 1, 3],
  [2, 2, 0],
  [2, 2, 1],
  [2, 2, 2],
  [1, 0, 0],
  [1, 0, 1],
  [3, 1, 0],
];

/** Text and index of the shape. */
type SampleText = readonly [text: string, shape: number];

function numbering(levels: readonly SampleLevel[]): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < 7; at++) {
    const [format, , text] = levels[at] ?? [0, 'DIGIT', `^${at + 1}.`];
    const head = Buffer.alloc(14);
    head.writeUInt32LE(format << 5, 0);
    head.writeUInt16LE(text.length, 12);
    parts.push(head, Buffer.from(text, 'utf16le'));
  }
  const starts = Buffer.alloc(2 + 7 * 4);
  for (let at = 0; at < 7; at++) starts.writeUInt32LE(levels[at]?.[3] ?? 1, 2 + at * 4);
  return Buffer.concat([...parts, starts]);
}

function hwp(texts: readonly SampleText[], outline: number): Buffer {
  const shapes = SHAPES.map(([kind, id, level]) => {
    const data = Buffer.alloc(54);
    data.writeUInt32LE(((kind << 23) | (level << 25)) >>> 0, 0);
    data.writeUInt16LE(id, 30);
    return hwpRecord(9, 0, data);
  });
  const info = [hwpRecord(7, 0, numbering(LAW)), hwpRecord(7, 0, numbering(PATHS)), ...shapes];
  const definition = hwpControl('secd', 1);
  const section = Buffer.alloc(40);
  definition.data.copy(section);
  section.writeUInt16LE(outline, 18);
  const records = texts.map(([text, shape]) => hwpParagraph(text, { shape }));
  const [first = [], ...others] = records;
  const body = [...first, hwpRecord(55, 1, section), ...others.flat()];
  return makeHwp([body], { streams: { DocInfo: deflateRawSync(hwpStream(info)) } });
}

const TYPES = ['NONE', 'OUTLINE', 'NUMBER', 'BULLET'];

function hwpx(texts: readonly SampleText[], outline: number): Buffer {
  const space = (name: string) => `"http://www.hancom.co.kr/hwpml/2011/${name}"`;
  const numberings = [LAW, PATHS].map((levels, index) => {
    const heads = levels.map(
      ([, name, text, start = 1], at) =>
        `<hh:paraHead start="${start}" level="${at + 1}" numFormat="${name}">${text}</hh:paraHead>`,
    );
    return `<hh:numbering id="${index + 1}" start="0">${heads.join('')}</hh:numbering>`;
  });
  const bullets =
    '<hh:bullets><hh:bullet id="1" char="*"><hh:paraHead level="0" numFormat="DIGIT"/></hh:bullet></hh:bullets>';
  const shapes = SHAPES.map(
    ([kind, id, level], index) =>
      `<hh:paraPr id="${index}"><hh:heading type="${TYPES[kind]}" idRef="${id}" level="${level}"/></hh:paraPr>`,
  );
  const definition = `<hp:secPr outlineShapeIDRef="${outline}"><hp:note/></hp:secPr>`;
  const paragraphs = texts.map(
    ([text, shape], index) =>
      `<hp:p paraPrIDRef="${shape}"><hp:run>${index === 0 ? definition : ''}<hp:t>${text}</hp:t></hp:run></hp:p>`,
  );
  return writeZip([
    { name: 'mimetype', data: 'application/hwp+zip', isStored: true },
    {
      name: 'Contents/header.xml',
      data: `<hh:head xmlns:hh=${space('head')}>${numberings.join('')}${bullets}${shapes.join('')}</hh:head>`,
    },
    {
      name: 'Contents/section0.xml',
      data: `<hs:sec xmlns:hs=${space('section')} xmlns:hp=${space('paragraph')}>${paragraphs.join('')}</hs:sec>`,
    },
  ]);
}

/** Names of formats in HWPML: `CircledDigit` for `CIRCLED_DIGIT`. */
const camel = (name: string) =>
  name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

function hml(texts: readonly SampleText[], outline: number): Buffer {
  const numberings = [LAW, PATHS].map((levels, index) => {
    const heads = levels.map(
      ([, name, text, start = 1], at) =>
        `<PARAHEAD Alignment="Left" Level="${at + 1}" NumFormat="${camel(name)}" Start="${start}">${text}</PARAHEAD>`,
    );
    return `<NUMBERING Id="${index + 1}" Start="0">${heads.join('')}</NUMBERING>`;
  });
  const shapes = SHAPES.map(
    ([kind, id, level], index) =>
      `<PARASHAPE Id="${index}" HeadingType="${camel(TYPES[kind] as string)}" Heading="${id}" Level="${level}"/>`,
  );
  const paragraphs = texts.map(
    ([text, shape], index) =>
      `<P ParaShape="${shape}" Style="0"><TEXT CharShape="0">${index === 0 ? `<SECDEF OutlineShape="${outline}"/>` : ''}` +
      `<CHAR>${text}</CHAR></TEXT></P>`,
  );
  return Buffer.from(
    '<?xml version="1.0" encoding="UTF-8" standalone="no" ?><HWPML Style="embed" SubVersion="8.0.0.0" Version="2.8">' +
      `<HEAD SecCnt="1"><MAPPINGTABLE><NUMBERINGLIST>${numberings.join('')}</NUMBERINGLIST>` +
      `<BULLETLIST><BULLET Id="1" Char="*"><PARAHEAD Level="1" NumFormat="Digit"/></BULLET></BULLETLIST>` +
      `<PARASHAPELIST>${shapes.join('')}</PARASHAPELIST></MAPPINGTABLE></HEAD><BODY><SECTION Id="0">` +
      `${paragraphs.join('')}</SECTION></BODY><TAIL><BINDATASTORAGE><BINDATA>iVBORw0KGgo=</BINDATA></BINDATASTORAGE></TAIL></HWPML>`,
  );
}

describe.each([
  ['hwp', hwp],
  ['hwpx', hwpx],
  ['hml', hml],
] as const)('automatic numbers of paragraphs in %s', (format, make) => {
  test('are counted by level, in the form of each level, and deeper levels begin again', async () => {
    const texts: SampleText[] = [
      ['등대의 점등', 1],
      ['시각을 적는다', 2],
      ['날씨를 적는다', 2],
      ['안개', 3],
      ['눈', 3],
      ['큰 눈', 4],
      ['사이의 문단', 0],
      ['부표의 점검', 1],
      ['색을 칠한다', 2],
      ['점', 10],
    ];
    expect(await read(make(texts, 1), `a.${format}`)).toEqual([
      'list_item1: 제1장 등대의 점등',
      'list_item2: 가. 시각을 적는다',
      'list_item2: 나. 날씨를 적는다',
      'list_item3: ① 안개',
      'list_item3: ② 눈',
      'list_item4: (I) 큰 눈',
      'paragraph: 사이의 문단',
      'list_item1: 제2장 부표의 점검',
      'list_item2: 가. 색을 칠한다',
      'list_item1: - 점',
    ]);
  });

  test('begin with the first number of their numbering and contain those of the levels above', async () => {
    const texts: SampleText[] = [
      ['a', 5],
      ['b', 6],
      ['c', 6],
      ['d', 7],
      ['other numbering', 1],
      ['e', 5],
      ['f', 6],
    ];
    expect(await read(make(texts, 1), `a.${format}`)).toEqual([
      'list_item1: 3. a',
      'list_item2: 3.1 b',
      'list_item2: 3.2 c',
      'list_item3: 3.2.a. d',
      'list_item1: 제1장 other numbering',
      'list_item1: 4. e',
      'list_item2: 4.1 f',
    ]);
  });

  test('of headings are those of the outline of the section', async () => {
    const texts: SampleText[] = [
      ['총칙', 8],
      ['목적', 9],
      ['', 9],
      ['정의', 9],
    ];
    expect(await read(make(texts, 2), `a.${format}`)).toEqual([
      'heading1: 3. 총칙',
      'heading2: 3.1 목적',
      'heading2: 3.3 정의',
    ]);
  });
});

test('HWPML is read in a child process, with its tables and notes, and without headers', async () => {
  const cell = (text: string) =>
    `<CELL><PARALIST><P ParaShape="0"><TEXT><CHAR>${text}</CHAR></TEXT></P></PARALIST></CELL>`;
  const bytes = Buffer.from(
    '<HWPML Version="2.8"><BODY><SECTION><P ParaShape="0"><TEXT><HEADER><PARALIST><P><TEXT><CHAR>머리말</CHAR></TEXT></P></PARALIST></HEADER>' +
      '<CHAR>앞<TAB/>뒤</CHAR><FOOTNOTE><PARALIST><P><TEXT><CHAR>각주</CHAR></TEXT></P></PARALIST></FOOTNOTE></TEXT></P>' +
      `<P><TEXT><TABLE><ROW>${cell('품목')}${cell('금액')}</ROW><ROW>${cell('화강암')}${cell('1,200')}</ROW></TABLE></TEXT></P></SECTION></BODY></HWPML>`,
  );
  const document = await extract(bytes, 'a.hml');
  expect(document.format).toBe('hml');
  expect(brief(document.blocks)).toEqual(['paragraph: 앞 뒤', 'paragraph: 각주', 'table: 품목 | 금액\n화강암 | 1,200']);
});
