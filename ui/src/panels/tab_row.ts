// A row of tabs, as WAI-ARIA describes it: one tab stop, arrows go from tab to tab.

import { grouped } from '../model/words/format.ts';
import { el } from '../dom.ts';

export interface TabOfRow {
  id: string;
  title: string;
  count?(): number | null;
  open(): void;
}

interface TabButton {
  tab: TabOfRow;
  button: HTMLButtonElement;
  count: HTMLElement;
}

export class TabRow {
  readonly element: HTMLElement;
  private buttons: TabButton[] = [];
  private chosen = 0;

  /** `panel` is the id of the element that the tabs show something in. */
  constructor(label: string, looks: string, panel: string) {
    this.element = el('div', { class: `tabs ${looks}`, role: 'tablist', 'aria-label': label, 'data-panel': panel });
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  put(tabs: readonly TabOfRow[]): void {
    const controls = this.element.dataset.panel!;
    this.buttons = tabs.map((tab) => {
      const count = el('span', { class: 'count' });
      return { tab, count, button: el('button', { role: 'tab', id: `tab-${tab.id}`, 'aria-controls': controls, click: () => tab.open() }, tab.title, count) };
    });
    this.element.replaceChildren(...this.buttons.map((one) => one.button));
  }

  /** Marks a tab as the one that is shown; returns its id. */
  choose(id: string): string {
    this.chosen = Math.max(this.buttons.findIndex(({ tab }) => tab.id === id), 0);
    this.label();
    const { button } = this.buttons[this.chosen];
    // On a narrow screen the tabs are a row that scrolls; the page stays where it is.
    const { offsetLeft: left, offsetWidth: width } = button;
    this.element.scrollLeft = Math.min(Math.max(this.element.scrollLeft, left + width - this.element.clientWidth), left);
    return button.id;
  }

  label(): void {
    this.buttons.forEach(({ tab, button, count }, place) => {
      button.setAttribute('aria-selected', String(place === this.chosen));
      button.tabIndex = place === this.chosen ? 0 : -1;
      const number = tab.count?.() ?? null;
      const text = number === null ? '' : grouped(number);
      if (count.textContent !== text) count.textContent = text;
    });
  }

  private key(event: KeyboardEvent): void {
    const last = this.buttons.length - 1;
    const at = this.chosen;
    const places: Record<string, number> = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    this.buttons[place].tab.open();
    this.buttons[place].button.focus();
  }
}
