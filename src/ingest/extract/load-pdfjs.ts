import type { PDFDocumentProxy, PDFPageProxy } from 'pdfjs-dist';

export type PdfJs = typeof import('pdfjs-dist');
export type PdfDocument = PDFDocumentProxy;
export type PdfPage = PDFPageProxy;

let loaded: Promise<PdfJs> | null = null;

/** Loads pdf.js, its worker's half too, which then runs in this thread; afterwards it needs no module any more. */
export function loadPdfJs(): Promise<PdfJs> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<PdfJs> {
  // It looks for drawing classes at its start; nothing is drawn here.
  for (const name of ['DOMMatrix', 'Path2D', 'ImageData']) {
    if (!(name in globalThis)) Object.assign(globalThis, { [name]: class {} });
  }
  // @ts-expect-error the packed builds have no types of their own
  const worker = (await import('pdfjs-dist/legacy/build/pdf.worker.min.mjs')) as object;
  Object.assign(globalThis, { pdfjsWorker: worker });
  // @ts-expect-error as above
  return (await import('pdfjs-dist/legacy/build/pdf.min.mjs')) as PdfJs;
}
