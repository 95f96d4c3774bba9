// Short tones, for people who look at themselves and not at the page.
let audio = null;

function tone(pitch, at, length) {
  const wave = audio.createOscillator(), volume = audio.createGain(), begin = audio.currentTime + at;
  wave.frequency.value = pitch;
  volume.gain.setValueAtTime(0.2, begin);
  volume.gain.exponentialRampToValueAtTime(0.001, begin + length);
  wave.connect(volume).connect(audio.destination);
  wave.start(begin);
  wave.stop(begin + length);
}

const play = notes => {
  try {
    audio ??= new AudioContext();
    audio.resume();
    notes.forEach(note => tone(...note));
  } catch { /* a machine without sound */ }
};

export const beep = good => play(good ? [[880, 0, 0.15]] : [[300, 0, 0.25]]); // a repetition: it reached the target, or not
export const done = () => play([[660, 0, 0.15], [880, 0.15, 0.15], [1320, 0.3, 0.4]]); // all of them
export const tick = last => play([[last ? 1200 : 700, 0, last ? 0.4 : 0.1]]); // of a countdown
