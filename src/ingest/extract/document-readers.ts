import type { ChildFormat } from './child-protocol.ts';
import { detectFormat, type FileFormat, isPictureFormat, type PictureFormat } from './detect-format.ts';
import { ExtractError } from './errors.ts';
import type { ContainedDocument } from './mail/read-mail.ts';
import { type ImageSink, type Reading, type ReadResult, resultOf } from './reader.ts';

export interface ReadOptions {
  readonly charset: string | null;
  readonly cmapFolder: string | null;
  readonly wasmFolder: string | null;
  readonly textCharsMax: number;
}

export type DocumentReader = (bytes: Uint8Array, reading: Reading, options: ReadOptions) => Promise<ReadResult>;

type Loader = () => Promise<DocumentReader>;

/** Loaders by format. Each loads only its own code, since loading is most of a child's startup time. */
const LOADERS: Readonly<Record<Exclude<FileFormat, 'eml' | PictureFormat>, Loader>> = {
  html: async () => {
    const { readHtmlFile } = await import('./read-html-file.ts');
    return (bytes, reading, { charset }) => readHtmlFile(bytes, reading, charset);
  },
  pdf: async () => {
    const { loadPdfJs } = await import('./load-pdfjs.ts');
    const { readPdf } = await import('./read-pdf.ts');
    await loadPdfJs();
    return async (bytes, { sink, images, pagesMax }, { cmapFolder, wasmFolder, textCharsMax }) =>
      resultOf('pdf', await readPdf(bytes, sink, { images, pagesMax, textCharsMax, cmapFolder, wasmFolder }));
  },
  zip: async () => (await import('./read-zip.ts')).readZip,
  cfb: async () => (await import('./read-cfb.ts')).readCfb,
  rtf: async () => (await import('./rtf/read-rtf.ts')).readRtf,
  txt: async () => {
    const { decodeText } = await import('./decode-text.ts');
    const { readText } = await import('./read-text.ts');
    return async (bytes, { sink }, { charset }) => {
      for (const block of readText(decodeText(bytes, charset).text)) sink.add(block);
      return resultOf('txt');
    };
  },
  md: async () => {
    const { decodeText } = await import('./decode-text.ts');
    const { readMarkdown } = await import('./read-markdown.ts');
    return async (bytes, { sink }, { charset }) => {
      for (const block of readMarkdown(decodeText(bytes, charset).text)) {
        sink.add(block);
        await sink.flush();
      }
      return resultOf('md');
    };
  },
  ipynb: async () => {
    const { readNotebook } = await import('./data/read-notebook.ts');
    return async (bytes, { sink }) => {
      await readNotebook(once(bytes), sink);
      return resultOf('ipynb');
    };
  },
  fodf: async () => (await import('./office/read-odf.ts')).readFlatOdf,
  hml: async () => (await import('./hwp/read-hml.ts')).readHml,
  csv: () => loadTable('csv'),
  tsv: () => loadTable('tsv'),
  json: () => loadJson('json'),
  jsonl: () => loadJson('jsonl'),
};

async function loadTable(format: 'csv' | 'tsv'): Promise<DocumentReader> {
  const { decodeWindows } = await import('./data/decode-windows.ts');
  const { readCsv } = await import('./data/read-csv.ts');
  return async (bytes, { sink }, { charset }) => {
    await readCsv(decodeWindows(once(bytes), charset), sink, format === 'tsv' ? '\t' : null);
    return resultOf(format);
  };
}

async function loadJson(format: 'json' | 'jsonl'): Promise<DocumentReader> {
  const { decodeWindows } = await import('./data/decode-windows.ts');
  const { readJson } = await import('./data/read-json.ts');
  return async (bytes, { sink }, { charset }) => {
    await readJson(decodeWindows(once(bytes), charset), sink, format);
    return resultOf(format);
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Load the reader of a format with all code that it will ever need. */
export async function loadReader(format: ChildFormat): Promise<DocumentReader> {
  return format === 'eml' ? loadMailReader() : LOADERS[format]();
}

async function addPicture(file: Uint8Array, images: ImageSink | null): Promise<void> {
  if (images === null)
    throw new ExtractError('unsupported_type', 'reading the text of pictures is disabled for this document');
  if (!(await images.take({ file, page: 1 })))
    throw new ExtractError('too_large', 'the picture is too large, or the document has too many pictures');
}

/** Load the mail reader with all other readers, since a document of any format may be attached. */
async function loadMailReader(): Promise<DocumentReader> {
  const { readMail } = await import('./mail/read-mail.ts');
  const formats = Object.keys(LOADERS) as Array<keyof typeof LOADERS>;
  const loaded = await Promise.all(formats.map(async (format) => [format, await LOADERS[format]()] as const));
  const readers = new Map<FileFormat, DocumentReader>(loaded);
  return (bytes, reading, options) => {
    const readContained = async (document: ContainedDocument, scoped: Reading): Promise<ReadResult> => {
      const { bytes: content, fileName, contentType, depth } = document;
      const { format, charset } = await detectFormat({ head: content, fileName, contentType });
      if (isPictureFormat(format)) {
        await addPicture(content, scoped.images);
        return resultOf('txt');
      }
      const reader = readers.get(format);
      return reader === undefined
        ? readMail(content, scoped, depth, readContained)
        : reader(content, scoped, { ...options, charset });
    };
    return readMail(bytes, reading, 0, readContained);
  };
}
