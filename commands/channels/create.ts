import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { asTyped, note } from '../../src/cli/output.ts';

export default class ChannelsCreate extends BaseCommand {
  static override description =
    'Store the configuration of a messaging channel; its credentials are encrypted.\n' +
    'A messenger channel needs rest_api_key, channel_id, collection (the bucket that is searched), bot_id and ' +
    'secret; admin_key, bucket_collection, public_only and score_min are optional. A kakao channel needs collection. ' +
    'A telegram channel needs collection and secret (the secret_token of setWebhook). A teams channel needs ' +
    'collection and secret (the security token of its outgoing webhook). A slack channel needs collection, secret ' +
    '(the signing secret) and bot_token. A line channel needs collection, secret (the channel secret) and ' +
    'access_token. A slack or line channel without collection is only stored. Channels for Alimtalk only send ' +
    'notifications: sens needs access_key, secret_key, service_id and channel_id; solapi needs api_key, api_secret ' +
    'and channel_id (the pfId); nhn needs app_key, secret_key and sender_key. For these, resend and sms_from are ' +
    'optional. Other users of the machine can see credentials on the command line; put them in a file and use ' +
    '--config-file.';
  static override examples = [
    '<%= config.bin %> channels create support --config-file support.json',
    '<%= config.bin %> channels create chat --provider kakao --set collection=manuals',
    '<%= config.bin %> channels create team --provider slack --config-file slack.json',
  ];
  static override args = { name: requiredArg('display name of the channel') };
  static override flags = withVariables({
    org: orgFlag,
    provider: Flags.string({
      description:
        'messenger, kakao, telegram, teams, slack, line, sens, solapi or nhn; channels of other providers are just stored',
      default: 'messenger',
    }),
    'config-file': Flags.string({ description: 'JSON file with the configuration; - reads stdin' }),
    set: listFlag('field of the configuration as key=value; may be given several times'),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ChannelsCreate);
    const { readChannelConfig } = await import('../../src/cli/channel-config.ts');
    const config = await readChannelConfig(flags['config-file'], flags.set);
    const request = { name: args.name, provider: flags.provider, config };
    const { channel, warnings } = await this.call(flags, 'channels.create', request, { name: 'NAME' });
    this.log(`created channel ${channel.name} (${channel.id})`);
    if (channel.webhook_path !== undefined) {
      const { setUpLines } = await import('../../src/cli/channel-set-up.ts');
      const { baseUrl } = await this.loadSettings(flags);
      for (const line of setUpLines(channel, baseUrl)) this.log(asTyped(line));
    }
    const { SENDERS } = await import('../../src/channels/senders/senders.ts');
    if (SENDERS.has(channel.provider))
      this.log(
        asTyped(`check a template: service channels send ${channel.id} --template CODE --phone NUMBER --dry-run`),
      );
    for (const warning of warnings) note(`warning: ${warning}`);
    return channel;
  }
}
