import type { AnswerPassage } from '../answers/schema.ts';
import { matchingTerms } from '../language/analyser.ts';
import { printable } from '../platform/printable.ts';
import { collapse } from '../search/results/collapse.ts';
import type { SearchResult } from '../search/schema.ts';
import { cutText, excerptOf, toOneLine } from './excerpt.ts';
import { type Phrase, phraseOf, type ReplyLanguage, sourceOf } from './phrases.ts';
import { type AnswerReply, type ChannelReply, OUTPUT_CHARS_MAX, OUTPUTS_MAX, type ReplyPassage } from './schema.ts';

/** Maximum number of results in a reply. */
const RESULTS_MAX = 5;
/** Maximum length of a passage, so that it is readable on a phone. */
const PASSAGE_CHARS_MAX = 600;
const FILE_NAME_CHARS_MAX = 80;
const GAP = '\n\n';

export function phraseReply(phrase: Phrase, language: ReplyLanguage): ChannelReply {
  return toReply([phraseOf(phrase, language)]);
}

/**
 * Render results as numbered lines with score and passage, followed by file and page. Render near-duplicates once, even
 * from different documents.
 *
 * @param results best first
 * @returns null if no result has text
 */
export function resultsReply(
  results: readonly SearchResult[],
  question: string,
  language: ReplyLanguage,
): AnswerReply | null {
  const terms = matchingTerms(question);
  // Give all passages the same document id, since `collapse` compares only passages of the same document.
  const passages = results.map((result) => ({ documentId: '', text: result.text, result }));
  const kept = collapse(passages, { wanted: RESULTS_MAX, perDocumentMax: null })
    .filter(({ text }) => toOneLine(text) !== '')
    .map(({ result }) => toPassage(result, terms, language));
  return kept.length === 0 ? null : { ...toReply(packOutputs(kept.map(renderPassage))), passages: kept };
}

/**
 * Render an answer with citations: its text, then the source of each number.
 *
 * @param cited passages that the answer cites, at least one
 */
export function citedAnswerReply(
  answer: string,
  cited: readonly AnswerPassage[],
  language: ReplyLanguage,
): AnswerReply {
  const passages = cited.map((passage) => toCitedPassage(passage, language));
  const sources = passages.map(({ number, source }) => `[${number}] ${source}`).join('\n');
  const paragraphs = answer
    .split(/\n{2,}/)
    .map((paragraph) => cutText(printable(paragraph.toWellFormed()).trim(), OUTPUT_CHARS_MAX))
    .filter((paragraph) => paragraph !== '');
  const reply = toReply(packOutputs([...paragraphs, cutText(sources, OUTPUT_CHARS_MAX)]));
  return { ...reply, passages, answer: paragraphs.join(GAP) };
}

function toCitedPassage({ number, citation, ...passage }: AnswerPassage, language: ReplyLanguage): ReplyPassage {
  const fileName = cutText(toOneLine(citation.file_name), FILE_NAME_CHARS_MAX);
  return {
    number,
    score: passage.relevance_score ?? 0,
    text: cutText(toOneLine(passage.text), PASSAGE_CHARS_MAX),
    source: sourceOf(fileName, citation.locator.page, language),
    documentId: passage.document_id,
    chunkIndex: passage.chunk_index,
  };
}

function toPassage(
  { text, score, citation, document_id, chunk_index }: SearchResult,
  terms: ReadonlySet<string>,
  language: ReplyLanguage,
): ReplyPassage {
  const fileName = cutText(toOneLine(citation.file_name), FILE_NAME_CHARS_MAX);
  return {
    score,
    text: excerptOf(text, terms, PASSAGE_CHARS_MAX),
    source: sourceOf(fileName, citation.locator.page, language),
    documentId: document_id,
    chunkIndex: chunk_index,
  };
}

function renderPassage({ score, text, source }: ReplyPassage, index: number): string {
  const line = `${index + 1}. [${score.toFixed(2)}] ${text}`;
  const withSource = `${line}\n(${source})`;
  return withSource.length <= OUTPUT_CHARS_MAX ? withSource : line;
}

/** Pack blocks into as few outputs as possible. Drop blocks beyond the last output. */
function packOutputs(blocks: readonly string[]): string[] {
  const outputs: string[] = [];
  for (const block of blocks) {
    const last = outputs.at(-1);
    if (last !== undefined && last.length + GAP.length + block.length <= OUTPUT_CHARS_MAX) {
      outputs[outputs.length - 1] = last + GAP + block;
      continue;
    }
    if (outputs.length === OUTPUTS_MAX) break;
    outputs.push(block);
  }
  return outputs;
}

function toReply(texts: readonly string[]): ChannelReply {
  const outputs = texts.map((text) => ({ simpleText: { text } }));
  return { version: '2.0', template: { outputs } };
}
