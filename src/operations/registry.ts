import type { z } from 'zod';
import type { Operation, WithBody } from './operation.ts';

/** Operation modules, loaded on first use. The name of an operation is `group.name`. */
const GROUPS = {
  answers: () => import('./groups/answers.ts'),
  buckets: () => import('./groups/buckets.ts'),
  bulk: () => import('./groups/bulk.ts'),
  channels: () => import('./groups/channels.ts'),
  demo: () => import('./groups/demo.ts'),
  documents: () => import('./groups/documents.ts'),
  embedding: () => import('./groups/embedding.ts'),
  groups: () => import('./groups/groups.ts'),
  index: () => import('./groups/index.ts'),
  jobs: () => import('./groups/jobs.ts'),
  keys: () => import('./groups/keys.ts'),
  metadata: () => import('./groups/metadata.ts'),
  organizations: () => import('./groups/organizations.ts'),
  projections: () => import('./groups/projections.ts'),
  search: () => import('./groups/search.ts'),
  sources: () => import('./groups/sources.ts'),
  usage: () => import('./groups/usage.ts'),
  users: () => import('./groups/users.ts'),
  webhooks: () => import('./groups/webhooks.ts'),
  workflows: () => import('./groups/workflows.ts'),
};

type Groups = { [Group in keyof typeof GROUPS]: Awaited<ReturnType<(typeof GROUPS)[Group]>> };
type NamesOf<Group extends keyof Groups> = `${Group}.${Extract<keyof Groups[Group], string>}`;

export type OperationName = { [Group in keyof Groups]: NamesOf<Group> }[keyof Groups];

type OperationOf<Name extends OperationName> = Name extends `${infer Group extends keyof Groups}.${infer Own}`
  ? Own extends keyof Groups[Group]
    ? Groups[Group][Own]
    : never
  : never;

type SchemaOf<Name extends OperationName> = OperationOf<Name> extends { readonly input: infer Schema } ? Schema : never;

/** Input fields of an operation. Their values come from the command line and are validated when it runs. */
export type OperationInput<Name extends OperationName> =
  SchemaOf<Name> extends z.ZodType ? { readonly [Field in keyof z.input<SchemaOf<Name>>]: unknown } : never;

export type OperationOutput<Name extends OperationName> =
  OperationOf<Name> extends { run(...given: never[]): infer Output } ? WithoutBody<Awaited<Output>> : never;

type WithoutBody<Output> = Output extends WithBody<infer Own> ? Own : Output;

export async function findOperation(name: string): Promise<Operation | null> {
  const [group = '', own = ''] = name.split('.');
  if (!Object.hasOwn(GROUPS, group)) return null;
  const operations: Readonly<Record<string, unknown>> = await GROUPS[group as keyof typeof GROUPS]();
  return Object.hasOwn(operations, own) ? (operations[own] as Operation) : null;
}
