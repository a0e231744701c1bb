import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { orgFlag } from '../src/cli/flags.ts';
import { oneLine } from '../src/platform/printable.ts';

export default class Ratings extends BaseCommand {
  static override setsUp = false;
  static override description =
    'List the answers that people rated, the latest rating first.\n' +
    'Answers can be rated while they are kept (setting answers.keep_days).';
  static override examples = ['<%= config.bin %> ratings', '<%= config.bin %> ratings --rating down --json'];
  static override flags = {
    org: orgFlag,
    rating: Flags.string({ description: 'only these ratings: up or down', env: 'SERVICE_RATING' }),
    limit: Flags.integer({ description: 'maximum number of answers, up to 1,000', default: 50, env: 'SERVICE_LIMIT' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Ratings);
    const list = await this.call(flags, 'answers.ratings', { rating: flags.rating, limit: flags.limit });
    await this.showTable('ratings', list, [
      ['rated', ({ rated_at: at }) => at],
      ['rating', ({ rating }) => rating],
      ['reason', ({ reason }) => reason && oneLine(reason), 'may be cut'],
      ['question', ({ query }) => oneLine(query), 'may be cut'],
      ['answer', ({ answer }) => oneLine(answer), 'may be cut'],
    ]);
    return list;
  }
}
