// A body as a skeleton on a canvas, seen from the front; joints that speak for the label are coloured.
const MARGIN = 0.12;

export class Stage {
  constructor(canvas, parents) {
    this.canvas = canvas;
    this.parents = parents;
    this.box = null; // of the poses so far, so that the picture does not jump
  }

  draw(pose, contributions) {
    const {canvas, parents} = this;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const points = parents.map((_, j) => [pose[3 * j], pose[3 * j + 1]]);
    const seen = points.filter(([x, y]) => Number.isFinite(x + y));
    if (!seen.length) return;
    this.#grow(seen);
    const [left, right, low, high] = this.box;
    const zoom = (1 - 2 * MARGIN) * Math.min(width / Math.max(right - left, 0.5), height / Math.max(high - low, 0.5));
    const place = ([x, y]) => [width / 2 + zoom * (x - (left + right) / 2), height / 2 - zoom * (y - (low + high) / 2)];
    const style = getComputedStyle(document.documentElement);
    const [ink, accent] = ["--quiet", "--accent"].map((name) => style.getPropertyValue(name).trim());
    context.lineCap = "round";
    context.lineWidth = 4;
    context.strokeStyle = ink;
    for (const [j, parent] of parents.entries()) {
      const ends = [points[j], points[parent]];
      if (parent < 0 || !ends.flat().every(Number.isFinite)) continue;
      context.beginPath();
      ends.map(place).forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
    }
    const largest = Math.max(1e-9, ...(contributions ?? [0]));
    for (const [j, point] of points.entries()) {
      if (!point.every(Number.isFinite)) continue;
      const share = contributions ? Math.max(0, contributions[j]) / largest : 0;
      context.beginPath();
      context.arc(...place(point), 4 + 8 * share, 0, 2 * Math.PI);
      context.fillStyle = share > 0.15 ? accent : ink;
      context.fill();
    }
  }

  #grow(points) {
    const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const now = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const box = this.box ?? now;
    this.box = box.map((value, k) => (k % 2 ? Math.max(value, now[k]) : Math.min(value, now[k])));
  }
}
