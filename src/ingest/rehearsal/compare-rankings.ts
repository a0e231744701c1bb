import type { LegWeights } from '../../index/index-store.ts';
import { ndcgOf } from '../../insight/ndcg.ts';
import type { JudgedQuery } from '../../insight/tune-weights.ts';
import { CANDIDATES_MIN, fuseRankings, fusionFor, type LegHit } from '../../search/fuse.ts';
import type { RankedChunk, RehearsedQuery } from './schema.ts';
import type { SampledChunk } from './take-sample.ts';

const CUT = 10;
const SHOWN = 5;

/** Vectors of one model: of a query, and of the sampled chunks in order. */
export interface Side {
  readonly kind: 'lexical' | 'semantic';
  /** Leg weights tuned for the model; null for those of its kind. */
  readonly weights: LegWeights | null;
  readonly query: Float32Array;
  readonly vectors: readonly Float32Array[];
}

export interface ComparedRankings {
  readonly chunks: readonly SampledChunk[];
  readonly mode: 'hybrid' | 'vector';
  /** Hits of the keyword leg among the chunks, best first; empty in mode `vector`. */
  readonly keyword: readonly LegHit[];
  readonly before: Side;
  readonly after: Side;
}

/** Compare how two models rank the sampled chunks for a query. */
export function compareRankings({ query, relevant }: JudgedQuery, compared: ComparedRankings): RehearsedQuery {
  const { chunks } = compared;
  const byId = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const before = rankChunks(compared, compared.before);
  const after = rankChunks(compared, compared.after);
  const gainOf = ({ documentId, fileName }: SampledChunk) => relevant.get(fileName) ?? relevant.get(documentId) ?? null;
  const show = (ids: readonly string[], others: readonly string[]) =>
    ids.slice(0, SHOWN).map((id, at): RankedChunk => {
      const chunk = byId.get(id) as SampledChunk;
      const { documentId, fileName, shown } = chunk;
      const other = others.indexOf(id);
      return {
        rank: at + 1,
        other_rank: other === -1 ? null : other + 1,
        chunk_id: id,
        document_id: documentId,
        file_name: fileName,
        text: shown,
        gain: gainOf(chunk),
      };
    });
  const ndcg = (ids: readonly string[]) =>
    ndcgOf(
      ids.map((id) => nameOf(byId.get(id) as SampledChunk, relevant)),
      relevant,
    );
  return {
    query,
    ...measureMoves(before, after),
    ndcg: relevant.size === 0 ? null : { before: ndcg(before), after: ndcg(after) },
    before: show(before, after),
    after: show(after, before),
  };
}

/** Return the name that the judgements use for a document: its file name or its id. */
function nameOf({ documentId, fileName }: SampledChunk, relevant: ReadonlyMap<string, number>): string {
  return relevant.has(fileName) ? fileName : documentId;
}

/** Measure the current model's ten best chunks. A chunk that the other model lost counts as ranked last. */
function measureMoves(before: readonly string[], after: readonly string[]) {
  const best = before.slice(0, CUT);
  const bestAfter = new Set(after.slice(0, CUT));
  const kept = best.filter((id) => bestAfter.has(id)).length;
  const moves = best.map((id, at) => {
    const other = after.indexOf(id);
    return Math.abs((other === -1 ? after.length : other) - at);
  });
  const count = Math.max(1, best.length);
  return {
    overlap: kept / count,
    mean_move: moves.reduce((sum, move) => sum + move, 0) / count,
  };
}

/** Rank the sampled chunks like a search. Return their ids, best first. */
function rankChunks({ chunks, keyword, mode }: ComparedRankings, side: Side): string[] {
  const vector = chunks
    .map(({ id }, at): LegHit => ({ id, score: dot(side.query, side.vectors[at] as Float32Array) }))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .slice(0, CANDIDATES_MIN);
  const fusion = fusionFor(side.kind, side.weights ?? undefined);
  return fuseRankings({ keyword: keyword.slice(0, CANDIDATES_MIN), vector }, fusion, mode).map(({ id }) => id);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

/** Round the figures of a query. */
export function roundQuery(result: RehearsedQuery): RehearsedQuery {
  const { overlap, mean_move: move, ndcg } = result;
  return {
    ...result,
    overlap: rounded(overlap),
    mean_move: rounded(move),
    ndcg: ndcg && { before: rounded(ndcg.before), after: rounded(ndcg.after) },
  };
}

export function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
