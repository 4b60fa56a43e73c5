// What is the matter, when something is: a line under the header, or words in place of the timeline.

import { clock, percent } from '../model/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from './dom.ts';

const time = (ms: number) => new Date(ms).toLocaleTimeString();

export class Notice {
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true });
  readonly empty = el('div', { class: 'empty', hidden: true });
  private readonly state: State;
  private readonly tryNow: () => void;
  private dismissed = '';
  private timer = 0;
  private shown = '';

  constructor(state: State, tryNow: () => void) {
    this.state = state;
    this.tryNow = tryNow;
    state.on(['run', 'connection', 'picture'], () => this.show());
    this.show();
  }

  private show(): void {
    this.showEmpty();
    clearTimeout(this.timer);
    const { connection, run } = this.state;
    if (connection.lost) {
      const wait = Math.max(0, Math.ceil((connection.nextTryMs - Date.now()) / 1000));
      this.say(`${connection.sentence} No answer since ${time(connection.sinceMs)}; what is shown is as it was then. Next try ${wait > 0 ? `in ${clock(wait)} s` : 'now'}.`, 'error', 'Try now');
      this.timer = window.setTimeout(() => this.show(), 500);
    } else if (this.state.forgotten) {
      this.say('castscope no longer knows this run: its file was deleted, or the collector was started again without it. What was loaded is still shown.', 'error', null);
    } else if (run?.state === 'gone') {
      this.say('The run file is gone. What was read of it is still shown; details such as shapes and stacks are not.', 'error', null);
    } else if (run?.state === 'lost') {
      this.say('This run was lost: its relay has fallen silent, so the job or its machine may have ended. What arrived is shown.', 'error', null);
    } else if (run?.state === 'loading') {
      this.say(`Reading the run file: ${percent(run.loaded)}. What is read is shown.`, '', null);
    } else if (run?.damage) {
      this.say(run.damage, '', 'Dismiss');
    } else if (this.state.restartedMs !== null) {
      this.say(`The collector was started again (${time(this.state.restartedMs)}); everything was asked for anew.`, '', 'Dismiss');
    } else if (run && run.totals.dropped_events > 0 && !this.state.live) {
      this.say(`${run.totals.dropped_events.toLocaleString('en-US')} events are missing from the timeline: they came faster than they could be taken. All counts are exact all the same.`, '', 'Dismiss');
    } else this.say('', '', null);
  }

  private say(text: string, kind: string, button: 'Try now' | 'Dismiss' | null): void {
    const hidden = text === '' || text === this.dismissed;
    if (this.element.hidden !== hidden) this.element.hidden = hidden;
    if (hidden || this.shown === text) return;
    this.shown = text;
    this.element.className = `notice ${kind}`;
    const act = () => {
      if (button === 'Try now') return this.tryNow();
      this.dismissed = text;
      this.element.hidden = true;
    };
    fill(this.element, el('span', {}, text), button !== null && el('button', { click: act }, button));
  }

  private showEmpty(): void {
    const words = this.emptyWords();
    this.empty.hidden = words === null;
    if (words && this.empty.dataset.said !== words[0] + words[1]) {
      this.empty.dataset.said = words[0] + words[1];
      fill(this.empty, el('strong', {}, words[0]), el('p', {}, words[1]));
    }
  }

  private emptyWords(): [string, string] | null {
    const { run, connection, problem } = this.state;
    if (!run) {
      if (problem !== null && !connection.lost) return ['This run cannot be read', `${problem} Others can be chosen above.`];
      if (connection.lost) return ['Not connected', 'castscope does not answer at this address. It may have ended; start it again and this page goes on.'];
      return ['Waiting for a run', 'No run has come in yet. Start one with: castscope run --live -- python train.py'];
    }
    if (this.state.events > 0) return null;
    if (run.state === 'loading') return ['Reading the run file', `${percent(run.loaded)} so far.`];
    if (run.state === 'live') return ['No casts yet', 'The job runs; nothing has been cast so far. Casts appear here as they happen.'];
    return ['This run has no events', run.totals.casts > 0
      ? `It counted ${run.totals.casts.toLocaleString('en-US')} casts, but kept no single events: the panels still tell where they were.`
      : 'Nothing was cast and no autocast region was entered. Did the job use torch.autocast?'];
  }
}
