import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class BulkResult extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Print the vectors of a finished bulk embedding job as JSON, page by page, or write all of them to a file with --out.';
  static override examples = [
    '<%= config.bin %> bulk result job_01h8 --out vectors.npy',
    '<%= config.bin %> bulk result job_01h8 --offset 1000 --limit 1000 --json',
  ];
  static override args = { id: Args.string({ description: 'id of the job', required: true, ignoreStdin: true }) };
  static override flags = {
    org: orgFlag,
    offset: Flags.integer({ description: 'number of vectors to skip', default: 0, env: 'SERVICE_OFFSET' }),
    limit: Flags.integer({ description: 'number of vectors at most, up to 1,000', default: 100, env: 'SERVICE_LIMIT' }),
    out: Flags.string({ description: 'file for all vectors; its name ends in .npy or .jsonl', env: 'SERVICE_OUT' }),
  };

  async run(): Promise<void> {
    const { args, flags } = await this.parse(BulkResult);
    const { out } = flags;
    const { formatOf, writeVectors } = await import('../../src/cli/write-vectors.ts');
    if (out !== undefined) formatOf(out);
    const { ResultQuery } = await import('../../src/bulk/schema.ts');
    const query = parseRequest(ResultQuery, { offset: flags.offset, limit: flags.limit });
    await this.withOperator(flags, async ({ bulk }, operator, signal) => {
      const { findReadyJob, renderResultPage } = await import('../../src/bulk/result-page.ts');
      if (out === undefined) {
        process.stdout.write(await renderResultPage(bulk, operator, args.id, query));
        process.stdout.write('\n');
        return;
      }
      const job = await findReadyJob(bulk, operator, args.id);
      await writeVectors(bulk, job, out, signal);
      note(`${job.inputCount} vectors of ${job.vectorDimensions} dimensions are in ${out}`);
      if (this.jsonEnabled()) {
        const { printJson } = await import('../../src/cli/output.ts');
        printJson({ id: job.id, status: job.status });
      }
    });
  }
}
