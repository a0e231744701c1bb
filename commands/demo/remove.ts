import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class DemoRemove extends BaseCommand {
  static override description =
    'Delete the bucket "demo" with the documents of "service demo". If the bucket contains your own documents, nothing is deleted.';
  static override examples = ['<%= config.bin %> demo remove', '<%= config.bin %> demo remove --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(DemoRemove);
    const removed = await this.call(flags, 'demo.remove', {});
    this.log(`deleted the bucket "demo" (${removed.id})`);
    return removed;
  }
}
