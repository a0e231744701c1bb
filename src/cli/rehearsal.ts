import type { RankedChunk, Rehearsal, RehearsedQuery } from '../ingest/rehearsal/schema.ts';
import { oneLine } from '../platform/printable.ts';
import { type Column, formatBytes } from './table.ts';

/** Describe a rehearsal, or in a dry run its estimate, as fields. */
export function describeRehearsal(report: Rehearsal): Record<string, unknown> {
  const { from_model, model, sample, queries, judged, rehearsal, whole_bucket: whole, ndcg } = report;
  const about = report.dry_run ? 'about ' : '';
  return {
    from: from_model,
    to: model,
    sample: `${sample.chunks} chunks, ${queries} queries, ${judged} of them judged`,
    ...(report.overlap === null ? {} : { 'overlap of the best 10': report.overlap.toFixed(4) }),
    ...(report.mean_move === null ? {} : { 'places moved': report.mean_move.toFixed(2) }),
    ...(ndcg === null ? {} : { 'nDCG@10': `${ndcg.before.toFixed(4)} -> ${ndcg.after.toFixed(4)}` }),
    'this rehearsal': `${rehearsal.texts} texts, ${about}${rehearsal.tokens} tokens${describeCost(rehearsal.cost)}${describeTime(rehearsal.seconds)}`,
    'the whole bucket': `${whole.texts} texts, about ${whole.tokens} tokens${describeCost(whole.estimated_cost)}${describeTime(whole.estimated_seconds)}, ${formatBytes(whole.vector_bytes)} of vectors`,
  };
}

function describeCost(cost: number): string {
  return cost > 0 ? `, ${cost.toFixed(4)} at the configured price` : '';
}

function describeTime(seconds: number | null): string {
  return seconds === null ? '' : `, ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}

/** Columns of the table of queries. */
export function queryColumns(): Column<RehearsedQuery>[] {
  const ndcg = (row: RehearsedQuery, side: 'before' | 'after') => row.ndcg?.[side].toFixed(4) ?? '';
  return [
    ['overlap', (row) => row.overlap.toFixed(2)],
    ['moved', (row) => row.mean_move.toFixed(1)],
    ['nDCG before', (row) => ndcg(row, 'before')],
    ['after', (row) => ndcg(row, 'after')],
    ['first before', (row) => row.before[0]?.file_name ?? ''],
    ['first after', (row) => row.after[0]?.file_name ?? ''],
    ['query', (row) => oneLine(row.query), 'may be cut'],
  ];
}

/** Describe the best chunks of a query: first by the current model, then by the candidate. */
export function describeMoves({ query, before, after }: RehearsedQuery): string {
  const list = (chunks: readonly RankedChunk[]) => chunks.map(describeChunk).join('\n');
  return `\n${oneLine(query)}\n  present model:\n${list(before)}\n  candidate:\n${list(after)}`;
}

function describeChunk({ rank, other_rank, file_name, gain, text }: RankedChunk): string {
  const other = other_rank === null ? 'not found' : `${other_rank}`;
  const judged = gain === null ? '' : `, judged ${gain}`;
  return `    ${rank}. ${oneLine(file_name)} (other: ${other}${judged}): ${oneLine(text).slice(0, 80)}`;
}
