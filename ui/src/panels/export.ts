// Exports from the page: tables as CSV, the timeline as a picture.

import { csvOf } from '../model/table.ts';
import type { Column } from '../model/table.ts';
import { el, toast } from '../dom.ts';

export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = el('a', { href: address, download: name });
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function exportButtons<T>(name: string, columns: Column<T>[], rows: () => T[]): HTMLElement {
  const csv = () => csvOf(columns, rows());
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(csv());
      toast('Copied as CSV.');
    } catch {
      save(`${name}.csv`, new Blob([csv()], { type: 'text/csv' }));
    }
  };
  return el(
    'span',
    { class: 'row' },
    el('button', { class: 'act', title: 'copy the table as CSV', click: () => void copy() }, 'Copy CSV'),
    el('button', { class: 'act', title: 'save the table as CSV', click: () => save(`${name}.csv`, new Blob([csv()], { type: 'text/csv' })) }, 'Save'),
  );
}

/** Saves ruler, lanes and counter as they are on the screen. */
export function savePicture(name: string, canvases: HTMLCanvasElement[]): void {
  const whole = document.createElement('canvas');
  whole.width = Math.max(...canvases.map((canvas) => canvas.width));
  whole.height = canvases.reduce((sum, canvas) => sum + canvas.height, 0);
  const context = whole.getContext('2d')!;
  let y = 0;
  for (const canvas of canvases) {
    context.drawImage(canvas, 0, y);
    y += canvas.height;
  }
  whole.toBlob((blob) => {
    if (blob) save(`${name}.png`, blob);
  });
}
