// Which findings and which events belong together: they share a line of the source. A finding lies at its own line, or
// if nothing happens there, at the first of its related places where something does (server/web/runs/finding_places.h
// decides in the same way where a finding is shown in time).

import type { Finding, Place, TrackKind } from '../../api/types.ts';
import type { Definitions } from '../definitions.ts';

export interface Line {
  file: string;
  line: number;
}

const keyOf = (file: string, line: number) => `${file}:${line}`;

export class FindingLinks {
  private readonly definitions: Definitions;
  private readonly byLine = new Map<string, Finding[]>();
  private readonly lines = new Map<string, Line>();

  constructor(findings: readonly Finding[], definitions: Definitions) {
    this.definitions = definitions;
    const used = new Set<string>();
    for (const table of [definitions.sites, definitions.uses, definitions.regions] as Map<number, Place>[])
      for (const { file, line } of table.values()) if (file !== null && line !== null) used.add(keyOf(file, line));
    for (const finding of findings) {
      const at = [finding.location, ...finding.related].find(({ file, line }) => file !== null && line !== null && used.has(keyOf(file, line)));
      if (!at) continue;
      const line = at as Line;
      const key = keyOf(line.file, line.line);
      this.lines.set(finding.fingerprint, line);
      this.byLine.set(key, [...(this.byLine.get(key) ?? []), finding]);
    }
  }

  /** Where its events are; null: none of its places has any. */
  lineOf(fingerprint: string): Line | null {
    return this.lines.get(fingerprint) ?? null;
  }

  /** The findings at the line of an event's subject, the most severe first. */
  ofSubject(kind: TrackKind, subject: number): Finding[] {
    const place = this.definitions.placeOf(kind, subject);
    return place === null || place.file === null || place.line === null ? [] : this.atLine(place.file, place.line);
  }

  atLine(file: string, line: number): Finding[] {
    return this.byLine.get(keyOf(file, line)) ?? [];
  }
}
