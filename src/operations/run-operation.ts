import type { Readable } from 'node:stream';
import { invalidRequest } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import { checkInput, type Operation, type OperationContext, WithBody } from './operation.ts';
import { findOperation } from './registry.ts';
import { throughJson, UNKNOWN_OPERATION } from './wire.ts';

/** JSON result of an operation, and its bytes. */
export interface Outcome {
  readonly result: unknown;
  readonly body: Readable | null;
}

/** Operation with validated input, ready to run. */
export interface PreparedOperation {
  run(context: OperationContext): Promise<Outcome>;
}

/** Load an operation and validate its input, without an installation. */
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

/** Run an operation by name. @throws AppError of `prepareOperation` and of the operation */
export async function runOperation(context: OperationContext, name: string, given: unknown): Promise<Outcome> {
  const prepared = await prepareOperation(name, given);
  return prepared.run(context);
}
