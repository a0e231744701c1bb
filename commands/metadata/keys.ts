import { BaseCommand } from '../../src/cli/base-command.ts';

export default class MetadataKeys extends BaseCommand {
  static override description =
    'List the keys that metadata cannot use, the fields that conditions can use, and the limits of metadata.';
  static override examples = ['<%= config.bin %> metadata keys', '<%= config.bin %> metadata keys --json'];

  async run(): Promise<unknown> {
    await this.parse(MetadataKeys);
    const { describeReservedKeys } = await import('../../src/metadata/schema.ts');
    const { keyColumns, keyRows } = await import('../../src/cli/metadata-tables.ts');
    const keys = describeReservedKeys();
    await this.showTable('keys', keyRows(keys), keyColumns);
    this.log('');
    await this.showFields({
      'fields of conditions': keys.statement_fields,
      'keys of search filters': keys.knowledge_search.system_filterable,
      ...keys.limits,
    });
    return keys;
  }
}
