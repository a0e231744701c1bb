import type { z } from 'zod';

export type Schema = z.core.$ZodType;

/** Definition of a schema, with the fields that hold inner schemas. */
export interface Definition {
  readonly type: string;
  readonly innerType?: Schema;
  readonly in?: Schema;
  readonly out?: Schema;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
}

export function definitionOf(schema: Schema): Definition {
  return schema._zod.def as unknown as Definition;
}

/** Return the schema inside an optional, a nullable, a default or a transform; undefined for others. */
export function innerOf(schema: Schema): Schema | undefined {
  const definition = definitionOf(schema);
  if (definition.type !== 'pipe') return definition.innerType;
  // The output of `preprocess` describes its value.
  const isPreprocess = definition.in !== undefined && definitionOf(definition.in).type === 'transform';
  return isPreprocess ? definition.out : definition.in;
}
