import { z } from 'zod';
import { USER_KEY_SHAPE, USER_SCALARS, UserMetadataInput, userKeyFault } from '../documents/user-metadata.ts';

const ATTRIBUTES_MAX = 16;

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/**
 * File attributes as sent by a client. They are stored as user metadata of the document, whose rules for keys and for
 * total size apply.
 */
export const AttributesInput = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .superRefine((attributes, context) => {
    const fault = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (Object.keys(attributes).length > ATTRIBUTES_MAX) fault([], `must have at most ${ATTRIBUTES_MAX} keys`);
    const { error } = UserMetadataInput.safeParse(attributes);
    for (const { path, message } of error?.issues ?? []) fault([...path], message);
  })
  .meta({
    maxProperties: ATTRIBUTES_MAX,
    propertyNames: USER_KEY_SHAPE,
    additionalProperties: { anyOf: USER_SCALARS },
    description: 'user metadata of the document; `scope` is its department',
  });

/** Attributes in a response. */
export const AttributesView = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** Select the numbers and booleans, whose types metadata doesn't preserve. */
export function scalarsOf(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => typeof value !== 'string'));
}

/**
 * Restore the types of attributes.
 * @param metadata current values as text, possibly changed by an edit of the document
 * @param scalars numbers and booleans as they were set
 */
export function attributesOf(metadata: Readonly<Record<string, string>>, scalars: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, text]) => {
      const scalar = Object.hasOwn(scalars, key) ? scalars[key] : undefined;
      return [key, scalar !== undefined && String(scalar) === text ? scalar : text];
    }),
  );
}

/** Build the metadata edit that replaces all attributes. Keep the reserved keys. */
export function replacingEdit(
  metadata: Readonly<Record<string, string>>,
  attributes: Attributes,
): Record<string, string | number | boolean | null> {
  const removed = Object.keys(metadata).filter((key) => userKeyFault(key) === null);
  return { ...Object.fromEntries(removed.map((key) => [key, null])), ...attributes };
}
