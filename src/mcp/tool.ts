import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { SearchResult } from '../client/schema.ts';
import type { ServiceApi } from '../client/service-api.ts';

/** Results of the tool `search` that the tool `fetch` of the same session can return in full. */
export interface SessionResults {
  remember(bucket: string, results: readonly SearchResult[]): void;
  find(id: string): { readonly bucket: string; readonly result: SearchResult } | null;
}

export interface ToolContext {
  /** Client of the API, with the rights of the caller. */
  readonly api: ServiceApi;
  readonly results: SessionResults;
  readonly signal: AbortSignal;
  /** Report the progress of a long call to a client that asked for reports. */
  readonly reportProgress: (progress: { done: number; total: number; message: string }) => Promise<void>;
}

/** Answer of a tool: the object that its output schema describes, and the same as text. */
export interface ToolReply {
  readonly structured: Record<string, unknown>;
  readonly text: string;
}

/** Tool as data. `create-server.ts` offers it to clients. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
  /** Route of the API that the tool calls (`POST /v1/memory/search`). Without it the tool is not offered. */
  readonly route: string;
  /** Right of the caller that the tool needs; by default `search`. */
  readonly scope?: 'documents:write' | 'workflows:run';
  readonly call: (args: Record<string, unknown>, context: ToolContext) => Promise<ToolReply>;
}

/** Declare a tool, and pass the types of arguments and answer from the declaration to the call. */
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

/** Annotations of a tool that is read-only. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
