import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { Answer, AnswerRequest } from '../answers/schema.ts';
import { SendReply, SendRequest } from '../channels/schema.ts';
import { UserMetadataInput } from '../documents/user-metadata.ts';
import { UploadRequest } from '../ingest/schema.ts';
import { MemorySearchRequest, MemorySearchResponse } from '../memory/schema.ts';
import { EditReply } from '../metadata/schema.ts';
import { SearchRequest, SearchResponse } from '../search/schema.ts';
import { OPERATORS, test } from './condition.ts';
import { toText } from './references.ts';
import { toValueSchema, type ValueSchema } from './value-types.ts';

/** Context of a block: the caller, and the signal that stops the block. */
export interface BlockContext {
  readonly caller: Caller;
  readonly workflowId: string;
  /** Address of this service for links in results, or null. */
  readonly origin: string | null;
  readonly signal: AbortSignal;
}

/** Bucket of an upload or an edit, by name or id. */
const bucket = z.string().min(1).max(128);

const SearchArguments = SearchRequest.extend({ bucket });
/** Arguments of the answer block: one question, without a conversation. */
export const AnswerArguments = z.object(AnswerRequest.shape).omit({ history: true, stream: true });
const UploadArguments = UploadRequest.safeExtend({ bucket });

export const EmbedArguments = z.object({
  texts: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(100)]),
  model: z.string().min(1).max(200).optional(),
  dimensions: z.int().min(1).max(4096).optional(),
});

export const UpdateArguments = z.object({
  bucket,
  document_id: z.string().min(1).max(128),
  metadata: UserMetadataInput,
  reindex: z.boolean().default(true),
});

/** Operations of the service that blocks call. Each checks the caller's rights. */
export interface BlockOperations {
  search(context: BlockContext, args: z.output<typeof SearchArguments>): Promise<unknown>;
  answer(context: BlockContext, args: z.output<typeof AnswerArguments>): Promise<unknown>;
  searchMemory(context: BlockContext, args: MemorySearchRequest): Promise<unknown>;
  embed(context: BlockContext, args: z.output<typeof EmbedArguments>): Promise<unknown>;
  upload(context: BlockContext, args: z.output<typeof UploadArguments>): Promise<unknown>;
  updateMetadata(context: BlockContext, args: z.output<typeof UpdateArguments>): Promise<unknown>;
  sendNotification(context: BlockContext, args: SendRequest): Promise<unknown>;
}

export interface BlockType {
  /** True if it has a side effect, so that it needs an approval. */
  readonly hasSideEffect: boolean;
  /** Schema of the resolved arguments, including rules across arguments. */
  readonly args: z.ZodType;
  /** Schemas of the individual arguments. */
  readonly shape: Readonly<Record<string, z.ZodType>>;
  /** Return the fault of the arguments as written, including templates, or null. */
  faultOf(given: Readonly<Record<string, unknown>>): string | null;
  readonly output: ValueSchema;
  /** @param args output of the schema `args` */
  run(context: BlockContext, args: unknown): Promise<unknown>;
}

export type BlockTypes = ReadonlyMap<string, BlockType>;

function blockType<S extends z.ZodObject>(type: {
  hasSideEffect?: boolean;
  args: S;
  faultOf?: BlockType['faultOf'];
  output: z.ZodType;
  run: (context: BlockContext, args: z.output<S>) => Promise<unknown> | unknown;
}): BlockType {
  return {
    hasSideEffect: type.hasSideEffect ?? false,
    args: type.args,
    shape: type.args.shape,
    faultOf: type.faultOf ?? (() => null),
    // Built on demand, because most commands never need it.
    get output() {
      return toValueSchema(type.output, 'output');
    },
    run: async (context, args) => type.run(context, args as z.output<S>),
  };
}

const EmbedOutput = z.object({ model: z.string(), embeddings: z.array(z.array(z.number())) });
const UploadOutput = z.object({ id: z.string(), job_id: z.string().nullable() });
const CONTENTS = ['text', 'content', 'content_base64'] as const;

/** Create the block types from the service's operations. No block can run a statement or a hard delete. */
export function blockTypes(operations: BlockOperations): BlockTypes {
  return new Map<string, BlockType>([
    ['search', blockType({ args: SearchArguments, output: SearchResponse, run: operations.search })],
    ['answer', blockType({ args: AnswerArguments, faultOf: scopeFault, output: Answer, run: operations.answer })],
    [
      'memory_search',
      blockType({ args: MemorySearchRequest, output: MemorySearchResponse, run: operations.searchMemory }),
    ],
    ['template', TEMPLATE],
    ['condition', CONDITION],
    [
      'embed',
      blockType({
        args: EmbedArguments,
        output: EmbedOutput,
        run: operations.embed,
      }),
    ],
    [
      'upload_document',
      blockType({
        hasSideEffect: true,
        args: UploadArguments,
        faultOf: contentFault,
        output: UploadOutput,
        run: operations.upload,
      }),
    ],
    [
      'update_metadata',
      blockType({ hasSideEffect: true, args: UpdateArguments, output: EditReply, run: operations.updateMetadata }),
    ],
    [
      'send_notification',
      blockType({ hasSideEffect: true, args: SendRequest, output: SendReply, run: operations.sendNotification }),
    ],
  ]);
}

function scopeFault({ buckets, assistant }: Readonly<Record<string, unknown>>): string | null {
  return (buckets === undefined) === (assistant === undefined) ? 'buckets: give either buckets or assistant' : null;
}

const TEMPLATE = blockType({
  // A text that is only a reference resolves to a value of any type.
  args: z.object({ text: z.json().default('') }),
  faultOf: ({ text }) =>
    text === undefined ? 'text: is required by template' : typeof text === 'string' ? null : 'text: must be a string',
  output: z.string(),
  run: (_context, { text }) => toText(text),
});

const CONDITION = blockType({
  args: z.object({ left: z.json(), op: z.enum(OPERATORS), right: z.json().optional() }),
  faultOf: ({ op, right }) =>
    right === undefined && typeof op === 'string' && op !== 'exists'
      ? `right: is required by the operator ${op}`
      : null,
  output: z.boolean(),
  run: (_context, { left, op, right }) => test(left, op, right ?? null),
});

/** Check that an upload has a name and exactly one kind of content. */
function contentFault(given: Readonly<Record<string, unknown>>): string | null {
  if (given['filename'] === undefined) return 'filename: is required by upload_document';
  const kinds = CONTENTS.filter((name) => given[name] !== undefined);
  return kinds.length === 1 ? null : `needs exactly one of ${CONTENTS.join(', ')}`;
}
