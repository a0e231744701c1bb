import { z } from 'zod';
import { USER_KEY_SHAPE, USER_SCALARS, UserMetadataInput, userKeyFault } from '../documents/user-metadata.ts';

const ATTRIBUTES_MAX = 16;

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/**
 * Attributes of a file, as a client sends them. They are the user metadata of the document, so its rules apply as well:
 * for keys, and for the size of all attributes together.
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

/** Attributes in an answer. */
export const AttributesView = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** Select the numbers and booleans, whose types metadata does not keep. */
export function scalarsOf(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => typeof value !== 'string'));
}

/**
 * Restore the types of attributes.
 * @param metadata present values as text, which an edit of the document may have changed
 * @param scalars numbers and booleans at the time when the attributes were set
 */
export function attributesOf(metadata: Readonly<Record<string, string>>, scalars: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, text]) => {
      const scalar = Object.hasOwn(scalars, key) ? scalars[key] : undefined;
      return [key, scalar !== undefined && String(scalar) === text ? scalar : text];
    }),
  );
}

/** Make the change of metadata that replaces all attributes. Keys of the service stay. */
export function replacingEdit(
  metadata: Readonly<Record<string, string>>,
  attributes: Attributes,
): Record<string, string | number | boolean | null> {
  const removed = Object.keys(metadata).filter((key) => userKeyFault(key) === null);
  return { ...Object.fromEntries(removed.map((key) => [key, null])), ...attributes };
}
