import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { forceFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { refuseExisting } from '../../src/cli/save-file.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class BulkSubmit extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Embed up to 10,000 texts of a file as a background job.\n' +
    'A .txt file has one text on each line; a .jsonl file has one JSON string or one {"text": …} on each line. ' +
    'With --wait the command waits until the job is ready, and does the work itself if no worker is running.';
  static override examples = [
    '<%= config.bin %> bulk submit texts.jsonl --wait --out vectors.npy',
    '<%= config.bin %> bulk submit texts.txt --model vendor-a/text-embedding-3-small --dimensions 256 --json',
  ];
  static override args = {
    file: requiredArg('file whose name ends in .txt or .jsonl; - reads lines of text from stdin'),
  };
  static override flags = withVariables({
    org: orgFlag,
    model: Flags.string({ description: 'id of the model (default: the one that "routing get" shows)' }),
    dimensions: Flags.integer({ description: 'number of dimensions of a vector (default: that of the model)' }),
    'task-type': Flags.string({ description: 'purpose of the vectors, such as retrieval_document or clustering' }),
    wait: Flags.boolean({ description: 'wait until the job is ready' }),
    out: Flags.string({ description: 'with --wait: file for the vectors; its name ends in .npy or .jsonl' }),
    force: forceFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BulkSubmit);
    const { out } = flags;
    const { formatOf, writeVectors } = await import('../../src/cli/write-vectors.ts');
    if (out !== undefined && !flags.wait) throw invalidRequest('--out needs --wait; add --wait', 'out');
    if (out !== undefined) formatOf(out);
    refuseExisting(out, flags.force);
    const { readTexts } = await import('../../src/cli/read-texts.ts');
    const { model, dimensions } = flags;
    const request = { texts: await readTexts(args.file), model, dimensions, task_type: flags['task-type'] };
    return this.withSession(flags, async (session, signal) => {
      const { reply, warnings, hasWorker } = await session.call('bulk.submit', request, { texts: 'FILE' });
      for (const warning of warnings) note(`warning: ${warning}`);
      note(`job ${reply.id}: ${reply.usage.count} texts, ${reply.usage.tokens} tokens, ${reply.model}`);
      if (!flags.wait) {
        if (!hasWorker) note('no worker is running; start "service serve" to process the job');
        await this.showFields({ id: reply.id, status: reply.status });
        return reply;
      }
      const { waitForBulk } = await import('../../src/cli/wait-for-bulk.ts');
      const { status } = await waitForBulk(session, reply.id, signal);
      if (out !== undefined) {
        const { output, body } = await session.receive('bulk.vectors', { id: reply.id });
        await writeVectors(output, body, out, signal);
        note(`vectors are in ${out}`);
      }
      await this.showFields({ id: reply.id, status });
      return { id: reply.id, status };
    });
  }
}
