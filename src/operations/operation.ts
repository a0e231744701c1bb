import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { operatorActor } from '../access/operator.ts';
import type { ApplianceWith, PartName } from '../appliance/appliance.ts';
import type { Installation } from '../appliance/open-installation.ts';
import { AppError } from '../platform/errors.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';

/** Installation and person that an operation runs for. */
export interface OperationContext {
  readonly installation: Pick<Installation, 'open'>;
  /** Name or id of the organization. */
  readonly org: string;
  /** Operating system user at the command line. */
  readonly osUser: string;
  readonly signal: AbortSignal;
  /** Signal that aborts when the server starts to shut down, for operations that don't end by themselves. */
  readonly closing: AbortSignal;
  /** Bytes that came with the input; null if none did. */
  readonly body: Readable | null;
}

/** Output of an operation, with bytes that the receiver must read or destroy. */
export class WithBody<Output> {
  readonly output: Output;
  readonly body: Readable;

  constructor(output: Output, body: Readable) {
    this.output = output;
    this.body = body;
  }
}

/**
 * Operation of the command line. Its output must survive JSON, so that it is the same in the command's process and from
 * a running server.
 */
export interface Operation<Input extends z.ZodType = z.ZodType, Output = unknown> {
  readonly input: Input;
  run(context: OperationContext, input: z.output<Input>): Promise<Output> | Output;
}

interface ForOrganization<Part extends PartName> {
  readonly appliance: ApplianceWith<Part>;
  readonly operator: Caller;
  readonly signal: AbortSignal;
  readonly closing: AbortSignal;
  readonly body: Readable | null;
}

/**
 * Define an operation that the operator performs for one organization.
 * @param parts parts of the installation that it uses; without a server, a command opens only these
 */
export function forOrganization<Input extends z.ZodType, Output, Part extends PartName = never>(
  input: Input,
  run: (given: z.output<Input>, context: ForOrganization<Part>) => Promise<Output>,
  parts: readonly Part[] = [],
): Operation<Input, Output> {
  return {
    input,
    run: async ({ installation, org, osUser, signal, closing, body }, given) => {
      const appliance = await installation.open(parts);
      const operator = await appliance.access.operator(org, osUser);
      return run(given, { appliance, signal, closing, body, operator });
    },
  };
}

/** Context of an operation for the whole installation. */
interface ForInstallation<Part extends PartName> {
  readonly appliance: ApplianceWith<Part>;
  /** Name of the operator in the audit log. */
  readonly actor: string;
  readonly signal: AbortSignal;
}

/** Define an operation that the operator performs for the whole installation. @param parts as for `forOrganization` */
export function forInstallation<Input extends z.ZodType, Output, Part extends PartName = never>(
  input: Input,
  run: (given: z.output<Input>, context: ForInstallation<Part>) => Promise<Output> | Output,
  parts: readonly Part[] = [],
): Operation<Input, Output> {
  return {
    input,
    run: async ({ installation, osUser, signal }, given) =>
      run(given, { appliance: await installation.open(parts), signal, actor: operatorActor(osUser) }),
  };
}

/**
 * Validate the input of an operation.
 * @throws AppError `invalid_request` (400); `details` contains the field path and the reason
 */
export function checkInput<Input extends z.ZodType>({ input }: Operation<Input>, given: unknown): z.output<Input> {
  const parsed = input.safeParse(given, PARSE_OPTIONS);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const { message: reason, path: keys } = issue ? mostTelling(issue) : { message: 'is not valid', path: [] };
  const path = keys.map((key) => (typeof key === 'number' ? key : String(key)));
  throw new AppError({
    code: 'invalid_request',
    status: 400,
    message: path.length === 0 ? reason : `${path.join('.')}: ${reason}`,
    param: path.length === 0 ? null : String(path[0]),
    details: { path, reason },
  });
}
