import { Args } from '@oclif/core';
import { BaseCommand } from '../../../src/cli/base-command.ts';
import { orgFlag } from '../../../src/cli/flags.ts';

export default class BucketsSynonymsClear extends BaseCommand {
  static override setsUp = false;
  static override description = 'Remove all synonyms of a bucket. The next search does without them.';
  static override examples = [
    '<%= config.bin %> buckets synonyms clear manuals',
    '<%= config.bin %> buckets synonyms clear manuals --json',
  ];
  static override args = {
    bucket: Args.string({ description: 'name or id of the bucket', required: true, ignoreStdin: true }),
  };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsSynonymsClear);
    const synonyms = await this.call(flags, 'buckets.setSynonyms', { bucket: args.bucket, groups: [] });
    this.logToStderr('the bucket has no synonyms any more');
    return synonyms;
  }
}
