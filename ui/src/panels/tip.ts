// A few words beside the pointer about what is under it.

import type { Hit } from '../interact/hits.ts';
import { causeName, kindName } from '../model/colours.ts';
import { duration } from '../model/format.ts';
import type { State } from '../model/state.ts';
import { el, fill } from '../dom.ts';

export class Tip {
  private readonly element = el('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
  private readonly state: State;

  constructor(state: State) {
    this.state = state;
    document.body.append(this.element);
  }

  show(hit: Hit | null, x: number, y: number): void {
    if (hit === null && this.element.hidden) return;
    this.element.hidden = hit === null;
    if (!hit) return;
    const { box, track } = hit;
    const shade = this.state.run?.shades.find((one) => one.shade === hit.shade);
    const kind = shade ? kindName(shade.shade_kind) : track.track_kind;
    const name = box ? this.state.definitions.nameOf(track.track_kind, box.subject) : '';
    const more = [name === '' ? '' : kind, shade?.shade_dtype ?? '', shade?.cause ? causeName(shade.cause) : '', box && track.track_kind === 'kernels' ? this.state.definitions.purposeOf(box.subject) : '', box ? duration(box.end - box.begin) : 'come nearer to tell them apart'];
    fill(this.element, el('b', {}, name === '' ? kind : name), el('span', { class: 'soft' }, more.filter((one) => one !== '').join(' · ')));
    const { offsetWidth: width, offsetHeight: height } = this.element;
    this.element.style.left = `${Math.min(x + 14, window.innerWidth - width - 8)}px`;
    this.element.style.top = `${y + 18 + height > window.innerHeight ? y - height - 10 : y + 18}px`;
  }
}
