// Handles mouse and touch on the canvases.

import { flagAt } from '../draw/flags.ts';
import type { Timeline } from '../draw/timeline.ts';
import type { Mark } from '../model/time/marks.ts';
import type { State } from '../model/state.ts';
import { TimeScale, fitting, lengthOf, panned, zoomed } from '../model/time/time_window.ts';
import type { TimeWindow } from '../model/time/time_window.ts';
import type { Finding } from '../api/types.ts';
import { findingsAt, findingsInMinimapAt, hitAt, snapped, tracksBetween } from './hits.ts';
import type { Hit } from './hits.ts';

const kClickPx = 4;
const kWheelStep = 0.0016;

export interface Hands {
  choose(track: number, at: number, withinNs: number, shade: number | null): void;
  /** A click on the mark of these findings. */
  findings(findings: readonly Finding[]): void;
  hover(under: Hit | readonly Finding[] | null, x: number, y: number): void;
  hint(text: string): void;
  mark(mark: Mark): void;
}

export class Pointer {
  /** ns under the mouse; the keys zoom there. */
  at: number | null = null;
  private readonly state: State;
  private readonly timeline: Timeline;
  private readonly hands: Hands;
  private readonly fingers = new Map<number, { x: number; y: number }>();

  constructor(state: State, timeline: Timeline, hands: Hands) {
    this.state = state;
    this.timeline = timeline;
    this.hands = hands;
    this.onLanes();
    this.onRuler();
    this.onMinimap();
  }

  private scale(): TimeScale {
    return new TimeScale(this.state.window, this.timeline.widthPx);
  }

  private show(window: TimeWindow): void {
    this.state.show(window, performance.now());
  }

  private onLanes(): void {
    const { lanes } = this.timeline;
    lanes.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.timeline.gutter.element.addEventListener('wheel', (event) => this.scroll(event, event.deltaY), { passive: false });
    lanes.addEventListener('pointermove', (event) => this.move(event));
    lanes.addEventListener('pointerleave', () => {
      this.at = null;
      lanes.classList.remove('over-mark');
      this.hands.hover(null, 0, 0);
    });
    lanes.addEventListener('pointerdown', (event) => this.down(event));
    lanes.addEventListener('dblclick', (event) => {
      const hit = hitAt(this.state, this.scale(), event.offsetX, event.offsetY);
      if (hit?.box) this.show(fitting(hit.box.begin, hit.box.end, this.state.whole));
      else this.show(zoomed(this.state.window, this.scale().ns(event.offsetX), 0.5, this.state.whole));
    });
  }

  private wheel(event: WheelEvent): void {
    const lines = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    const across = event.shiftKey && dx === 0 ? dy : dx;
    const zooms = event.ctrlKey || event.metaKey;
    if (!zooms && !event.shiftKey && Math.abs(across) <= Math.abs(dy)) return this.scroll(event, dy);
    event.preventDefault();
    const scale = this.scale();
    if (!zooms) return this.show(panned(this.state.window, across / scale.pxPerNs, this.state.whole));
    const factor = Math.exp(Math.max(-200, Math.min(200, dy)) * kWheelStep * 2);
    if (this.state.following) this.state.zoomFollowed(factor);
    else this.show(zoomed(this.state.window, scale.ns(event.offsetX), factor, this.state.whole));
  }

  /** Where all rows are in sight, the wheel scrolls the page, if that is taller than the screen. */
  private scroll(event: WheelEvent, dy: number): void {
    const before = this.state.scrollTop;
    this.timeline.scrollBy(dy);
    const page = document.documentElement;
    if (before !== this.state.scrollTop || page.scrollHeight <= page.clientHeight) event.preventDefault();
    const fits = this.state.layout.height <= this.timeline.lanesSurface.height - this.state.layout.pinnedHeight;
    if (before === this.state.scrollTop && fits) this.hands.hint('Ctrl + wheel zooms, W and S too');
  }

  private move(event: PointerEvent): void {
    const scale = this.scale();
    this.at = scale.ns(event.offsetX);
    const { measure } = this.state;
    if (measure && !measure.fixed) {
      measure.to = snapped(this.state, scale, event.offsetX, event.offsetY);
      this.timeline.soon();
    }
    if (event.buttons !== 0) return;
    const findings = this.findingsAt(event.offsetX, event.offsetY);
    this.timeline.lanes.classList.toggle('over-mark', findings.length > 0);
    this.hands.hover(findings.length > 0 ? findings : hitAt(this.state, scale, event.offsetX, event.offsetY), event.clientX, event.clientY);
  }

  private findingsAt(x: number, y: number): Finding[] {
    return findingsAt(this.state, this.scale(), x, y, this.timeline.lanesSurface.height);
  }

  private down(event: PointerEvent): void {
    if (event.pointerType === 'touch') return this.touch(event);
    if (event.button > 1) return;
    event.preventDefault();
    this.timeline.lanes.focus({ preventScroll: true });
    this.hands.hover(null, 0, 0);
    if (this.state.measure && !this.state.measure.fixed) {
      this.state.measure.fixed = true;
      this.state.tell('marks'); // the address holds it
      return;
    }
    if (event.button === 1 || event.shiftKey) this.pan(event);
    else this.select(event);
  }

  private pan(event: PointerEvent): void {
    const from = this.state.window;
    const perNs = this.scale().pxPerNs;
    const top = this.state.scrollTop;
    this.timeline.lanes.classList.add('grabbing');
    drag(this.timeline.lanes, event, (now) => {
      this.show(panned(from, (event.clientX - now.clientX) / perNs, this.state.whole));
      this.timeline.scrollBy(top + event.clientY - now.clientY - this.state.scrollTop);
    }, () => this.timeline.lanes.classList.remove('grabbing'));
  }

  private select(event: PointerEvent): void {
    const from = { x: event.offsetX, y: event.offsetY };
    const begun = this.scale().ns(from.x);
    let moved = false;
    drag(this.timeline.lanes, event, (now) => {
      if (!moved && Math.abs(now.offsetX - from.x) < kClickPx && Math.abs(now.offsetY - from.y) < kClickPx) return;
      if (!moved) this.state.pause();
      moved = true;
      const other = this.scale().ns(now.offsetX);
      const tracks = tracksBetween(this.state, Math.min(from.y, now.offsetY), Math.max(from.y, now.offsetY));
      this.state.selection = { begin: Math.floor(Math.min(begun, other)), end: Math.ceil(Math.max(begun, other)), tracks };
      this.timeline.soon();
    }, () => {
      if (moved) {
        this.state.tell('selection');
        // Who keeps a first stretch selects the second one to compare them.
        this.state.openTab(this.state.firstStretch ? 'compare' : 'selection');
      } else this.click(from.x, from.y);
    });
  }

  private click(x: number, y: number): void {
    const scale = this.scale();
    const findings = this.findingsAt(x, y);
    if (findings.length > 0) return this.hands.findings(findings);
    const hit = hitAt(this.state, scale, x, y);
    if (hit) this.hands.choose(hit.track.track, scale.ns(x), 5 / scale.pxPerNs, hit.shade);
    else if (this.state.selection || this.state.event) {
      this.state.selection = null;
      this.state.event = null;
      this.state.tell('selection');
      this.state.tell('event');
    }
  }

  /** One finger pans and scrolls, two zoom, a tap chooses. */
  private touch(event: PointerEvent): void {
    this.fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    let moved = false;
    drag(this.timeline.lanes, event, (now) => {
      const last = this.fingers.get(event.pointerId)!;
      const point = { x: now.offsetX, y: now.offsetY };
      if (!moved && Math.hypot(point.x - last.x, point.y - last.y) < kClickPx * 2) return;
      moved = true;
      const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
      const scale = this.scale();
      if (other) {
        const before = Math.max(Math.abs(last.x - other.x), 20);
        const after = Math.max(Math.abs(point.x - other.x), 20);
        this.show(zoomed(this.state.window, scale.ns((point.x + other.x) / 2), before / after, this.state.whole));
      } else {
        this.show(panned(this.state.window, (last.x - point.x) / scale.pxPerNs, this.state.whole));
        this.timeline.scrollBy(last.y - point.y);
      }
      this.fingers.set(event.pointerId, point);
    }, () => {
      this.fingers.delete(event.pointerId);
      if (!moved) this.click(event.offsetX, event.offsetY);
    });
  }

  private onRuler(): void {
    const { ruler } = this.timeline;
    ruler.addEventListener('pointerdown', (event) => {
      const begun = this.scale().ns(event.offsetX);
      this.state.pause();
      drag(ruler, event, (now) => {
        this.timeline.rulerDrag = { begin: begun, end: this.scale().ns(now.offsetX) };
        this.timeline.soon();
      }, () => {
        const span = this.timeline.rulerDrag;
        this.timeline.rulerDrag = null;
        this.timeline.soon();
        if (!span || Math.abs(span.end - span.begin) * this.scale().pxPerNs < kClickPx) {
          const mark = flagAt(this.state.marks, this.scale(), event.offsetX);
          return mark ? this.hands.mark(mark) : undefined;
        }
        this.show({ begin: Math.min(span.begin, span.end), end: Math.max(span.begin, span.end) });
      });
    });
    ruler.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  private onMinimap(): void {
    const { minimap } = this.timeline;
    const findingsUnder = (event: PointerEvent) =>
      findingsInMinimapAt(this.state, new TimeScale(this.state.allWindow(), this.timeline.widthPx), event.offsetX, event.offsetY);
    minimap.addEventListener('pointermove', (event) => {
      if (event.buttons !== 0) return;
      const findings = findingsUnder(event);
      minimap.classList.toggle('over-mark', findings.length > 0);
      this.hands.hover(findings.length > 0 ? findings : null, event.clientX, event.clientY);
    });
    minimap.addEventListener('pointerleave', () => {
      minimap.classList.remove('over-mark');
      this.hands.hover(null, 0, 0);
    });
    minimap.addEventListener('pointerdown', (event) => {
      const findings = findingsUnder(event);
      if (findings.length > 0) return this.hands.findings(findings);
      const scale = new TimeScale(this.state.allWindow(), this.timeline.widthPx);
      const from = this.state.window;
      const at = scale.ns(event.offsetX);
      const near = 6 / scale.pxPerNs;
      const edge = Math.abs(at - from.begin) < near ? 'begin' : Math.abs(at - from.end) < near ? 'end' : null;
      const inside = at >= from.begin && at <= from.end;
      const { whole } = this.state;
      const showsAll = from.begin <= whole.begin && from.end >= whole.end;
      const grip = inside ? (from.begin + from.end) / 2 - at : 0;
      const to = (x: number) => {
        const ns = scale.ns(x);
        if (edge === 'begin') return this.show({ begin: Math.min(ns, from.end - near / 6), end: from.end });
        if (edge === 'end') return this.show({ begin: from.begin, end: Math.max(ns, from.begin + near / 6) });
        // A window that shows all has nowhere to go: then a stretch is chosen.
        if (showsAll) return Math.abs(ns - at) > near && this.show({ begin: Math.min(at, ns), end: Math.max(at, ns) });
        const half = lengthOf(from) / 2;
        return this.show({ begin: ns + grip - half, end: ns + grip + half });
      };
      if (!inside && edge === null) to(event.offsetX);
      drag(minimap, event, (now) => to(now.offsetX), () => undefined);
    });
  }
}

export function drag(
  element: HTMLElement,
  first: PointerEvent,
  moved: (now: PointerEvent) => void,
  done: () => void,
): void {
  element.setPointerCapture(first.pointerId);
  const move = (event: PointerEvent) => {
    if (event.pointerId === first.pointerId) moved(event);
  };
  const end = (event: PointerEvent) => {
    if (event.pointerId !== first.pointerId) return;
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', end);
    element.removeEventListener('pointercancel', end);
    done();
  };
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', end);
  element.addEventListener('pointercancel', end);
}
