import type { Readable } from 'node:stream';
import { invalidRequest } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import { checkInput, type Operation, type OperationContext, WithBody } from './operation.ts';
import { findOperation } from './registry.ts';
import { throughJson, UNKNOWN_OPERATION } from './wire.ts';

/** Result of an operation as JSON transports it, and its bytes. */
export interface Outcome {
  readonly result: unknown;
  readonly body: Readable | null;
}

/** Operation with a checked input, ready to run. */
export interface PreparedOperation {
  run(context: OperationContext): Promise<Outcome>;
}

/**
 * Load an operation and check its input, without an installation.
 *
 * @throws AppError `operation_unknown`, `invalid_request` (400)
 */
export async function prepareOperation(name: string, given: unknown): Promise<PreparedOperation> {
  const operation: Operation | null = await findOperation(name);
  if (operation === null) throw invalidRequest(`there is no operation ${name}`, 'operation', UNKNOWN_OPERATION);
  const input = checkInput(operation, given);
  return {
    run: async (context) => {
      try {
        const output = await operation.run(context, input);
        const isWithBody = output instanceof WithBody;
        return {
          result: throughJson(isWithBody ? output.output : output),
          body: isWithBody ? output.body : null,
        };
      } catch (error) {
        throw mapPostgresError(error);
      }
    },
  };
}

/** Run an operation by its name. @throws AppError under the conditions of `prepareOperation` and of the operation */
export async function runOperation(context: OperationContext, name: string, given: unknown): Promise<Outcome> {
  const prepared = await prepareOperation(name, given);
  return prepared.run(context);
}
