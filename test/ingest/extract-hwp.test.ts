import { describe, expect, test } from 'vitest';
import {
  hwpControl,
  hwpParagraph,
  hwpRecord,
  hwpTable,
  hwpxParagraph,
  makeHwp,
  makeHwpx,
} from '../support/hwp-samples.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { writeCfb } from '../support/write-cfb.ts';
import { writeZip } from '../support/write-zip.ts';

const REPORT = [
  ...hwpParagraph('제1장 총칙', { shape: 1 }),
  ...hwpParagraph('항만 시설을 정비한다.', { marks: [2] }),
  ...hwpParagraph('화강암', { shape: 2 }),
  ...hwpParagraph('', { marks: [11] }),
  ...hwpTable([
    ['품목', '금액'],
    ['화강암', '1,200'],
  ]),
  ...hwpParagraph('끝.'),
];
const REPORT_BLOCKS = [
  'heading1: 제1장 총칙',
  'paragraph: 항만 시설을 정비한다.',
  'list_item1: - 화강암',
  'table: 품목 | 금액\n화강암 | 1,200',
  'paragraph: 끝.',
];

describe('hwp', () => {
  test('headings, lists and tables of an hwp file are read in a child process, in order', async () => {
    const document = await extract(makeHwp([REPORT, hwpParagraph('둘째 구역')]), 'report.hwp');
    expect(document.format).toBe('hwp');
    expect(brief(document.blocks)).toEqual([...REPORT_BLOCKS, 'paragraph: 둘째 구역']);
  });

  test('an uncompressed hwp file and one for distribution give the same text', async () => {
    for (const flags of [0, 1 | 4]) {
      expect(brief((await readHere(makeHwp([REPORT], { flags }), 'a.hwp')).blocks), String(flags)).toEqual(
        REPORT_BLOCKS,
      );
    }
  });

  test('a long paragraph, control characters and text beyond the basic multilingual plane are read', async () => {
    const long = `${'긴 문장이다. '.repeat(900)}😀`;
    const parts = [...hwpParagraph(long), ...hwpParagraph('a\u0018b\u001ec\nd', { marks: [3, 9] })];
    expect(brief((await readHere(makeHwp([parts]), 'a.hwp')).blocks)).toEqual([
      `paragraph: ${long}`,
      'paragraph: a-b c\nd',
    ]);
  });

  test('hwp notes follow their paragraph, headers and comments are left out, and equations become their script', async () => {
    const script = Buffer.concat([Buffer.alloc(4), Buffer.from([5, 0]), Buffer.from('x^2+1', 'utf16le')]);
    const records = [
      ...hwpParagraph('본문', { marks: [17] }),
      hwpControl('fn  ', 1),
      hwpRecord(56, 2, Buffer.alloc(8)),
      ...hwpParagraph('각주', { level: 2 }),
      hwpControl('head', 1),
      hwpRecord(56, 2, Buffer.alloc(8)),
      ...hwpParagraph('머리말', { level: 2 }),
      hwpControl('eqed', 1),
      hwpRecord(72, 2, script),
      ...hwpParagraph('다음'),
    ];
    expect(brief((await readHere(makeHwp([records]), 'a.hwp')).blocks)).toEqual([
      'paragraph: 본문',
      'paragraph: x^2+1',
      'paragraph: 각주',
      'paragraph: 다음',
    ]);
  });

  test('the preview of an hwp file is used only if no section can be read', async () => {
    const damaged = { 'BodyText/Section0': Buffer.from('no deflate stream') };
    const skipped = [{ name: 'Section0', category: 'corrupt' }];
    const preview = await readHere(makeHwp([REPORT], { streams: damaged, preview: '미리 보기\r\n둘째 줄' }), 'a.hwp');
    expect(preview.skipped).toEqual(skipped);
    expect(brief(preview.blocks)).toEqual(['paragraph: 미리 보기', 'paragraph: 둘째 줄']);
    const half = await readHere(makeHwp([REPORT, hwpParagraph('둘째 구역')], { streams: damaged }), 'a.hwp');
    expect(half.skipped).toEqual(skipped);
    expect(brief(half.blocks)).toEqual(['paragraph: 둘째 구역']);
    const nothing = makeHwp([REPORT], { streams: damaged, preview: '' });
    await expect(readHere(nothing, 'a.hwp')).rejects.toMatchObject({ category: 'corrupt' });
  });

  test('an hwp file protected by a password, by rights or by a certificate ends as encrypted', async () => {
    for (const flag of [1, 4, 8, 10]) {
      const locked = makeHwp([REPORT], { flags: 1 | (1 << flag) });
      await expect(readHere(locked, 'a.hwp'), String(flag)).rejects.toMatchObject({ category: 'encrypted' });
    }
  });

  test('an hwp section that unpacks to too many bytes is refused', async () => {
    const bomb = makeHwp([[hwpRecord(51, 1, Buffer.alloc(3_000_000))]]);
    expect(bomb.length).toBeLessThan(20_000);
    const limits = { unpackedBytesMax: 1_000_000 };
    await expect(readHere(bomb, 'a.hwp', limits)).rejects.toMatchObject({ category: 'too_large' });
  });

  test('a damaged compound file is refused with a category', async () => {
    const whole = makeHwp([REPORT]);
    for (const cut of [8, 100, 512, 1000]) {
      await expect(readHere(whole.subarray(0, cut), 'a.hwp'), String(cut)).rejects.toMatchObject({
        category: 'corrupt',
      });
    }
    // Every chain of sectors returns to the first one.
    const circle = Buffer.from(whole);
    for (let at = whole.length - 512; at < whole.length; at += 4) circle.writeUInt32LE(0, at);
    await expect(readHere(circle, 'a.hwp')).rejects.toMatchObject({ category: 'corrupt' });
    await expect(readHere(writeCfb({ FileHeader: Buffer.alloc(300) }), 'a.hwp')).rejects.toMatchObject({
      category: 'unsupported_type',
    });
  });
});

describe('hwpx', () => {
  const table =
    '<hp:p><hp:run><hp:tbl><hp:tr><hp:tc><hp:subList>' +
    `${hwpxParagraph('품목')}</hp:subList></hp:tc><hp:tc><hp:subList>${hwpxParagraph('금액')}</hp:subList></hp:tc></hp:tr>` +
    `<hp:tr><hp:tc><hp:subList>${hwpxParagraph('화강암')}</hp:subList></hp:tc><hp:tc><hp:subList>${hwpxParagraph('1,200')}</hp:subList></hp:tc></hp:tr></hp:tbl></hp:run></hp:p>`;
  const section =
    hwpxParagraph('제1장 총칙', 1) +
    hwpxParagraph('항만 시설을<hp:tab/>정비한다.<hp:deleteBegin/>지움<hp:deleteEnd/>') +
    hwpxParagraph('화강암', 2) +
    table +
    '<hp:p><hp:run><hp:t>끝.</hp:t><hp:ctrl><hp:footNote><hp:subList>' +
    `${hwpxParagraph('각주')}</hp:subList></hp:footNote></hp:ctrl><hp:ctrl><hp:header><hp:subList>${hwpxParagraph('머리말')}</hp:subList></hp:header></hp:ctrl></hp:run></hp:p>`;

  test('headings, lists, tables and notes of an hwpx file are read in a child process, in order', async () => {
    const document = await extract(makeHwpx([section, hwpxParagraph('둘째 구역')]), 'report.hwpx');
    expect(document.format).toBe('hwpx');
    expect(brief(document.blocks)).toEqual([
      ...REPORT_BLOCKS.slice(0, 1),
      'paragraph: 항만 시설을 정비한다.',
      ...REPORT_BLOCKS.slice(2, 4),
      'paragraph: 끝.',
      'paragraph: 각주',
      'paragraph: 둘째 구역',
    ]);
  });

  test('memos are left out wherever they stand, and captions of buttons are text', async () => {
    const memo = `<hp:memogroup><hp:memo><hp:paraList>${hwpxParagraph('메모 하나')}</hp:paraList></hp:memo></hp:memogroup>`;
    const field =
      '<hp:p><hp:run><hp:ctrl><hp:fieldBegin type="MEMO"><hp:subList>' +
      `${hwpxParagraph('메모 둘')}</hp:subList></hp:fieldBegin></hp:ctrl></hp:run><hp:run><hp:t>본문</hp:t></hp:run></hp:p>`;
    const form =
      '<hp:p><hp:run><hp:ctrl><hp:fieldBegin type="CLICK_HERE"/></hp:ctrl><hp:t>이름: </hp:t></hp:run>' +
      '<hp:run><hp:checkBtn caption="동의함" value="CHECKED"/></hp:run></hp:p>';
    const { blocks } = await readHere(makeHwpx([memo + field + form]), 'a.hwpx');
    expect(brief(blocks)).toEqual(['paragraph: 본문', 'paragraph: 이름: 동의함']);
  });

  test('a protected hwpx file ends as encrypted, and one without sections as corrupt', async () => {
    const locked = makeHwpx([section], '<odf:file-entry><odf:encryption-data/></odf:file-entry>');
    await expect(readHere(locked, 'a.hwpx')).rejects.toMatchObject({ category: 'encrypted' });
    await expect(readHere(makeHwpx([]), 'a.hwpx')).rejects.toMatchObject({ category: 'corrupt' });
    const bare = writeZip([{ name: 'mimetype', data: 'application/hwp+zip', isStored: true }]);
    await expect(readHere(bare, 'a.hwpx')).rejects.toMatchObject({ category: 'corrupt' });
  });
});
