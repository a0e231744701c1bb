import { describe, expect, it } from 'vitest';
import { CitedText, sentencesOf } from '../../src/answers/cited-text.ts';

/** Give an answer in parts of some characters. */
function write(answer: string, passages: number, size: number) {
  const text = new CitedText(passages);
  let shown = '';
  for (let at = 0; at < answer.length; at += size) shown += text.add(answer.slice(at, at + size));
  shown += text.end();
  expect(shown).toBe(text.text);
  return { shown, dropped: text.dropped };
}

describe.each([1, 2, 3, 7, 1000])('an answer in parts of %i characters', (size) => {
  it('keeps citations of passages that were sent, in one form', () => {
    const answer = 'Grease them weekly [1]. Use oil [1, 2] and [ 3 ].';
    expect(write(answer, 3, size)).toEqual({ shown: 'Grease them weekly [1]. Use oil [1][2] and [3].', dropped: 0 });
  });

  it('removes citations of other passages, and counts them', () => {
    const answer = 'Weekly [9]. Daily [0][2]. Never [2, 7].';
    expect(write(answer, 2, size)).toEqual({ shown: 'Weekly. Daily [2]. Never [2].', dropped: 3 });
  });

  it('keeps brackets that are no citations', () => {
    const answer = 'See [the manual](/a) and [1.5] and [ and [12';
    expect(write(answer, 2, size).shown).toBe(answer);
  });

  it('keeps empty brackets, and a citation at its end', () => {
    expect(write('An empty list is [] or [ ]. So it is [1]', 1, size).shown).toBe(
      'An empty list is [] or [ ]. So it is [1]',
    );
  });

  it('turns pictures into links, since a page would fetch them', () => {
    expect(write('Look: ![x](http://a/?q=1)! Done!', 1, size).shown).toBe('Look: [x](http://a/?q=1)! Done!');
  });
});

describe('sentences', () => {
  it('have the citations inside them, and those that follow their full stop', () => {
    const answer = 'Grease them weekly [1]. Use oil. [2][3] Then wait.';
    expect(sentencesOf(answer)).toEqual([
      { text: 'Grease them weekly.', start: 0, end: 23, citations: [1] },
      { text: 'Use oil.', start: 24, end: 39, citations: [2, 3] },
      { text: 'Then wait.', start: 40, end: 50, citations: [] },
    ]);
  });

  it('are those of lists and of Korean, and their positions are those of the answer', () => {
    const answer = '순서:\n- 베어링에 윤활유를 바릅니다 [1].\n- 매주 점검합니다. [2]';
    const sentences = sentencesOf(answer);
    expect(sentences.map(({ text, citations }) => [text, citations])).toEqual([
      ['순서:', []],
      ['- 베어링에 윤활유를 바릅니다.', [1]],
      ['- 매주 점검합니다.', [2]],
    ]);
    for (const { start, end, text } of sentences) expect(answer.slice(start, end)).toContain(text.slice(0, 5));
  });

  it('end with the citations that follow a full stop, also if the next one begins with a small letter', () => {
    const sentences = sentencesOf('the wing lifts . [1] the plate is flat . [2][3] no more .');
    expect(sentences.map(({ text, citations }) => [text, citations])).toEqual([
      ['the wing lifts .', [1]],
      ['the plate is flat .', [2, 3]],
      ['no more .', []],
    ]);
  });

  it('end with each citation in Thai, which has no full stop', () => {
    const sentences = sentencesOf('เรือออกจากท่าตอนหกโมง [1] สร้างเมื่อปี 1998 [2] และปิดตอนค่ำ[3]');
    expect(sentences.map(({ text, citations }) => [text, citations])).toEqual([
      ['เรือออกจากท่าตอนหกโมง', [1]],
      ['สร้างเมื่อปี 1998', [2]],
      ['และปิดตอนค่ำ', [3]],
    ]);
  });

  it('cite each passage once', () => {
    expect(sentencesOf('A [1] and B [1][2].')[0]?.citations).toEqual([1, 2]);
  });
});
