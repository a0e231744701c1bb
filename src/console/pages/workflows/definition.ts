import { ApiError } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';

/** Parse a definition or other typed JSON. @throws ApiError that describes the fault */
export function parseDefinition(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new ApiError(400, t('This is no JSON: {fault}', { fault: error instanceof Error ? error.message : '' }));
  }
}

interface BlockShape {
  readonly id: string;
  readonly type: string;
  readonly after?: readonly string[];
  readonly if?: string;
}

/** Return the blocks of a stored definition, which the service has validated. */
export function blocksOf(definition: Readonly<Record<string, unknown>>): readonly BlockShape[] {
  return (definition['blocks'] ?? []) as readonly BlockShape[];
}

export function exampleInputs(definition: Readonly<Record<string, unknown>>): string {
  const examples: Readonly<Record<string, unknown>> = { string: '', number: 0, boolean: false, object: {}, array: [] };
  const inputs = (definition['inputs'] ?? {}) as Readonly<Record<string, { type: string; default?: unknown }>>;
  const values = Object.entries(inputs).map(([name, input]) => [name, input.default ?? examples[input.type]]);
  return JSON.stringify(Object.fromEntries(values), null, 2);
}
