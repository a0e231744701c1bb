import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../src/cli/flags.ts';
import { printLine } from '../src/cli/output.ts';
import { invalidRequest } from '../src/platform/errors.ts';

export default class Embed extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Embed up to 100 texts and show the vectors.\nWith --json the output is the response of POST /v1/embeddings.';
  static override examples = [
    "<%= config.bin %> embed 'a sunny day' 'ein sonniger Tag'",
    '<%= config.bin %> embed --input-file texts.txt --dimensions 256 --json',
    'head -20 texts.txt | <%= config.bin %> embed - --json',
  ];
  static override args = {
    text: Args.string({
      description: 'text to embed; several may be given; - reads one text from each line of stdin',
      multiple: true,
      ignoreStdin: true,
    }),
  };
  static override flags = withVariables({
    org: orgFlag,
    model: Flags.string({ description: 'id of the model (default: the one that "routing get" shows)' }),
    dimensions: Flags.integer({ description: 'number of dimensions of a vector (default: that of the model)' }),
    'task-type': Flags.string({
      description: 'purpose of the vectors, such as retrieval_query, retrieval_document or clustering',
    }),
    'output-dtype': Flags.string({
      description: 'number format of the vectors: float, int8, uint8, binary or ubinary',
      options: ['float', 'int8', 'uint8', 'binary', 'ubinary'],
    }),
    'input-file': Flags.string({ description: 'file with one text on each line; - reads stdin' }),
  });

  async run(): Promise<void> {
    const { args, flags } = await this.parse(Embed);
    const isStdin = args.text?.length === 1 && args.text[0] === '-';
    const file = isStdin ? '-' : flags['input-file'];
    if (args.text !== undefined && flags['input-file'] !== undefined) {
      throw invalidRequest('give texts or --input-file, not both', 'input-file');
    }
    if (args.text === undefined && file === undefined)
      throw invalidRequest('give a text, - for stdin, or --input-file', 'text');
    if (!isStdin && args.text?.includes('-')) {
      throw invalidRequest('TEXT: - reads stdin and cannot be given with other texts', 'text');
    }
    const { readLines } = await import('../src/cli/read-lines.ts');
    const input = file === undefined ? (args.text as string[]) : await readLines(file);
    const request = {
      input,
      model: flags.model,
      dimensions: flags.dimensions,
      task_type: flags['task-type'],
      output_dtype: flags['output-dtype'],
    };
    const reply = await this.call(flags, 'embedding.embed', request, { input: 'TEXT' });
    for (const warning of reply.warnings) this.logToStderr(`warning: ${warning}`);
    if (this.jsonEnabled()) {
      printLine(reply.json);
      return;
    }
    const { data }: { data: { embedding: number[] }[] } = JSON.parse(reply.json);
    await this.showTable(
      'texts',
      data.map(({ embedding }, index) => ({ text: input[index], vector: describeVector(embedding) })),
      [
        ['text', (row) => row.text, 'may be cut'],
        ['vector', (row) => row.vector],
      ],
    );
    this.logToStderr(`${reply.model}, ${reply.dimensions} dimensions, ${reply.tokens} tokens`);
  }
}

/** Show the first non-zero numbers, because most numbers of the built-in model are zero. */
function describeVector(vector: readonly number[]): string {
  const numbers = vector.filter((value) => value !== 0);
  const first = numbers.slice(0, 4).map((value) => (Number.isInteger(value) ? String(value) : value.toFixed(4)));
  return `${first.join(' ')}${numbers.length > first.length ? ' …' : ''} (${numbers.length} of ${vector.length} not zero)`;
}
