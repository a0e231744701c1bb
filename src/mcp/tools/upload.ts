import { z } from 'zod';
import type { Job, UploadReply } from '../../client/schema.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { defineTool, type Tool, type ToolContext } from '../tool.ts';
import { awaitJob, JOB_STEPS } from './await-job.ts';
import { BucketName } from './choose-bucket.ts';

const Arguments = z.object({
  bucket: BucketName.optional(),
  filename: z.string().min(1).max(255).describe('without a path'),
  text: z.string().optional(),
  content: z.string().optional(),
  content_base64: z.string().optional().describe('instead of text'),
  content_type: z.string().max(255).optional(),
  metadata: z.record(z.string(), z.unknown()).optional().describe('such as {"team": "legal"}'),
  collection_id: z.string().min(1).max(128).optional().describe('id or name'),
  ocr_strategy: z.enum(['auto', 'never', 'always']).optional().describe('text in pictures'),
  chunk_size: z.int().min(64).max(4000).optional().describe('tokens'),
  chunk_overlap: z.int().min(0).optional().describe('tokens'),
  wait_seconds: z.int().min(0).max(120).default(0).describe('wait until searches find it'),
});
type Arguments = z.output<typeof Arguments>;

/** Create the tool `service_upload_document`. */
export function uploadTools({ defaultBucket }: { readonly defaultBucket: string }): Tool[] {
  return [
    defineTool({
      name: 'service_upload_document',
      title: 'Upload a document',
      description: 'Upload a document, as text or in base64. It is indexed in the background.',
      input: Arguments.extend({
        bucket: BucketName.optional().describe(`name or id; default: "${defaultBucket}"`),
      }),
      output: z.looseObject({ id: z.string(), status: z.string() }),
      // Uploading the same bytes again returns the existing document.
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      route: 'POST /v1/buckets/{bucket}/documents',
      scope: 'documents:write',
      async call(args, { api, signal, reportProgress }) {
        const { bucket = defaultBucket, filename } = args;
        const bytes = bytesOf(args);
        const report = uploadReport(reportProgress, args.wait_seconds > 0);
        const structured = await api.upload(
          bucket,
          { fileName: filename, bytes, contentType: args.content_type, fields: fieldsOf(args), onSent: report.onSent },
          signal,
        );
        const jobId = structured.duplicate_of === undefined ? structured.job_id : null;
        if (jobId === null || args.wait_seconds === 0) {
          await report.finished(structured.status);
          return { structured, text: renderUpload(filename, bucket, structured, null) };
        }
        const job = await awaitJob(api, jobId, { withinMs: args.wait_seconds * 1000, signal, onStep: report.onStep });
        await report.settled();
        const text = renderUpload(filename, bucket, structured, job);
        return { structured: { ...structured, status: job.status }, text };
      },
    }),
  ];
}

function bytesOf({ text, content, content_base64 }: Arguments): Buffer {
  const asText = text ?? content;
  if (text !== undefined && content !== undefined && text !== content) {
    throw invalidRequest(
      'text and content: both are the document as text, and they differ; give one of them',
      'content',
    );
  }
  if (asText !== undefined && content_base64 !== undefined) {
    const given = text === undefined ? 'content' : 'text';
    throw invalidRequest(
      `${given} and content_base64: give the content once, either as text or in base64`,
      'content_base64',
    );
  }
  if (asText !== undefined) return Buffer.from(asText, 'utf8');
  if (content_base64 === undefined) {
    throw invalidRequest('text: the content is missing; give it as "text", or its bytes as "content_base64"', 'text');
  }
  const compact = content_base64.replace(/\s+/g, '');
  const bytes = Buffer.from(compact, 'base64');
  // Node skips invalid base64 characters, so check that the result encodes to the same text.
  if (bytes.toString('base64').replace(/=+$/, '') !== compact.replace(/=+$/, '')) {
    throw invalidRequest('content_base64: is not standard base64 (A-Z a-z 0-9 + /)', 'content_base64');
  }
  return bytes;
}

function fieldsOf(args: Arguments): Record<string, string | undefined> {
  const { metadata, collection_id, ocr_strategy, chunk_size, chunk_overlap } = args;
  return {
    metadata: metadata && JSON.stringify(metadata),
    collection_id,
    ocr_strategy,
    chunk_size: chunk_size?.toString(),
    chunk_overlap: chunk_overlap?.toString(),
  };
}

/**
 * Create the progress reporter. Values increase and are in bytes, with one report per twentieth of the upload. If the
 * call waits for the job, each job state counts as a sixth of the upload's bytes.
 */
function uploadReport(reportProgress: ToolContext['reportProgress'], waits: boolean) {
  let told = 0;
  let total = 0;
  let last: Promise<void> = Promise.resolve();
  const tell = (done: number, message: string) => {
    last = last.then(() => reportProgress({ done, total: waits ? 2 * total : total, message }));
  };
  return {
    onSent(sent: number, all: number) {
      total = all;
      // Report the last byte only after the service has responded.
      if (sent >= all || sent - told < all / 20) return;
      told = sent;
      tell(sent, `${sent} of ${all} bytes are sent`);
    },
    onStep(step: number, status: string) {
      tell(total + Math.round((step * total) / JOB_STEPS), `stored, ${status}`);
    },
    async finished(status: string) {
      tell(waits ? 2 * total : total, `stored, ${status}`);
      await last;
    },
    async settled() {
      await last;
    },
  };
}

/** @param job state of the job after waiting; null without a wait */
function renderUpload(filename: string, bucket: string, reply: UploadReply, job: Job | null): string {
  const { id, status, job_id: jobId, duplicate_of: duplicate, warnings = [] } = reply;
  const stored = `"${filename}" is stored in the bucket "${bucket}" as ${id}`;
  const lines =
    duplicate !== undefined
      ? [`The bucket "${bucket}" had these bytes already, as ${duplicate}; nothing was stored twice.`]
      : job === null
        ? [`${stored} (${status}); it can be found once its job ${jobId ?? ''} is done.`]
        : [`${stored}. ${renderJob(job)}`];
  return [...lines, ...warnings.map((warning) => `Note: ${warning}`)].join('\n');
}

function renderJob({ status, error_message: reason }: Job): string {
  if (status === 'ready') return 'Searches find it now.';
  if (status === 'failed' || status === 'cancelled') return `Its job ended as ${status}${reason ? `: ${reason}` : ''}.`;
  return `Its job is not done yet (${status}) and goes on; search for the document later.`;
}
