import { BaseCommand } from '../../../src/cli/base-command.ts';
import { confirm } from '../../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../../src/cli/flags.ts';

export default class BucketsSynonymsClear extends BaseCommand {
  static override description = 'Remove all synonyms of a bucket. Searches stop using them immediately.';
  static override examples = [
    '<%= config.bin %> buckets synonyms clear manuals',
    '<%= config.bin %> buckets synonyms clear manuals --yes --json',
  ];
  static override args = { bucket: requiredArg('name or id of the bucket') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsSynonymsClear);
    const { bucket } = args;
    return this.withSession(flags, async (session, signal) => {
      const { groups } = await session.call('buckets.synonyms', { bucket });
      const count = groups.length === 1 ? '1 group' : `${groups.length} groups`;
      await confirm(`This removes all synonyms of the bucket ${bucket} (${count}). Remove them?`, flags.yes, signal);
      const synonyms = await session.call('buckets.setSynonyms', { bucket, groups: [] });
      this.logToStderr('the bucket has no synonyms any more');
      return synonyms;
    });
  }
}
