// The edge of a part of the page, which is dragged, or moved by the arrows, to make that part larger or smaller.

import { drag } from '../interact/pointer.ts';
import { el } from '../dom.ts';

export interface GripOptions {
  label: string;
  class: string;
  /** The part grows to the left of the edge, or upwards. */
  grows: 'left' | 'up';
  /** css px */
  size(): number;
  /** The least that the part may have, css px. */
  least: number;
  resize(px: number): void;
}

const kStepPx = 30;
// The share of the window that the part may take.
const kMost = 0.7;

export function grip(options: GripOptions): HTMLElement {
  const across = options.grows === 'left';
  const most = () => (across ? window.innerWidth : window.innerHeight) * kMost;
  const element = el('div', { class: options.class, role: 'separator', tabindex: 0, 'aria-orientation': across ? 'vertical' : 'horizontal', 'aria-label': options.label, 'aria-valuemin': options.least, 'aria-valuenow': options.least });
  const tell = () => {
    element.setAttribute('aria-valuenow', String(Math.round(options.size())));
    element.setAttribute('aria-valuemax', String(Math.round(most())));
  };
  const resize = (px: number) => {
    options.resize(Math.min(Math.max(px, options.least), most()));
    tell();
  };
  element.addEventListener('focus', tell);
  element.addEventListener('pointerdown', (event) => {
    const size = options.size();
    drag(element, event, (now) => resize(size + (across ? event.clientX - now.clientX : event.clientY - now.clientY)), () => undefined);
  });
  element.addEventListener('keydown', (event) => {
    const keys = across ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
    const at = keys.indexOf(event.key);
    if (at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    resize(options.size() + (at === 0 ? kStepPx : -kStepPx));
  });
  return element;
}
