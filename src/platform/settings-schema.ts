import { z } from 'zod';

/** Return the schema inside the wrappers for defaults, optional values and conversions. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  if ('innerType' in def) return unwrap(def.innerType as z.core.$ZodType);
  if (def.type !== 'pipe') return schema;
  // In a pipe, a conversion of the input comes first, one of the output last. Return the other part.
  const { in: first, out: last } = def as z.core.$ZodPipeDef;
  return unwrap(first._zod.def.type === 'transform' ? last : first);
}

/** List the settings that an object at this path can have. */
export function keysAt(schema: z.core.$ZodType, path: readonly string[]): string[] {
  const found = path.reduce((at: z.core.$ZodType[], key) => at.flatMap((each) => childrenOf(each, key)), [schema]);
  const keys = found.flatMap((each) => branchesOf(each).flatMap((branch) => Object.keys(shapeOf(branch))));
  return [...new Set(keys)];
}

/** Return the settings of an object by name; empty for any other schema. */
export function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : {};
}

/** Return the alternatives of a union, or the schema itself. */
export function branchesOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  const inner = unwrap(schema);
  return inner instanceof z.ZodUnion ? inner.options.flatMap((option) => branchesOf(option)) : [inner];
}

function childrenOf(schema: z.core.$ZodType, key: string): z.core.$ZodType[] {
  return branchesOf(schema).flatMap((branch) => {
    if (branch instanceof z.ZodObject) return key in branch.shape ? [branch.shape[key]] : [];
    if (branch instanceof z.ZodRecord) return [branch.valueType];
    return branch instanceof z.ZodArray ? [branch.element] : [];
  });
}
