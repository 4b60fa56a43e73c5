// A list that is taller than the screen: where each entry lies, and which entries a stretch of it holds. Heights are
// css px. Those of entries that were never built are estimates, until they are measured.

export class TallList {
  private keys: readonly string[] = [];
  private readonly places = new Map<string, number>();
  private readonly measured = new Map<string, number>();
  private estimates: readonly number[] = [];
  /** tops[i] = where entry i begins; the last one is the end of the list. */
  private tops: number[] = [0];

  /** `estimates` has a height for each key. What was measured is kept for keys that stay. */
  set(keys: readonly string[], estimates: readonly number[]): void {
    this.keys = keys;
    this.estimates = estimates;
    this.places.clear();
    keys.forEach((key, i) => this.places.set(key, i));
    for (const key of [...this.measured.keys()]) if (!this.places.has(key)) this.measured.delete(key);
    this.layOut();
  }

  /** Returns by how much the list grew before `top`: whoever looks at what lies at `top` would see it move. */
  measure(heights: ReadonlyMap<string, number>, top: number): number {
    const at = this.at(top);
    const before = this.tops[at];
    let changed = false;
    for (const [key, height] of heights) {
      if (!this.places.has(key) || this.measured.get(key) === height) continue;
      this.measured.set(key, height);
      changed = true;
    }
    if (!changed) return 0;
    this.layOut();
    return this.tops[at] - before;
  }

  private layOut(): void {
    this.tops = [0];
    for (let i = 0; i < this.keys.length; i += 1)
      this.tops.push(this.tops[i] + (this.measured.get(this.keys[i]) ?? this.estimates[i]));
  }

  get height(): number {
    return this.tops[this.tops.length - 1];
  }

  topOf(key: string): number | null {
    const place = this.places.get(key);
    return place === undefined ? null : this.tops[place];
  }

  /** The entry that holds `top`: the last one for what lies beyond the end. */
  private at(top: number): number {
    let low = 0;
    let high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= top) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, Math.max(this.keys.length - 1, 0));
  }

  /** The keys of the entries that touch [top, top + height), in order. */
  within(top: number, height: number): string[] {
    const keys: string[] = [];
    for (let i = this.at(top); i < this.keys.length && this.tops[i] < top + height; i += 1)
      if (this.tops[i + 1] > top) keys.push(this.keys[i]);
    return keys;
  }
}
