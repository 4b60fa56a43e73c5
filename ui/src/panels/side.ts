// The panel beside the timeline, with its tabs.

import type { State } from '../model/state.ts';
import type { Tab } from '../model/url_state.ts';
import { el } from '../dom.ts';
import { grip } from './grip.ts';
import { TabRow } from './tab_row.ts';

export interface Panel {
  tab: Tab;
  title: string;
  element: HTMLElement;
  /** The panel came into sight, or its contents may have changed. */
  show(): void;
  count?(): number | null;
}

/** Panels that share a tab: a second row tells them apart. */
export interface PanelGroup {
  title: string;
  panels: readonly [Panel, Panel];
}

export class Side {
  readonly element: HTMLElement;
  /** Holds the panel that is shown, and scrolls it. */
  readonly body = el('div', { class: 'panel', role: 'tabpanel', tabindex: 0, id: 'panel' });
  private readonly tabs = new TabRow('Panels', '', 'panel');
  private readonly views = new TabRow('Views of this panel', 'views', 'panel');
  private readonly state: State;
  private groups: { title: string; panels: readonly Panel[] }[] = [];
  /** How far each panel was scrolled when it was left. */
  private readonly scrolled = new Map<Tab, number>();
  private shown: Panel | null = null;

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
    this.element = el('aside', { class: 'side', 'aria-label': 'Details' }, edge, this.tabs.element, this.views.element, this.body);
  }

  /** Called once. */
  put(panels: readonly (Panel | PanelGroup)[]): void {
    this.groups = panels.map((one) => ('panels' in one ? one : { title: one.title, panels: [one] }));
    this.tabs.put(
      this.groups.map((group) => ({
        id: `group-${group.title.toLowerCase()}`,
        title: group.title,
        count: () => group.panels[0].count?.() ?? null,
        open: () => this.state.openTab(group.panels[0].tab),
      })),
    );
    this.state.on('tab', () => this.open());
    this.state.on(['findings', 'modules'], () => this.tabs.label());
    this.open();
  }

  fold(): void {
    this.element.classList.toggle('folded');
  }

  private open(): void {
    const of = (tab: Tab) => this.groups.find((group) => group.panels.some((panel) => panel.tab === tab));
    const group = of(this.state.tab) ?? this.groups[0];
    const panel = group.panels.find((one) => one.tab === this.state.tab) ?? group.panels[0];
    this.element.classList.remove('folded');
    const name = this.tabs.choose(`group-${group.title.toLowerCase()}`);
    this.body.setAttribute('aria-labelledby', this.openView(group.panels, panel) ?? name);
    if (this.shown === panel) return panel.show();
    if (this.shown) this.scrolled.set(this.shown.tab, this.body.scrollTop);
    this.shown = panel;
    this.body.replaceChildren(panel.element);
    this.body.scrollTop = this.scrolled.get(panel.tab) ?? 0;
    panel.show();
    // What the panel has just put there may have made it tall enough.
    this.body.scrollTop = this.scrolled.get(panel.tab) ?? 0;
  }

  /** The second row, where a tab has two panels; returns the id of the chosen one's name. */
  private openView(panels: readonly Panel[], panel: Panel): string | null {
    const { element } = this.views;
    element.hidden = panels.length < 2;
    if (element.hidden) return null;
    const key = panels.map((one) => one.tab).join(' ');
    if (element.dataset.of !== key) this.views.put(panels.map((one) => ({ id: one.tab, title: one.title, open: () => this.state.openTab(one.tab) })));
    element.dataset.of = key;
    return this.views.choose(panel.tab);
  }
}
