import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class AssistantsList extends BaseCommand {
  static override description = 'List the assistants of an organization: named ways to answer questions.';
  static override examples = ['<%= config.bin %> assistants list', '<%= config.bin %> assistants list --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(AssistantsList);
    const list = await this.call(flags, 'answers.listAssistants', {});
    await this.showTable(
      'assistants',
      list,
      [
        ['id', ({ id }) => id],
        ['name', ({ name }) => name],
        ['buckets', ({ buckets }) => buckets.join(', '), 'may be cut'],
        ['language', ({ language }) => language ?? null],
        ['instructions', ({ prompt }) => prompt ?? null, 'may be cut'],
      ],
      `make one: ${this.config.bin} assistants create NAME --bucket BUCKET`,
    );
    return list;
  }
}
