import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { forceFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { note, printLine } from '../../src/cli/output.ts';
import { refuseExisting } from '../../src/cli/save-file.ts';

export default class BulkResult extends BaseCommand {
  static override description =
    'Print the vectors of a finished bulk embedding job as JSON, page by page, or write all of them to a file with --out.';
  static override examples = [
    '<%= config.bin %> bulk result job_01h8 --out vectors.npy',
    '<%= config.bin %> bulk result job_01h8 --offset 1000 --limit 1000 --json',
  ];
  static override args = { id: requiredArg('id of the job') };
  static override flags = withVariables({
    org: orgFlag,
    offset: Flags.integer({ description: 'number of vectors to skip', default: 0 }),
    limit: Flags.integer({ description: 'maximum number of vectors, up to 1,000', aliases: ['top-k'], default: 100 }),
    out: Flags.string({ description: 'file for all vectors; its name ends in .npy or .jsonl' }),
    force: forceFlag,
  });

  async run(): Promise<void> {
    const { args, flags } = await this.parse(BulkResult);
    const { out } = flags;
    const { formatOf, writeVectors } = await import('../../src/cli/write-vectors.ts');
    if (out !== undefined) formatOf(out);
    refuseExisting(out, flags.force);
    const { offset, limit } = flags;
    if (out === undefined) {
      const { json } = await this.call(flags, 'bulk.page', { id: args.id, offset, limit });
      printLine(json);
      return;
    }
    await this.withSession(flags, async (session, signal) => {
      const { output, body } = await session.receive('bulk.vectors', { id: args.id });
      await writeVectors(output, body, out, signal);
      note(`${output.count} vectors of ${output.dimensions} dimensions are in ${out}`);
      if (this.jsonEnabled()) {
        const { printJson } = await import('../../src/cli/output.ts');
        printJson({ id: output.id, status: output.status });
      }
    });
  }
}
