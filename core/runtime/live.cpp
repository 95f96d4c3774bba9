// The live half of libkerneton: the label of the last seconds, and hands-free segments: move, then stand still.
#define KN_BUILDS_LIBRARY
#include "kerneton.h"

#include "../lanes.h"

using namespace kn;

namespace {

constexpr double MOVES = 0.5, STILL = 0.25;      // metres a second: a movement begins above and ends below
constexpr double BASE = 0.2, BEFORE = 0.3;       // seconds: between compared poses; kept before a movement
constexpr double SHORTEST = 0.5, LONGEST = 20;   // seconds of a movement
constexpr double PAUSE = 1.0;                    // seconds without a pose after which the stream starts anew
constexpr int FASTEST = 4, FEWEST = 5;           // joints whose speed counts; frames of a current label

struct Options {
    double window, still, fps;
    int64_t capacity;
};

Options chosen(const kn_model *model, const kn_live_options *options) {
    kn_facts facts;
    kn_describe(model, &facts);
    Options out = {0, 0.6, 30, 0};
    if (options) out = {options->window, options->still > 0 ? options->still : 0.6, options->fps > 0 ? options->fps : 30, 0};
    if (out.fps > 240) out.fps = 240;
    if (!(out.fps >= 1)) out.fps = 1;
    if (!(out.window > 0)) out.window = facts.needs_rate ? facts.usual_seconds : facts.usual_seconds / out.fps;
    if (!(out.window >= 0.3)) out.window = 0.3;
    if (out.window > LONGEST) out.window = LONGEST;
    if (!(out.still <= 5)) out.still = 5;
    out.capacity = (int64_t)(2 * (LONGEST + out.still) * out.fps) + 16;
    return out;
}

}  // namespace

struct kn_live {
    int32_t level;  // as of the model
    const kn_model *model;
    Options options;
    int64_t n_joints, count, room_size;
    double *times, *decisions;
    float *poses, *speeds;
    char *room;
    double slow, begin, quiet;  // speed; since when it moves; since when it stands still, or -1
    bool moving;
};

namespace {

kn_live *place(const kn_model *model, const Options &options, Room &room) {
    kn_facts facts;
    kn_describe(model, &facts);
    const int64_t J = facts.n_joints;
    kn_live *live = room.take<kn_live>(1);
    double *times = room.take<double>(options.capacity), *decisions = room.take<double>(facts.n_labels);
    float *poses = room.take<float>(3 * J * options.capacity), *speeds = room.take<float>(J);
    const int64_t size = kn_predict_size(model, (int32_t)options.capacity);
    char *memory = room.take<char>(size);
    *live = {*(const int32_t *)model, model, options, J, 0, size, times, decisions, poses, speeds, memory, 0, 0, -1, false};
    return live;
}

void start_anew(kn_live &live) {
    live.count = 0;
    live.slow = 0;
    live.quiet = -1;
    live.moving = false;
}

// Metres a second of the fastest joints since BASE seconds before the last pose; joints that are missing do not count.
double speed(kn_live &live) {
    const int64_t J = live.n_joints, last = live.count - 1;
    int64_t first = last;
    while (first > 0 && live.times[last] - live.times[first] < BASE) --first;
    const double seconds = live.times[last] - live.times[first];
    if (!(seconds > 0)) return 0;
    const float *a = live.poses + 3 * J * first, *b = live.poses + 3 * J * last;
    int64_t n = 0;
    for (int64_t j = 0; j < J; ++j) {
        const double x = (double)b[3 * j] - a[3 * j], y = (double)b[3 * j + 1] - a[3 * j + 1], z = (double)b[3 * j + 2] - a[3 * j + 2];
        const double distance = root(x * x + y * y + z * z);
        if (distance - distance == 0) live.speeds[n++] = (float)(distance / seconds);
    }
    double total = 0;
    const int64_t counted = n < FASTEST ? n : FASTEST;
    for (int64_t k = 0; k < counted; ++k) {
        int64_t top = k;
        for (int64_t i = k + 1; i < n; ++i)
            if (live.speeds[i] > live.speeds[top]) top = i;
        const float kept = live.speeds[k];
        live.speeds[k] = live.speeds[top];
        live.speeds[top] = kept;
        total += live.speeds[k];
    }
    return counted ? total / (double)counted : 0;
}

// The answer for poses between two times; false if there are too few, or a joint is missing in all.
bool decide(kn_live &live, double begin, double end, double *decisions, double *probabilities, kn_answer *answer, int32_t *code) {
    int64_t first = 0, last = live.count - 1;
    while (first < last && live.times[first] < begin) ++first;
    while (last > first && live.times[last] > end) --last;
    const int64_t n = last - first + 1;
    *code = KN_OK;
    if (n < FEWEST) return false;
    const double fps = (double)(n - 1) / (live.times[last] - live.times[first]);
    const float *poses = live.poses + 3 * live.n_joints * first;
    *code = kn_predict(live.model, poses, (int32_t)n, fps, live.room, live.room_size, decisions ? decisions : live.decisions,
                       probabilities, answer);
    if (*code == KN_MISSING_JOINT) *code = KN_OK;  // nobody is seen, or not all of them: no label yet
    else if (*code == KN_OK) return true;
    return false;
}

}  // namespace

KN_PUBLIC int64_t kn_live_size(const kn_model *model, const kn_live_options *options) {
    Room measure = {nullptr};
    const Options out = chosen(model, options);
    kn_facts facts;
    kn_describe(model, &facts);
    measure.take<kn_live>(1);
    measure.take<double>(out.capacity);
    measure.take<double>(facts.n_labels);
    measure.take<float>(3 * facts.n_joints * out.capacity);
    measure.take<float>(facts.n_joints);
    measure.take<char>(kn_predict_size(model, (int32_t)out.capacity));
    return (int64_t)measure.at;
}

KN_PUBLIC int32_t kn_live_open(const kn_model *model, const kn_live_options *options, void *memory, int64_t size,
                               kn_live **live) {
    if (!memory || size < kn_live_size(model, options)) return KN_TOO_LITTLE_ROOM;
    Room room = {(char *)memory};
    *live = place(model, chosen(model, options), room);
    return KN_OK;
}

KN_PUBLIC int32_t kn_live_push(kn_live *given, double seconds, const float *joints, double *decisions, double *probabilities,
                               kn_event *event) {
    kn_live &live = *given;
    const Options &options = live.options;
    *event = {};
    event->moving = live.moving;
    const double last = live.count ? live.times[live.count - 1] : seconds;
    if (!(seconds >= last)) {
        start_anew(live);
        return KN_CLOCK_BACK;
    }
    if (seconds - last > PAUSE) start_anew(live);
    if (live.count && seconds - last < 0.5 / options.fps) return KN_OK;  // faster than wanted
    const int64_t width = 3 * live.n_joints;
    for (int64_t k = 0; k < width; ++k)
        if (joints[k] > 1e6f || joints[k] < -1e6f) return KN_NOT_A_NUMBER;
    if (live.count == options.capacity) {  // the older half goes
        const int64_t kept = live.count / 2, gone = live.count - kept;
        for (int64_t s = 0; s < kept; ++s) live.times[s] = live.times[s + gone];
        for (int64_t k = 0; k < kept * width; ++k) live.poses[k] = live.poses[k + gone * width];
        live.count = kept;
    }
    live.times[live.count] = seconds;
    for (int64_t k = 0; k < width; ++k) live.poses[live.count * width + k] = joints[k];
    ++live.count;
    int32_t code = KN_OK;
    event->has_label = decide(live, seconds - options.window, seconds, decisions, probabilities, &event->current, &code);
    if (code) return code;
    live.slow = (live.slow + speed(live)) / 2;
    if (!live.moving) {
        if (live.slow > MOVES) {
            live.moving = true;
            live.begin = seconds - BEFORE;
            live.quiet = -1;
        }
    } else {
        if (live.slow >= STILL) live.quiet = -1;
        else if (live.quiet < 0) live.quiet = seconds;
        const bool rested = live.quiet >= 0 && seconds - live.quiet > options.still;
        if (rested || seconds - live.begin > LONGEST) {
            const double end = rested ? live.quiet + BASE : seconds;
            live.moving = false;
            if (end - live.begin > SHORTEST) {
                event->has_segment = decide(live, live.begin, end, nullptr, nullptr, &event->segment, &code);
                event->begin = live.begin;
                event->end = end;
            }
        }
    }
    event->moving = live.moving;
    return code;
}
