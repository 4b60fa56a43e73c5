// Says what is wrong, if something is: in a line under the header, or in place of the timeline.

import { clock, grouped, percent } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

interface Matter {
  text: string;
  kind: '' | 'error';
  button: 'Try now' | 'Dismiss' | null;
}
const standing = (text: string): Matter => ({ text, kind: 'error', button: null });
const passing = (text: string): Matter => ({ text, kind: '', button: 'Dismiss' });

const time = (ms: number) => new Date(ms).toLocaleTimeString();

export class Notice {
  readonly element = el('div', { class: 'notice', role: 'status', hidden: true });
  readonly empty = el('div', { class: 'empty', hidden: true });
  private readonly state: State;
  private readonly tryNow: () => void;
  private readonly dismissed = new Set<string>();
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
    if (this.state.connection.lost) this.timer = window.setTimeout(() => this.show(), 500);
    this.say(this.matters().find((matter) => !this.dismissed.has(matter.text)) ?? null);
  }

  /** What is wrong, the worst first. */
  private matters(): Matter[] {
    const { connection, run, restartedMs, missing } = this.state;
    if (connection.lost && run?.run_state === 'finished') {
      const text = `The run has ended, and castscope no longer answers here. What was loaded is still shown; “castscope view ${run.run_file}” shows all of it.`;
      return [{ text, kind: '', button: 'Try now' }];
    }
    if (connection.lost) {
      const wait = Math.max(0, Math.ceil((connection.nextTryMs - Date.now()) / 1000));
      const text = `${connection.sentence} No answer since ${time(connection.sinceMs)}; what is shown is as it was then. Next try ${wait > 0 ? `in ${clock(wait)} s` : 'now'}.`;
      return [{ text, kind: 'error', button: 'Try now' }];
    }
    if (this.state.forgotten) return [standing('castscope no longer knows this run: its file was deleted, or the collector was started again without it. What was loaded is still shown.')];
    if (!run) return [];
    const list: Matter[] = [];
    if (missing !== null) list.push(passing(`There is no run “${missing}” here. This is “${run.run_name}”; others can be chosen above.`));
    if (this.state.strayed) list.push(passing('The stretch of time that the link names lies outside of this run. All of the run is shown.'));
    if (run.run_state === 'gone') return [...list, standing('The run file is gone. What was read of it is still shown; details such as shapes and stacks are not.')];
    if (run.run_state === 'lost') return [...list, standing('This run was lost: nothing comes from its relay any more, so the job or its machine may have ended. What arrived is shown.')];
    if (run.run_state === 'loading') return [...list, { text: `Reading the run file: ${percent(run.loaded)}. What is read is shown.`, kind: '', button: null }];
    if (run.damage) list.push(passing(run.damage));
    if (restartedMs !== null) list.push(passing(`The collector was started again (${time(restartedMs)}); everything was asked for anew.`));
    const dropped = run.totals.events_lost;
    if (dropped > 0 && !this.state.live) list.push(passing(`${grouped(dropped)} events are missing from the timeline: they came faster than they could be taken. All counts are exact all the same.`));
    return list;
  }

  private say(matter: Matter | null): void {
    const text = matter?.text ?? '';
    if (this.element.hidden !== (matter === null)) this.element.hidden = matter === null;
    if (this.shown === text) return;
    this.shown = text;
    if (matter === null) return fill(this.element);
    this.element.className = `notice ${matter.kind}`;
    const act = () => {
      if (matter.button === 'Try now') return this.tryNow();
      this.dismissed.add(text);
      this.show();
    };
    fill(this.element, el('span', {}, text), matter.button !== null && el('button', { click: act }, matter.button));
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
      return ['Waiting for a run', `No run has come in yet. Start one with: castscope run --collector HOST:PORT -- python train.py, with the address that “castscope serve” listens at.`];
    }
    if (this.state.events > 0) return null;
    if (run.run_state === 'loading') return ['Reading the run file', `${percent(run.loaded)} so far.`];
    if (run.run_state === 'live') return ['No casts yet', 'The job runs; nothing has been cast so far. Casts appear here as they happen.'];
    return ['This run has no events', run.totals.casts > 0
      ? `It counted ${grouped(run.totals.casts)} casts, but kept no single events: the panels still tell where they were.`
      : 'Nothing was cast and no autocast region was entered. Did the job use PyTorch, and torch.autocast?'];
  }
}
