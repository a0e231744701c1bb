import { EXACT_NUMBER } from '../../documents/user-metadata.ts';
import { COMPARISONS, COMPOUNDS, MEMBERSHIPS, PRESENCES, TEXT_MATCHES } from './condition-types.ts';
import { UNMATCHED_KEYS } from './filter-keys.ts';

const string = { type: 'string', maxLength: 512, pattern: '^[^\\u0000]*$' };
const scalar = { anyOf: [string, EXACT_NUMBER, { type: 'boolean' }] };
const scalars = { type: 'array', items: scalar, minItems: 1, maxItems: 100 };
const name = { ...string, minLength: 1, maxLength: 64 };
const unmatched = [...UNMATCHED_KEYS];
const key = { ...name, not: { enum: unmatched } };

const node = (types: readonly string[], fields: Readonly<Record<string, unknown>>) => ({
  type: 'object',
  properties: { type: { enum: types }, ...fields },
  required: ['type', ...Object.keys(fields)],
});

const comparison = node(COMPARISONS, { key, value: scalar });
const membership = node(MEMBERSHIPS, { key, value: scalars });
const text = { ...string, minLength: 1 };
const textMatch = node(TEXT_MATCHES, { key, value: text });
const presence = node(PRESENCES, { key });
const single = [comparison, membership, textMatch, presence];
const nested = { anyOf: [...single, compound({ anyOf: single })] };

function compound(items: object) {
  return node(COMPOUNDS, { filters: { type: 'array', items, minItems: 1, maxItems: 5 } });
}

/** JSON Schema of filters for the API description. Every matching filter within the size limits is accepted. */
export const FILTER_SHAPE = {
  description: 'exact matches by key, or an OpenAI filter tree, which may be nested deeper than is described here',
  anyOf: [
    ...single,
    compound(nested),
    {
      type: 'object',
      propertyNames: { ...name, not: { enum: ['type', 'key', 'filters', ...unmatched] } },
      additionalProperties: { anyOf: [scalar, scalars] },
      maxProperties: 10,
    },
  ],
};
