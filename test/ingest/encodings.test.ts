import iconv from 'iconv-lite';
import { describe, expect, test } from 'vitest';
import { decodeText } from '../../src/ingest/extract/decode-text.ts';
import { openDecoder } from '../../src/ingest/extract/encoding/open-decoder.ts';
import { brief, extract, readHere } from '../support/read-document.ts';

const MEMO = '믜장님, 오늘 아침 빵집 앞에서 뵜던 분이 똠얌 국수와 펩시를 샀습니다. 햏';
const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));

async function blocksOf(bytes: Uint8Array, fileName: string): Promise<string[]> {
  return brief((await readHere(bytes, fileName)).blocks);
}

test('every pair of Windows-949 and of Big5 with the characters of Hong Kong is decoded as iconv-lite does', () => {
  for (const [label, reference] of [
    ['cp949', 'cp949'],
    ['big5-hkscs', 'big5hkscs'],
  ] as const) {
    const decoder = openDecoder(label);
    const wrong: string[] = [];
    for (let lead = 0x81; lead <= 0xfe; lead++) {
      for (let trail = 0x41; trail <= 0xfe; trail++) {
        const pair = Buffer.from([lead, trail]);
        const expected = iconv.decode(pair, reference);
        const isPair = !/[\ufffd\0-\x7f]/.test(expected);
        if (isPair && decoder?.decode(pair) !== expected) wrong.push(`${pair.toString('hex')} ${expected}`);
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
  }
});

describe('Korean text of Windows-949 is read with syllables beyond KS X 1001', () => {
  const bytes = iconv.encode(MEMO, 'cp949');

  test('in a text without a declaration', async () => {
    expect(await blocksOf(bytes, 'memo.txt')).toEqual([`paragraph: ${MEMO}`]);
  });

  test('in Markdown and csv', async () => {
    expect(await blocksOf(iconv.encode(`# 햏햏\n\n${MEMO}\n`, 'cp949'), 'memo.md')).toEqual([
      'heading1: 햏햏',
      `paragraph: ${MEMO}`,
    ]);
    const csv = iconv.encode('손님,주문\n믜라,똠얌과 펩시\n샾지기,뷁설기와 떡볶이\n', 'cp949');
    expect(await blocksOf(csv, 'orders.csv')).toEqual([
      'table: 손님 | 주문\n믜라 | 똠얌과 펩시\n샾지기 | 뷁설기와 떡볶이',
    ]);
  });

  test.each(['euc-kr', 'ks_c_5601-1987', 'cp949', 'x-windows-949', 'ms949', 'utf-8', 'iso-8859-1'])(
    'in HTML that declares %s',
    async (label) => {
      const page = Buffer.concat([Buffer.from(`<html><meta charset=${label}><p>`), bytes]);
      expect(await blocksOf(page, 'a.html')).toEqual([`paragraph: ${MEMO}`]);
    },
  );

  test('in rich text, by code page and by font', async () => {
    const codes = [...bytes].map((byte) => `\\'${byte.toString(16)}`).join('');
    for (const head of ['\\ansi\\ansicpg949', '\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset129 Batang;}}\\f0'])
      expect(await blocksOf(Buffer.from(`{\\rtf1${head} ${codes}\\par}`), 'a.rtf')).toEqual([`paragraph: ${MEMO}`]);
  });
});

test('a process without rights decodes Big5 of Hong Kong and a code page of DOS', async () => {
  const page = (label: string, text: string) =>
    Buffer.concat([Buffer.from(`<meta charset=${label}><p>`), iconv.encode(text, label)]);
  expect((await extract(page('big5-hkscs', '䏰䰲和𨋢口'), 'a.html')).text).toBe('䏰䰲和𨋢口');
  expect((await extract(page('cp850', 'Grüße aus Málaga'), 'a.html')).text).toBe('Grüße aus Málaga');
});

test('Windows-949 is decoded alike however the stream is divided, and a broken pair keeps its ASCII', () => {
  const bytes = iconv.encode(MEMO, 'cp949');
  for (let at = 0; at <= bytes.length; at++) {
    const decoder = openDecoder('cp949');
    const parts = [decoder?.decode(bytes.subarray(0, at), { stream: true }), decoder?.decode(bytes.subarray(at))];
    expect(parts.join('')).toBe(MEMO);
  }
  expect(openDecoder('cp949')?.decode(hex('c7 20 b0a1 b0'))).toBe('\ufffd 가\ufffd');
});

test.each<[string, string, string]>([
  ['johab', 'd0 65 8b 69 20 88 61 20 88 41 e0 3b', '한글 가 ㄱ家'],
  ['cp1361', '88 62', '각'],
  ['iso-2022-kr', '1b 24 29 43 0a 0e 47 51 31 5b 0f 20 61', '\n한글 a'],
  ['iso-2022-cn', '1b 24 29 41 0e 56 50 39 7a 0f 21', '中国!'],
  ['hz-gb-2312', '7e 7b 56 50 39 7a 7e 7d 7e 7e', '中国~'],
  ['cp866', '8c a0 ef aa', 'Маяк'],
  ['ibm850', '63 61 66 82', 'café'],
  ['cp437', '9b 31', '¢1'],
  ['utf-32le', '5c d5 00 00 00 f6 01 00', '한😀'],
  ['utf-32be', '00 00 d5 5c 00 11 00 00', '한\ufffd'],
  ['big5-hkscs', '87 40 a4 a4 88 62', '䏰中Ê̄'],
  ['x-mac-korean', 'c7 d1', '한'],
  ['utf-7', '2b 31 56 77 41 4b 77 20 61 2b 2d 62 20 2b 32 44 33 65 41 41 21', '한+ a+b 😀!'],
])('the encoding %s is decoded by its label', (label, bytes, text) => {
  expect(openDecoder(label)?.decode(hex(bytes))).toBe(text);
});

test.each(['unknown-8bit', 'x-unknown', 'x-user-defined', 'no such label', 'cp12345', ''])(
  'there is no decoder for the label %s',
  (label) => {
    expect(openDecoder(label)).toBeNull();
  },
);

const RUSSIAN = 'Маяк на северном берегу открыт по средам. Смотритель записывает погоду.';
test.each<[string, string]>([
  ['cp866', RUSSIAN],
  ['koi8-r', RUSSIAN],
  ['windows-1251', RUSSIAN],
  ['iso-8859-5', RUSSIAN],
  ['gb18030', '灯塔的看守人每天早晨记录天气和经过的船只，晚上再把灯点亮。'],
  ['big5', '燈塔的看守人每天早晨記錄天氣和經過的船隻，晚上再把燈點亮。'],
  ['shiftjis', '灯台の番人は毎朝、天気と通り過ぎる船を記録し、夜になると灯をともします。'],
  ['eucjp', '灯台の番人は毎朝、天気と通り過ぎる船を記録し、夜になると灯をともします。'],
  ['windows-1252', 'Der Leuchtturmwärter schläft tagsüber; für Gäste öffnet er früh. Größe: groß.'],
  ['windows-1252', 'Le gardien du phare a noté que l’été dernier fut très chaud à l’île.'],
  ['utf-32le', '등대지기는 매일 아침 날씨를 적는다.'],
  ['utf-32be', '등대지기는 매일 아침 날씨를 적는다.'],
  ['utf-16le', '등대지기는 매일 아침 날씨를 적는다.'],
  ['utf16-be', '등대지기는 매일 아침 날씨를 적는다.'],
])('text in %s without a declaration is recognised', (encoding, text) => {
  expect(decodeText(iconv.encode(text, encoding)).text).toBe(text);
});

test.each<[string, string]>([
  ['cp949', '이름,값\n똠,펲\n뷁 믜,샾'],
  ['cp949', '뵀다 샾'],
  ['cp866', 'Имя;Цена\nМаяк;100\nБерег;200'],
  ['koi8-r', 'Съешь ещё этих мягких французских булок, да выпей чаю.'],
  ['windows-1251', 'Съешь ещё этих мягких французских булок, да выпей чаю.'],
  ['maccyrillic', 'Съешь ещё этих мягких французских булок, да выпей чаю.'],
  ['iso-8859-5', 'Руководство для Service Desk: установка и настройка'],
  ['eucjp', '港の灯台'],
  ['eucjp', '営業時間は九時から'],
  ['shiftjis', 'カフェ 九時'],
  ['gb18030', '请退回押金'],
  ['gb18030', '售票处九点开门，港口的灯塔每天晚上指引船只。'],
  ['big5', '請先閱讀資料'],
  ['windows-1252', 'größte'],
  ['windows-1252', 'Ça été'],
])('a short text in %s without a declaration is recognised: %s', (encoding, text) => {
  expect(decodeText(iconv.encode(text, encoding)).text).toBe(text);
});

describe('a declared encoding that the bytes clearly contradict does not count', () => {
  const TEXTS: ReadonlyArray<readonly [string, string]> = [
    ['cp949', '똠방각하가 펲시콜라를 뷁스럽게 마셨다. 믜운 사람 샾에서'],
    ['windows-1251', RUSSIAN],
    ['koi8-r', RUSSIAN],
    ['shiftjis', '灯台の番人は毎朝、天気と通り過ぎる船を記録し'],
    ['big5', '燈塔的看守人每天早晨記錄天氣和經過的船隻'],
    ['windows-1252', 'Le gardien du phare a noté que l’été dernier fut très chaud à l’île.'],
  ];
  test.each(TEXTS)('in %s', (encoding, text) => {
    const bytes = iconv.encode(text, encoding);
    for (const label of ['iso-8859-1', 'us-ascii', 'utf-8', 'gb2312', 'big5', 'shift_jis', 'euc-jp', 'euc-kr'])
      expect([label, decodeText(bytes, label).text]).toEqual([label, text]);
  });
});

describe('a byte order mark that the file contradicts does not count', () => {
  const MARK = Buffer.from('\ufeff');
  const TABLE = '이름,값\n등대,하나\n똠양,둘\n';

  test('that of UTF-8 before Windows-949 and Windows-1251', async () => {
    const table = Buffer.concat([MARK, iconv.encode(TABLE, 'cp949')]);
    expect(await blocksOf(table, 'a.csv')).toEqual(['table: 이름 | 값\n등대 | 하나\n똠양 | 둘']);
    expect(decodeText(Buffer.concat([MARK, iconv.encode(RUSSIAN, 'windows-1251')])).text).toBe(RUSSIAN);
    const long = Buffer.concat([MARK, iconv.encode(TABLE.repeat(20_000), 'cp949')]);
    expect((await blocksOf(long, 'a.csv'))[0]).toMatch(/^table: 이름 \| 값\n등대 \| 하나\n똠양/);
  });

  test('that of UTF-16 before UTF-8', async () => {
    for (const mark of ['fffe', 'feff'])
      expect(await blocksOf(Buffer.concat([hex(mark), Buffer.from(TABLE)]), 'a.csv')).toEqual([
        'table: 이름 | 값\n등대 | 하나\n똠양 | 둘',
      ]);
  });

  test('and one before the text that it promises does', () => {
    expect(decodeText(Buffer.concat([MARK, Buffer.from('등대 \ufffd')])).text).toBe('등대 \ufffd');
    expect(decodeText(Buffer.from(`\ufeff${'한漢字'.repeat(20)}`, 'utf16le')).text).toBe('한漢字'.repeat(20));
  });
});

test('Korean UTF-16 without a mark is text', async () => {
  const bytes = Buffer.from('등대 기록\n안개가 짙은 날에는 배가 오지 않는다.\n', 'utf16le');
  expect(await blocksOf(bytes, 'a.txt')).toEqual(['paragraph: 등대 기록\n안개가 짙은 날에는 배가 오지 않는다.']);
});

test('a text file in ISO-2022-KR and one in Johab are recognised without a declaration', async () => {
  const iso = hex('1b 24 29 43 0a 0e 47 51 31 5b 0f 20 0e 39 2e 3c 2d 0f');
  expect(await blocksOf(iso, 'a.txt')).toEqual(['paragraph: 한글 문서']);
  const johab = hex('b7 65 ac 65 b7 61 20 8b 61 9d a5 b7 b3 b3 61 94 61');
  expect(decodeText(johab).encoding).toBe('johab');
});

describe('valid UTF-8 that contains U+FFFD stays UTF-8', () => {
  test.each([
    ['a.txt', 'a \ufffd b'],
    ['b.txt', '\ufffd\ufffd\ufffd'],
    ['c.csv', 'name,note\ncaf\ufffd,open\n'],
    ['d.html', '<p>caf\ufffd'],
    ['e.json', '{"a":"left \ufffd right"}'],
  ])('in %s', async (name, text) => {
    expect((await blocksOf(Buffer.from(text), name)).join('')).toContain('\ufffd');
    expect((await blocksOf(Buffer.from(text), name)).join('')).not.toMatch(/�[ｿ½]|ï¿½/);
  });

  test('a broken byte beside it is tolerated', () => {
    const bytes = Buffer.concat([Buffer.from(`\ufffd ${'안개가 짙다. '.repeat(10)}`), hex('ff')]);
    expect(decodeText(bytes).encoding).toBe('utf-8');
  });
});

describe('the charset of an HTML page is found', () => {
  const body = iconv.encode('<p>Zażółć gęślą jaźń</p>', 'windows-1250');
  const EXPECTED = ['paragraph: Zażółć gęślą jaźń'];
  test.each<[string, string]>([
    ['after a long script', `<script>${'x("<meta charset=utf-16>");'.repeat(400)}</script><meta charset=windows-1250>`],
    ['behind a comment that names another one', '<!-- <meta charset="koi8-r"> --><meta charset="windows-1250">'],
    [
      'in the http-equiv form, the content first',
      "<META content='text/html; CHARSET=windows-1250' HTTP-EQUIV=Content-Type>",
    ],
    ['in the XML declaration', '<?xml version="1.0" encoding="windows-1250"?><html>'],
    [
      'after a meta of another purpose',
      '<meta name=description content="charset=koi8-r"><meta charset = windows-1250>',
    ],
    ['after a meta with an unknown label', '<meta charset="nonsense"><meta charset="windows-1250">'],
    ['in the body', `<p hidden></p>${'<br>'.repeat(2000)}<meta charset=windows-1250>`],
  ])('%s', async (_, head) => {
    expect(await blocksOf(Buffer.concat([Buffer.from(head), body]), 'a.html')).toEqual(EXPECTED);
  });

  test('a page that lies about it is read by what its bytes are', async () => {
    const page = Buffer.from('<meta charset="euc-kr"><p>Über den Dächern — 등대</p>');
    expect(await blocksOf(page, 'a.html')).toEqual(['paragraph: Über den Dächern — 등대']);
  });
});

describe('mail is decoded as files are', () => {
  const TEXT = '믜장님께: 펩시와 뷁설기 주문이 왔습니다.';
  const mail = (type: string, body: Uint8Array, more = '', subject = 's') =>
    Buffer.concat([
      Buffer.from(
        `From: a@example.com\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n${type}\r\n${more}\r\n`,
        'latin1',
      ),
      body,
    ]);
  const bodyOf = async (bytes: Uint8Array) => (await blocksOf(bytes, 'a.eml')).at(-1);
  const korean = iconv.encode(TEXT, 'cp949');

  test.each([
    ['no content type', ''],
    ['no charset', 'Content-Type: text/plain'],
    ['an unknown charset', 'Content-Type: text/plain; charset=unknown-8bit'],
    ['a charset that does not exist', 'Content-Type: text/plain; charset="korean-97"'],
    ['us-ascii', 'Content-Type: text/plain; charset=us-ascii'],
    ['the charset of Western Europe', 'Content-Type: text/plain; charset=iso-8859-1'],
    ['a wrong UTF-8', 'Content-Type: text/plain; charset=utf-8'],
    ['the right charset', 'Content-Type: text/plain; charset=ks_c_5601-1987'],
  ])('with %s', async (_, type) => {
    expect(await bodyOf(mail(`X-Test: 1\r\n${type}`.trim(), korean))).toBe(`paragraph: ${TEXT}`);
  });

  test('in quoted-printable, base64 and flowed lines', async () => {
    const quoted = [...korean].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
    const folded = quoted.replace(/(.{72})/g, '$1=\r\n');
    const type = 'Content-Type: text/plain; charset=x-unknown; format=flowed';
    const transfer = (name: string) => `Content-Transfer-Encoding: ${name}\r\n`;
    expect(await bodyOf(mail(type, Buffer.from(folded), transfer('quoted-printable')))).toBe(`paragraph: ${TEXT}`);
    const base64 = Buffer.from(korean.toString('base64'));
    expect(await bodyOf(mail(type, base64, transfer('base64')))).toBe(`paragraph: ${TEXT}`);
  });

  test('with HTML that contradicts its header', async () => {
    const html = Buffer.concat([Buffer.from('<meta charset=windows-949><p>'), korean]);
    expect(await bodyOf(mail('Content-Type: text/html; charset=utf-8', html))).toBe(`paragraph: ${TEXT}`);
  });

  test('in the subject, as raw bytes and as encoded words of several charsets', async () => {
    const subject = '커피샾 약속을 뵜으면 합니다';
    const raw = iconv.encode(subject, 'cp949');
    const word = (charset: string, bytes: Buffer) => `=?${charset}?B?${bytes.toString('base64')}?=`;
    const quoted = `=?euc-kr?Q?${[...raw].map((byte) => (byte === 0x20 ? '_' : `=${byte.toString(16).toUpperCase()}`)).join('')}?=`;
    const divided = `${word('ks_c_5601-1987', raw.subarray(0, 7))} ${word('ks_c_5601-1987', raw.subarray(7))}`;
    for (const value of [raw.toString('latin1'), word('euc-kr', raw), word('x-unknown', raw), quoted, divided]) {
      const [heading] = await blocksOf(mail('Content-Type: text/plain', Buffer.from('x'), '', value), 'a.eml');
      expect(heading).toBe(`heading1: ${subject}`);
    }
  });

  test('in a subject on several lines, whose words end inside of characters', async () => {
    const subject = '커피샾 약속을 뵜으면 합니다, 내일 아침에';
    for (const [charset, encoding] of [
      ['UTF-8', 'utf8'],
      ['euc-kr', 'cp949'],
    ] as const) {
      const bytes = iconv.encode(subject, encoding);
      const words = [0, 10, 20, 30].map((at) => {
        const part = bytes.subarray(at, at === 30 ? undefined : at + 10);
        return `=?${charset}?B?${part.toString('base64')}?=`;
      });
      for (const fold of ['\r\n ', '\n\t', ' '])
        expect(
          (await blocksOf(mail('Content-Type: text/plain', Buffer.from('x'), '', words.join(fold)), 'a.eml'))[0],
        ).toBe(`heading1: ${subject}`);
    }
  });

  test('in raw headers of rare letters, by the charset that the body declares', async () => {
    const subject = iconv.encode('믜샾 뷁', 'cp949').toString('latin1');
    const type = 'Content-Type: text/plain; charset=euc-kr';
    expect((await blocksOf(mail(type, korean, '', subject), 'a.eml'))[0]).toBe('heading1: 믜샾 뷁');
    const undeclared = iconv.encode('샾 약속', 'cp949').toString('latin1');
    const plain = 'Content-Type: text/plain';
    expect((await blocksOf(mail(plain, korean, '', undeclared), 'a.eml'))[0]).toBe('heading1: 샾 약속');
  });

  test('in the name of an attachment, as raw bytes and as an extended value', async () => {
    const name = '샾 보고서.txt';
    const raw = iconv.encode(name, 'cp949');
    const extended = [...raw].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    for (const parameter of [`filename="${raw.toString('latin1')}"`, `filename*=euc-kr''${extended}`]) {
      const part = mail('Content-Type: text/plain', korean, `Content-Disposition: attachment; ${parameter}\r\n`);
      const { blocks } = await readHere(part, 'a.eml');
      expect(blocks.at(-1)).toMatchObject({ text: TEXT, file: name });
    }
  });
});
