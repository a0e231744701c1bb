import type { S3Settings } from '../../platform/storage-settings.ts';

const CONNECT_SECONDS = 5;
const REQUEST_SECONDS = 30;
const RETRIES_MAX = 4;
const RETRY_SECONDS = 30;

/**
 * Build the URI of the index and LanceDB's storage options for S3. The options include everything that LanceDB would
 * otherwise read from environment variables. Credentials are absent if the settings leave them to the machine's role.
 * For the option names, see https://docs.lancedb.com/storage/configuration.
 */
export function indexOnS3(settings: S3Settings): [uri: string, storageOptions: Record<string, string>] {
  const { bucket, prefix, endpoint, region, pathStyle, credentials } = settings;
  const options: Record<string, string> = {
    aws_endpoint: pathStyle ? endpoint : endpoint.replace('://', `://${bucket}.`),
    aws_virtual_hosted_style_request: String(!pathStyle),
    aws_region: region,
    allow_http: String(endpoint.startsWith('http://')),
    connect_timeout: `${CONNECT_SECONDS}s`,
    timeout: `${REQUEST_SECONDS}s`,
    client_max_retries: String(RETRIES_MAX),
    client_retry_timeout: String(RETRY_SECONDS),
  };
  if (credentials !== null) {
    options['aws_access_key_id'] = credentials.accessKeyId.reveal();
    options['aws_secret_access_key'] = credentials.secretAccessKey.reveal();
    if (credentials.sessionToken !== null) options['aws_session_token'] = credentials.sessionToken.reveal();
  }
  return [`s3://${bucket}/${prefix}index`, options];
}
