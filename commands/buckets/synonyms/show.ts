import { BaseCommand } from '../../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../../src/cli/flags.ts';

export default class BucketsSynonymsShow extends BaseCommand {
  static override description =
    'Show the synonyms of a bucket, one group per line, in the format of `buckets synonyms set`.';
  static override examples = [
    '<%= config.bin %> buckets synonyms show manuals',
    '<%= config.bin %> buckets synonyms show manuals > synonyms.txt',
  ];
  static override args = { bucket: requiredArg('name or id of the bucket') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsSynonymsShow);
    const synonyms = await this.call(flags, 'buckets.synonyms', { bucket: args.bucket });
    const { printable } = await import('../../../src/platform/printable.ts');
    if (synonyms.groups.length === 0) this.logToStderr('the bucket has no synonyms');
    for (const group of synonyms.groups) this.log(printable(group.join(', ')));
    return synonyms;
  }
}
