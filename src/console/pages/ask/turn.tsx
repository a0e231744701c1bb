import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import type { Answer, AnswerPassage } from '../../types.ts';
import { ActionError, Notice, Warnings } from '../../ui/controls.tsx';
import { placeOf } from '../documents/reader.tsx';
import type { Turn } from './conversation.ts';
import { Rating } from './rating.tsx';

const MARKER = /(\[\d{1,3}\])/;

/** Question, its answer with the citations as links, and the sources below. */
export function TurnView({ turn }: { turn: Turn }) {
  const { question, text, start, answer, error, isWriting } = turn;
  const passages = start?.passages ?? [];
  const cited = new Set([...text.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number)));
  const shown = error === null ? passages.filter(({ number }) => cited.has(number)) : passages;
  return (
    <li class="panel padded turn">
      <h2>{question}</h2>
      {start !== null && start.searched !== question && (
        <p class="faint">{t('Searched for: {question}', { question: start.searched })}</p>
      )}
      <Warnings of={start?.warnings} />
      <AnswerText text={text} passages={passages} />
      {isWriting && (
        <p class="faint">{start === null ? t('Searching…') : text === '' ? t('Reading…') : t('Writing…')}</p>
      )}
      {answer && <Ending answer={answer} />}
      {answer?.kept_until && <Rating answerId={answer.id} />}
      {!isWriting && answer === null && error === null && <p class="faint">{t('Stopped')}</p>}
      <ActionError error={error} />
      {shown.length > 0 && <Sources passages={shown} isFailed={error !== null} />}
    </li>
  );
}

function AnswerText({ text, passages }: { text: string; passages: readonly AnswerPassage[] }) {
  return (
    <p class="answer-text">
      {text.split(MARKER).map((part, at) => {
        const passage = MARKER.test(part) ? passages.find(({ number }) => part === `[${number}]`) : undefined;
        // biome-ignore lint/suspicious/noArrayIndexKey: a part has no identity but its place
        return passage === undefined ? part : <Citation key={at} passage={passage} />;
      })}
    </p>
  );
}

/** Number of a passage. Hovering or focusing it shows the passage's text. */
function Citation({ passage }: { passage: AnswerPassage }) {
  const { number, text, citation } = passage;
  return (
    <span class="citation">
      <a href={addressOf(passage)} aria-label={t('Source {number}: {name}', { number, name: citation.file_name })}>
        {number}
      </a>
      <span class="citation-text" aria-hidden="true">
        <strong>{citation.file_name}</strong>
        {text}
      </span>
    </span>
  );
}

function addressOf({ document_id: documentId, chunk_index: index }: AnswerPassage): string {
  return `${linkTo('documents', documentId)}#${index}`;
}

function Sources({ passages, isFailed }: { passages: readonly AnswerPassage[]; isFailed: boolean }) {
  return (
    <section>
      <h3>{isFailed ? t('Passages that were found') : t('Sources')}</h3>
      <ol class="sources">
        {passages.map((passage) => {
          const { number, text, citation } = passage;
          const where = [citation.locator.heading_path.join(' › '), placeOf(citation.locator)].filter(Boolean);
          return (
            <li key={number}>
              <span class="faint number">{number}</span> <a href={addressOf(passage)}>{citation.file_name}</a>{' '}
              <span class="faint">{where.join(' · ')}</span>
              <details>
                <summary>{t('Read the passage')}</summary>
                <p class="result-text whole">{text}</p>
              </details>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

const ENDINGS = {
  refused: 'The model declined to answer.',
  cut_off: 'The answer was cut off, because it is too long.',
  timed_out: 'The answer was cut off, because the model took too long.',
  interrupted: 'The model broke off. Ask again.',
} as const;

/** Reason why an answer is incomplete. */
function Ending({ answer: { status } }: { answer: Answer }) {
  if (status === 'answered' || status === 'nothing_found') return null;
  return <Notice tone="warn" title={t(ENDINGS[status])} />;
}
