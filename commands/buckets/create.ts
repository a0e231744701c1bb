import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { ENGINES } from '../../src/documents/engines.ts';

export default class BucketsCreate extends BaseCommand {
  static override setsUp = true;
  static override description = 'Create a bucket: a named set of documents that you search together.';
  static override examples = [
    '<%= config.bin %> buckets create manuals',
    '<%= config.bin %> buckets create manuals --org acme --json',
    '<%= config.bin %> buckets create archive --engine milvus',
  ];
  static override args = { name: requiredArg('name of the bucket: letters, digits and . _ -') };
  static override flags = withVariables({
    org: orgFlag,
    engine: Flags.option({
      options: ENGINES,
      description: 'engine of the search index; milvus needs the setting index.milvus',
      default: 'lance',
    })(),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsCreate);
    const bucket = await this.call(
      flags,
      'buckets.create',
      { name: args.name, engine: flags.engine },
      { name: 'NAME' },
    );
    this.log(`created bucket ${bucket.name} (${bucket.id})`);
    return bucket;
  }
}
