// The film beside its skeleton: it follows the player, frame by frame and while it plays.
import { h, clear } from "./dom.js";
import { texts } from "./texts.js";
import { token } from "./api.js";

const DRIFT = 0.2; // seconds between film and skeleton while both play

export class FilmBeside {
  constructor() {
    this.node = h("div.film", { hidden: true });
    this.video = null;
  }

  // `record.film` is the path of a film and the frame at which the recording begins in it.
  set(record, fps) {
    const key = record.film ? `${record.id} ${record.film}` : null;
    if (key === this.key) return;
    this.key = key;
    this.fps = fps;
    this.node.hidden = !key;
    if (!key) { this.video?.removeAttribute("src"); this.video = null; clear(this.node); return; }
    this.start = record.film[1];
    const failed = h("p.quiet", { hidden: true }, texts.noFilm(record.film[0].split("/").pop()));
    this.video = h("video", { muted: true, playsinline: true, preload: "auto", "aria-label": texts.film, tabindex: -1, onerror: () => { failed.hidden = false; this.video.hidden = true; } });
    this.video.muted = true;
    this.video.src = `/api/film?${new URLSearchParams({ id: record.id, token })}`;
    clear(this.node, this.video, failed);
  }

  at(frame, { playing, speed }) {
    const { video } = this;
    if (!video || video.error) return;
    const time = (this.start + frame + 0.5) / this.fps; // the middle of the picture
    if (playing) {
      video.playbackRate = speed;
      if (Math.abs(video.currentTime - time) > DRIFT * Math.max(1, speed)) video.currentTime = time;
      if (video.paused) video.play().catch(() => {});
    } else {
      video.pause();
      if (Math.abs(video.currentTime - time) > 0.3 / this.fps) video.currentTime = time;
    }
  }
}
