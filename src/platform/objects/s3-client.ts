import { S3Client } from '@aws-sdk/client-s3';
import type { Logger } from '../logger.ts';
import type { S3Settings } from '../storage-settings.ts';

const CONNECTIONS_MAX = 64;
const CONNECT_MS = 5_000;
/** Time without any byte in either direction after which a request fails. */
const IDLE_MS = 30_000;
const ATTEMPTS_MAX = 4;

/**
 * Open a client of the S3 API. All settings that the SDK would read from the environment or from files are explicit,
 * except for the credentials if the settings leave them to the role of the machine.
 *
 * Every request body is in memory, so that the SDK sends its CRC-32 in a header: many stores refuse the trailer of a
 * streamed body. The SDK verifies responses that have a checksum.
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
    // The SDK logs requests as objects, which contain inputs and headers. Log only its strings.
    logger: { trace: () => {}, debug: () => {}, info: () => {}, warn: log('warn'), error: log('warn') },
  });
}
