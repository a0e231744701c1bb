import { formatBytes, formatDuration, formatNumber, formatPercent, formatScore } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import type { RehearsalReply } from '../../types.ts';
import { Warnings } from '../../ui/controls.tsx';
import { Facts } from '../../ui/page.tsx';

type Rehearsed = RehearsalReply['results'][number];
type Ranked = Rehearsed['before'][number];

/** Result of a rehearsal: figures of all queries, then both rankings of each, side by side. */
export function RehearsalReport({ report }: { report: RehearsalReply }) {
  return (
    <div class="stack">
      <Warnings of={report.warnings} />
      <Facts of={factsOf(report)} />
      {report.results.map((result, nth) => (
        <details key={result.query} open={nth === 0}>
          <summary>
            {result.query} <span class="faint">{describeQuery(result)}</span>
          </summary>
          <div class="columns">
            <Ranking title={report.from_model} chunks={result.before} />
            <Ranking title={report.model} chunks={result.after} />
          </div>
        </details>
      ))}
    </div>
  );
}

function factsOf(report: RehearsalReply): [string, string][] {
  const { sample, queries, judged, overlap, mean_move: move, ndcg, rehearsal, whole_bucket: whole } = report;
  const seconds = whole.estimated_seconds;
  return [
    [
      t('Compared'),
      t('{count|chunk|chunks}, {queries} queries, {judged} judged', { count: sample.chunks, queries, judged }),
    ],
    [t('Stay among the best 10'), formatPercent(overlap ?? 0)],
    [t('Places moved on average'), formatNumber(move ?? 0, 2)],
    [t('nDCG@10 of judged queries'), ndcg === null ? '–' : `${formatScore(ndcg.before)} → ${formatScore(ndcg.after)}`],
    [t('Cost of this rehearsal'), formatNumber(rehearsal.cost, 4)],
    [t('Texts of the whole bucket'), formatNumber(whole.texts)],
    [t('Cost of the move'), formatNumber(whole.estimated_cost, 4)],
    [t('Time of the move'), seconds === null ? '–' : formatDuration(seconds * 1000)],
    [t('Size of its vectors'), formatBytes(whole.vector_bytes)],
  ];
}

function describeQuery({ overlap, ndcg }: Rehearsed): string {
  const kept = t('{share} stay', { share: formatPercent(overlap) });
  return ndcg === null ? kept : `${kept} · nDCG ${formatScore(ndcg.before)} → ${formatScore(ndcg.after)}`;
}

function Ranking({ title, chunks }: { title: string; chunks: readonly Ranked[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <ol class="stack tight">
        {chunks.map((chunk) => (
          <li key={chunk.chunk_id}>
            <a href={linkTo('documents', chunk.document_id)}>{chunk.file_name}</a>{' '}
            <span class="faint">{describeRank(chunk)}</span>
            <p class="result-text">{chunk.text}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function describeRank({ other_rank: other, gain }: Ranked): string {
  const rank = other === null ? t('not found by the other') : t('rank {rank} by the other', { rank: other });
  return gain === null ? rank : `${rank} · ${t('judged {gain}', { gain })}`;
}
