"use strict";
// Players of recordings, sortable tables, and all details open when printed. The data are only numbers.
(() => {
  const REST = 500;  // pause in milliseconds at the end, before it starts again
  const LARGEST = 34, SPOKE = 12;  // radius of a dot, and per cent from which it is drawn
  const block = document.getElementById("motions");
  const motions = block ? JSON.parse(block.textContent) : [];
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  class Player {
    constructor(figure) {
      this.motion = motions[+figure.dataset.motion];
      this.stage = figure.querySelector(".stage");
      this.button = figure.querySelector(".play");
      this.slider = figure.querySelector("input");
      this.clock = figure.querySelector("output");
      this.film = figure.querySelector(".film");
      this.name = this.button.getAttribute("aria-label").replace(/^Play /, "");
      this.parts = kind => [...this.stage.querySelectorAll(kind)];
      this.bones = this.parts(".bone");
      this.dots = this.parts(".dot");
      this.heads = this.parts(".head");
      this.ways = this.parts(".way");
      this.numbers = this.parts(".number");
      this.marks = this.parts(".mark");
      this.last = this.motion.frames.length - 1;
      this.at = this.motion.still;
      this.turn = 0;
      this.playing = false;
      this.started = false;
      this.button.addEventListener("click", () => this.play(!this.playing));
      this.slider.addEventListener("input", () => { this.play(false); this.show(+this.slider.value); });
      this.listenToTurns();
      this.show(this.at);
    }

    // Positions of the joints in the picture between two frames; null where the joint is missing in either frame.
    pose(at) {
      const before = Math.floor(at), after = Math.min(before + 1, this.last), share = at - before;
      const a = this.motion.frames[before], b = this.motion.frames[after], places = [];
      const yaw = this.motion.yaw + this.turn, tilt = this.motion.elevation;
      const cy = Math.cos(yaw), sy = Math.sin(yaw), ct = Math.cos(tilt), st = Math.sin(tilt);
      for (let i = 0; i < a.length; i += 3) {
        if (a[i] === null || (share && b[i] === null)) { places.push(null); continue; }
        const mix = k => share ? a[i + k] + share * (b[i + k] - a[i + k]) : a[i + k];
        const x = mix(0), y = mix(1), z = mix(2), near = x * sy + z * cy;
        places.push([this.motion.middle + x * cy - z * sy, this.motion.ground - y * ct + near * st]);
      }
      return places;
    }

    // What a joint contributes between two frames, in per cent of the largest contribution.
    said(joint) {
      const before = Math.floor(this.at), after = Math.min(before + 1, this.last), share = this.at - before;
      return (1 - share) * this.motion.said[before][joint] + share * this.motion.said[after][joint];
    }

    show(at) {
      this.at = Math.max(0, Math.min(at, this.last));
      const pose = this.pose(this.at);
      this.marks.forEach((mark, j) => {
        const value = this.said(j), size = Math.abs(value) < SPOKE ? 0 : LARGEST * Math.sqrt(Math.abs(value) / 100);
        set(mark, pose[j] && size && { cx: pose[j][0], cy: pose[j][1], r: size });
        mark.classList.toggle("for", value >= 0);
        mark.classList.toggle("against", value < 0);
      });
      this.motion.bones.forEach(([a, b], i) => {
        const p = pose[a], q = pose[b];
        set(this.bones[i], p && q && { x1: p[0], y1: p[1], x2: q[0], y2: q[1] });
      });
      this.motion.loose.forEach((j, i) => set(this.dots[i], pose[j] && { cx: pose[j][0], cy: pose[j][1] }));
      this.motion.heads.forEach((j, i) => set(this.heads[i], pose[j] && { cx: pose[j][0], cy: pose[j][1] }));
      this.motion.bodies.forEach((joints, i) => {
        const top = joints.map(j => pose[j]).filter(Boolean).reduce((a, b) => (a && a[1] <= b[1] ? a : b), null);
        set(this.numbers[i], top && { x: top[0], y: top[1] - 50 });
      });
      const share = this.last ? this.at / this.last : 0, time = share * this.motion.seconds;
      const text = this.motion.timed ? time.toFixed(2) + " s" : "frame " + Math.round(time);
      this.clock.value = text;
      this.slider.value = this.at;
      if (this.film) this.film.src = this.motion.pictures[Math.round(share * (this.motion.pictures.length - 1))];
      this.slider.setAttribute("aria-valuetext", text);
    }

    drawWays() {
      const poses = this.motion.frames.map((_, t) => this.pose(t));
      this.motion.ends.forEach((joint, i) => {
        let path = "", broken = true;
        for (const pose of poses) {
          const p = pose[joint];
          if (p) path += (broken ? "M" : "L") + Math.round(p[0]) + " " + Math.round(p[1]);
          broken = !p;
        }
        this.ways[i].setAttribute("d", path);
      });
    }

    play(on) {
      if (on && (!this.started || this.at >= this.last)) this.show(0);
      this.started ||= on;
      this.playing = on;
      this.waiting = 0;
      this.button.setAttribute("aria-pressed", String(on));
      this.button.setAttribute("aria-label", (on ? "Pause " : "Play ") + this.name);
      if (on) tick.start();
    }

    // Forward by some milliseconds; at the end a pause, then from the start again, or a stop for readers who prefer reduced motion.
    step(elapsed) {
      if (this.at >= this.last) {
        this.waiting += elapsed;
        if (still.matches) this.play(false);
        else if (this.waiting > REST) { this.waiting = 0; this.show(0); }
        return;
      }
      const seconds = this.motion.timed ? this.motion.seconds : this.motion.seconds / 30;
      this.show(this.at + elapsed / 1000 * this.last / Math.max(seconds, 0.05));
    }

    turnBy(angle) {
      if (!this.motion.turns) return;
      this.turn += angle;
      this.drawWays();
      this.show(this.at);
    }

    listenToTurns() {
      let from = null;
      this.stage.addEventListener("pointerdown", event => { from = event.clientX; this.stage.setPointerCapture(event.pointerId); });
      this.stage.addEventListener("pointermove", event => {
        if (from === null) return;
        this.turnBy((event.clientX - from) / 90);
        from = event.clientX;
      });
      for (const end of ["pointerup", "pointercancel"]) this.stage.addEventListener(end, () => { from = null; });
      this.stage.addEventListener("keydown", event => {
        if (event.key === " ") this.play(!this.playing);
        else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.turnBy(event.key === "ArrowLeft" ? -0.2 : 0.2);
        else return;
        event.preventDefault();
      });
    }
  }

  function set(element, places) {
    element.setAttribute("visibility", places ? "visible" : "hidden");
    for (const key in places || {}) element.setAttribute(key, places[key].toFixed(1));
  }

  const players = [...document.querySelectorAll(".player[data-motion]")].map(figure => new Player(figure));

  // One clock for all players; it stops when nothing plays.
  const tick = {
    running: false,
    start() {
      if (this.running) return;
      this.running = true;
      let before = null;
      const next = now => {
        const active = players.filter(player => player.playing);
        if (before !== null) for (const player of active) player.step(Math.min(now - before, 100));
        before = now;
        this.running = active.length > 0;
        if (this.running) requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    },
  };

  for (const card of document.querySelectorAll(".card")) {
    const button = card.querySelector(".all"), mine = players.filter(player => card.contains(player.stage));
    if (!mine.length) { button.remove(); continue; }
    button.addEventListener("click", () => {
      const on = !mine.some(player => player.playing);
      for (const player of mine) { if (on) player.show(0); player.play(on); }
    });
    card.addEventListener("click", () => { button.textContent = mine.some(player => player.playing) ? "Pause all" : "Play all"; });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const value = (row, i) => row.cells[i].dataset.key ?? row.cells[i].textContent;
    heads.forEach((head, i) => head.firstChild.addEventListener("click", () => {
      const words = head.className !== "num", down = head.ariaSort ? head.ariaSort === "ascending" : !words;
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = down ? "descending" : "ascending";
      const order = (a, b) => words ? value(a, i).localeCompare(value(b, i)) : value(a, i) - value(b, i);
      body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
    }));
  }

  // Content that is wider than its container is marked, and can be scrolled by keyboard.
  const measure = target => {
    const wide = target.scrollWidth > target.clientWidth + 1;
    target.classList.toggle("wide", wide);
    if (wide) target.tabIndex = 0;
  };
  const sized = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(e => measure(e.target))));
  for (const each of document.querySelectorAll(".scroll")) { measure(each); sized.observe(each); }

  // All details are open in print.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of opened) each.open = false; });

  document.body.dataset.ready = players.length;
})();
