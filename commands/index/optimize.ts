import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class IndexOptimize extends BaseCommand {
  static override description =
    'Merge the small files of the search index of a bucket now, and bring its full-text index up to date.\n' +
    'Workers do this automatically whenever writing pauses.';
  static override examples = [
    '<%= config.bin %> index optimize --bucket manuals',
    '<%= config.bin %> index optimize --bucket manuals --json',
  ];
  static override flags = withVariables({ bucket: bucketFlag, org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(IndexOptimize);
    const { name, ...reply } = await this.call(flags, 'index.optimize', { bucket: flags.bucket });
    this.log(`optimized the index of ${name} in ${reply.duration_ms} ms`);
    return { ...reply, optimized: true };
  }
}
