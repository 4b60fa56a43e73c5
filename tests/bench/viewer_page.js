// Put into the page before it begins: notes what a person would feel. All times are ms, of performance.now().
window.measured = { frames: [], tasks: [], pictures: [], painted: [] };
(() => {
  const noted = window.measured;
  let last = 0;
  const frame = (now) => {
    if (last > 0) noted.frames.push(now - last);
    last = now;
    // What was answered before this frame is painted by it.
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
    for (const task of list.getEntries()) noted.tasks.push(task.duration);
  }).observe({ type: 'longtask', buffered: true });
  const fetched = window.fetch;
  let beganNs = 0n;
  window.fetch = async (...request) => {
    const begun = performance.now();
    const answer = await fetched(...request);
    const url = String(request[0]);
    if (/runs\/[^/?]+$/.test(url)) {
      const run = await answer.clone().json();
      if (run.start_ns) beganNs = BigInt(run.start_ns);
    } else if (url.includes('/picture?')) {
      const body = await answer.clone().arrayBuffer();
      if (body.byteLength >= 80) {
        const newest = new DataView(body).getBigInt64(40, true);
        const at = performance.now();
        noted.pictures.push({
          at, took: at - begun, bytes: body.byteLength,
          newest: beganNs === 0n ? null : Number((beganNs + newest) / 1000n) / 1000,
        });
      }
    }
    return answer;
  };
})();
