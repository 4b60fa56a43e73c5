// A dialog over the page. Escape, the cross and a click beside it close it.

import { el } from '../dom.ts';

/** `title` stands at its head and is its name. */
export function openDialog(title: string, ...body: HTMLElement[]): HTMLDialogElement {
  const dialog = el(
    'dialog',
    { class: 'help', 'aria-label': title },
    el('div', { class: 'help-head' }, el('h2', {}, title), el('button', { class: 'icon-button', 'aria-label': 'Close', click: () => dialog.close() }, '×')),
    ...body,
  );
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
