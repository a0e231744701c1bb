import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

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
    const { CreateBucket } = await import('../../src/documents/schema.ts');
    const request = parseRequest(CreateBucket, { name: args.name }, { name: 'NAME' });
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { createBucket } = await import('../../src/documents/buckets.ts');
      const bucket = await createBucket(sql, operator, request);
      this.log(`created bucket ${bucket.name} (${bucket.id})`);
      return bucket;
    });
  }
}
