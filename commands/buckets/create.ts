import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class BucketsCreate extends BaseCommand {
  static override description = 'Create a bucket: a named set of documents that is searched as one.';
  static override examples = [
    '<%= config.bin %> buckets create manuals',
    '<%= config.bin %> buckets create manuals --org acme --json',
  ];
  static override args = {
    name: Args.string({
      description: 'name of the bucket: letters, digits and . _ -',
      required: true,
      ignoreStdin: true,
    }),
  };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsCreate);
    const bucket = await this.call(flags, 'buckets.create', { name: args.name }, { name: 'NAME' });
    this.log(`created bucket ${bucket.name} (${bucket.id})`);
    return bucket;
  }
}
