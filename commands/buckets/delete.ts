import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class BucketsDelete extends BaseCommand {
  static override description =
    'Delete a bucket with everything in it: documents, files, vectors and jobs. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> buckets delete manuals',
    '<%= config.bin %> buckets delete manuals --yes --json',
  ];
  static override args = { bucket: requiredArg('name or id of the bucket') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsDelete);
    return this.withSession(flags, async (session, signal) => {
      const { name } = await session.call('buckets.find', { bucket: args.bucket });
      await confirm(
        `This deletes the bucket ${name} with everything in it and cannot be undone. Delete it?`,
        flags.yes,
        signal,
      );
      const deleted = await session.call('buckets.remove', { bucket: args.bucket, name });
      this.log(`deleted bucket ${name} (${deleted.id})`);
      return deleted;
    });
  }
}
