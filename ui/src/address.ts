// The view in the address. Small changes (a move, a colour) replace it. A visit, which is another panel, finding, event
// or place in the source, becomes an entry of the browser's history, so that Back leads to where one was.

import { kept } from './kept.ts';
import type { State } from './model/state.ts';
import { fromFragment, kPlain, toFragment, visitOf } from './model/url_state.ts';
import type { ViewState } from './model/url_state.ts';

// Browsers allow only some changes a second.
const kSettledMs = 250;

/** The view that an address asks for. Where it says nothing of the look, it is what was chosen last. */
export function askedFor(fragment: string): ViewState {
  const chosen = new URLSearchParams({ by: kept('colours') ?? '', theme: kept('theme') ?? '' });
  return fromFragment(fragment, fromFragment(chosen.toString()));
}

export class Address {
  private readonly state: State;
  private readonly restore: (view: ViewState) => Promise<void>;
  private timer = 0;
  /** Nothing is written while the page comes to the view that the address asks for. */
  private arriving = true;
  private visit = '';

  constructor(state: State, restore: (view: ViewState) => Promise<void>) {
    this.state = state;
    this.restore = restore;
    state.on(['window', 'lanes', 'look', 'hidden', 'selection', 'event', 'finding', 'find', 'tab', 'below', 'compare', 'tables', 'sql', 'marks', 'workList', 'flame'], () => this.soon());
    window.addEventListener('popstate', () => void this.back());
  }

  /** The page has come to the view that the address asked for. */
  arrived(): void {
    this.arriving = false;
    this.visit = visitOf(this.state.viewState());
    this.soon();
  }

  /** Opens another run with the same panels, colours and query. */
  open(run: string): void {
    const { tab, colourBy, sql, below, flame, workList } = this.state;
    history.pushState(null, '', `#${toFragment({ ...kPlain, run, tab, colourBy, sql, below, flame: { ...flame, zoomed: [] }, workList })}`);
    location.reload();
  }

  private soon(): void {
    clearTimeout(this.timer);
    if (!this.arriving) this.timer = window.setTimeout(() => this.write(), kSettledMs);
  }

  private write(): void {
    const view = this.state.viewState();
    if (view.run === null) return; // nothing is shown that an address could name
    const fragment = `#${toFragment(view)}`;
    const visit = visitOf(view);
    if (visit === this.visit) history.replaceState(null, '', fragment);
    else history.pushState(null, '', fragment);
    this.visit = visit;
  }

  private async back(): Promise<void> {
    const view = askedFor(location.hash);
    if (view.run !== null && view.run !== this.state.run?.run_name) return location.reload();
    clearTimeout(this.timer);
    this.arriving = true;
    await this.restore(view);
    this.arrived();
  }
}
