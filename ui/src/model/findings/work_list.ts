// The findings as a list to work through: by rule, filtered, sorted. The findings come with the most severe first, and
// in the order of the code within one severity.

import type { Finding, Severity } from '../../api/types.ts';
import { place } from '../words/format.ts';
import { inOrder } from '../words/order.ts';

export const kFindingOrders = ['severity', 'saving', 'time', 'place'] as const;
export type FindingOrder = (typeof kFindingOrders)[number];

export interface WorkListLook {
  order: FindingOrder;
  /** Every word must be somewhere in the finding. */
  filter: string;
  /** Those that are done are left out. */
  hideDone: boolean;
}

export const kPlainWorkList: WorkListLook = { order: 'severity', filter: '', hideDone: false };

/** The form in which the address holds it: "saving|open|weight". '' = as it is at first. */
export function workListText({ order, filter, hideDone }: WorkListLook): string {
  if (order === kPlainWorkList.order && filter === '' && !hideDone) return '';
  return [order, hideDone ? 'open' : 'all', filter].join('|');
}

export function workListOf(text: string): WorkListLook {
  const [order, which, ...filter] = text.split('|');
  return { order: kFindingOrders.find((one) => one === order) ?? kPlainWorkList.order, filter: filter.join('|'), hideDone: which === 'open' };
}

export interface RuleGroup {
  rule: string;
  severity: Severity;
  findings: Finding[];
  /** ns per step, of all its findings. */
  savedNs: number;
}

/** With so few findings everything is open: there is nothing to lose sight of. */
export const kFewFindings = 12;
// A group of so few stays open in a longer list.
const kFewOfRule = 5;

export function isOpenAtFirst(group: RuleGroup, findingCount: number): boolean {
  return findingCount <= kFewFindings || group.findings.length <= kFewOfRule;
}

export const savedNs = (finding: Finding) => finding.savings?.ns_per_step ?? 0;

const texts = new WeakMap<Finding, string>();

function textOf(finding: Finding): string {
  let text = texts.get(finding);
  if (text === undefined) {
    const { rule, severity, title, fix, location, evidence } = finding;
    const values = Object.values(evidence).filter((value) => typeof value === 'string');
    text = [rule, severity, title, fix, place(location, ''), location.function ?? '', ...values].join(' ').toLowerCase();
    texts.set(finding, text);
  }
  return text;
}

/** The groups, and in each its findings, both in the order asked for. */
export function workList(findings: readonly Finding[], done: ReadonlySet<string>, look: WorkListLook): RuleGroup[] {
  const words = look.filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const groups = new Map<string, RuleGroup>();
  for (const finding of findings) {
    if (look.hideDone && done.has(finding.fingerprint)) continue;
    if (words.some((word) => !textOf(finding).includes(word))) continue;
    const group = groups.get(finding.rule) ?? { rule: finding.rule, severity: finding.severity, findings: [], savedNs: 0 };
    groups.set(finding.rule, group);
    group.findings.push(finding);
    group.savedNs += savedNs(finding);
  }
  const list = [...groups.values()];
  const compare = kCompare[look.order];
  if (!compare) return list;
  for (const group of list) group.findings.sort(compare);
  if (look.order === 'saving') return list.sort((a, b) => b.savedNs - a.savedNs);
  return list.sort((a, b) => compare(a.findings[0], b.findings[0]));
}

const at = (finding: Finding) => finding.first_event_ns ?? Infinity;

/** null: as they come. */
const kCompare: Record<FindingOrder, ((a: Finding, b: Finding) => number) | null> = {
  severity: null,
  saving: (a, b) => savedNs(b) - savedNs(a),
  time: (a, b) => (at(a) === at(b) ? 0 : at(a) - at(b)),
  place: (a, b) => inOrder(place(a.location, ''), place(b.location, '')),
};
