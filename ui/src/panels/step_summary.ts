// What a step did, beside the step before it; in the details of a step.

import { api } from '../api/client.ts';
import type { EventDetail } from '../api/types.ts';
import { countsOf } from '../model/sums/compare.ts';
import type { State } from '../model/state.ts';
import type { Area } from '../model/url_state.ts';
import { nextPair } from '../steps.ts';
import { el, fill } from '../dom.ts';

export interface StepActions {
  select(area: Area): void;
  compare(direction: 'next' | 'previous'): void;
}

export class StepSummary {
  readonly element = el('section', { 'aria-label': 'What the step did' });
  private readonly state: State;
  private readonly actions: StepActions;
  private shown = '';

  constructor(state: State, actions: StepActions) {
    this.state = state;
    this.actions = actions;
  }

  of(event: EventDetail): HTMLElement {
    const key = `${event.track} ${event.begin_ns} ${event.end_ns}`;
    if (key !== this.shown) void this.ask(event);
    this.shown = key;
    return this.element;
  }

  private async ask(event: EventDetail): Promise<void> {
    const { run } = this.state;
    if (!run) return;
    fill(this.element);
    // The step by itself, whatever is selected or compared.
    const pair = await nextPair({ run, event, firstStretch: null, selection: null }, 'previous', event.begin_ns).catch(() => null);
    const tracks = pair?.[1].tracks ?? null;
    const area = { begin: event.begin_ns, end: Math.max(event.end_ns, event.begin_ns + 1), tracks };
    const ask = (one: Area) => api.summary(run.run_name, Math.max(one.begin, 0), one.end, one.tracks ?? undefined, this.state.hiddenShades());
    const [here, before] = await Promise.all([ask(area), pair && ask(pair[0])]).catch(() => [null, null]);
    if (!here || this.state.event?.begin_ns !== event.begin_ns) return;
    const words = before ? `${countsOf(before, here)}, in ${this.state.definitions.nameOf('steps', pair![0].number)}` : countsOf(here, here).replaceAll(', as many', '');
    fill(
      this.element,
      el('p', {}, words),
      el('p', { class: 'row' },
        el('button', { class: 'act', click: () => this.actions.select(area) }, 'Select the step'),
        before !== null && el('button', { class: 'act', title: '<', click: () => this.actions.compare('previous') }, 'Compare with the one before'),
        el('button', { class: 'act', title: '>', click: () => this.actions.compare('next') }, 'with the one after')),
    );
  }
}
