import { Flags } from '@oclif/core';
import { BaseCommand } from '../src/cli/base-command.ts';
import { consoleUrl, describeConsole, makeConsoleLink } from '../src/cli/console-link.ts';
import { firstRequest } from '../src/cli/first-request.ts';
import { withVariables } from '../src/cli/flags.ts';
import { hasScreen, note, printJson } from '../src/cli/output.ts';

export default class Serve extends BaseCommand {
  static override setsUp = true;
  static override needsProviders = true;
  static override description =
    'Run the API server, with workers and housekeeping in the same process, until stopped by Ctrl-C or SIGTERM.';
  static override examples = [
    '<%= config.bin %> serve --port 8080',
    '<%= config.bin %> serve --host 0.0.0.0 --port 0 --no-workers --json',
    '<%= config.bin %> serve --domain embed.example.com --agree-to-terms',
  ];
  static override flags = withVariables({
    port: Flags.integer({ description: 'port to listen on; 0 picks a free one (default: 8080, or 443 with TLS)' }),
    host: Flags.string({ description: 'address to listen on (default: 127.0.0.1, or all addresses with a domain)' }),
    domain: Flags.string({
      description: 'name of this host; the server gets a TLS certificate for it by ACME and renews it',
    }),
    'agree-to-terms': Flags.boolean({
      description: "agree to the terms of the authority that issues the certificate (default: Let's Encrypt)",
    }),
    'no-workers': Flags.boolean({
      description: 'run only the API, and leave jobs and housekeeping to other processes',
    }),
  });

  async run(): Promise<void> {
    const { flags } = await this.parse(Serve);
    const tlsFlags = {
      ...(flags.domain === undefined ? {} : { domain: flags.domain }),
      ...(flags['agree-to-terms'] ? { agree_to_terms: true } : {}),
    };
    const settings = { port: flags.port, host: flags.host, tls: tlsFlags };
    const { dataDir, host, port, tls } = await this.loadSettings(flags, settings);
    const servers = await import('../src/appliance/running-servers.ts');
    await servers.refuseForeignDataDir(dataDir);
    for (const { url, process: other } of await servers.findOtherServers(dataDir)) {
      note(
        `another server runs on the data directory ${dataDir}: ${url} (process ${other.pid}); unless you want two servers, stop one of them`,
      );
    }
    const { inheritedSocket } = await import('../src/platform/config.ts');
    const socket = inheritedSocket();
    if (socket === null) {
      // Check this before creating anything in the data directory.
      const { checkAddress } = await import('../server/http-server.ts');
      await checkAddress({ host, port }).catch(async (error: unknown) => {
        throw await servers.explainPortInUse(error, { dataDir, host, port });
      });
      if (tls !== null && tls.httpPort !== null) await checkAddress({ host, port: tls.httpPort });
    }
    await this.withAppliance(
      flags,
      async (appliance) => {
        if (appliance.access.isNew) note(`created a new installation in ${dataDir}`);
        await appliance.search.prepare();
        const { apiService } = await import('../server/api-service.ts');
        const { metricsListener } = await import('../src/appliance/metrics-listener.ts');
        const { runServices, serviceGroup } = await import('../src/platform/lifecycle.ts');
        const { logger, jobs, ingest, memory } = appliance;
        const { adminKeyFile } = appliance.access;
        const api = apiService(appliance, { socket });
        const workers = [jobs.worker('ingest'), jobs.worker('embed'), api];
        const services = flags['no-workers']
          ? [api]
          : [appliance.reaper(), memory.watcher(), serviceGroup('workers and API', workers)];
        services.push(await ingest.autoCalibration());
        services.unshift(metricsListener(appliance));
        const { knowsWordsOnly, MEANING_HINT } = await import('../src/cli/meaning-hint.ts');
        const isWordsOnly = knowsWordsOnly(appliance);
        // A supervisor keeps the server's output in a log, where a sign-in link must not appear.
        const link = socket === null && !this.jsonEnabled() ? await makeConsoleLink(appliance) : null;
        await runServices(services, {
          logger,
          onReady: () => {
            if (isWordsOnly) note(MEANING_HINT);
            if (this.jsonEnabled()) {
              printJson({
                url: api.url,
                key_file: adminKeyFile,
                console_url: consoleUrl(appliance.config.baseUrl ?? api.url),
              });
              return;
            }
            const first = firstRequest(api.url, adminKeyFile);
            const console = describeConsole(consoleUrl(appliance.config.baseUrl ?? api.url), link);
            this.log(`listening on ${api.url}\nadmin key: ${adminKeyFile}\n${first}\n${console}`);
            if (hasScreen(process.stdout)) this.log('press Ctrl-C to stop it; its data stay');
          },
        });
      },
      { settings, isService: true },
    );
  }
}
