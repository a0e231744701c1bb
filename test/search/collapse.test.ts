import { describe, expect, it } from 'vitest';
import { collapse } from '../../src/search/results/collapse.ts';

const WORDS = Array.from({ length: 100 }, (_, index) => `word${index}x`);
const passage = (documentId: string, text: string) => ({ documentId, text });
const all = { wanted: 100, perDocumentMax: null };

describe('collapse', () => {
  it('collapsing keeps the first of near-duplicate chunks of one document', () => {
    const text = WORDS.join(' ');
    const changed = [...WORDS.slice(0, 97), 'other', 'few', 'things'].join(' ');
    const ranked = [passage('a', text), passage('a', text), passage('a', changed), passage('b', text)];
    expect(collapse(ranked, all)).toEqual([ranked[0], ranked[3]]);
  });

  it('collapsing keeps neighbours that overlap, and chunks that share half of their words', () => {
    const ranked = [
      passage('a', WORDS.slice(0, 60).join(' ')),
      passage('a', WORDS.slice(50).join(' ')),
      passage('a', WORDS.slice(0, 90).join(' ')),
    ];
    expect(collapse(ranked, all)).toEqual(ranked);
  });

  it('collapsing long texts compares all of their terms, whether they differ at the beginning or at the end', () => {
    const words = Array.from({ length: 200 }, (_, index) => `word${index}x`);
    const withOthers = (count: number, from: number) =>
      words.map((word, at) => (at >= from && at < from + count ? `other${at}x` : word)).join(' ');
    for (const from of [0, 100]) {
      const kept = [5, 10, 12, 40].map((count) => {
        const ranked = [passage('a', words.join(' ')), passage('a', withOthers(count, from))];
        return collapse(ranked, all).length;
      });
      expect(kept).toEqual([1, 1, 2, 2]);
    }
  });

  it('collapsing recognises near-duplicates in Korean', () => {
    const text =
      '여객선은 아침 일곱 시에 항구를 떠나 섬으로 향하며, 저녁에는 같은 길로 돌아옵니다. 표는 부두에서 삽니다.';
    expect(collapse([passage('a', text), passage('a', ` ${text}\n`)], all)).toHaveLength(1);
  });

  it('collapsing keeps at most the wanted number of chunks per document and altogether', () => {
    const ranked = ['a', 'a', 'a', 'b', 'b', 'c'].map((id, index) =>
      passage(id, `text number ${'i'.repeat(index)} of it`),
    );
    expect(collapse(ranked, { wanted: 100, perDocumentMax: 2 }).map((each) => each.documentId)).toEqual([
      ...['a', 'a', 'b', 'b', 'c'],
    ]);
    expect(collapse(ranked, { wanted: 2, perDocumentMax: 1 }).map((each) => each.documentId)).toEqual(['a', 'b']);
  });

  it('collapsing merges texts without terms only if they are equal', () => {
    expect(collapse([passage('a', '…'), passage('a', '!!!'), passage('a', '…')], all)).toHaveLength(2);
  });
});
