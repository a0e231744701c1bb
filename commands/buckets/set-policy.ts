import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { accessOf, listOf, orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import { oneLine } from '../../src/platform/printable.ts';

export default class BucketsSetPolicy extends BaseCommand {
  static override description =
    'Change the policy of a bucket: the limits on who may see its documents.\n' +
    'A setting without a flag stays as it is. No change makes a document more visible.';
  static override examples = [
    '<%= config.bin %> buckets set-policy manuals --max-privacy-level 5 --allow-public',
    '<%= config.bin %> buckets set-policy manuals --department sales --department legal --yes --json',
  ];
  static override args = { bucket: requiredArg('name or id of the bucket') };
  static override flags = withVariables({
    org: orgFlag,
    'max-privacy-level': Flags.integer({
      description: 'highest privacy level that a document may have',
      min: 1,
      max: 10,
    }),
    'public-max-privacy-level': Flags.integer({
      description: 'highest privacy level that a public document may have',
      min: 1,
      max: 10,
    }),
    'allow-public': Flags.boolean({ description: 'allow public documents, or forbid them', allowNo: true }),
    department: Flags.string({
      description: 'department that documents may belong to; may be given several times',
      multiple: true,
      exclusive: ['any-department'],
    }),
    'any-department': Flags.boolean({ description: 'let documents belong to any department' }),
    'default-reader': Flags.string({
      description: 'user who may read documents without an access policy of their own; may be given several times',
      multiple: true,
      multipleNonGreedy: true,
      exclusive: ['any-reader'],
    }),
    'default-group': Flags.string({
      description:
        'group whose members may read documents without an access policy of their own; may be given several times',
      multiple: true,
      multipleNonGreedy: true,
      exclusive: ['any-reader'],
    }),
    'any-reader': Flags.boolean({
      description: 'do not limit documents without an access policy of their own to certain readers',
    }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(BucketsSetPolicy);
    const departments = flags.department === undefined ? undefined : listOf(flags.department);
    const policy = {
      max_privacy_level: flags['max-privacy-level'],
      public_max_privacy_level: flags['public-max-privacy-level'],
      allow_public: flags['allow-public'],
      departments: flags['any-department'] ? null : departments,
      default_access: flags['any-reader']
        ? null
        : accessOf({ reader: flags['default-reader'], group: flags['default-group'] }),
    };
    if (Object.values(policy).every((value) => value === undefined)) {
      throw invalidRequest('name at least one setting to change, such as --max-privacy-level 5');
    }
    return this.withSession(flags, async (session, signal) => {
      const { id, name } = await session.call('buckets.find', { bucket: args.bucket });
      const question = `This changes what uploads and edits in bucket ${oneLine(name)} may request. Change it?`;
      await confirm(question, flags.yes, signal);
      const edit = { bucket: id, policy };
      const { warnings, ...bucket } = await session.call('buckets.edit', edit, { policy: 'policy' });
      await this.showFields(bucket);
      for (const warning of warnings) this.logToStderr(`warning: ${warning}`);
      return { ...bucket, warnings };
    });
  }
}
