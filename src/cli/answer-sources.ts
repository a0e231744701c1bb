import { citedPassages } from '../answers/render-sources.ts';
import type { Answer, AnswerPassage } from '../answers/schema.ts';
import { oneLine, printable } from '../platform/printable.ts';
import { describePlace } from './describe-place.ts';
import { paint } from './output.ts';

const INDENT = '    ';

/** Render the sources that an answer cites, one per line. @param showsText true to add the text of each */
export function renderSourceList(answer: Pick<Answer, 'sentences' | 'passages'>, showsText: boolean): string {
  const cited = citedPassages(answer);
  if (cited.length === 0) return '';
  return [paint('bold', 'Sources'), ...cited.map((passage) => renderSource(passage, showsText))].join('\n');
}

/** Render the passages found for a question that the model couldn't answer. */
export function renderFoundPassages(passages: readonly AnswerPassage[]): string {
  const rendered = passages.map((passage) => renderSource(passage, true));
  return [paint('bold', 'Passages that were found'), ...rendered].join('\n');
}

function renderSource({ number, text, citation }: AnswerPassage, showsText: boolean): string {
  const { file_name: fileName, source_path: path, locator, url } = citation;
  const place = [path ?? fileName, ...describePlace(locator), ...(url === null ? [] : [url])];
  const title = `[${number}] ${oneLine(place.join(' · '))}`;
  const lines = printable(text)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return showsText ? [title, ...lines.map((line) => INDENT + line)].join('\n') : title;
}
