// A few words beside the pointer about what is under it.

import type { Finding } from '../api/types.ts';
import type { Hit } from '../interact/hits.ts';
import { causeName, kindName } from '../model/looks/colours.ts';
import { counted, duration } from '../model/words/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

export class Tip {
  private readonly element = el('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
  private readonly state: State;

  constructor(state: State) {
    this.state = state;
    document.body.append(this.element);
  }

  show(under: Hit | readonly Finding[] | null, x: number, y: number): void {
    if (under === null && this.element.hidden) return;
    this.element.hidden = under === null;
    if (under === null) return;
    if ('length' in under) this.findings(under);
    else this.event(under);
    const { offsetWidth: width, offsetHeight: height } = this.element;
    this.element.style.left = `${Math.min(x + 14, window.innerWidth - width - 8)}px`;
    this.element.style.top = `${y + 18 + height > window.innerHeight ? y - height - 10 : y + 18}px`;
  }

  private findings(findings: readonly Finding[]): void {
    const rest = findings.length - 1;
    fill(this.element, el('b', {}, findings[0].title), el('span', { class: 'soft' }, [`${findings[0].severity} · ${findings[0].rule}`, rest > 0 ? `and ${counted(rest, 'finding', 'findings')} more; click again for the next one` : ''].filter((one) => one !== '').join(' · ')));
  }

  private event(hit: Hit): void {
    const { box, track } = hit;
    const { run, definitions } = this.state;
    const shade = run?.shades.find((one) => one.shade === hit.shade);
    const kind = shade ? kindName(shade.shade_kind) : track.track_kind;
    const name = box ? definitions.nameOf(track.track_kind, box.subject, track.row_depth) : '';
    const found = box ? this.state.links().ofSubject(track.track_kind, box.subject) : [];
    const more = [name === '' ? '' : kind, shade?.shade_dtype ?? '', shade?.cause ? causeName(shade.cause) : '', box && track.track_kind === 'kernels' ? definitions.purposeOf(box.subject) : '', box ? duration(box.end - box.begin) : 'come nearer to tell them apart (W)'];
    fill(
      this.element,
      el('b', {}, name === '' ? kind : name),
      el('span', { class: 'soft' }, more.filter((one) => one !== '').join(' · ')),
      found.length > 0 && el('span', { class: `part-of ${found[0].severity}` }, `part of a finding: ${found[0].rule}`),
    );
  }
}
