// All texts of the page. Another language is another file like this one, listed in texts.js.
const many = (n, one, several = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : several}`;
const percent = share => `${(share * 100).toFixed((share > 0 && share < 0.1) || (share > 0.995 && share < 1) ? 1 : 0)} %`;
// What an action was, and of which recordings.
const DEEDS = { "add": "adding", "remove": "removing", "record": "recording", "trim": "trimming", "generated actions": "adding", "note": "the note", "segments": "the segments", "take over": "taking over notes and segments", "sort by index.csv": "sorting into folders" };
const deed = ({ what, n, first }) => `${DEEDS[what] ?? `the ${what.replace(/^(label|subject) (.*→)/, "change of $1 $2")}`} of ${n === 1 ? first.split("/").pop() : many(n, "recording")}`;

export const texts = {
  folders: "Open another folder", foldersText: now => `Open now: ${now}. Another one opens on all pages of this studio; a training must have ended.`, folderPath: "Path of a folder", openFolder: "Open", openThis: folder => `Open ${folder}`,
  title: "Kerneton studio", messages: "Messages", skip: "Skip to content", sections: "Sections", theme: "Light or dark", undo: "Undo", redo: "Redo",
  tabs: { collect: "Collect", label: "Label", train: "Train", live: "Live", share: "Share" },
  offline: "The studio's server does not respond. Is 'kerneton studio' still running? The page tries again by itself.",
  noToken: "This page needs the token: open the address that 'kerneton studio' printed.",
  foreign: why => `Look, but do not change yet: ${why}.`, foreignText: "Take it over if you know where it comes from. Its recordings, notes and segments stay; its history of changes is set aside.", takeOver: "Take it over",
  leftOut: wrong => `${many(wrong.length, "note or list of segments", "notes and lists of segments")} could not be used: ${wrong.slice(0, 3).join("; ")}`,
  undone: told => `Undone: ${deed(told)}`, redone: told => `Done again: ${deed(told)}`,
  lookAlike: (name, other) => `“${name}” looks like “${other}”, which is another name. Is that what you want?`, nothingToUndo: "Nothing to undo", nothingToRedo: "Nothing to redo",
  percent, percentNumber: share => (share * 100).toFixed(share === 1 ? 0 : 1),
  interval: ([low, high]) => `${percent(low)} to ${percent(high)}`,

  // Collect
  welcome: "Teach an action", welcomeText: "Show a few clips of each action, press one button, and see it recognised live.",
  wayFiles: "Drop recordings", wayFilesText: "Drop files or a folder anywhere on this page. In a folder LABEL/SUBJECT/FILE, folder names become labels and subjects.",
  wayCamera: "Use a camera", wayCameraText: "Record yourself with a countdown or hands-free. Pictures stay on this machine; only joints are kept.",
  wayDemo: "Look around first", wayDemoText: "Generated actions show every step, from clips to live labels, in under two minutes.",
  takeTour: "Take the tour", onlyDemo: "Only the clips",
  formats: "Reads CSV, NPZ, NumPy, pickle (PYSKL, MMAction2), BVH, C3D, TRC, AMC, NTU .skeleton, OpenPose, COCO and MediaPipe JSON, and films.",
  addFiles: "Add files", addFolder: "Add folder", record: "Record", dropHere: "Drop recordings, folders or films",
  names: "Names …", namesText: "Write another name to rename. The name of another one merges the two. Split shows the recordings of one, so that you can give some of them another name. Each is one step back for undo.", people: "People",
  newName: name => `New name of ${name}`, rename: "Rename", renameOf: name => `Rename ${name}`, split: "Split", splitOf: name => `Split ${name}`, nameCount: n => [n.whole && many(n.whole, "recording"), n.segments && many(n.segments, "segment")].filter(Boolean).join(", "),
  renamed: (old, name) => `“${old}” is now “${name}”`, merged: (old, name) => `“${old}” is now part of “${name}”`, splitHow: name => `Only “${name}” is shown. Choose some (Ctrl or Shift and click, Ctrl A for all), then write their new name above the list.`,
  search: "Search names, notes …", label: "Label", subject: "Subject", quality: "Quality", note: "Note", labels: "Labels",
  allLabels: "All labels", allSubjects: "All subjects", anyQuality: "Any quality", noWarnings: "Without warnings", withWarnings: "With warnings",
  unlabelled: "Unlabelled", noSubject: "No subject", recordings: "Recordings", recording: "Recording",
  reading: (done, total) => `Reading ${done} of ${many(total, "file")} …`,
  shown: (n, total, labels, subjects) => `${n === total ? many(total, "recording") : `${n} of ${many(total, "recording")}`} · ${many(labels, "label")} · ${many(subjects, "subject")}`,
  selected: n => `${n} selected`, apply: "Apply", remove: "Remove", removed: n => `${many(n, "recording")} removed. Undo brings them back.`,
  uploading: n => `Adding ${many(n, "file")} …`, added: n => `${many(n, "recording")} added`,
  brokenFiles: list => `${many(list.length, "file")} could not be read: ${list.slice(0, 5).join("; ")}${list.length > 5 ? " …" : ""}`,
  broken: n => `${many(n, "file")} cannot be read`,
  tooLarge: (files, limit) => `Larger than ${Math.round(limit / 2 ** 20)} MiB, left out: ${files.join(", ")}`,
  chooseOne: "Choose a recording to see it move.",
  facts: (r, s) => `${many(r.frames, "frame")} · ${s.toFixed(1)} s${r.fps ? ` at ${+r.fps.toFixed(2)} frames per second` : ""} · ${r.joints} joints${r.layout ? ` (${r.layout})` : ""} · ${percent(r.missing)} missing`,
  openTimeline: "Timeline", why: "What does the model say?", whyTitle: "Label, probability and the joints that contribute", hasSegments: "its segments have labels",
  segmentOf: source => `A segment of ${source}`, segmentsCount: n => many(n, "segment"),
  warnings: {
    short: "Four frames or fewer", missing: "More than half of the joints are missing", twice: "This recording occurs more than once", few: "Its label has two recordings or fewer",
    "one-subject": "Its label has only one subject, so it cannot be tested on other people", "one-label": "Its subject has only this label", layout: "Different joints from most recordings", rate: "Different frame rate from most recordings", slow: "Fewer than 8 frames per second: fast movements are lost. Choose a faster pose estimator, or a better light for the camera.", "no-subject": "Labelled, but without a subject",
  },

  // Player
  stageLabel: "Moving skeleton. Drag to turn, or Alt and arrow keys; hold Ctrl and scroll to zoom.", play: "Play", pause: "Pause", speed: "Speed", frame: "Frame", frameBack: "One frame back", frameNext: "One frame on",
  frameOf: (i, n) => `frame ${i} of ${n}`, missing: "missing", missingJoints: (n, all) => `${n} of ${all} joints missing`,

  // Label
  queue: "To label", onlyUnlabelled: n => `Only unlabelled (${n})`, suggest: "Suggest labels", suggestTitle: "Labels of the current model, least certain first", suggestLater: "After the first training the model suggests labels here.",
  nothingToLabel: "Nothing to label yet", nothingToLabelText: "Add recordings first.", allLabelled: "Everything has a label.",
  newLabel: "New label …", markIn: "Mark in (I)", markOut: "Mark out (O)", removeSegment: "Delete segment", trim: "Trim (T)", trimFirst: "Mark the part to keep first: I at its beginning, then T at its end. Or choose a segment.", trimmed: n => `Trimmed to ${many(n, "frame")}`, findSegments: "Find segments", zoomIn: "Zoom in", zoomOut: "Zoom out",
  segments: "Segments", noLabel: "no label", dragEdge: "Drag this edge", segmentName: (label, from, to) => `${label}, ${from} to ${to}`,
  suggested: s => `${s.label}, ${percent(s.probability)}`, says: (label, p) => `The model says ${label}${p === null ? "" : ` (${percent(p)})`}.`, saysUnknown: label => `Unlike anything in training; nearest is ${label}.`,
  confirm: "Confirm (Enter)", takeAll: "Accept all", foundSegments: n => n ? `${many(n, "segment")} found; they are dashed in the timeline.` : "No segments found.",
  suggesting: (done, all) => `Asking the model: ${done} of ${all} …`, suggestionsReady: n => `${many(n, "suggestion")}, least certain first`, markFirst: "Mark a segment first, or choose one.", markInFirst: "Mark in first.",
  marking: label => label ? `Marking ${label}` : "Marking", segmentMade: label => `Segment ${label ?? "without label"}`, labelled: label => `Labelled ${label}`, opened: (name, s) => `${name}, ${s.toFixed(1)} seconds`,
  keyboard: "Keyboard",
  keys: [["Space", "play or pause"], ["← →", "one frame; with Shift ten"], ["I  O", "mark in and out"], ["1 – 9", "label the marked part, the chosen segment, or the whole recording; while playing: begin and end a segment"], ["↑ ↓", "choose a segment"], ["Shift I  Shift O", "move the chosen segment's edge here"], ["Delete", "delete the segment"], ["T", "trim: keep what is marked, or the chosen segment"], ["[  ]", "jump to the next edge"], ["N  P", "next and previous recording"], ["Enter", "confirm the suggestion"], ["L", "a new label"], [",  .", "slower and faster"], ["+  −", "zoom the timeline"], ["Ctrl Z  Ctrl Shift Z", "undo and redo"], ["Esc", "clear the mark"]],

  film: "The film of this recording", noFilm: name => `This browser cannot play ${name}. MP4 (H.264) and WebM work in most browsers.`,

  // Executions
  executions: "Repetitions", repetitions: "Repetitions", executionsTitle: "Range, tempo and symmetry of each repetition; two executions side by side", noRepetitions: "Nothing is repeated here. Compare the whole recording with another.",
  repetitionsOf: (n, angle) => `${many(n, "repetition")}${angle ? `; the angle that moves most is that of the ${angle}` : ""}.`, repetitionOf: (k, of) => `repetition ${k} of ${of}`,
  repetitionColumns: (angle, k) => ["", "From", "Tempo", angle ? `Range, ${angle}` : "Range", "Left / right", `From ${k}`, ""], tempo: s => `${s.toFixed(1)} s · ${Math.round(60 / s)} a minute`, degrees: (r, wanted, good) => r === undefined || r === null ? "–" : `${Math.round(r)}°${wanted === null ? "" : good ? " ✓" : " ✗"}`,
  symmetry: r => r.left === undefined || r.left === null || r.right === undefined || r.right === null ? "–" : `${Math.round(r.left)}° / ${Math.round(r.right)}°${r.symmetry === null ? "" : ` · ${percent(r.symmetry)}`}`, centimetres: d => `${(d * 100).toFixed(1)} cm`,
  targetRange: "Target: range in degrees", targetCount: "repetitions", compareThis: "Compare", compareNumber: k => `Compare repetition ${k}`, choose: "Take as model", chooseNumber: k => `Take repetition ${k} as the model of the others`,
  chooseFirst: "Take one execution, here or in another recording, as the model; then compare others with it.", chosenIs: what => `The model is ${what}. It stays while you open other recordings.`, chooseWhole: "Take the whole recording as model", compareWhole: "Compare the whole recording",
  sideBySide: (a, b) => `${a} and ${b}`, difference: told => `The joints are ${(told.mean * 100).toFixed(1)} cm apart in the mean, most of all: ${Object.entries(told.joints).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([j, d]) => `${j.replaceAll("_", " ")} ${(d * 100).toFixed(0)} cm`).join(", ")}. The second takes ${(told.seconds[1] / told.seconds[0]).toFixed(2)} times as long.`,
  differenceColors: most => `Both bodies are placed, turned and scaled alike, and shown at the same moment of the movement. The larger a joint on the right, the farther it is from its place on the left; ${Math.round(most * 100)} cm and more are the largest.`,

  // Train
  train: "Train", stop: "Stop", trainingProgress: "Progress of the training", stages: { start: "Getting ready …", read: "Reading the recordings …", test: "Testing on held-out people …", fit: "Training on all recordings …", save: "Saving …", spot: "The model is ready. Learning to find actions in long recordings …", done: "Done" },
  trained: "Training is done.", stopped: "Stopped. Nothing was kept.", stoppedLate: "Stopped. The model is kept, but cannot find segments in long recordings.", needTwoLabels: "Two labels with two recordings each are needed.", needTwoEach: labels => `Two recordings are needed of each label; one more of: ${labels.join(", ")}.`,
  noModel: "No model yet", noModelText: "There is no model yet. One button trains one.", models: "Models", nameModel: "Name of this model", unnamed: "no name", modelColumns: ["Name", "Date", "Accuracy", "95 % interval", "Recordings", "Labels", "Subjects", "Time", ""], inUse: "in use", use: "Use",
  heldOutPeople: "accuracy on held-out people", heldOutRecordings: "accuracy on held-out recordings", ofTested: (right, n, [low, high], people) => `${right} of ${n} right; 95 % interval ${percent(low)} to ${percent(high)} (Wilson${people ? `, over ${people} people` : ""})`,
  compareWith: "Compare with", compareNothing: "nothing",
  compare: {
    title: "What changed", all: "All labels", columns: ["Right on held-out clips", "Before", "Now", "Change", "Clips before", "Clips now"], points: by => by === 0 ? "±0" : `${by > 0 ? "+" : "−"}${Math.abs(by)} points`, fixed: "Right now, wrong before", broke: "Wrong now, right before", said: (old, now) => `${old} → ${now}`,
    verdict: (old, now) => {
      if (old.accuracy === undefined || now.accuracy === undefined) return "One of the two was not tested on held-out clips.";
      const by = Math.round((now.accuracy - old.accuracy) * 100), apart = now.interval[0] > old.interval[1] || now.interval[1] < old.interval[0];
      return `${by === 0 ? "As accurate as before" : by > 0 ? `${by} points better than before` : `${-by} points worse than before`}: ${percent(old.accuracy)} (${percent(old.interval[0])} to ${percent(old.interval[1])}) before, ${percent(now.accuracy)} (${percent(now.interval[0])} to ${percent(now.interval[1])}) now. ${by === 0 ? "" : apart ? "The intervals do not overlap." : "The intervals overlap, so this may be chance."}`;
    },
    data: (old, now, shared) => `${many(old.recordings, "recording")} of ${many(old.subjects, "person", "people")} before, ${many(now.recordings, "recording")} of ${many(now.subjects, "person", "people")} now; ${shared} were tested both times.`,
  },
  onePerson: "The same people are in training and test, so the accuracy for new people is unknown. Record a second person.",
  confusion: "Confusion matrix", confusionText: "Rows are true labels, columns predicted labels. Press a number to see its recordings.", cell: (n, row, col) => row === col ? `${n} × ${row}, right` : `${n} × ${row} taken for ${col}`,
  next: "What to record next", nothingNext: "Nothing stands out. More people help most.",
  advice: n => ({ "second-person": "A second person: only then can the model be tested on somebody new.", more: `More of “${n.label}”: it has ${n.n}.`, confused: `“${n.label}” and “${n.other}”: ${n.n} taken for the other. More clips of both, by several people.`, "one-person": `“${n.label}” by somebody else: one person has done it so far.` })[n.code] ?? "",
  watchLive: "See it live", notes: n => many(n, "remark"), rightOnes: label => `“${label}”, recognised`, mistakes: (row, col) => `“${row}” taken for “${col}”`, example: label => `a right “${label}”`, more: n => `and ${n} more`, showMore: n => `Show ${n} more`, isA: "It is", gone: name => `${name} is no longer in the folder`,

  // Live
  source: "Source", sources: { replay: "Recording", camera: "Camera", stream: "Network" }, start: "Start", notStarted: "Press Start.", gettingReady: "The model is being read …", watching: "Watching", filling: "Waiting for enough movement …", hidden: why => `Waiting: what is seen ${why}.`, bodies: "Bodies", bodyShows: (who, label) => `${who === "" ? "Body" : `Body ${who}`}: ${label}`,
  seenEvents: "What was seen", saveSeen: "Save as table (.csv)", toldHow: "Pass it on to another program", toldText: "Every change of the label and every final segment, as one JSON object each, over a WebSocket of this machine.",
  toldCode: host => `from websockets.sync.client import connect\n\nwith connect("ws://${host}/api/told?token=THE TOKEN") as studio:\n    for event in studio:           # {"event": "segment", "label": "wave", "start": 1.2, ...}\n        print(event)`,
  aim: "A target, with a sound", aimText: "While an action goes on, each repetition sounds high if its range reaches the target, low if not; the number of repetitions has a sound of its own.", lastRepetition: (r, angle, wanted, good) => `Last repetition: ${r.seconds.toFixed(1)} s${r.range === undefined || r.range === null ? "" : `, ${angle} ${Math.round(r.range)}°${wanted === null ? "" : good ? ", target reached" : `, target ${wanted}° not reached`}`}${r.symmetry === undefined || r.symmetry === null ? "" : `, left to right ${percent(r.symmetry)}`}`,
  counts: "Repetitions", lately: "The last 15 seconds", noneYet: "none yet",
  delayMost: ms => `median of the last five seconds; 19 of 20 frames within ${ms} ms`, meters: { delay: "Delay", rate: "Frames", window: "Window" }, noneOfThese: "None of these", probability: p => p === null ? "" : `${percent(p)} sure`, perhaps: p => p === null ? "perhaps" : `perhaps, ${percent(p)}`, nearest: (label, p) => `nearest: ${label}${p === null ? "" : `, ${percent(p)}`}`, seen: (label, n) => n > 1 ? `${label}, ${n} repetitions` : label,
  doubt: "“None of these” above a doubt of", doubtText: "Lower shows fewer labels, and fewer wrong ones.", doubtEffect: share => `At this limit ${percent(share)} of the last answers have a label. Lower shows fewer, and fewer wrong ones.`,
  elapsed: s => s < 90 ? `${s} s` : `${Math.round(s / 60)} minutes`, longTraining: (n, s, last) => `${many(n, "recording")}: training takes about ${s < 90 ? `${Math.max(5, Math.round(s / 5) * 5)} s` : `${Math.round(s / 60)} minutes`}, judging by the last one${last.memory ? `, which needed ${(last.memory / 1e9).toFixed(1)} GB of memory for ${many(last.recordings, "recording")}` : ""}.`,
  trainingFailed: "The last training ended without a model:",
  spotting: s => `In long takes of people who were held out: ${percent(s.precision)} of the segments found are right, ${percent(s.recall)} of all are found, ${Math.round(s.false_alarms_per_hour)} false alarms an hour.`,
  colorJoints: "Colour joints by what they contribute", speaks: "Joints:", speaksFor: "for the label", speaksAgainst: "against it",
  noPoseTitle: "Cameras and films need the pose estimator", noPose: "The pose estimator is not here yet. Fetch it once with these commands, then start Studio again:", noPoseText: "Its networks are checked against known checksums and kept on this machine. Everything else works without them.", onlyJoints: "Pictures go from this page to Kerneton on this machine, and nowhere else. They are dropped as soon as their joints are known; only joints are kept.",
  noCamera: "The camera cannot be used.", cameraLost: "The camera, or its connection to Kerneton, has ended.", heard: n => n ? `${many(n, "frame")} received` : "Waiting for frames from another program.", streamHow: "How to send frames",
  streamCode: origin => `import json, time, urllib.request\n\ndef frames():                      # your sensor: rows of x, y, z in metres, y up\n    while True:\n        joints = ...\n        line = {"time": time.time(), "joints": joints, "layout": "kinect20"}  # "body": 0, 1, ... of several\n        yield json.dumps(line).encode() + b"\\n"\n\nurllib.request.urlopen(urllib.request.Request(\n    "${origin}/api/stream", data=frames(), method="POST",\n    headers={"X-Kerneton-Token": "THE TOKEN", "Content-Type": "application/x-ndjson"}))`,

  // Recording
  whichCamera: "Camera", cameraNumber: n => `Camera ${n}`, countSound: "Tones before a take", poseQuality: "Pose estimator", qualities: { lite: "Fast", full: "Balanced", heavy: "Accurate" },
  close: "Close", openingCamera: "Opening the camera …", cameraReady: rate => rate && rate < 6 ? `Ready, but slow: ${rate.toFixed(1)} poses a second. Choose a faster estimator.` : "Ready.", nobodySeen: "Nobody is in sight.", mode: "Start and stop", fixed: "Fixed length", handsFree: "Hands-free", seconds: "Seconds", takes: "Takes", countdown: "Countdown", startRecording: "Record",
  handsFreeText: "Hands-free: after the countdown, move, then stand still; every movement becomes a recording.", getReady: (s, n, all) => `${s} … take ${n} of ${all}`, phases: { record: "Recording", wait: "Move when you are ready", done: "All takes are kept" }, takeKept: n => `Take ${n} kept`, tooShort: "Too short: nothing was kept.",
  estimating: (done, all) => `Finding people in films: ${done} of ${many(all, "picture")} …`,

  // Share
  shareModel: "The model", shareModelText: m => `Trained ${m.date} on ${many(m.recordings, "recording")} of ${Object.keys(m.labels).join(", ")}; ${(m.bytes / 1e6).toFixed(1)} MB. It cannot run code.`,
  sharePage: "A web page", sharePageText: "The recogniser as a page for any web host, which runs in browsers and phones. It contains none of your recordings. With kerneton export --to web --pose it has a camera, too.",
  shareParcel: "To a colleague", shareParcelText: "The folder with its recordings, notes, segments and models as one file. 'kerneton studio FILE.zip' opens it and asks before it changes anything. What you removed is not in it.",
  shareReport: "The report", shareReportText: "One page with accuracy, mistakes that play, and what matters; it needs nothing else.", shareData: "The data set", shareDataText: n => `${many(n, "labelled recording")} as one file.`,
  download: file => `Save ${file}`, savedFile: file => `${file} saved`, segmentsOut: "Segments (.csv)", formatsOut: { npz: "NumPy .npz", pkl: "Pickle (PYSKL)", csv: "CSV tables (.zip)" }, copy: "Copy", copied: "Copied", copyWithToken: "Copy with the token",
  how: "Use it without this page", howText: folder => `Everything is in ${folder}, as LABEL/SUBJECT/FILE. The command line understands the folder, and what it adds appears here.`, fromPython: "From Python", fromShell: "From the command line",
  pythonCode: file => `import kerneton\n\nmodel = kerneton.load(${JSON.stringify(file)})\nrecordings = kerneton.read("new.csv")\nprint(model.predict(recordings))`,
  shellCode: (model, folder) => `kerneton predict ${model} new.csv\nkerneton watch ${model} --lines < frames.jsonl\nkerneton evaluate ${folder} --html report.html\nkerneton fit ${folder} -o model.kern`,


  tour: {
    name: "Tour", next: "Next", done: "Finish", leave: "Leave the tour", count: (i, n) => `Step ${i} of ${n}`,
    steps: [
      ["Clips", "These are generated: three actions by five people, and four takes without a label. Click one to see it move; drag to turn it."],
      ["Labels", "Unlabelled takes wait here. Press 1, 2 or 3 to label one, or go on: the model will suggest labels later."],
      ["Training", "One button. People are held out in turn, so this is the accuracy for new people."],
      ["Results", "When the bar is full you see the accuracy with its interval, what was confused, and what to record next."],
      ["Live", "A long take is replayed and labelled as it runs. The colours on the body show which joints contribute. A camera works the same way."],
    ],
  },
};
