import { segmentSentences } from '../language/sentences.ts';

/** Citations of passages in a row, such as `[2]`, `[1, 3]` or `[1][3]`, with the blanks before each. */
const MARKERS = /(?:\s{0,8}\[\s{0,4}\d[\s\d,;]{0,36}\]){1,20}/g;
/** End of a text that may become citations, or the mark of a picture, with what follows. */
const OPEN_END = /!?(?:\s{0,8}\[[\s\d,;]{1,41}\]){0,20}\s{0,8}(?:\[[\s\d,;]{0,41})?$/;
/** Pictures of Markdown would be fetched by the page that shows the answer, from an address that a document chose. */
const PICTURE = /!(?=\[)/g;

/** Citations after the end of a sentence. */
const AFTER_STOP = /[.!?。！？…]["'”’)]?\s{0,8}(?:\[\d{1,3}\])+(?=\s)/u;
/** Citations after or before Thai or Lao, which have no full stop: the citation alone shows where a sentence ends. */
const AFTER_THAI = /[\p{sc=Thai}\p{sc=Lao}]["'”’)]?\s{0,8}(?:\[\d{1,3}\])+/u;
const BEFORE_THAI = /(?:\[\d{1,3}\])+(?=\s{0,8}["'“‘(]?[\p{sc=Thai}\p{sc=Lao}])/u;
/** Ends of parts of an answer: line breaks, and citations that end a sentence. */
const PART_ENDS = new RegExp(['\\n', AFTER_STOP.source, AFTER_THAI.source, BEFORE_THAI.source].join('|'), 'gu');

/** Sentence of an answer, with the numbers of the passages that it cites. */
export interface CitedSentence {
  /** Text without its citations. */
  readonly text: string;
  /** Position in the answer, [start, end), with its citations, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Numbers of passages, from 1, in the order of the citations. */
  readonly citations: number[];
}

/**
 * Text of an answer while it is written. Citations of passages that were not sent are removed and counted, and the
 * others are brought into the form `[1][2]`.
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

  /** Whole text so far, as it was returned. */
  get text(): string {
    return this.#text;
  }

  /** Number of citations that were removed. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Add a part of the answer. @returns the text that can be shown now; a part that may become a citation waits */
  add(part: string): string {
    const arrived = this.#pending + part;
    const end = OPEN_END.exec(arrived)?.index ?? arrived.length;
    this.#pending = arrived.slice(end);
    return this.#show(arrived.slice(0, end));
  }

  /** End the answer. @returns the text that still waited */
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

/** Divide an answer into its sentences. A citation at the start of a sentence belongs to the one before it. */
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

/** Divide an answer at its line breaks, and after citations that end a sentence, whatever comes next. */
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
