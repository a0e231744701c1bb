import { ApiError } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import type { ObjectSchema } from '../../ui/schema-form/schema.ts';

/** Parse a definition or other typed JSON. @throws ApiError that describes the fault */
export function parseDefinition(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new ApiError(400, t('This is no JSON: {fault}', { fault: error instanceof Error ? error.message : '' }));
  }
}

export interface BlockShape {
  readonly id: string;
  readonly type: string;
  readonly after?: readonly string[];
  readonly if?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

/** Return the blocks of a stored definition, which the service has validated. */
export function blocksOf(definition: Readonly<Record<string, unknown>>): readonly BlockShape[] {
  return (definition['blocks'] ?? []) as readonly BlockShape[];
}

interface InputShape {
  readonly type: string;
  readonly required?: boolean;
  readonly default?: unknown;
}

/** Return the JSON Schema of the inputs of a stored definition. */
export function inputSchemaOf(definition: Readonly<Record<string, unknown>>): ObjectSchema {
  const inputs = Object.entries((definition['inputs'] ?? {}) as Readonly<Record<string, InputShape>>);
  const fields = inputs.map(([name, { type, default: preset }]) => [
    name,
    { type, ...(preset === undefined ? {} : { default: preset }) },
  ]);
  const required = inputs.filter(([, input]) => input.required !== false && input.default === undefined);
  return { properties: Object.fromEntries(fields), required: required.map(([name]) => name) };
}
