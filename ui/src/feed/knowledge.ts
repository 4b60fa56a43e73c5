// The meaning of events: definitions, which are fetched when there are new ones, and findings, which are fetched when
// the rules have judged again.

import type { Run } from '../api/types.ts';
import type { State } from '../model/state.ts';
import { api } from '../api/client.ts';

export class Knowledge {
  private readonly state: State;
  private asking = false;
  private judgement = -1;

  constructor(state: State) {
    this.state = state;
  }

  /** Called after a restart of the collector, when numbers may stand for something else. */
  forget(): void {
    this.state.definitions.clear();
    this.judgement = -1;
  }

  async askDefinitions(): Promise<void> {
    const { run, definitions } = this.state;
    if (!run || this.asking) return;
    this.asking = true;
    try {
      if (definitions.add(await api.definitions(run.run_name, definitions.known()))) this.state.tell('definitions');
    } catch {
      // The next refresh of the run asks again.
    } finally {
      this.asking = false;
    }
  }

  /** Only a run that evaluates numbers its steps otherwise than its processes do. */
  private async askSteps({ run_name, totals }: Run): Promise<void> {
    if (totals.evaluation_count === 0) return;
    const steps = await api.steps(run_name).catch(() => null);
    if (!steps) return;
    this.state.definitions.steps.set(steps);
    this.state.tell('definitions');
  }

  judge(judgement: number): void {
    if (judgement === this.judgement || !this.state.run) return;
    this.judgement = judgement;
    this.state.tell('judgement');
    void this.askSteps(this.state.run);
    void api.findings(this.state.run.run_name).then(
      (findings) => {
        this.state.findings = findings;
        this.state.tell('findings');
      },
      () => (this.judgement = -1),
    );
  }
}
