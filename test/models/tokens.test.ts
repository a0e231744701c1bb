import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadCl100k } from '../../src/models/cl100k.ts';
import { type CountText, countTokens, tokenUpperBound } from '../../src/models/tokens.ts';
import { SEED } from '../support/random.ts';
import { paragraphs, REGISTER_NAMES } from './varied-texts.ts';

/** Retrieval collections of real texts, which may be beside the checkout. */
const CORPORA = ['cranfield', 'korquad-a'].map((name) => ({
  name,
  file: new URL(`../../../shared/data/retrieval/${name}/docs.jsonl`, import.meta.url),
}));
const PASSAGE_WORDS = 50;

/** Read consecutive passages of exactly 50 words. */
function passagesOf(file: URL): string[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => {
      const words = (JSON.parse(line) as { text: string }).text.split(' ');
      const count = Math.floor(words.length / PASSAGE_WORDS);
      return Array.from({ length: count }, (_, nth) =>
        words.slice(nth * PASSAGE_WORDS, (nth + 1) * PASSAGE_WORDS).join(' '),
      );
    });
}

/** Texts with their tokens in cl100k_base, counted with its own vocabulary. */
const COUNTED: [name: string, tokens: number, text: string][] = [
  [
    'English prose',
    61,
    'The harbour office publishes its tide tables every autumn. Pilots, fishermen and the crews of the ferries keep a copy on board, because the channel is shallow and the sandbanks move with every storm. Anyone who plans to enter at low water should call the harbour master at least two hours before arrival.',
  ],
  [
    'English of a manual',
    71,
    'A reciprocal rank fusion of two result lists adds one over the rank plus a constant for each list in which a document appears. The constant, sixty in the original paper, keeps a single first place from outweighing agreement. Because only ranks are used, the scores of the legs need not be comparable, which is why the method is popular for hybrid retrieval.',
  ],
  [
    'Korean prose',
    145,
    '항만 사무소는 매년 가을에 조석표를 발간한다. 수로가 얕고 폭풍이 올 때마다 모래톱이 움직이기 때문에 도선사와 어민, 여객선 승무원들은 이 표를 항상 배에 가지고 다닌다. 간조 때 입항하려는 선박은 도착하기 적어도 두 시간 전에 항만 관리자에게 연락해야 한다.',
  ],
  [
    'Korean of an office',
    118,
    '신청인은 사업자등록증 사본과 최근 3개월간의 거래 내역을 첨부하여 담당 부서에 제출하여야 하며, 제출된 서류는 「개인정보 보호법」에 따라 5년간 보관된 후 파기됩니다. 심사 결과는 접수일로부터 14일 이내에 전자우편으로 통지합니다.',
  ],
  [
    'Korean with English',
    64,
    '이 API는 OpenAI 호환 형식으로 요청을 받으며, 응답의 usage.total_tokens 값은 과금 기준이 됩니다. 오류 코드 429는 요청 한도를 초과했다는 뜻입니다.',
  ],
  [
    'code',
    55,
    "export function add(a: number, b: number): number {\n  // Sum of two numbers\n  return a + b;\n}\n\nconst total = [1, 2, 3].reduce(add, 0);\nconsole.log(total.toFixed(2), 'done');\n",
  ],
];

describe('countTokens', () => {
  it.each(COUNTED)('the estimate of %s is at most 10 %% below and 40 %% above the count', (_, tokens, text) => {
    expect(countTokens(text) / tokens).toBeGreaterThan(0.9);
    expect(countTokens(text) / tokens).toBeLessThan(1.4);
  });

  it('the estimate is 0 for the empty text and at least 1 for any other', () => {
    expect(countTokens('')).toBe(0);
    for (const text of ['a', '.', '한', '\n', '1', '\ud800']) expect(countTokens(text)).toBeGreaterThan(0);
  });

  it('the estimate never shrinks when words are added', () => {
    const words = fc.array(fc.constantFrom('tide', 'Harbour', '항구의', '2024', 'AB-1234', '…', '東京'), {
      minLength: 2,
    });
    fc.assert(
      fc.property(words, (list) => {
        expect(countTokens(list.join(' '))).toBeGreaterThanOrEqual(countTokens(list.slice(1).join(' ')));
      }),
      { seed: SEED },
    );
  });
});

describe('countTokens against cl100k_base', () => {
  let exact: CountText;

  beforeAll(async () => {
    exact = await loadCl100k();
  });

  const ratio = (text: string) => countTokens(text) / exact(text, Number.POSITIVE_INFINITY);

  it.each(REGISTER_NAMES)('no paragraph of %s is undercounted by more than 10 %%', (register) => {
    const ratios = paragraphs(register, 200, 7).map(ratio);
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(0.9);
    expect(Math.max(...ratios)).toBeLessThan(1.3);
  });

  it.for(CORPORA)('no real passage of $name is undercounted by more than 10 %', ({ file }, { skip }) => {
    skip(!existsSync(file), '../shared/data/retrieval does not exist');
    const ratios = passagesOf(file).map(ratio);
    expect(ratios.length).toBeGreaterThan(500);
    expect(Math.min(...ratios)).toBeGreaterThanOrEqual(0.9);
    expect(Math.max(...ratios)).toBeLessThan(1.4);
  });
});

describe('tokenUpperBound', () => {
  it.each(COUNTED)('the count of %s does not exceed the upper bound', (_, tokens, text) => {
    expect(tokenUpperBound(text)).toBeGreaterThanOrEqual(tokens);
  });

  it('the upper bound is the length in UTF-8 bytes', () => {
    expect(tokenUpperBound('aé한😀')).toBe(1 + 2 + 3 + 4);
  });
});
