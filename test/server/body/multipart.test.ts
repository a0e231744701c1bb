import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundaryOf, MultipartParser, type PartHeaders } from '../../../server/body/multipart.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { SEED } from '../../support/random.ts';

interface Part {
  headers: PartHeaders;
  data: Buffer;
}

function parse(chunks: readonly Buffer[], boundary = 'b'): Part[] {
  const parts: Part[] = [];
  let current: { headers: PartHeaders; chunks: Buffer[] } | null = null;
  const parser = new MultipartParser(boundary, {
    partBegin: (headers) => {
      current = { headers, chunks: [] };
    },
    partData: (bytes) => {
      current?.chunks.push(Buffer.from(bytes));
    },
    partEnd: () => {
      if (current !== null) parts.push({ headers: current.headers, data: Buffer.concat(current.chunks) });
    },
  });
  for (const chunk of chunks) parser.write(chunk);
  parser.end();
  return parts;
}

/** Parse one part with this `Content-Disposition`, and return its headers. */
function headersOf(disposition: string | Buffer, more = ''): PartHeaders | undefined {
  const head = Buffer.concat([
    Buffer.from('--b\r\nContent-Disposition: '),
    Buffer.from(disposition),
    Buffer.from('\r\n'),
  ]);
  return parse([head, Buffer.from(`${more}\r\nx\r\n--b--\r\n`)])[0]?.headers;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

const DELIMITERS = ['--', '\r\n--boundary', '\r\n--boundary--'];
const CHARACTERS = ['', '\r\n', '\r', '\n', '\xff', '\0', '"', ';'];
const HEADERS = ['no colon\r\n', 'Content-Transfer-Encoding: base64\r\n', `X: ${'y'.repeat(9_000)}\r\n`];
const INSERTED = [...DELIMITERS, ...CHARACTERS, ...HEADERS];

describe('MultipartParser', () => {
  test('the parser reads fields and files', () => {
    const body = [
      'a preamble',
      '--b',
      'Content-Disposition: form-data; name="a"',
      '',
      'one\r\ntwo',
      '--b',
      'content-disposition: form-data; name="file"; filename="x.txt"',
      'Content-Type: text/plain; charset=utf-8',
      '',
      '',
      '--b--',
      'an epilogue',
    ].join('\r\n');
    expect(parse([Buffer.from(body)])).toEqual([
      { headers: { name: 'a', fileName: null, contentType: null }, data: Buffer.from('one\r\ntwo') },
      { headers: { name: 'file', fileName: 'x.txt', contentType: 'text/plain; charset=utf-8' }, data: Buffer.alloc(0) },
    ]);
  });

  test('the parser gives the same parts for any division of the bytes into chunks', () => {
    const segment = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom('\r', '\n', '\r\n', '\r\n-', '\r\n--', '\r\n--bou', '--boundary', '\r\r\n--boundar')
        .map((text) => Buffer.from(text)),
    );
    const delimiter = Buffer.from('\r\n--boundary');
    const data = fc
      .array(segment, { maxLength: 8 })
      .map((segments) => Buffer.concat(segments))
      .filter((bytes) => !Buffer.concat([bytes, Buffer.from('\r\n')]).includes(delimiter));
    fc.assert(
      fc.property(
        fc.array(data, { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (datas, sizes) => {
          const body = Buffer.concat([
            ...datas.flatMap((bytes, i) => [
              Buffer.from(`--boundary\r\nContent-Disposition: form-data; name="p${i}"\r\n\r\n`),
              bytes,
              Buffer.from('\r\n'),
            ]),
            Buffer.from('--boundary--\r\n'),
          ]);
          const parts = parse(cut(body, sizes), 'boundary');
          expect(parts.map((part) => part.data)).toEqual(datas);
          expect(parts.map((part) => part.headers.name)).toEqual(datas.map((_, i) => `p${i}`));
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });

  test('the parser treats a damaged body alike for any division into chunks, and refuses it only as malformed', () => {
    const verdictOf = (chunks: readonly Buffer[]) => {
      try {
        return parse(chunks, 'boundary');
      } catch (error) {
        if (error instanceof AppError && error.code === 'invalid_multipart' && error.status === 400)
          return error.message;
        throw error;
      }
    };
    const part = fc.tuple(
      fc.constantFrom('name="a"', 'name="file"; filename="한국어.txt"', 'name="file"; filename*=UTF-8\'\'a%20b'),
      fc.constantFrom('', 'Content-Type: text/plain; charset=euc-kr\r\n', 'Content-Transfer-Encoding: binary\r\n'),
      fc.constantFrom('', 'one\r\ntwo', '\r\n--bound', 'x'.repeat(300)),
    );
    const body = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => {
      const texts = parts.map(
        ([name, more, data]) => `--boundary\r\nContent-Disposition: form-data; ${name}\r\n${more}\r\n${data}\r\n`,
      );
      return Buffer.from(`${texts.join('')}--boundary--\r\n`);
    });
    const damage = fc.record({
      at: fc.integer({ min: 0, max: 999 }),
      removed: fc.constantFrom(0, 0, 1, 20),
      inserted: fc.constantFrom(...INSERTED).map((text) => Buffer.from(text, 'latin1')),
    });
    const apply = (bytes: Buffer, { at, removed, inserted }: { at: number; removed: number; inserted: Buffer }) => {
      const from = Math.floor((at / 1000) * bytes.length);
      return Buffer.concat([bytes.subarray(0, from), inserted, bytes.subarray(from + removed)]);
    };
    let refused = 0;
    fc.assert(
      fc.property(
        body,
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
        (whole, damages, sizes) => {
          const bytes = damages.reduce(apply, whole);
          const verdict = verdictOf([bytes]);
          expect(verdictOf(cut(bytes, sizes))).toEqual(verdict);
          if (typeof verdict === 'string') refused++;
        },
      ),
      { seed: 17, numRuns: 300 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  test.each([
    ['form-data; name="file"; filename="한국어 naïve.pdf"', '한국어 naïve.pdf'],
    ['form-data; name="file"; filename="a%22b%0D%0A%41.txt"', 'a"b\r\n%41.txt'],
    ['form-data; name="file"; filename="a\\"b;c.txt"', 'a"b;c.txt'],
    ['form-data; name="file"; filename="C:\\dir\\x.txt"', 'C:\\dir\\x.txt'],
    ['form-data; name="file"; filename="../../etc/passwd"', '../../etc/passwd'],
    ['form-data; name="file"; filename="nul\0.txt"', 'nul\0.txt'],
    ['form-data; name=file; filename=token.txt', 'token.txt'],
    ['form-data; filename="first.txt"; name="file"', 'first.txt'],
    [`form-data; name="file"; filename="${'x'.repeat(2000)}"`, 'x'.repeat(2000)],
    ['form-data; name="file"; filename=""', ''],
    ['form-data; name="file"; filename="_.pdf"; filename*=UTF-8\'\'na%C3%AFve.pdf', 'naïve.pdf'],
    ['form-data; name="file"; filename="_.pdf"; filename*=UTF-8\'\'na%FFve.pdf', '_.pdf'],
    ['form-data; name="file"; filename="_.pdf"; filename*=latin1\'\'na%EFve.pdf', '_.pdf'],
    ['form-data; name="file"', null],
  ])('case %#: a file name is read as the client wrote it', (disposition, fileName) => {
    expect(headersOf(disposition)).toEqual({ name: 'file', fileName, contentType: null });
  });

  test.each([
    ['no boundary', 'x'.repeat(20_000), 'no boundary where one must be'],
    ['no end', '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx', 'it ends before its closing boundary'],
    ['nothing', '', 'it ends before its closing boundary'],
    ['a boundary with a tail', '--bx\r\n', 'a boundary is not followed by a line break'],
    [
      'no disposition',
      '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--',
      'a part has no "Content-Disposition: form-data"',
    ],
    [
      'another disposition',
      '--b\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n--b--',
      'a part has no "Content-Disposition: form-data"',
    ],
    ['no name', '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--', 'a part has no name'],
    ['no colon', '--b\r\nContent-Disposition\r\n\r\nx\r\n--b--', 'a header of a part has no colon'],
    [
      'endless headers',
      `--b\r\nContent-Disposition: form-data; name="${'x'.repeat(9000)}`,
      'a part has more than 8192 bytes of headers',
    ],
    [
      'an encoding',
      '--b\r\nContent-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--b--',
      'encoded parts are not supported',
    ],
  ])('the parser refuses %s', (_what, body, why) => {
    for (const size of [1, 7, 65_536]) {
      expect(() => parse(cut(Buffer.from(body), [size]))).toThrow(`the multipart body is malformed: ${why}`);
    }
  });

  test('the parser refuses names that are not UTF-8, and accepts encodings that change nothing', () => {
    expect(() => headersOf(Buffer.from('form-data; name="file"; filename="na\xefve"', 'latin1'))).toThrow(
      'not valid UTF-8',
    );
    expect(headersOf('form-data; name="a"', 'Content-Transfer-Encoding: 7bit\r\n')?.name).toBe('a');
  });
});

describe('boundaryOf', () => {
  test.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; boundary="a b"', 'a b'],
    ['multipart/form-data; charset=utf-8; Boundary=----x', '----x'],
    ['multipart/form-data', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary=""', null],
    [`multipart/form-data; boundary=${'x'.repeat(201)}`, null],
  ])('the boundary of %s is %s', (contentType, boundary) => {
    expect(boundaryOf(contentType)).toBe(boundary);
  });
});
