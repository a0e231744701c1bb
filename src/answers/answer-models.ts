import { type Caller, hasScope } from '../access/caller.ts';
import { isModelAllowed } from '../access/key-limits.ts';
import type { ModelView } from '../models/catalog.ts';
import type { Sql } from '../platform/postgres.ts';
import type { AnswerContext } from './answer-question.ts';
import { selectAnswererNames } from './assistant-store.ts';

export interface AnswerModelsContext extends Pick<AnswerContext, 'chat'> {
  readonly sql: Sql;
}

/**
 * List the buckets and assistants that the caller may ask, as models of `POST /v1/chat/completions`. The list is empty
 * if no chat model is configured.
 */
export async function listAnswerModels({ sql, chat }: AnswerModelsContext, caller: Caller): Promise<ModelView[]> {
  if (chat === null || !hasScope(caller, 'search') || !isModelAllowed(caller.limits, chat.model.id)) return [];
  return (await selectAnswererNames(sql, caller)).map(toModel);
}

function toModel(id: string): ModelView {
  return {
    id,
    object: 'model',
    owned_by: 'service',
    kind: 'answers',
    default_dimension: null,
    max_tokens: null,
    variable_dimensions: false,
    available: true,
    calibrated: false,
    status: 'served',
    space: null,
    map_version: null,
    score: null,
  };
}
