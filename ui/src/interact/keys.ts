// Maps keys to actions. Held keys (W, S, A, D) move in every frame, and faster the longer they are held.

import { actionOf, kHeld } from '../model/keymap.ts';
import type { Action } from '../model/keymap.ts';
import type { State } from '../model/state.ts';
import { lengthOf, panned, zoomed } from '../model/time/time_window.ts';
import type { Pointer } from './pointer.ts';

export class Keys {
  private readonly state: State;
  private readonly pointer: Pointer;
  private readonly act: (action: Action) => void;
  private readonly held = new Map<string, { action: Action; sinceMs: number }>();
  private lastMs = 0;
  private frame = 0;

  constructor(state: State, pointer: Pointer, act: (action: Action) => void) {
    this.state = state;
    this.pointer = pointer;
    this.act = act;
    document.addEventListener('keydown', (event) => this.down(event));
    document.addEventListener('keyup', (event) => this.held.delete(event.code));
    window.addEventListener('blur', () => this.held.clear());
  }

  private down(event: KeyboardEvent): void {
    const { target } = event;
    const typing = target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== 'checkbox');
    if (document.querySelector('dialog[open]')) return;
    const action = actionOf({ key: event.key, code: event.code, ctrl: event.ctrlKey, meta: event.metaKey, alt: event.altKey, typing });
    if (action === null || this.belongsTo(target, event.key)) return;
    event.preventDefault();
    if (!kHeld.has(action)) return this.act(action);
    if (this.held.has(event.code)) return;
    const nowMs = performance.now();
    this.held.set(event.code, { action, sinceMs: nowMs });
    this.step(action, 16, 0);
    this.lastMs = nowMs;
    if (this.frame === 0) this.frame = requestAnimationFrame((ms) => this.go(ms));
  }

  /** Whether the key has a meaning for the element that has the focus. */
  private belongsTo(target: EventTarget | null, key: string): boolean {
    if (!(target instanceof HTMLElement)) return false;
    // A select that is closed chooses with these; letters are the timeline's.
    if (target instanceof HTMLSelectElement) return /^(Arrow|Page|Home|End|Enter|Escape)/.test(key) || key === ' ';
    if (key === 'Enter') return target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement || target.tabIndex === 0 && target.tagName === 'TR';
    if (key.startsWith('Arrow') || key.startsWith('Page'))
      return target.closest('.side, .tabs, .legend') !== null;
    return false;
  }

  private go(ms: number): void {
    this.frame = 0;
    if (this.held.size === 0) return;
    for (const { action, sinceMs } of this.held.values()) this.step(action, ms - this.lastMs, ms - sinceMs);
    this.lastMs = ms;
    this.frame = requestAnimationFrame((next) => this.go(next));
  }

  private step(action: Action, passedMs: number, heldMs: number): void {
    const { state } = this;
    const nowMs = performance.now();
    const speed = Math.min(1 + heldMs / 500, 3.5) * (Math.min(Math.max(passedMs, 1), 50) / 1000);
    if (action === 'zoomIn' || action === 'zoomOut') {
      const factor = Math.exp((action === 'zoomIn' ? -1 : 1) * speed * 1.8);
      if (state.following) return state.zoomFollowed(factor);
      const at = this.pointer.at ?? (state.window.begin + state.window.end) / 2;
      return state.show(zoomed(state.window, at, factor, state.whole), nowMs);
    }
    const sign = action === 'panLeft' ? -1 : 1;
    state.show(panned(state.window, sign * lengthOf(state.window) * speed * 0.7, state.whole), nowMs);
  }
}
