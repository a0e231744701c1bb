import { invalidRequest } from '../platform/errors.ts';
import { readDataFile } from './read-data-file.ts';

/**
 * Read a workflow from a file that contains `name` and `definition`, or only a definition.
 *
 * @param name name that overrides the one in the file
 * @throws AppError `invalid_request` (400), and errors of `readDataFile`
 */
export async function readWorkflowFile(
  file: string,
  name: string | undefined,
): Promise<{ name: unknown; definition: unknown }> {
  const content = await readDataFile(file, 'FILE');
  const isDefinition = 'blocks' in content && !('definition' in content);
  const definition = isDefinition ? content : content['definition'];
  const wanted = name ?? (isDefinition ? undefined : content['name']);
  if (definition === undefined) throw invalidRequest('FILE: must contain a definition with "blocks"', 'file');
  if (wanted === undefined) throw invalidRequest('the file does not name the workflow; name it with --name', 'name');
  return { name: wanted, definition };
}
