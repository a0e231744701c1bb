import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class ChannelsTest extends BaseCommand {
  static override description =
    'Send a test message to the running server in the format of the messenger, and print the reply.\n' +
    'The message counts towards the rate limit and the usage of the channel. With --json the output is the response ' +
    'that the messenger gets. For slack and line, the command also asks the platform if the token is valid.';
  static override examples = [
    "<%= config.bin %> channels test support 'how long is the warranty?'",
    "<%= config.bin %> channels test chn_01h8 '영업시간이 어떻게 되나요?' --url https://bots.example.com --json",
  ];
  static override args = {
    channel: requiredArg('id of the configuration, its bot_id, or its name'),
    utterance: requiredArg('text that a person would write'),
  };
  static override flags = withVariables({
    org: orgFlag,
    url: Flags.string({ description: 'address of the server (default: the server of the data directory)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ChannelsTest);
    const { z } = await import('zod');
    const { url } = parseRequest(z.object({ url: z.url({ protocol: /^https?$/ }).optional() }), { url: flags.url });
    const { postDelivery } = await import('../../src/cli/test-channel.ts');
    const { findOwnServer, noServer } = await import('../../src/cli/own-server.ts');
    const { dataDir } = await this.loadSettings(flags);
    return this.withSession(flags, async (session, signal) => {
      const own = url ?? (await findOwnServer(dataDir));
      if (own === null) throw noServer(dataDir);
      const delivery = await session.call('channels.sign', { channel: args.channel, utterance: args.utterance });
      const { reply, text, tookMs } = await postDelivery(delivery, { url: own, signal });
      const { printable } = await import('../../src/platform/printable.ts');
      this.log(text.split('\n').map(printable).join('\n'));
      this.logToStderr(`answered in ${Math.round(tookMs)} ms`);
      const { explainCredential } = await import('../../src/cli/test-channel.ts');
      const known = explainCredential(await session.call('channels.check', { channel: args.channel }));
      if (known !== null) this.logToStderr(known);
      return reply;
    });
  }
}
