// The panel beside the timeline, with its tabs.

import type { State } from '../model/state.ts';
import type { Tab } from '../model/url_state.ts';
import { drag } from '../interact/pointer.ts';
import { el, fill } from '../dom.ts';

export interface Panel {
  tab: Tab;
  title: string;
  element: HTMLElement;
  /** The panel came into sight, or its contents may have changed. */
  show(): void;
  count?(): number | null;
}

export class Side {
  readonly element: HTMLElement;
  private readonly tabs = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panels' });
  private readonly body = el('div', { class: 'panel', role: 'tabpanel', tabindex: 0 });
  private readonly state: State;
  private readonly panels: Panel[];

  constructor(state: State, panels: Panel[]) {
    this.state = state;
    this.panels = panels;
    const grip = el('div', { class: 'grip', 'aria-hidden': 'true' });
    this.element = el('aside', { class: 'side', 'aria-label': 'Details' }, grip, this.tabs, this.body);
    grip.addEventListener('pointerdown', (event) => {
      const width = this.element.getBoundingClientRect().width;
      drag(grip, event, (now) => {
        const next = Math.min(Math.max(width + event.clientX - now.clientX, 280), window.innerWidth * 0.7);
        this.element.style.width = `${next}px`;
      }, () => undefined);
    });
    this.tabs.addEventListener('keydown', (event) => this.keys(event));
    state.on('tab', () => this.open());
    state.on('findings', () => this.label());
    this.open();
  }

  fold(): void {
    this.element.classList.toggle('folded');
  }

  private keys(event: KeyboardEvent): void {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = this.panels.findIndex((panel) => panel.tab === this.state.tab);
    const next = this.panels[(at + step + this.panels.length) % this.panels.length];
    this.state.openTab(next.tab);
    this.tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  private label(): void {
    fill(
      this.tabs,
      ...this.panels.map((panel) => {
        const count = panel.count?.() ?? null;
        const chosen = panel.tab === this.state.tab;
        return el(
          'button',
          {
            role: 'tab',
            'aria-selected': String(chosen),
            tabindex: chosen ? 0 : -1,
            click: () => this.state.openTab(panel.tab),
          },
          panel.title,
          count !== null && el('span', { class: 'count' }, count),
        );
      }),
    );
  }

  private open(): void {
    const panel = this.panels.find((one) => one.tab === this.state.tab) ?? this.panels[0];
    this.label();
    this.element.classList.remove('folded');
    // On a narrow screen the tabs are a row that scrolls.
    this.tabs.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    this.body.setAttribute('aria-label', panel.title);
    if (this.body.firstElementChild !== panel.element) {
      this.body.replaceChildren(panel.element);
      this.body.scrollTop = 0;
    }
    panel.show();
  }
}
