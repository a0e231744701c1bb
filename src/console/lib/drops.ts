import { useEffect, useRef, useState } from 'preact/hooks';
import { readDropped } from './dropped-files.ts';
import type { DroppedFile } from './upload.ts';

/** Accept files dropped anywhere on the page. @returns true while files are dragged over the page */
export function useDrops(onFiles: (files: readonly DroppedFile[]) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  const take = useRef(onFiles);
  take.current = onFiles;
  useEffect(() => {
    let depth = 0;
    const enter = () => {
      depth += 1;
      setIsOver(true);
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setIsOver(false);
    };
    const over = (event: DragEvent) => event.preventDefault();
    const drop = async (event: DragEvent) => {
      event.preventDefault();
      depth = 0;
      setIsOver(false);
      if (event.dataTransfer === null) return;
      const files = await readDropped(event.dataTransfer);
      if (files.length > 0) take.current(files);
    };
    const handlers = { dragenter: enter, dragleave: leave, dragover: over, drop } as const;
    for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler as EventListener);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) removeEventListener(name, handler as EventListener);
    };
  }, []);
  return isOver;
}
