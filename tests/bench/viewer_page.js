// Put into the page before it starts: it records what a person would feel. All times are ms, of performance.now().
// Answers are inspected where the page itself takes them, since a copy would use the bench's memory and not the page's.
window.measured = { frames: [], tasks: [], pictures: [], painted: [] };
(() => {
  const noted = window.measured;
  let last = 0;
  const frame = (now) => {
    if (last > 0) noted.frames.push(now - last);
    last = now;
    // This frame paints everything that was answered before it.
    for (const picture of noted.pictures) {
      if (picture.painted === undefined && picture.at < now) {
        picture.painted = now;
        if (picture.newest !== null) noted.painted.push(Date.now() - picture.newest);
      }
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) noted.tasks.push({ at: task.startTime, ms: task.duration });
  }).observe({ type: 'longtask', buffered: true });
  let beganNs = 0n;
  const begun = new WeakMap();
  const fetched = window.fetch;
  window.fetch = async (...request) => {
    const at = performance.now();
    const answer = await fetched(...request);
    begun.set(answer, at);
    return answer;
  };
  const json = Response.prototype.json;
  Response.prototype.json = async function () {
    const told = await json.call(this);
    if (/runs\/[^/?]+$/.test(this.url) && told.start) beganNs = BigInt(Date.parse(told.start)) * 1_000_000n;
    return told;
  };
  // The page reads pictures into memory of its own, part by part; the first part holds the header.
  const answers = new WeakMap();
  const body = Object.getOwnPropertyDescriptor(Response.prototype, 'body');
  Object.defineProperty(Response.prototype, 'body', {
    get() {
      const stream = body.get.call(this);
      if (stream && this.url.includes('/picture?')) answers.set(stream, this);
      return stream;
    },
  });
  const getReader = ReadableStream.prototype.getReader;
  ReadableStream.prototype.getReader = function (...options) {
    const reader = getReader.apply(this, options);
    const answer = answers.get(this);
    if (!answer) return reader;
    const read = reader.read.bind(reader);
    const length = Number(answer.headers.get('Content-Length'));
    let [taken, newest] = [0, 0n];
    reader.read = async (...into) => {
      const part = await read(...into);
      if (!part.value) return part;
      if (taken === 0) newest = new DataView(part.value.buffer, part.value.byteOffset).getBigInt64(40, true);
      taken += part.value.byteLength;
      if (taken === length) note(answer, length, newest);
      return part;
    };
    return reader;
  };
  function note(answer, bytes, newest) {
    const at = performance.now();
    noted.pictures.push({
      at,
      took: at - begun.get(answer),
      served: Number(/dur=([\d.]+)/.exec(answer.headers.get('Server-Timing') ?? '')?.[1] ?? NaN),
      bytes,
      newest: beganNs === 0n ? null : Number((beganNs + newest) / 1000n) / 1000,
    });
  }
})();
