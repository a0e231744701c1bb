import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { keyArg, orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class KeysRotate extends BaseCommand {
  static override description =
    'Replace an API key with a new one that has the same rights.\nThe old key is refused at once, or after the time that --grace gives.';
  static override examples = [
    '<%= config.bin %> keys rotate shop --grace 1d',
    '<%= config.bin %> keys rotate 8h2kq0za --yes --json',
  ];
  static override args = { key: keyArg };
  static override flags = withVariables({
    org: orgFlag,
    grace: Flags.string({ description: 'time in which both keys work, such as 1h or 7d (default: none)' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysRotate);
    return this.withSession(flags, async (session, signal) => {
      const { grace } = flags;
      const { id, name } = await session.call('keys.find', { key: args.key });
      const when = grace === undefined ? 'at once' : `after ${grace}`;
      await confirm(`Requests with the key ${id} (${name}) will be refused ${when}. Replace it?`, flags.yes, signal);
      const key = await session.call('keys.rotate', { id, grace });
      this.log(key.key);
      this.logToStderr(`created key ${key.id} in place of ${id}. Keep it; it is not shown again.`);
      return key;
    });
  }
}
