import { t } from '../../lib/i18n.ts';
import { Notice } from '../../ui/controls.tsx';
import type { Answer } from './answers.ts';

const LEVELS = ['none', 'low', 'medium', 'high'] as const;

const VERDICTS = {
  high: ['good', 'The first results seem to answer the query'],
  medium: ['info', 'Some results may answer the query'],
  low: ['warn', 'The results hardly fit the query'],
  none: ['warn', 'Nothing here seems to answer the query'],
} as const;

/** Verdict on the whole search: the best mode's verdict. Shows nothing without an estimate. */
export function Verdict({ answers }: { answers: readonly Answer[] }) {
  const found = answers.flatMap(({ response }) => (response === null ? [] : [response]));
  const best = LEVELS.findLast((level) => found.some(({ relevance }) => relevance === level));
  if (best === undefined || found.every(({ results }) => results.length === 0)) return null;
  const [tone, title] = VERDICTS[best];
  return (
    <div class="panel-body verdict">
      <Notice tone={tone} title={t(title)}>
        {best === 'none' && t('These are the nearest passages of the bucket.')}
      </Notice>
    </div>
  );
}
