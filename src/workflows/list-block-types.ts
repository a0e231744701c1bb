import { z } from 'zod';
import type { BlockTypes } from './block-types.ts';

/** Block type, and the schema of its arguments. */
export const BlockTypeView = z
  .object({
    type: z.string(),
    has_side_effect: z.boolean().describe('true: each run of the block needs an approval'),
    args_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of `with`, in which a text may be a template'),
  })
  .meta({ id: 'WorkflowBlockType' });
export type BlockTypeView = z.output<typeof BlockTypeView>;

export function listBlockTypes(types: BlockTypes): BlockTypeView[] {
  return [...types].map(([type, { hasSideEffect, args }]) => ({
    type,
    has_side_effect: hasSideEffect,
    args_schema: z.toJSONSchema(args, { io: 'input', unrepresentable: 'any' }),
  }));
}
