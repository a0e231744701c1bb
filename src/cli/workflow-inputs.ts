import { invalidRequest } from '../platform/errors.ts';
import type { InputDeclaration } from '../workflows/schema.ts';
import { pairsOf } from './flags.ts';
import { readDataFile } from './read-data-file.ts';
import type { Session } from './session.ts';

/** Inputs given by the user: `name=value` pairs, and a file. */
export interface GivenInputs {
  readonly pairs: readonly string[] | string | undefined;
  readonly file: string | undefined;
}

/**
 * Read the inputs of a run. A pair overrides the file's input, and has the type that the definition declares.
 *
 * @throws AppError `invalid_request` (400), `workflow_not_found`, `file_not_found` (404), `file_unreadable` (403)
 */
export async function readInputs(
  session: Session,
  workflow: string,
  mode: string,
  { pairs, file }: GivenInputs,
): Promise<Record<string, unknown>> {
  const { workflow: latest } = await session.call('workflows.show', { workflow });
  const version = mode === 'dry-run' ? latest.version : (latest.published_version ?? latest.version);
  const { definition } =
    version === latest.version
      ? latest
      : (await session.call('workflows.show', { workflow, at_version: version })).workflow;
  const declared = definition['inputs'] as Readonly<Record<string, InputDeclaration>>;
  const fromFile = file === undefined ? {} : await readDataFile(file, '--inputs-file');
  const fromPairs = Object.entries(pairsOf('input', pairs)).map(([name, text]) => {
    const type = Object.hasOwn(declared, name) ? declared[name]?.type : undefined;
    return [name, type === undefined || type === 'string' ? text : parseValue(name, type, text)];
  });
  return { ...fromFile, ...Object.fromEntries(fromPairs) };
}

function parseValue(name: string, type: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidRequest(`--input: ${name} must be of type ${type}, as JSON`, 'input');
  }
}
