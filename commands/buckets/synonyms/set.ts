import { BaseCommand } from '../../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../../src/cli/flags.ts';

export default class BucketsSynonymsSet extends BaseCommand {
  static override description =
    'Replace the synonyms of a bucket: words and phrases that mean the same to its keyword searches.\n' +
    'Each line of the file is one group, its words separated by commas: k8s, kubernetes, 쿠버네티스. Empty lines and ' +
    'lines that begin with # are ignored. The next search uses the new synonyms; documents are not indexed again.';
  static override examples = [
    '<%= config.bin %> buckets synonyms set manuals synonyms.txt',
    "echo 'k8s, kubernetes, 쿠버네티스' | <%= config.bin %> buckets synonyms set manuals -",
  ];
  static override args = {
    bucket: requiredArg('name or id of the bucket'),
    file: requiredArg('file of synonyms, or - for stdin'),
  };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsSynonymsSet);
    const { readSynonyms } = await import('../../../src/cli/read-synonyms.ts');
    const groups = await readSynonyms(args.file);
    const synonyms = await this.call(flags, 'buckets.setSynonyms', { bucket: args.bucket, groups }, { groups: 'FILE' });
    await this.showFields({ bucket_id: synonyms.bucket_id, groups: synonyms.groups.length });
    return synonyms;
  }
}
