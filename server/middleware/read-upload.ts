import { checkBodyHeaders, continueIfExpected, isJson, unsupportedType } from '../body/body-headers.ts';
import type { BodyLimits } from '../body/body-limits.ts';
import { jsonBodyReader } from '../body/json-body-reader.ts';
import { boundaryOf } from '../body/multipart.ts';
import { VALUES_MAX } from '../body/parse-json.ts';
import { MULTIPART_OVERHEAD_BYTES_MAX, receiveUpload, removeUpload } from '../body/receive-upload.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { acceptsNoBody, type Route } from '../route.ts';
import { parsedIfSmall } from './read-json.ts';

/** Maximum size of JSON on an upload route, which is held in memory. */
const JSON_UPLOAD_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Check the announced type and size of an upload, then receive it: fields and one file as multipart, or JSON. Remove
 * the file after all later middleware has run. Throws AppError 400, 413, 415, 503, `client_gone`.
 */
export function readUpload(route: Route, limits: BodyLimits): RequestMiddleware {
  const fileBytesMax = route.bodyLimitBytes ?? limits.uploadBytes;
  const valuesMax = route.bodyValuesMax ?? VALUES_MAX;
  const limitBytes = fileBytesMax + MULTIPART_OVERHEAD_BYTES_MAX;
  const readJson = jsonBodyReader({
    limitBytes: Math.min(fileBytesMax, JSON_UPLOAD_BYTES_MAX),
    advice: 'send the file as multipart/form-data',
    valuesMax,
    allowsEmpty: acceptsNoBody(route),
  });
  return async (ctx, next) => {
    const { req, state } = ctx;
    const contentType = req.headers['content-type'];
    if (isJson(contentType) && !route.isMultipartOnly) {
      const bytes = await readJson(ctx);
      state.body = bytes === null ? undefined : route.parse === undefined ? parsedIfSmall(bytes, valuesMax) : bytes;
      return next();
    }
    const boundary = multipartBoundary(contentType ?? '', route);
    checkBodyHeaders(req, { limitBytes, namedBytes: fileBytesMax });
    continueIfExpected(req, ctx.res);
    const { fields, file } = await receiveUpload(req, { boundary, directory: limits.uploadDirectory, fileBytesMax });
    try {
      state.body = fields;
      state.file = file;
      await next();
    } finally {
      await removeUpload(file);
    }
  };
}

/** @throws AppError 415 */
function multipartBoundary(contentType: string, { isMultipartOnly }: Route): string {
  if (!/^multipart\/form-data\s*;/i.test(contentType)) {
    throw unsupportedType(isMultipartOnly ? 'multipart/form-data' : 'multipart/form-data or application/json');
  }
  const boundary = boundaryOf(contentType);
  if (boundary === null) throw unsupportedType('multipart/form-data with a boundary');
  return boundary;
}
