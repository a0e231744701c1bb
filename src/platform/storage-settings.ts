import { z } from 'zod';
import { Secret } from './secret.ts';

/** Credential. It goes into headers, so it must be printable ASCII. */
const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));

/** Settings that locate an S3 bucket. */
export const s3Place = {
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'is not the name of a bucket')
    .describe('name of the bucket'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'must have no query, no fragment and no credentials')
    .optional()
    .describe('address of the store (default: AWS in the region)'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,63}$/, 'is not the name of a region')
    .default('us-east-1')
    .describe('region of the bucket'),
  path_style: z
    .boolean()
    .optional()
    .describe('true: use addresses of the form endpoint/bucket/key (default: true with an endpoint)'),
};

/** Storage settings for files and the search index: this host's disk, or a bucket shared by all hosts. */
export const storageSettings = {
  objects: z
    .strictObject({
      ...s3Place,
      bucket: s3Place.bucket.optional(),
      /** Prefix of all keys of this installation, so that installations can share a bucket. */
      prefix: z
        .string()
        .regex(/^([a-z0-9][a-z0-9_-]{0,63}\/)+$/, 'must be lower-case segments, each ending in "/"')
        .optional()
        .describe('prefix of all keys of this installation; ends in "/"'),
      credentials: z.enum(['keys', 'aws']).default('keys').describe('keys: those below; aws: the role of the machine'),
      access_key_id: secret.optional().describe('access key'),
      secret_access_key: secret.optional().describe('secret of the access key'),
      session_token: secret.optional().describe('token of temporary credentials'),
    })
    .prefault({})
    .describe('storage of files and index in a bucket on S3 instead of the data directory'),
  index: z
    .strictObject({
      storage: z
        .enum(['disk', 's3'])
        .optional()
        .describe('disk or s3 (default: s3 if objects.bucket is set, otherwise disk)'),
      milvus: z
        .strictObject({
          url: z
            .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
            .refine((url) => /^https?:\/\/[^/?#@]+\/?$/.test(url), 'must have no path, no query and no credentials')
            .describe('address of the server, such as https://milvus.example:19530; https stands for TLS'),
          token: secret.optional().describe('API key, or USER:PASSWORD'),
          database: z
            .string()
            .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'is not the name of a database')
            .default('default')
            .describe('database of the collections; installations may share it'),
          ca_file: z.string().min(1).optional().describe('file with the certificates of authorities (PEM) for https'),
        })
        .optional()
        .describe('Milvus, for buckets that are created with the engine milvus'),
    })
    .prefault({})
    .describe('the search index'),
};

type StorageFile = z.output<z.ZodObject<typeof storageSettings>>;

export interface S3Settings {
  readonly bucket: string;
  readonly endpoint: string;
  readonly region: string;
  /** Key prefix; empty, or ends in `/`. */
  readonly prefix: string;
  /** True for URLs of the form `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly pathStyle: boolean;
  /** Access keys; null for the credential chain of the AWS SDK, that is the machine's role. */
  readonly credentials: AwsKeys | null;
}

/** Access key of AWS or another S3-compatible store. */
export interface AwsKeys {
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | null;
}

/** Access to the Milvus that holds the indexes of some buckets. */
export interface MilvusSettings {
  /** `http://` or `https://` (TLS), host and port. */
  readonly url: string;
  readonly token: Secret | null;
  readonly database: string;
  /** File of CA certificates; null for those of the system. */
  readonly caFile: string | null;
}

export function storageConfigOf(file: StorageFile): {
  /** Settings of S3; null if files are in the data directory. */
  objects: S3Settings | null;
  /** Access to other buckets of the same store, such as for backups. Valid even without `objects`. */
  s3: Omit<S3Settings, 'bucket' | 'prefix'>;
  index: { storage: 'disk' | 's3'; milvus: MilvusSettings | null };
} {
  const { objects, index } = file;
  const { bucket } = objects;
  const onS3 = bucket !== undefined;
  const { bucket: _bucket, prefix: _prefix, ...s3 } = s3SettingsOf({ ...objects, bucket: '' });
  return {
    objects: bucket === undefined ? null : s3SettingsOf({ ...objects, bucket }),
    s3,
    index: { storage: index.storage ?? (onS3 ? 's3' : 'disk'), milvus: milvusSettingsOf(index) },
  };
}

function milvusSettingsOf({ milvus }: StorageFile['index']): MilvusSettings | null {
  if (milvus === undefined) return null;
  return { url: milvus.url, token: milvus.token ?? null, database: milvus.database, caFile: milvus.ca_file ?? null };
}

/** Fill in the defaults of a bucket's settings. */
export function s3SettingsOf(
  objects: Omit<StorageFile['objects'], 'bucket'> & { readonly bucket: string },
): S3Settings {
  return {
    bucket: objects.bucket,
    endpoint: (objects.endpoint ?? endpointOfAws(objects.region)).replace(/\/+$/, ''),
    region: objects.region,
    prefix: objects.prefix ?? '',
    pathStyle: objects.path_style ?? objects.endpoint !== undefined,
    credentials: credentialsOf(objects),
  };
}

function credentialsOf({
  credentials,
  access_key_id,
  secret_access_key,
  session_token,
}: Omit<StorageFile['objects'], 'bucket'>) {
  if (credentials === 'aws' || !access_key_id || !secret_access_key) return null;
  return { accessKeyId: access_key_id, secretAccessKey: secret_access_key, sessionToken: session_token ?? null };
}

/** Return the endpoint of AWS in a region. It is always explicit, so that AWS_ENDPOINT_URL has no effect. */
function endpointOfAws(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

const NEEDS_CREDENTIALS =
  'needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or objects.credentials: aws for the role of this machine';
const AWS_REGION = /^[a-z]{2}(-[a-z]+)+-\d+$/;

/** Find contradicting settings. `path` is the setting that the operator should look at. */
export function storageFaults(
  file: StorageFile & { database_url?: unknown; secret_key?: unknown; backup?: { to?: string | undefined } },
): { path: string[]; message: string }[] {
  const { objects, index } = file;
  const faults: { path: string[]; message: string }[] = [];
  const fault = (name: string, message: string) => faults.push({ path: name.split('.'), message });
  const hasBackupsOnS3 = file.backup?.to?.startsWith('s3://') === true;
  if (hasBackupsOnS3 && objects.credentials === 'keys' && credentialsOf(objects) === null) {
    fault('backup.to', NEEDS_CREDENTIALS);
  }
  if (objects.bucket === undefined) {
    for (const name of ['endpoint', 'prefix', 'path_style'] as const) {
      if (hasBackupsOnS3 && name !== 'prefix') continue;
      if (objects[name] !== undefined) fault(`objects.${name}`, 'has no effect without S3_BUCKET');
    }
    if (index.storage === 's3') fault('index.storage', 's3 needs S3_BUCKET');
    return faults;
  }
  if (file.database_url === undefined) {
    fault('objects.bucket', 'needs DATABASE_URL; the embedded PostgreSQL keeps its records on one host only');
  }
  if (file.secret_key === undefined) {
    fault(
      'secret_key',
      'is needed with S3_BUCKET and must be equal on every host (create one with: openssl rand -base64 32)',
    );
  }
  if (objects.endpoint === undefined && !AWS_REGION.test(objects.region)) {
    fault('objects.region', `${objects.region} is not a region of AWS; set S3_ENDPOINT to the address of the store`);
  }
  if (objects.credentials === 'keys' && credentialsOf(objects) === null) {
    fault('objects.bucket', NEEDS_CREDENTIALS);
  }
  return faults;
}
