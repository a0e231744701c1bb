import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../src/cli/flags.ts';
import { oneLine } from '../src/platform/printable.ts';

const RATINGS_MAX = 1000;

export default class Ratings extends BaseCommand {
  static override description =
    'List the answers that people rated, the latest rating first.\n' +
    'People can rate an answer as long as the service keeps it (setting answers.keep_days).';
  static override examples = ['<%= config.bin %> ratings', '<%= config.bin %> ratings --rating down --json'];
  static override flags = withVariables({
    org: orgFlag,
    rating: Flags.string({ description: 'only these ratings: up or down' }),
    limit: limitFlag('answers', { max: RATINGS_MAX }),
  });

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
