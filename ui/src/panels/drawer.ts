// What lies below the timeline, by choice: a flame view by stack or by module, or modules by steps.

import { drag } from '../interact/pointer.ts';
import { keep, kept } from '../kept.ts';
import type { State } from '../model/state.ts';
import { kBelow } from '../model/url_state.ts';
import type { Below } from '../model/url_state.ts';
import { el, fill } from '../dom.ts';

export interface DrawerView {
  title: string;
  element: HTMLElement;
  /** It came into sight. */
  show(): void;
}

const kLeastPx = 90;
const kStepPx = 30;
/** A lower or narrower window has no room for it. */
const kRoom = '(min-width: 761px) and (min-height: 700px)';

export class Drawer {
  readonly element: HTMLElement;
  private readonly body = el('div', { class: 'drawer-body' });
  private readonly buttons = new Map<Below, HTMLButtonElement>();
  private readonly state: State;
  private readonly views: Record<Exclude<Below, 'nothing'>, DrawerView>;

  constructor(state: State, views: Record<Exclude<Below, 'nothing'>, DrawerView>) {
    this.state = state;
    this.views = views;
    const grip = el('div', { class: 'drawer-grip', role: 'separator', tabindex: 0, 'aria-orientation': 'horizontal', 'aria-label': 'Height of what is below the timeline' });
    const bar = el('div', { class: 'drawer-bar', role: 'group', 'aria-label': 'Below the timeline' }, el('span', { class: 'soft' }, 'below:'));
    for (const below of kBelow) {
      const button = el('button', { click: () => this.choose(below) }, below === 'nothing' ? 'nothing' : views[below].title);
      this.buttons.set(below, button);
      bar.append(button);
    }
    this.element = el('section', { class: 'drawer', 'aria-label': 'Below the timeline' }, grip, bar, this.body);
    grip.addEventListener('pointerdown', (event) => {
      const height = this.body.clientHeight;
      drag(grip, event, (now) => this.heighten(height + event.clientY - now.clientY), () => undefined);
    });
    grip.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
      if (step === 0) return;
      event.preventDefault();
      event.stopPropagation();
      this.heighten(this.body.clientHeight + step * kStepPx);
    });
    state.on(['below', 'run'], () => this.show());
    this.show();
  }

  private get below(): Below {
    const chosen = this.state.below ?? kBelow.find((one) => one === kept('below'));
    return chosen ?? (matchMedia(kRoom).matches ? 'stacks' : 'nothing');
  }

  private choose(below: Below): void {
    this.state.below = below;
    keep('below', below);
    this.state.tell('below');
  }

  private heighten(px: number): void {
    this.body.style.height = `${Math.min(Math.max(px, kLeastPx), window.innerHeight * 0.7)}px`;
  }

  private show(): void {
    const { below } = this;
    // A run without events has nothing to show here.
    this.element.hidden = (this.state.run?.totals.event_count ?? 0) === 0;
    for (const [one, button] of this.buttons) button.setAttribute('aria-pressed', String(one === below));
    this.body.hidden = below === 'nothing' || this.element.hidden;
    if (this.body.hidden) return fill(this.body);
    const view = this.views[below as Exclude<Below, 'nothing'>];
    if (this.body.firstElementChild === view.element && this.body.dataset.below === below) return;
    this.body.dataset.below = below;
    fill(this.body, view.element);
    view.show();
  }
}
