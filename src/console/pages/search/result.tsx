import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { formatScore } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import type { SearchResult } from '../../types.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { Facts } from '../../ui/page.tsx';
import { placeOf } from '../documents/reader.tsx';
import { findWords, markWords } from './matched-terms.ts';

interface ResultProps {
  readonly result: SearchResult;
  /** Id of the search in the search log; null if it isn't logged. */
  readonly searchId: string | null;
  readonly rank: number;
  readonly query: string;
  /** False if all results have the same relevance, which the verdict already shows. */
  readonly showsRelevance: boolean;
}

/** Search result: text with matched words, source, relevance, and an explanation with all scores. */
export function Result({ result, searchId, rank, query, showsRelevance }: ResultProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { citation, chunk_index: index, document_id: documentId, relevance_score: relevance, highlights = [] } = result;
  const where = [citation.locator.heading_path.join(' › '), placeOf(citation.locator)].filter(Boolean).join(' · ');
  return (
    <li class="result">
      <div class="row spread result-head">
        <span class="grow">
          <span class="faint number">{rank}</span>{' '}
          <a
            class="result-name"
            href={`${linkTo('documents', documentId)}${searchId === null ? '' : `?search=${searchId}`}#${index}`}
          >
            {citation.file_name}
          </a>
        </span>
        <span class="row">
          {showsRelevance && <RelevanceBadge of={result.relevance} />}
          {relevance !== null && <span class="number">{relevance.toFixed(2)}</span>}
        </span>
      </div>
      {where !== '' && <span class="faint">{where}</span>}
      {isOpen || highlights.length === 0 ? (
        <WholeText result={result} query={query} isOpen={isOpen} />
      ) : (
        <Highlights of={highlights} />
      )}
      <div>
        <Button small look="quiet" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? t('Less') : t('Why is it here?')}
        </Button>
      </div>
      {isOpen && <Reasons result={result} />}
    </li>
  );
}

function WholeText({ result, query, isOpen }: { result: SearchResult; query: string; isOpen: boolean }) {
  if (result.text === '') return <p class="faint">{t('A vector that was imported without its text.')}</p>;
  return (
    <p class={isOpen ? 'result-text whole' : 'result-text'}>
      {markWords(result.text, findWords(result, query)).map(({ part, isTerm, at }) =>
        isTerm ? <mark key={at}>{part}</mark> : <Fragment key={at}>{part}</Fragment>,
      )}
    </p>
  );
}

/** Sentences of the text that contain query words. */
function Highlights({ of }: { of: NonNullable<SearchResult['highlights']> }) {
  return (
    <p class="result-text highlights">
      {of.map(({ parts }, sentence) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a sentence has no identity but its place
        <Fragment key={sentence}>
          {sentence > 0 && ' … '}
          {parts.map(({ text, match }, at) => {
            const key = `${sentence}-${at}`;
            return match ? <mark key={key}>{text}</mark> : <Fragment key={key}>{text}</Fragment>;
          })}
        </Fragment>
      ))}
    </p>
  );
}

const RELEVANCES = {
  high: ['good', 'Relevance: high'],
  medium: ['info', 'Relevance: medium'],
  low: ['neutral', 'Relevance: low'],
  none: ['neutral', 'Relevance: none'],
} as const;

/** Estimate of a single result's relevance, or nothing without an estimate. */
function RelevanceBadge({ of }: { of: SearchResult['relevance'] }) {
  if (of === null) return null;
  const [tone, label] = RELEVANCES[of];
  return (
    <Badge tone={tone} plain>
      {t(label)}
    </Badge>
  );
}

function Reasons({ result }: { result: SearchResult }) {
  const { explain, scores, score, relevance } = result;
  const terms = explain?.keyword?.terms ?? null;
  const metadata = Object.entries(result.metadata);
  return (
    <Facts
      of={[
        ...(relevance === null ? [] : [[t('Relevance'), <RelevanceBadge key="relevance" of={relevance} />] as const]),
        [t('Score'), formatScore(score)],
        ...(scores.rerank_score === null
          ? []
          : [[t('Score of the reranker'), formatScore(scores.rerank_score)] as const]),
        [t('By meaning'), legText(explain?.vector, scores.vector_score)],
        [t('By words'), legText(explain?.keyword, scores.bm25_score)],
        ...(terms === null ? [] : [[t('Words of the query in it'), <Terms key="terms" terms={terms} />] as const]),
        ...metadata.map(([key, value]) => [key, value] as const),
        [t('Chunk'), <code key="id">{result.id}</code>],
      ]}
    />
  );
}

type Leg = { readonly rank: number | null; readonly weight: number; readonly contribution: number } | null | undefined;

/** Describe the rank and score of a result in one leg, and the leg's share of the fused score. */
function legText(leg: Leg, score: number | null): string {
  if (!leg) return t('not searched in this mode');
  if (leg.rank === null) return t('not among the candidates');
  return t('rank {number}, score {score}; weight {weight} adds {part} to the fused score', {
    number: leg.rank,
    score: score?.toPrecision(3) ?? '–',
    weight: leg.weight.toPrecision(3),
    part: leg.contribution.toPrecision(3),
  });
}

type MatchedTerms = NonNullable<NonNullable<SearchResult['explain']>['keyword']>['terms'];

function Terms({ terms }: { terms: MatchedTerms }) {
  if (terms.length === 0) return <>{t('none; the meaning matched')}</>;
  return (
    <span class="row">
      {terms.map(({ term, words }) => (
        <Badge key={term} plain tone="info">
          {words.join(', ')}
        </Badge>
      ))}
    </span>
  );
}
