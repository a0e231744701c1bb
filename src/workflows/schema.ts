import { z } from 'zod';
import { SendRequest } from '../channels/schema.ts';
import { textInteger } from '../platform/zod-integers.ts';

const timestamp = z.iso.datetime();

export const BLOCKS_MAX = 100;
export const INPUTS_MAX = 50;
export const TIMEOUT_SECONDS_MAX = 120;
/** Maximum version number; the column is an `integer`. */
const VERSION_MAX = 2_147_483_647;

/** Maximum size of a definition as JSON. */
export const DEFINITION_BYTES_MAX = 256 * 1024;

export const INPUT_TYPES = ['string', 'number', 'boolean', 'object', 'array'] as const;

export const InputDeclaration = z.strictObject({
  type: z.enum(INPUT_TYPES),
  required: z.boolean().default(true),
  default: z.json().optional(),
});
export type InputDeclaration = z.output<typeof InputDeclaration>;

export const Block = z.strictObject({
  id: z.string().regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of a-z 0-9 _ -'),
  type: z.string().min(1).max(64),
  with: z.record(z.string().min(1).max(64), z.json()).default({}),
  after: z.array(z.string().max(64)).max(BLOCKS_MAX).default([]),
  if: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe('template, or id of a block; the block is skipped unless it yields a true value'),
  timeout_seconds: z.number().positive().max(TIMEOUT_SECONDS_MAX).default(30),
});
export type Block = z.output<typeof Block>;

/** Definition of a workflow: a directed acyclic graph of blocks. See also `validate-definition.ts`. */
export const Definition = z.strictObject({
  inputs: z
    .record(
      z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'the name must be 1 to 64 characters of A-Z a-z 0-9 _ -'),
      InputDeclaration,
    )
    .refine((inputs) => Object.keys(inputs).length <= INPUTS_MAX, `must have at most ${INPUTS_MAX} inputs`)
    .default({}),
  blocks: z.array(Block).min(1, 'must have a block').max(BLOCKS_MAX, `must have at most ${BLOCKS_MAX} blocks`),
  output: z.json().optional(),
  notify: SendRequest.omit({ template_args: true })
    .strict()
    .optional()
    .describe('message to a person who may approve, when a live run waits for an approval'),
});
export type Definition = z.output<typeof Definition>;

const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not have control characters')
  .refine((text) => !text.startsWith('wfl_'), 'must not start with "wfl_"');

export const NewWorkflow = z.object({ name, definition: z.record(z.string(), z.unknown()) });
export type NewWorkflow = z.output<typeof NewWorkflow>;
export const NewVersion = z.object({ definition: z.record(z.string(), z.unknown()) });

export const PublishRequest = z
  .object({ version: z.int().min(1).max(VERSION_MAX).optional().describe('default: the latest') })
  .prefault({});

export const WorkflowView = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['draft', 'published']),
    latest_version: z.int(),
    published_version: z.int().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Workflow' });
export type WorkflowView = z.output<typeof WorkflowView>;

/** Workflow with a definition and the list of its versions. */
export const WorkflowDetail = WorkflowView.extend({
  version: z.int().describe('version of the definition'),
  definition: z.record(z.string(), z.unknown()),
  versions: z.array(z.object({ version: z.int(), created_at: timestamp, published_at: timestamp.nullable() })),
}).meta({ id: 'WorkflowDetail' });
export type WorkflowDetail = z.output<typeof WorkflowDetail>;

export const GetWorkflowQuery = z.object({
  version: textInteger(z.int().min(1).max(VERSION_MAX).optional()).describe('default: the latest'),
});

const Inputs = z.record(z.string(), z.json()).default({});

export const DryRunRequest = z.object({ inputs: Inputs }).prefault({});

export const RunRequest = z
  .object({
    inputs: Inputs,
    mode: z.enum(['simulate', 'live']).default('simulate'),
    approvals: z
      .record(z.string().max(64), z.boolean())
      .default({})
      .describe('approvals by block id; true only after a person has approved the side effect'),
  })
  .prefault({});

/** Body of `POST /v1/workflows/{workflow}/runs/{run}/approve`. */
export const ApproveRequest = z.object({
  approvals: z
    .record(z.string().max(64), z.boolean())
    .refine((approvals) => Object.keys(approvals).length > 0, 'must have a decision on a block')
    .meta({ minProperties: 1 })
    .describe('decisions by the id of a waiting block; true: run it with the shown arguments; false: decline it'),
});
export type ApproveRequest = z.output<typeof ApproveRequest>;

/** States of a block. Only the history of an unfinished run shows `running`. */
const BLOCK_STATUSES = ['running', 'completed', 'failed', 'skipped', 'simulated', 'needs_approval'] as const;

export const BlockResult = z.object({
  id: z.string(),
  type: z.string(),
  status: z.enum(BLOCK_STATUSES),
  output: z.unknown().describe('null unless the block completed'),
  would: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('planned change of a block with a side effect, kept even if it was declined'),
  error: z.string().nullable().describe('why the block failed, was skipped or was not approved'),
  duration_ms: z.number(),
});
export type BlockResult = z.output<typeof BlockResult>;

export const RUN_MODES = ['dry_run', 'simulate', 'live'] as const;
export type RunMode = (typeof RUN_MODES)[number];
export const RUN_STATUSES = ['running', 'completed', 'needs_approval', 'failed'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

const approvalUrl = z.string().optional().describe('page where a person decides, if the run waits for approvals');

export const RunReply = z
  .object({
    run_id: z.string().nullable(),
    workflow_id: z.string(),
    version: z.int(),
    mode: z.enum(RUN_MODES),
    status: z.enum([...RUN_STATUSES, 'needs_review']),
    blocks: z.array(BlockResult),
    output: z.unknown(),
    error: z.string().nullable(),
    approval_url: approvalUrl,
  })
  .meta({ id: 'WorkflowRunReply' });
export type RunReply = z.output<typeof RunReply>;

/** Run that continues a waiting run, and the deciding actor. */
const ContinuingRun = z.object({ run_id: z.string(), actor: z.string(), status: z.enum(RUN_STATUSES) });
export type ContinuingRun = z.output<typeof ContinuingRun>;

export const RunSummary = z
  .object({
    run_id: z.string(),
    workflow_id: z.string(),
    version: z.int(),
    mode: z.enum(RUN_MODES),
    status: z.enum(RUN_STATUSES),
    actor: z.string(),
    error: z.string().nullable(),
    started_at: timestamp,
    finished_at: timestamp.nullable(),
    continues: z.string().nullable().describe('id of the waiting run that this run continues'),
    continued_by: ContinuingRun.nullable().describe('run that continues this one, which then no longer waits'),
  })
  .meta({ id: 'WorkflowRunSummary' });
export type RunSummary = z.output<typeof RunSummary>;

/** Run in the history, with its values. Large values, and values of runs that show deleted documents, are omitted. */
export const RunView = RunSummary.extend({
  inputs: z.unknown(),
  blocks: z.array(BlockResult),
  output: z.unknown(),
  approval_url: approvalUrl,
}).meta({ id: 'WorkflowRun' });
export type RunView = z.output<typeof RunView>;
