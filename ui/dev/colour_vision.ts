// How different two colours look, to people with each kind of colour vision. The tests of the palettes use it.

import type { Rgb } from '../src/model/looks/colours.ts';

export type Lab = readonly [number, number, number];
export type Vision = 'normal' | 'protan' | 'deutan' | 'tritan';
export const kVisions: readonly Vision[] = ['normal', 'protan', 'deutan', 'tritan'];

type Matrix = readonly [Lab, Lab, Lab];

// Machado, Oliveira and Fernandes, 2009, at severity 1: the deficiency is complete. For linear RGB.
// https://www.inf.ufrgs.br/~oliveira/pubs_files/CVD_Simulation/CVD_Simulation.html
const kDeficient: Record<Vision, Matrix> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
// sRGB, with D65 as white.
const kToXyz: Matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]];

const times = (matrix: Matrix, v: Lab) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as unknown as Lab;
const linear = (value: number) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);

/** The colour as somebody with this vision sees it. */
export function seenAs(colour: Rgb, vision: Vision): Lab {
  const seen = times(kDeficient[vision], colour.map(linear) as unknown as Lab).map((value) => Math.min(Math.max(value, 0), 1));
  const white = kToXyz.map((row) => row[0] + row[1] + row[2]);
  const f = times(kToXyz, seen as unknown as Lab).map((value, i) => {
    const share = value / white[i];
    return share > 216 / 24389 ? Math.cbrt(share) : ((24389 / 27) * share + 16) / 116;
  });
  return [116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])];
}

const kDegree = Math.PI / 180;
const cos = (degrees: number) => Math.cos(degrees * kDegree);
const hue = (a: number, b: number) => (a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / kDegree + 360) % 360);
const seventh = (chroma: number) => Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));

/** CIEDE2000, as in Sharma, Wu and Dalal, 2005 (doi 10.1002/col.20070). About 1 can just be seen. */
export function difference(one: Lab, other: Lab): number {
  const more = 1.5 - 0.5 * seventh((Math.hypot(one[1], one[2]) + Math.hypot(other[1], other[2])) / 2);
  const [c1, c2] = [one, other].map((lab) => Math.hypot(lab[1] * more, lab[2]));
  const [h1, h2] = [one, other].map((lab) => hue(lab[1] * more, lab[2]));
  const apart = h2 - h1;
  const grey = c1 * c2 === 0;
  const turn = grey ? 0 : apart > 180 ? apart - 360 : apart < -180 ? apart + 360 : apart;
  const sum = h1 + h2;
  const h = grey ? sum : Math.abs(apart) <= 180 ? sum / 2 : sum < 360 ? (sum + 360) / 2 : (sum - 360) / 2;
  const l = (one[0] + other[0]) / 2 - 50;
  const c = (c1 + c2) / 2;
  const t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63);
  const byL = (other[0] - one[0]) / (1 + (0.015 * l ** 2) / Math.sqrt(20 + l ** 2));
  const byC = (c2 - c1) / (1 + 0.045 * c);
  const byH = (2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * kDegree)) / (1 + 0.015 * c * t);
  const rotation = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * kDegree) * 2 * seventh(c);
  return Math.sqrt(byL ** 2 + byC ** 2 + byH ** 2 + rotation * byC * byH);
}
