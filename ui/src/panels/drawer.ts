// What lies below the timeline, by choice: a flame view by stack or by module, or modules by steps.

import { keep, kept } from '../kept.ts';
import type { State } from '../model/state.ts';
import { kBelow } from '../model/url_state.ts';
import type { Below } from '../model/url_state.ts';
import { el, fill } from '../dom.ts';
import { grip } from './grip.ts';

export interface DrawerView {
  title: string;
  element: HTMLElement;
  /** It came into sight. */
  show(): void;
}

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
    const edge = grip({
      label: 'Height of what is below the timeline',
      class: 'drawer-grip',
      grows: 'up',
      size: () => this.body.clientHeight,
      least: 90,
      resize: (px) => (this.body.style.height = `${px}px`),
    });
    const bar = el('div', { class: 'drawer-bar', role: 'group', 'aria-label': 'Below the timeline' }, el('span', { class: 'soft' }, 'below:'));
    for (const below of kBelow) {
      const button = el('button', { click: () => this.choose(below) }, below === 'nothing' ? 'nothing' : views[below].title);
      this.buttons.set(below, button);
      bar.append(button);
    }
    this.element = el('section', { class: 'drawer', 'aria-label': 'Below the timeline' }, edge, bar, this.body);
    state.on(['below', 'run'], () => this.show());
    matchMedia(kRoom).addEventListener('change', () => this.show());
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
