import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { SearchResult } from '../client/schema.ts';
import type { ServiceApi } from '../client/service-api.ts';

/** Results of the tool `search` that the tool `fetch` of the same session can give in full. */
export interface SessionResults {
  remember(bucket: string, results: readonly SearchResult[]): void;
  find(id: string): { readonly bucket: string; readonly result: SearchResult } | null;
}

/** Surroundings of one call of a tool. */
export interface ToolContext {
  /** The API, with the rights of the caller. */
  readonly api: ServiceApi;
  readonly results: SessionResults;
  /** Checks that the caller may still use the API, for a tool that does not call it. */
  readonly confirmCaller: (signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Tells the client how far a long call is; nothing happens where it did not ask for that. */
  readonly reportProgress: (progress: { done: number; total: number; message: string }) => Promise<void>;
}

/** Answer of a tool: the object that its output schema describes, and the same for a reader. */
export interface ToolReply {
  readonly structured: Record<string, unknown>;
  readonly text: string;
}

/** A tool as data; `create-server.ts` offers it to clients. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** Route of the API that the tool calls (`POST /v1/memory/search`): where the API has it not, the tool is not offered. */
  readonly route: string;
  readonly call: (args: Record<string, unknown>, context: ToolContext) => Promise<ToolReply>;
}

/** Keeps the types of arguments and answer between the declaration and the call. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'output' | 'call'> & {
    readonly input: I;
    readonly output: O;
    readonly call: (
      args: z.output<I>,
      context: ToolContext,
    ) => Promise<{ readonly structured: z.input<O>; readonly text: string }>;
  },
): Tool {
  return tool as unknown as Tool;
}

/** Annotations of a tool that changes nothing. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
