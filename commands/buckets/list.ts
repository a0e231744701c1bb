import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class BucketsList extends BaseCommand {
  static override description = 'List the buckets of an organization.';
  static override examples = ['<%= config.bin %> buckets list', '<%= config.bin %> buckets list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(BucketsList);
    const page = await this.call(flags, 'buckets.list', {});
    await this.showTable('buckets', page.data, [
      ['id', (bucket) => bucket.id],
      ['name', (bucket) => bucket.name],
      ['documents', (bucket) => bucket.document_count],
      ['created', (bucket) => bucket.created_at],
    ]);
    return page;
  }
}
