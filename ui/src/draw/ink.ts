// The colours of everything that is not an event. They are read from the style sheet: page and canvas share one list.

export interface Ink {
  back: string;
  band: string;
  line: string;
  strong: string;
  soft: string;
  text: string;
  accent: string;
  select: string;
  mark: string;
  font: string;
  error: string;
  warning: string;
  performance: string;
  info: string;
}

export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    back: of('back'),
    band: of('band'),
    line: of('line'),
    strong: of('line-strong'),
    soft: of('soft'),
    text: of('ink'),
    accent: of('accent'),
    select: of('select'),
    mark: of('mark'),
    font: of('font'),
    error: of('error'),
    warning: of('warning'),
    performance: of('performance'),
    info: of('info'),
  };
}

/** A canvas that has as many pixels as the screen gives it. */
export class Surface {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** css px */
  width = 0;
  height = 0;
  ratio = 1;

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', { alpha: false })!;
  }

  resize(): boolean {
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    if (box.width === this.width && box.height === this.height && ratio === this.ratio) return false;
    this.width = box.width;
    this.height = box.height;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    return true;
  }

  clear(colour: string): CanvasRenderingContext2D {
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = colour;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return context;
  }
}
