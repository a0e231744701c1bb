import { detectByScript } from '../language/detect-language.ts';
import type { Answer, AnswerPassage } from './schema.ts';

/** List the passages that an answer cites, by number. */
export function citedPassages({ sentences, passages }: Pick<Answer, 'sentences' | 'passages'>): AnswerPassage[] {
  const cited = new Set(sentences.flatMap(({ citations }) => citations));
  return passages.filter(({ number }) => cited.has(number));
}

/** Return the display name of a passage's source: its file and page. */
export function sourceName({ citation }: Pick<AnswerPassage, 'citation'>): string {
  const { file_name: fileName, locator } = citation;
  return locator.page === null ? fileName : `${fileName}, p. ${locator.page}`;
}

/** Render the sources of an answer as Markdown, in the language of the question. Return '' without citations. */
export function renderSources(answer: Pick<Answer, 'query' | 'sentences' | 'passages'>): string {
  const cited = citedPassages(answer);
  if (cited.length === 0) return '';
  const title = detectByScript(answer.query).language === 'ko' ? '출처' : 'Sources';
  const lines = cited.map((passage) => {
    const name = sourceName(passage).replace(/[[\]\\`*_<]/g, '\\$&');
    const { url } = passage.citation;
    return `- [${passage.number}] ${url === null ? name : `[${name}](${url})`}`;
  });
  return `\n\n${title}:\n${lines.join('\n')}`;
}
