import { invalidRequest } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import { checkInput, type Operation, type OperationContext } from './operation.ts';
import { findOperation } from './registry.ts';
import { throughJson, UNKNOWN_OPERATION } from './wire.ts';

/** Operation that is ready to run, with its input checked. */
export interface PreparedOperation {
  run(context: OperationContext): Promise<unknown>;
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
        return throughJson(await operation.run(context, input));
      } catch (error) {
        throw mapPostgresError(error);
      }
    },
  };
}

/** Run an operation by its name. @throws AppError under the conditions of `prepareOperation` and of the operation */
export async function runOperation(context: OperationContext, name: string, given: unknown): Promise<unknown> {
  const prepared = await prepareOperation(name, given);
  return prepared.run(context);
}
