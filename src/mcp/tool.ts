import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { SearchResult } from '../client/schema.ts';
import type { ServiceApi } from '../client/service-api.ts';

/** Result of a search, and the bucket in which it was found. */
export interface FoundResult {
  readonly bucket: string;
  readonly result: SearchResult;
}

/** Results of a session, which later calls of the same session name by their ids. */
export interface SessionResults {
  /** Keep a result, and return its short id. The same result keeps its id. */
  remember(bucket: string, result: SearchResult): string;
  /** Find a result by its short or its full id. */
  find(id: string): FoundResult | null;
  /** Record passages, by their full ids, as shown to the client. */
  markSeen(ids: readonly string[]): void;
  listSeen(): ReadonlySet<string>;
}

/** Person behind a client, whom the client can ask. */
export interface PersonDialog {
  /** Way in which the client can ask for an approval: in a form, or on a page of the console; null if it cannot. */
  readonly asks: 'form' | 'page' | null;
  /** Answer to the question that this call asked before; null if it asked none. */
  readonly answer: {
    readonly state: string;
    readonly isAccepted: boolean;
    /** Choices of a form by their names. */
    readonly decisions: Readonly<Record<string, boolean>>;
  } | null;
}

/** Question to the person behind a client. */
export interface Question {
  readonly message: string;
  /** Text that comes back with the answer. */
  readonly state: string;
  /** Titles of the choices of a form by their names, or the page where the person decides. */
  readonly ask: { readonly choices: Readonly<Record<string, string>> } | { readonly url: string };
}

export interface ToolContext {
  /** Client of the API, with the rights of the caller. */
  readonly api: ServiceApi;
  readonly results: SessionResults;
  readonly person: PersonDialog;
  readonly signal: AbortSignal;
  /** Report the progress of a long call to a client that asked for reports. */
  readonly reportProgress: (progress: { done: number; total: number; message: string }) => Promise<void>;
}

/** Link to a document, for clients that show links beside the text. */
export interface DocumentLink {
  readonly uri: string;
  /** File name. */
  readonly name: string;
  readonly mimeType?: string | undefined;
  /** Bytes of the file. */
  readonly size?: number | undefined;
}

/** Answer of a tool: the object that its output schema describes, and the same as text. */
export interface ToolReply {
  readonly structured: Record<string, unknown>;
  readonly text: string;
  readonly links?: readonly DocumentLink[];
  /** Question that is asked in place of this answer. */
  readonly question?: Question | null;
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
  /** Set for a tool that is offered only if the installation has a chat model. */
  readonly needsAnswers?: true;
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
    ) => Promise<Omit<ToolReply, 'structured'> & { readonly structured: z.input<O> }>;
  },
): Tool {
  return tool as unknown as Tool;
}

/** Annotations of a tool that is read-only. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
