import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listFlag, orgFlag, pairsOf, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class ChannelsSend extends BaseCommand {
  static override description =
    'Send a notification from an approved template, or check it with --dry-run.\n' +
    'With a channel of sens, solapi or nhn, --dry-run asks the vendor for the template, replaces its variables and ' +
    'sends nothing. It also shows that the credentials work.';
  static override examples = [
    '<%= config.bin %> channels send shop --template ORDER --phone 01012345678 --arg name=민수 --arg number=7 --dry-run',
    '<%= config.bin %> channels send shop --template ORDER --phone +821012345678 --arg name=민수 --arg number=7 --resend',
  ];
  static override args = { channel: requiredArg('id of the configuration, its bot_id, or its name') };
  static override flags = withVariables({
    org: orgFlag,
    template: Flags.string({ description: 'code of the template', required: true }),
    phone: Flags.string({ description: 'telephone number', required: true }),
    arg: listFlag('variable of the template as name=value; may be given several times'),
    resend: Flags.boolean({
      description: 'send a text message if KakaoTalk does not deliver (default: as the configuration says)',
      allowNo: true,
    }),
    'resend-text': Flags.string({ description: 'content of the text message' }),
    'resend-title': Flags.string({ description: 'title of the text message' }),
    'dry-run': Flags.boolean({ description: 'check and render the notification, and send nothing' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ChannelsSend);
    const request = {
      channel: args.channel,
      phone: flags.phone,
      template_code: flags.template,
      template_args: pairsOf('arg', flags.arg),
      resend: flags.resend,
      resend_text: flags['resend-text'],
      resend_title: flags['resend-title'],
      dry_run: flags['dry-run'],
    };
    const names = { channel: 'CHANNEL', template_code: '--template', template_args: '--arg' };
    const reply = await this.call(flags, 'channels.send', request, names);
    if (reply.status === 'sent') this.log(`sent as ${reply.result.message_id}`);
    else {
      const { printable } = await import('../../src/platform/printable.ts');
      const { phone, text, resend } = reply.result;
      this.log(`nothing was sent. The notification to ${phone} is valid.`);
      if (text !== null) this.log(text.split('\n').map(printable).join('\n'));
      if (resend !== null)
        this.log(`as a text message (${resend.type}) from ${resend.from}: ${printable(resend.text)}`);
    }
    return reply;
  }
}
