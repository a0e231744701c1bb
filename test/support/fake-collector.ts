import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Span as the collector received it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** 0 unset, 2 error. */
  readonly statusCode: number;
  /** Attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

export interface FakeCollector {
  /** Address without `/v1/traces`. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Headers of the calls so far. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>[];
  /** Bodies of the calls so far, as they were received. */
  readonly bodies: Buffer[];
  close(): Promise<void>;
}

/** Start a trace collector that accepts only OTLP over HTTP in protobuf. */
export async function startFakeCollector({ status = 200 }: { status?: number } = {}): Promise<FakeCollector> {
  const spans: CollectedSpan[] = [];
  const headers: FakeCollector['headers'] = [];
  const bodies: Buffer[] = [];
  const server: Server = createServer(async (req, res) => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const isValid =
      req.method === 'POST' && req.url === '/v1/traces' && req.headers['content-type'] === 'application/x-protobuf';
    headers.push(req.headers);
    bodies.push(Buffer.concat(parts));
    if (isValid && status === 200) spans.push(...decodeSpans(Buffer.concat(parts)));
    res.writeHead(isValid ? status : 400, { 'Content-Type': 'application/x-protobuf' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    bodies,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Value of a field of a protobuf message: a number (varint, fixed) or bytes. */
type Value = bigint | Buffer;

/** Read the fields of a protobuf message (https://protobuf.dev/programming-guides/encoding/). */
function fieldsOf(message: Buffer): Map<number, Value[]> {
  const fields = new Map<number, Value[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    if (at > message.length) throw new Error('the message is cut off');
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const wireType = tag & 7;
    const value =
      wireType === 0
        ? varint()
        : wireType === 1
          ? bytes(8).readBigUInt64LE()
          : wireType === 2
            ? bytes(Number(varint()))
            : wireType === 5
              ? BigInt(bytes(4).readUInt32LE())
              : null;
    if (value === null) throw new Error(`unknown wire type ${wireType}`);
    const field = tag >> 3;
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Map<number, Value[]>, field: number) =>
  (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer));
const text = (fields: Map<number, Value[]>, field: number) => ((fields.get(field)?.[0] ?? '') as Buffer).toString();
const hex = (fields: Map<number, Value[]>, field: number) =>
  ((fields.get(field)?.[0] ?? Buffer.alloc(0)) as Buffer).toString('hex');
const integer = (fields: Map<number, Value[]>, field: number) => Number(fields.get(field)?.[0] ?? 0n);

/** Read attributes: `KeyValue` of opentelemetry/proto/common/v1/common.proto. */
function attributesOf(fields: Map<number, Value[]>, field: number): Record<string, string | number | boolean> {
  return Object.fromEntries(
    messages(fields, field).map((pair) => {
      const [value] = messages(pair, 2);
      if (value?.has(2)) return [text(pair, 1), integer(value, 2) === 1];
      if (value?.has(3)) return [text(pair, 1), integer(value, 3)];
      if (value?.has(4)) {
        const bits = Buffer.alloc(8);
        bits.writeBigUInt64LE(value.get(4)?.[0] as bigint);
        return [text(pair, 1), bits.readDoubleLE()];
      }
      return [text(pair, 1), value === undefined ? '' : text(value, 1)];
    }),
  );
}

/** Decode an `ExportTraceServiceRequest` of opentelemetry/proto/collector/trace/v1/trace_service.proto. */
function decodeSpans(body: Buffer): CollectedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const resource = messages(resourceSpans, 1).flatMap((each) => [attributesOf(each, 1)])[0] ?? {};
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: text(span, 5),
        kind: integer(span, 6),
        attributes: attributesOf(span, 9),
        statusCode: messages(span, 15).map((status) => integer(status, 3))[0] ?? 0,
        resource,
      }));
  });
}
