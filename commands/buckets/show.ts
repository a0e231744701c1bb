import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class BucketsShow extends BaseCommand {
  static override description = 'Show a bucket, its policy and the model that embeds it.';
  static override examples = [
    '<%= config.bin %> buckets show manuals',
    '<%= config.bin %> buckets show manuals --json',
  ];
  static override args = { bucket: requiredArg('name or id of the bucket') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsShow);
    const bucket = await this.call(flags, 'buckets.show', { bucket: args.bucket });
    await this.showFields(bucket);
    return bucket;
  }
}
