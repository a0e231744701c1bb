import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class AssistantsDelete extends BaseCommand {
  static override description = 'Delete an assistant. Its buckets and their documents stay.';
  static override examples = [
    '<%= config.bin %> assistants delete support',
    '<%= config.bin %> assistants delete support --yes --json',
  ];
  static override args = { assistant: requiredArg('name or id of the assistant') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AssistantsDelete);
    return this.withSession(flags, async (session, signal) => {
      await confirm(`This deletes the assistant ${args.assistant}. Delete it?`, flags.yes, signal);
      const deleted = await session.call('answers.deleteAssistant', { assistant: args.assistant });
      this.log(`deleted the assistant ${args.assistant}`);
      return deleted;
    });
  }
}
