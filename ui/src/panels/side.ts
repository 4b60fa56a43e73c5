// The panel beside the timeline, with its tabs.

import { grouped } from '../model/format.ts';
import type { State } from '../model/state.ts';
import type { Tab } from '../model/url_state.ts';
import { el } from '../dom.ts';
import { grip } from './grip.ts';

export interface Panel {
  tab: Tab;
  title: string;
  element: HTMLElement;
  /** The panel came into sight, or its contents may have changed. */
  show(): void;
  count?(): number | null;
}

interface TabButton {
  panel: Panel;
  button: HTMLButtonElement;
  count: HTMLElement;
}

export class Side {
  readonly element: HTMLElement;
  /** Holds the panel that is shown, and scrolls it. */
  readonly body = el('div', { class: 'panel', role: 'tabpanel', tabindex: 0, id: 'panel' });
  private readonly tabs = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panels' });
  private readonly state: State;
  private buttons: TabButton[] = [];
  /** How far each panel was scrolled when it was left. */
  private readonly scrolled = new Map<Tab, number>();

  constructor(state: State) {
    this.state = state;
    const edge = grip({
      label: 'Width of the panel',
      class: 'grip',
      grows: 'left',
      size: () => this.element.getBoundingClientRect().width,
      least: 280,
      resize: (px) => (this.element.style.width = `${px}px`),
    });
    this.element = el('aside', { class: 'side', 'aria-label': 'Details' }, edge, this.tabs, this.body);
    this.tabs.addEventListener('keydown', (event) => this.keys(event));
  }

  /** Called once. */
  put(panels: readonly Panel[]): void {
    this.buttons = panels.map((panel) => {
      const count = el('span', { class: 'count' });
      const button = el('button', { role: 'tab', id: `tab-${panel.tab}`, 'aria-controls': 'panel', click: () => this.state.openTab(panel.tab) }, panel.title, count);
      return { panel, button, count };
    });
    this.tabs.append(...this.buttons.map((one) => one.button));
    this.state.on('tab', () => this.open());
    this.state.on('findings', () => this.label());
    this.open();
  }

  fold(): void {
    this.element.classList.toggle('folded');
  }

  private keys(event: KeyboardEvent): void {
    const at = this.buttons.findIndex(({ panel }) => panel.tab === this.state.tab);
    const last = this.buttons.length - 1;
    const places: Record<string, number> = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    this.state.openTab(this.buttons[place].panel.tab);
    this.buttons[place].button.focus();
  }

  private label(): void {
    for (const { panel, button, count } of this.buttons) {
      const chosen = panel.tab === this.state.tab;
      button.setAttribute('aria-selected', String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      const number = panel.count?.() ?? null;
      const text = number === null ? '' : grouped(number);
      if (count.textContent !== text) count.textContent = text;
    }
  }

  private open(): void {
    const { panel, button } = this.buttons.find((one) => one.panel.tab === this.state.tab) ?? this.buttons[0];
    this.label();
    this.element.classList.remove('folded');
    // On a narrow screen the tabs are a row that scrolls; the page stays where it is.
    const { offsetLeft: left, offsetWidth: width } = button;
    this.tabs.scrollLeft = Math.min(Math.max(this.tabs.scrollLeft, left + width - this.tabs.clientWidth), left);
    this.body.setAttribute('aria-labelledby', button.id);
    const before = this.buttons.find((one) => one.panel.element === this.body.firstElementChild);
    if (before?.panel === panel) return panel.show();
    if (before) this.scrolled.set(before.panel.tab, this.body.scrollTop);
    this.body.replaceChildren(panel.element);
    this.body.scrollTop = this.scrolled.get(panel.tab) ?? 0;
    panel.show();
    // What the panel has just put there may have made it tall enough.
    this.body.scrollTop = this.scrolled.get(panel.tab) ?? 0;
  }
}
