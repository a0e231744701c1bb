import { segmentSentences } from '../language/sentences.ts';

/** Adjacent citations such as `[2]`, `[1, 3]` or `[1][3]`, with the whitespace before each. */
const MARKERS = /(?:\s{0,8}\[\s{0,4}\d[\s\d,;]{0,36}\]){1,20}/g;
/** End of a text that may continue as a citation, or that may be the mark of an image. */
const OPEN_END = /!?(?:\s{0,8}\[[\s\d,;]{1,41}\]){0,20}\s{0,8}(?:\[[\s\d,;]{0,41})?$/;
/** Mark of a Markdown image. The page showing the answer would fetch it from a URL that a document chose. */
const PICTURE = /!(?=\[)/g;

/** Citations after the end of a sentence. */
const AFTER_STOP = /[.!?。！？…]["'”’)]?\s{0,8}(?:\[\d{1,3}\])+(?=\s)/u;
/** Citations next to Thai or Lao text, where they alone mark the end of a sentence: there is no full stop. */
const AFTER_THAI = /[\p{sc=Thai}\p{sc=Lao}]["'”’)]?\s{0,8}(?:\[\d{1,3}\])+/u;
const BEFORE_THAI = /(?:\[\d{1,3}\])+(?=\s{0,8}["'“‘(]?[\p{sc=Thai}\p{sc=Lao}])/u;
/** Boundaries of the parts of an answer: line breaks, and citations that end a sentence. */
const PART_ENDS = new RegExp(['\\n', AFTER_STOP.source, AFTER_THAI.source, BEFORE_THAI.source].join('|'), 'gu');

/** Sentence of an answer, with the numbers of its cited passages. */
export interface CitedSentence {
  /** Text without its citations. */
  readonly text: string;
  /** Range in the answer including its citations, [start, end), in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Passage numbers from 1, in citation order. */
  readonly citations: number[];
}

/**
 * Text of an answer in progress. Removes and counts citations of passages that were not sent, and normalizes the others
 * to `[1][2]`.
 */
export class CitedText {
  readonly #passages: number;
  #text = '';
  #pending = '';
  #dropped = 0;

  /** @param passages number of passages that were sent */
  constructor(passages: number) {
    this.#passages = passages;
  }

  /** Complete text returned so far. */
  get text(): string {
    return this.#text;
  }

  /** Number of citations that were removed. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Add a part of the answer. @returns the text to show now; holds back an ending that may become a citation */
  add(part: string): string {
    const arrived = this.#pending + part;
    const end = OPEN_END.exec(arrived)?.index ?? arrived.length;
    this.#pending = arrived.slice(end);
    return this.#show(arrived.slice(0, end));
  }

  /** End the answer. @returns the text that was held back */
  end(): string {
    const rest = this.#pending.trimEnd();
    this.#pending = '';
    return this.#show(rest);
  }

  #show(text: string): string {
    const shown = text.replace(PICTURE, '').replace(MARKERS, (markers) => this.#checked(markers));
    this.#text += shown;
    return shown;
  }

  #checked(markers: string): string {
    const cited = numbersIn(markers);
    const known = cited.filter((number) => number >= 1 && number <= this.#passages);
    this.#dropped += cited.length - known.length;
    const blanks = /^\s*/.exec(markers)?.[0] ?? '';
    return known.length === 0 ? '' : blanks + known.map((number) => `[${number}]`).join('');
  }
}

/** Split an answer into sentences. A citation at the start of a sentence belongs to the previous sentence. */
export function sentencesOf(answer: string): CitedSentence[] {
  const sentences: CitedSentence[] = [];
  for (const { start, end } of partsOf(answer)) {
    for (const range of segmentSentences(answer.slice(start, end))) {
      const from = start + range.start;
      const to = start + range.end;
      const leading = /^(?:\s*\[\d{1,3}\])+/.exec(answer.slice(from, to))?.[0].length ?? 0;
      const last = sentences.at(-1);
      if (last !== undefined && leading > 0) {
        sentences[sentences.length - 1] = sentenceAt(answer, last.start, from + leading);
      }
      const own = sentenceAt(answer, last === undefined ? from : from + leading, to);
      if (own.text !== '') sentences.push(own);
    }
  }
  return sentences;
}

function sentenceAt(answer: string, start: number, end: number): CitedSentence {
  const raw = answer.slice(start, end);
  const blanks = raw.length - raw.trimStart().length;
  const citations = [...new Set((raw.match(MARKERS) ?? []).flatMap(numbersIn))];
  return { text: raw.replace(MARKERS, '').trim(), start: start + blanks, end, citations };
}

/** Split an answer at line breaks and after citations that end a sentence, whatever follows them. */
function* partsOf(answer: string): Generator<{ start: number; end: number }> {
  let start = 0;
  for (const { 0: found, index } of answer.matchAll(PART_ENDS)) {
    yield { start, end: index + found.length };
    start = index + found.length;
  }
  yield { start, end: answer.length };
}

function numbersIn(markers: string): number[] {
  return (markers.match(/\d+/g) ?? []).map(Number);
}
