// Shows a list of any length: only the entries that are in sight are built.

import { el } from '../dom.ts';
import { TallList } from '../model/findings/tall_list.ts';

export interface Entry {
  key: string;
  /** css px, until it is built and measured. */
  estimate: number;
  /** What it shows, as text: while this stays the same, the entry is not built again and keeps the focus. */
  contents(): string;
  build(): HTMLElement;
}

interface Built {
  contents: string;
  /** Holds what the entry built, and the distance to the next one. */
  holder: HTMLElement;
}

// As much as somebody scrolls before the next frame.
const kBeyondPx = 400;

export class TallListView {
  readonly element = el('div', { class: 'tall-list' });
  private readonly tall = new TallList();
  private readonly scroller: HTMLElement;
  private readonly built = new Map<string, Built>();
  private readonly sizes: ResizeObserver;
  private entries = new Map<string, Entry>();
  private frame = 0;

  /** `scroller` is an element around the list, which scrolls it. */
  constructor(scroller: HTMLElement) {
    this.scroller = scroller;
    scroller.addEventListener('scroll', () => this.soon(), { passive: true });
    this.sizes = new ResizeObserver((changes) => this.measure(changes.map((one) => one.target as HTMLElement)));
    new ResizeObserver(() => this.soon()).observe(scroller);
  }

  set(entries: readonly Entry[]): void {
    this.entries = new Map(entries.map((entry) => [entry.key, entry]));
    for (const [key, { contents }] of this.built) if (this.entries.get(key)?.contents() !== contents) this.drop(key);
    this.tall.set(entries.map((entry) => entry.key), entries.map((entry) => entry.estimate));
    this.draw();
  }

  /** The built element of an entry; null while it is out of sight. */
  elementOf(key: string): HTMLElement | null {
    return (this.built.get(key)?.holder.firstElementChild ?? null) as HTMLElement | null;
  }

  /** Scrolls so that an entry is in sight. */
  reveal(key: string): void {
    for (let round = 0; round < 2; round += 1) { // the second one with measured heights
      const top = this.tall.topOf(key);
      if (top === null) return;
      const offset = this.element.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top + this.scroller.scrollTop;
      const height = this.built.get(key)?.holder.offsetHeight ?? 0;
      const at = this.scroller.scrollTop;
      const room = this.scroller.clientHeight;
      if (offset + top < at || height > room) this.scroller.scrollTop = offset + top - 8;
      else if (offset + top + height > at + room) this.scroller.scrollTop = offset + top + height - room + 8;
      this.draw();
      this.measure([...this.built.values()].map((one) => one.holder));
    }
  }

  private soon(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Where the screen begins, css px from the top of the list. */
  private top(): number {
    return this.scroller.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
  }

  private draw(): void {
    if (!this.element.isConnected) return;
    const seen = new Set(this.tall.within(this.top() - kBeyondPx, this.scroller.clientHeight + 2 * kBeyondPx));
    // What has the focus stays, however far somebody scrolls.
    for (const [key, { holder }] of this.built) if (!seen.has(key) && !holder.contains(document.activeElement)) this.drop(key);
    let before: HTMLElement | null = null;
    for (const key of seen) before = this.put(key, before);
    this.place();
  }

  private put(key: string, before: HTMLElement | null): HTMLElement {
    const known = this.built.get(key);
    if (known) return known.holder;
    const entry = this.entries.get(key)!;
    const holder = el('div', {}, entry.build());
    this.built.set(key, { contents: entry.contents(), holder });
    if (before) before.after(holder);
    else this.element.prepend(holder);
    this.sizes.observe(holder);
    return holder;
  }

  private drop(key: string): void {
    const known = this.built.get(key);
    if (!known) return;
    this.sizes.unobserve(known.holder);
    known.holder.remove();
    this.built.delete(key);
  }

  private measure(holders: HTMLElement[]): void {
    const heights = new Map<string, number>();
    for (const [key, { holder }] of this.built)
      if (holders.includes(holder) && holder.offsetHeight > 0) heights.set(key, holder.offsetHeight);
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    // Who went to the end of a long list stays there, though its last entries are larger than was estimated.
    const atEnd = this.built.size < this.entries.size && scrollTop + clientHeight >= scrollHeight - 1;
    const moved = this.tall.measure(heights, this.top());
    this.place();
    if (atEnd) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (moved !== 0) this.scroller.scrollTop += moved;
    this.soon();
  }

  private place(): void {
    this.element.style.height = `${this.tall.height}px`;
    for (const [key, { holder }] of this.built) {
      const top = `${this.tall.topOf(key)}px`;
      if (holder.style.top !== top) holder.style.top = top;
    }
  }
}
