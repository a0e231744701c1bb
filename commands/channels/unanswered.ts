import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';

const QUESTIONS_MAX = 1000;

export default class ChannelsUnanswered extends BaseCommand {
  static override description =
    'Count the questions to channels that the bucket did not answer. With --texts, list them, newest first.\n' +
    'If channels.keep_questions is true in service.yaml, the texts are kept for 30 days, without the names of the ' +
    'people who asked.';
  static override examples = [
    '<%= config.bin %> channels unanswered',
    '<%= config.bin %> channels unanswered --texts --channel chn_01h8 --limit 200 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    texts: Flags.boolean({ description: 'list the questions' }),
    channel: Flags.string({ description: 'list only questions to this configuration', dependsOn: ['texts'] }),
    limit: limitFlag('questions', { max: QUESTIONS_MAX }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ChannelsUnanswered);
    if (!flags.texts) {
      const counts = await this.call(flags, 'channels.unanswered', {});
      await this.showTable('unanswered questions', counts, [
        ['channel', (row) => row.channel_config_id],
        ['last 30 days', (row) => row.last_30_days],
        ['total', (row) => row.total],
        ['last day', (row) => row.last_day],
      ]);
      return counts;
    }
    const page = await this.call(flags, 'channels.questions', { channel: flags.channel, limit: flags.limit });
    await this.showTable('unanswered questions', page.data, [
      ['asked', (row) => row.asked_at],
      ['channel', (row) => row.channel_config_id],
      ['question', (row) => row.question, 'may be cut'],
    ]);
    return page;
  }
}
