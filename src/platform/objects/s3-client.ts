import { S3Client } from '@aws-sdk/client-s3';
import type { Logger } from '../logger.ts';
import type { S3Settings } from '../storage-settings.ts';

const CONNECTIONS_MAX = 64;
const CONNECT_MS = 5_000;
/** Without a byte in either direction. */
const IDLE_MS = 30_000;
const ATTEMPTS_MAX = 4;

/**
 * A client of the S3 API. All that the SDK would look up in the environment or in files is said here, except the
 * credentials where the settings leave them to the role of the machine.
 *
 * Checksums: every request body is bytes in memory, so that the SDK sends their CRC-32 in a header (many stores refuse
 * the trailer of a streamed body), and checks what comes back with a checksum.
 */
export function openS3Client(
  settings: S3Settings,
  logger: Logger,
  options: { idleMs?: number; attemptsMax?: number } = {},
): S3Client {
  const { credentials } = settings;
  const agent = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  const log = (level: 'debug' | 'warn') => (message?: unknown) => {
    if (typeof message === 'string') logger[level]({ part: 's3' }, message);
  };
  return new S3Client({
    region: settings.region,
    endpoint: settings.endpoint,
    forcePathStyle: settings.pathStyle,
    ...(credentials === null
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId.reveal(),
            secretAccessKey: credentials.secretAccessKey.reveal(),
            ...(credentials.sessionToken === null ? {} : { sessionToken: credentials.sessionToken.reveal() }),
          },
        }),
    requestChecksumCalculation: 'WHEN_SUPPORTED',
    responseChecksumValidation: 'WHEN_SUPPORTED',
    maxAttempts: options.attemptsMax ?? ATTEMPTS_MAX,
    retryMode: 'standard',
    defaultsMode: 'standard',
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    useArnRegion: false,
    disableMultiregionAccessPoints: true,
    followRegionRedirects: false,
    userAgentAppId: 'service',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: options.idleMs ?? IDLE_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
    // Objects are what the SDK logs of requests: left out, since they hold inputs and headers.
    logger: { trace: () => {}, debug: () => {}, info: () => {}, warn: log('warn'), error: log('warn') },
  });
}
