// Makes data for unit tests.

import type { Finding, Place } from '../api/types.ts';

export function findingOf({ line = 1, saved = 0, ...more }: Partial<Finding> & { line?: number; saved?: number }): Finding {
  return {
    rule: 'rule',
    severity: 'warning',
    harm: 'time',
    title: 'A title',
    location: placeOf(line),
    related: [],
    evidence: {},
    deep_only: false,
    savings: saved === 0 ? null : { ns_per_step: saved, share_of_step: 0, held_bytes: 0 },
    fingerprint: 'f',
    fix: 'Mend it.',
    first_event_ns: null,
    track: null,
    site_ids: [],
    ...more,
  };
}

export function placeOf(line: number | null, file: string | null = '/job/model.py'): Place {
  return { file, line, function: 'forward' };
}
