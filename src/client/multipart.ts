import { randomUUID } from 'node:crypto';

/** Document to upload: its bytes, and the upload's fields by their API names. */
export interface NewUpload {
  readonly fileName: string;
  readonly bytes: Buffer;
  readonly contentType?: string | undefined;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly onSent?: ((bytes: number, total: number) => void) | undefined;
}

/** Encode an upload as `multipart/form-data` (RFC 7578): first the fields that are set, then the part `file`. */
export function encodeMultipart(upload: NewUpload): {
  bytes: Buffer;
  contentType: string;
} {
  const boundary = `service-${randomUUID()}`;
  const fields = Object.entries(upload.fields).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`],
  );
  const type = upload.contentType?.replace(/[^\x20-\x7e]/g, '');
  const file =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted(upload.fileName)}"\r\n` +
    `${type ? `Content-Type: ${type}\r\n` : ''}\r\n`;
  return {
    bytes: Buffer.concat([
      Buffer.from(fields.join('') + file, 'utf8'),
      upload.bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`, 'utf8'),
    ]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}

/** Escape a name as browsers do: percent-encode characters that would end the quotes or the line. */
function quoted(name: string): string {
  return name.replace(
    /["\r\n]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  );
}
