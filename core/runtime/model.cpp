// libkerneton: predictions of an exported model, made of the functions of kerneton_core.h for one recording.
//
// The file is a table of arrays, each found by four letters and a number. Everything in it is hostile: kn_open checks
// every array's type, place and size and every number that is used as a position, once; predictions trust it then.
#define KN_BUILDS_LIBRARY
#include "kerneton.h"

#include "../rows.h"

using namespace kn;

namespace {

// --- the file ---------------------------------------------------------------------------------------------

constexpr uint32_t FORMAT = 1;
constexpr int64_t MOST = 1 << 20;           // of anything that is counted in a model
constexpr double FARTHEST = 1e6;            // metres
enum Kind : uint32_t { BYTES = 0, INT32 = 1, INT64 = 2, FLOAT32 = 3, FLOAT64 = 4 };
constexpr int64_t WIDTH[] = {1, 4, 8, 4, 8};

struct Header {
    char magic[8];  // "KERNETON"
    uint32_t version, n_entries;
    uint64_t size, checksum;  // of the file, and of everything behind the header
};

struct Entry {
    char tag[4];
    uint32_t index, kind, unused;
    uint64_t offset, count;
};

// FNV-1a over words of eight bytes: notices damage, not intent.
uint64_t checksum(const unsigned char *bytes, int64_t size) {
    uint64_t sum = 14695981039346656037ULL;
    int64_t k = 0;
    for (; k + 8 <= size; k += 8) {
        uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word |= (uint64_t)bytes[k + i] << 8 * i;
        sum = (sum ^ word) * 1099511628211ULL;
        sum ^= sum >> 29;
    }
    for (; k < size; ++k) sum = (sum ^ bytes[k]) * 1099511628211ULL;
    return sum;
}

struct File {
    const unsigned char *bytes;
    const Entry *entries;
    int64_t n_entries, size;
    mutable bool sound;

    // An array with exactly `count` numbers, or with any number of them where count is negative (found gets it).
    const void *find(const char *tag, int64_t index, Kind kind, int64_t count, int64_t *found = nullptr) const {
        for (int64_t k = 0; k < n_entries; ++k) {
            const Entry &e = entries[k];
            if (e.index != (uint64_t)index || e.tag[0] != tag[0] || e.tag[1] != tag[1] || e.tag[2] != tag[2] ||
                e.tag[3] != tag[3])
                continue;
            if (e.kind != kind || (count >= 0 && e.count != (uint64_t)count)) break;
            if (found) *found = (int64_t)e.count;
            return bytes + e.offset;
        }
        sound = false;
        return nullptr;
    }
    template <class T> const T *get(const char *tag, int64_t index, Kind kind, int64_t count, int64_t *found = nullptr) const {
        return (const T *)find(tag, index, kind, count, found);
    }
};

int32_t read_file(const void *data, int64_t size, File &file) {
    const Header *header = (const Header *)data;
    if (!data || size < (int64_t)sizeof(Header) || ((uintptr_t)data & 7)) return KN_NO_MODEL;
    for (int k = 0; k < 8; ++k)
        if (header->magic[k] != "KERNETON"[k]) return KN_NO_MODEL;
    if (header->version > FORMAT) return KN_NEWER_MODEL;
    if (header->version != FORMAT || header->size != (uint64_t)size) return KN_DAMAGED_MODEL;
    const int64_t n = header->n_entries, table = (int64_t)sizeof(Header);
    if (n > 4096 || table + n * (int64_t)sizeof(Entry) > size) return KN_DAMAGED_MODEL;
    const unsigned char *bytes = (const unsigned char *)data;
    if (checksum(bytes + table, size - table) != header->checksum) return KN_DAMAGED_MODEL;
    file = {bytes, (const Entry *)(bytes + table), n, size, true};
    for (int64_t k = 0; k < n; ++k) {
        const Entry &e = file.entries[k];
        if (e.kind > FLOAT64 || e.offset > (uint64_t)size || e.offset % 8 || e.count > (uint64_t)size) return KN_DAMAGED_MODEL;
        if (e.count * (uint64_t)WIDTH[e.kind] > (uint64_t)size - e.offset) return KN_DAMAGED_MODEL;
    }
    return KN_OK;
}

// Whole numbers of a few bits, one after the other from the lowest bit up, and two bytes behind them; each group of them has
// a factor.
constexpr int64_t GROUP = 128;
constexpr int WEIGHT_BITS = 12, MEAN_BITS = 16, CLASS_BITS = 11;

constexpr int64_t packed_size(int64_t n, int bits) { return (n * bits + 7) / 8 + 2; }

void unpack(const uint8_t *bytes, const float *factors, int64_t n, int bits, float *out) {
    for (int64_t k = 0, at = 0; k < n; ++k, at += bits) {
        const uint8_t *p = bytes + at / 8;
        const uint32_t three = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        out[k] = (float)((int32_t)(three << (32 - bits - at % 8)) >> (32 - bits)) * factors[k / GROUP];
    }
}

bool finite(double x) { return x - x == 0; }

bool all_finite(const double *x, int64_t n) {
    for (int64_t k = 0; k < n; ++k)
        if (!finite(x[k])) return false;
    return true;
}

bool all_finite(const float *x, int64_t n) {
    for (int64_t k = 0; k < n; ++k)
        if (!finite(x[k])) return false;
    return true;
}

bool inside(const int64_t *x, int64_t n, int64_t low, int64_t high) {
    for (int64_t k = 0; k < n; ++k)
        if (x[k] < low || x[k] >= high) return false;
    return true;
}

}  // namespace

// --- the model in memory ----------------------------------------------------------------------------------

namespace {

enum Signal { POSITION, VELOCITY, ACCELERATION, BONE, FROM_FIRST, FROM_MEAN, FROM_MIDDLE, N_SIGNALS };

struct Step {  // one way to make poses
    const int64_t *facts;  // bones' mode (0 none, 1 every bone, 2 one size), turn, each frame, path
    const int64_t *roots, *across, *along;
    int64_t n_roots, n_across, n_along;
    const double *lengths;  // of the reference skeleton's bones
    double total;           // their sum
};

struct Cue {
    const int64_t *facts;
    const int64_t *signals, *rows, *runs;
    const float *scales, *weights, *mean, *coefficients, *class_means;
    const double *factors, *times, *numbers, *poles;
    const int32_t *kept, *permutations;
    int64_t step, n_signals, n_rows, size, n_times, n_runs, n_factors, n_kept, n_axes, n_entries;
    uint64_t unit;
    bool mirrored, center, norm;
    double power, share, floor;  // share: factor of the features among those of other cues
};

}  // namespace

struct kn_model {
    int32_t level;  // of the processor for which it was opened
    kn_facts facts;
    int64_t n_steps, n_cues, n_machines, n_bones;
    const int64_t *bones, *parents;
    const double *taps;  // (2, 9)
    const double *intercepts, *numbers, *usual;
    const char *const *labels, *const *joints;
    const Step *steps;
    const Cue *cues;
};

namespace {

constexpr int N_NUMBERS = 6;  // sharpness, three weights of being unknown, threshold, usual seconds

// Names one after the other, each ended by zero, in order; false if there are not exactly n.
bool split_names(const char *text, int64_t size, int64_t n, const char **names) {
    int64_t at = 0;
    for (int64_t k = 0; k < n; ++k) {
        const int64_t begin = at;
        while (at < size && text[at]) ++at;
        if (at == size) return false;
        if (names) names[k] = text + begin;
        ++at;
    }
    return at == size;
}

bool read_step(const File &file, const kn_model &model, int64_t s, Step &step) {
    const int64_t J = model.facts.n_joints;
    step.facts = file.get<int64_t>("step", s, INT64, 4);
    step.roots = file.get<int64_t>("root", s, INT64, -1, &step.n_roots);
    step.across = file.get<int64_t>("acro", s, INT64, -1, &step.n_across);
    step.along = file.get<int64_t>("alon", s, INT64, -1, &step.n_along);
    if (!file.sound) return false;
    step.lengths = file.get<double>("refr", s, FLOAT64, step.facts[0] ? model.n_bones : 0);
    if (!file.sound || !inside(step.facts, 4, 0, 3) || step.facts[2] > 1 || step.facts[3] > 1) return false;
    if (!inside(step.roots, step.n_roots, 0, J) || step.n_across % 2 || step.n_along % 2) return false;
    if (!inside(step.across, step.n_across, 0, J) || !inside(step.along, step.n_along, 0, J)) return false;
    if (step.facts[3] && step.n_roots != 1) return false;
    step.total = 0;
    for (int64_t k = 0; step.facts[0] && k < model.n_bones; ++k) {
        if (!finite(step.lengths[k]) || step.lengths[k] < 0) return false;
        step.total += step.lengths[k];
    }
    return finite(step.total);
}

void read_packed(const File &file, const char *tag, const char *factor_tag, int64_t c, int64_t n, int bits, float *out) {
    const uint8_t *bytes = file.get<uint8_t>(tag, c, BYTES, packed_size(n, bits));
    const float *factors = file.get<float>(factor_tag, c, FLOAT32, (n + GROUP - 1) / GROUP);
    if (file.sound && all_finite(factors, (n + GROUP - 1) / GROUP)) unpack(bytes, factors, n, bits, out);
    else file.sound = false;
}

// What a cue has for each feature, restored.
struct Weights {
    float *coefficients, *class_means, *mean;
};

// Features of a cue; 0 where it has no such number, or not as many weights.
int64_t count_features(const File &file, int64_t c, int64_t n_machines, int64_t n_means) {
    const int64_t *facts = file.get<int64_t>("cue ", c, INT64, 14);
    if (!file.sound || !inside(facts, 14, 0, MOST) || facts[3] > 256) return 0;
    const int64_t n = facts[9] * facts[3] * (facts[3] + 1) / 2;
    file.get<uint8_t>("coef", c, BYTES, packed_size(n_machines * n, WEIGHT_BITS));
    if (n_means) file.get<uint8_t>("cmns", c, BYTES, packed_size(n_means * n, CLASS_BITS));
    if (facts[11]) file.get<uint8_t>("mean", c, BYTES, packed_size(n, MEAN_BITS));
    return file.sound ? n : 0;
}

bool read_cue(const File &file, const kn_model &model, int64_t c, const Weights &weights, Cue &cue) {
    const int64_t J = model.facts.n_joints;
    const int64_t *facts = cue.facts = file.get<int64_t>("cue ", c, INT64, 14);
    if (!file.sound || !inside(facts, 14, 0, MOST)) return false;
    cue.step = facts[0];
    cue.n_signals = facts[1];
    cue.n_rows = facts[2];
    cue.size = facts[3];
    cue.n_times = facts[4];
    cue.n_runs = facts[5];
    cue.n_factors = facts[6];
    cue.unit = (uint64_t)facts[7];
    cue.mirrored = facts[8];
    cue.n_kept = facts[9];
    cue.n_axes = facts[10];
    cue.center = facts[11];
    cue.norm = facts[12];
    const bool poles = facts[13];
    if (cue.step >= model.n_steps || cue.n_signals < 1 || cue.n_signals > 8 || cue.n_rows < 1 || cue.size < 1) return false;
    if (cue.size > 256 || cue.n_axes < 1 || cue.n_axes > 3 || cue.n_runs != cue.n_signals * cue.n_axes) return false;
    if (cue.n_factors < 4 || cue.n_factors > 4 + 256 || cue.n_kept < 1 || cue.n_kept > cue.n_rows) return false;
    cue.n_entries = cue.size * (cue.size + 1) / 2;
    const int64_t n_features = cue.n_kept * cue.n_entries;
    cue.signals = file.get<int64_t>("sgnl", c, INT64, cue.n_signals);
    cue.rows = file.get<int64_t>("rows", c, INT64, 2 * cue.n_rows);
    cue.runs = file.get<int64_t>("runs", c, INT64, 3 * cue.n_runs);
    cue.scales = file.get<float>("scal", c, FLOAT32, cue.n_runs);
    cue.factors = file.get<double>("fact", c, FLOAT64, cue.n_runs * cue.n_factors);
    cue.times = file.get<double>("time", c, FLOAT64, 3 * cue.n_times);
    cue.numbers = file.get<double>("numb", c, FLOAT64, 3);
    cue.poles = poles ? file.get<double>("pole", c, FLOAT64, 2 * (int64_t)kn_sck_poles()) : nullptr;
    cue.kept = file.get<int32_t>("kept", c, INT32, 3 * cue.n_kept);
    cue.permutations = cue.mirrored ? file.get<int32_t>("perm", c, INT32, 2 * cue.n_entries) : nullptr;
    cue.weights = file.get<float>("wght", c, FLOAT32, 2 * cue.n_kept);
    read_packed(file, "coef", "cfac", c, model.n_machines * n_features, WEIGHT_BITS, weights.coefficients);
    if (weights.class_means)
        read_packed(file, "cmns", "mfac", c, model.facts.n_labels * n_features, CLASS_BITS, weights.class_means);
    if (cue.center) read_packed(file, "mean", "nfac", c, n_features, MEAN_BITS, weights.mean);
    cue.coefficients = weights.coefficients;
    cue.class_means = weights.class_means;
    cue.mean = cue.center ? weights.mean : nullptr;
    if (!file.sound) return false;
    if (!inside(cue.signals, cue.n_signals, 0, N_SIGNALS)) return false;
    int64_t pivots = cue.n_times;
    for (int64_t r = 0; r < cue.n_runs; ++r) {
        const int64_t *run = cue.runs + 3 * r;
        if (run[0] < 0 || run[0] >= cue.n_runs || run[1] < 1 || run[1] > cue.n_factors - 3 || run[2] < 0 || run[2] > 1) return false;
        pivots += run[1];
        if (!(cue.factors[r * cue.n_factors + 2] > 0)) return false;
    }
    if (pivots != cue.size) return false;
    for (int64_t p = 0; p < cue.n_rows; ++p)
        if (cue.rows[2 * p] < 0 || cue.rows[2 * p] >= J || cue.rows[2 * p + 1] < -1 || cue.rows[2 * p + 1] >= J ||
            (cue.rows[2 * p + 1] < 0) != (cue.rows[1] < 0))
            return false;
    for (int64_t k = 0; k < cue.n_kept; ++k) {
        const int32_t *kept = cue.kept + 3 * k;
        if (kept[0] < 0 || kept[0] >= cue.n_rows || kept[1] < 0 || kept[1] >= cue.n_rows || (kept[2] & ~1)) return false;
    }
    for (int64_t k = 0; cue.mirrored && k < 2 * cue.n_entries; ++k)
        if (cue.permutations[k] < 0 || cue.permutations[k] >= cue.n_entries) return false;
    cue.power = cue.numbers[0];
    cue.share = cue.numbers[1];
    cue.floor = cue.numbers[2];
    if (!(cue.power > 0 && cue.power <= 1) || !finite(cue.share) || !(cue.floor >= 0) || !finite(cue.floor)) return false;
    return all_finite(cue.factors, cue.n_runs * cue.n_factors) && all_finite(cue.times, 3 * cue.n_times) &&
           all_finite(cue.scales, cue.n_runs) && all_finite(cue.weights, 2 * cue.n_kept) &&
           (!poles || all_finite(cue.poles, 2 * kn_sck_poles()));
}

// Sizes first (memory null), then everything.
int32_t open_model(const void *bytes, int64_t n_bytes, void *memory, int64_t *size, const kn_model **opened) {
    File file;
    if (const int32_t code = read_file(bytes, n_bytes, file)) return code;
    const int64_t *meta = file.get<int64_t>("meta", 0, INT64, 7);
    if (!file.sound || !inside(meta, 7, 0, 1 << 15) || meta[0] < 2 || meta[1] < 1 || meta[4] < 1 || meta[5] < 1)
        return KN_DAMAGED_MODEL;
    const int64_t n_labels = meta[0], n_joints = meta[1], n_steps = meta[4], n_cues = meta[5];
    Room room = {(char *)memory};
    kn_model *model = room.take<kn_model>(1);
    Step *steps = room.take<Step>(n_steps);
    Cue *cues = room.take<Cue>(n_cues);
    const char **labels = room.take<const char *>(n_labels), **joints = room.take<const char *>(n_joints);
    const int64_t n_machines = meta[6], n_means = meta[2] ? n_labels : 0;
    Weights *weights = room.take<Weights>(n_cues);
    for (int64_t c = 0; c < n_cues; ++c) {
        const int64_t n = count_features(file, c, n_machines, n_means);
        if (!n) return KN_DAMAGED_MODEL;
        const Weights own = {room.take<float>(n_machines * n), room.take<float>(n_means * n), room.take<float>(n)};
        if (memory) weights[c] = {own.coefficients, n_means ? own.class_means : nullptr, own.mean};
    }
    *size = room.at - (char *)memory;
    if (!memory) return KN_OK;
    model->level = KN_REGISTER == 64 ? 4 : KN_REGISTER == 32 ? 3 : 2;
    model->facts = {(int32_t)n_labels, (int32_t)n_joints, (int32_t)(meta[2] != 0), (int32_t)(meta[3] != 0), 0, 0};
    model->n_steps = n_steps;
    model->n_cues = n_cues;
    model->n_machines = n_machines;
    model->labels = labels;
    model->joints = joints;
    model->steps = steps;
    model->cues = cues;
    int64_t length = 0;
    const char *text = file.get<char>("labl", 0, BYTES, -1, &length);
    if (!file.sound || !split_names(text, length, n_labels, labels)) return KN_DAMAGED_MODEL;
    text = file.get<char>("jnts", 0, BYTES, -1, &length);
    if (!file.sound || !split_names(text, length, n_joints, joints)) return KN_DAMAGED_MODEL;
    model->bones = file.get<int64_t>("bone", 0, INT64, -1, &model->n_bones);
    model->parents = file.get<int64_t>("prnt", 0, INT64, n_joints);
    model->taps = file.get<double>("taps", 0, FLOAT64, 18);
    model->intercepts = file.get<double>("icpt", 0, FLOAT64, model->n_machines);
    model->numbers = file.get<double>("nmbr", 0, FLOAT64, N_NUMBERS);
    model->usual = meta[2] ? file.get<double>("usul", 0, FLOAT64, n_labels) : nullptr;
    if (!file.sound || model->n_bones % 2 || !inside(model->bones, model->n_bones, 0, n_joints)) return KN_DAMAGED_MODEL;
    model->n_bones /= 2;
    if (!inside(model->parents, n_joints, -1, n_joints) || !all_finite(model->taps, 18)) return KN_DAMAGED_MODEL;
    if (model->n_machines != (n_labels == 2 ? 1 : n_labels) || !all_finite(model->intercepts, model->n_machines) ||
        !all_finite(model->numbers, N_NUMBERS) || (model->usual && !all_finite(model->usual, n_labels)))
        return KN_DAMAGED_MODEL;
    model->facts.threshold = model->numbers[4];
    model->facts.usual_seconds = model->numbers[5];
    for (int64_t s = 0; s < n_steps; ++s)
        if (!read_step(file, *model, s, steps[s])) return KN_DAMAGED_MODEL;
    for (int64_t c = 0; c < n_cues; ++c)
        if (!read_cue(file, *model, c, weights[c], cues[c])) return KN_DAMAGED_MODEL;
    *opened = model;
    return KN_OK;
}

// --- one recording ----------------------------------------------------------------------------------------

double exponential(double x) { return exp(Doubles(x < -700 ? -700 : x > 700 ? 700 : x)).get(0); }

// A row's part of a decision value: of a pair, what its frames sum to, the part of this that is its first joint's, and
// what that joint has of a frame on average; and what belongs to no frame.
struct Share {
    double all, part, average, rest;
};

int64_t pair_room(const Cue &cue);

struct Work {  // working memory of one recording
    float *frames, *features, *mirrored;
    uint8_t *missing, *failed;
    double *lengths, *median, *mean, *times;
    float *signals;  // of one step, (N_SIGNALS, n, J, 3)
    char *poses, *power;
    float *weights;  // of a label, for features before mirroring
    double *motion, *moves;  // of joints at frames, and how far each goes
    Share *shares;  // of rows
    char *pairs;

    Work(const kn_model &model, int64_t n, Room &room) {
        const int64_t J = model.facts.n_joints, numbers = 3 * J * n;
        int64_t most_features = 0, most_rows = 0, most_times = 0, most_power = 0, most_entries = 0, most_pairs = 0;
        for (int64_t c = 0; c < model.n_cues; ++c) {
            const Cue &cue = model.cues[c];
            const auto larger = [](int64_t &most, int64_t value) { most = value > most ? value : most; };
            larger(most_features, cue.n_rows * cue.n_entries);
            larger(most_entries, cue.n_kept * cue.n_entries);
            larger(most_rows, cue.n_rows);
            larger(most_times, cue.n_times);
            kn_vectors vectors = {};
            vectors.n_coordinates = cue.n_runs;
            vectors.n_rows = cue.n_rows;
            vectors.size = cue.size;
            vectors.n_times = cue.n_times;
            larger(most_power, kn_sck2_room(KN_FLOAT32, &vectors));
            larger(most_pairs, pair_room(cue));
        }
        frames = room.take<float>(numbers);
        missing = room.take<uint8_t>(n * J);
        lengths = room.take<double>(model.n_bones);
        median = room.take<double>(n);
        mean = room.take<double>(3 * J);
        times = room.take<double>(n * most_times);
        failed = room.take<uint8_t>(most_rows / LANES + 1);
        signals = room.take<float>(N_SIGNALS * numbers);
        features = room.take<float>(most_features);
        mirrored = room.take<float>(most_entries);
        poses = room.take<char>(kn_poses_room(n, J));
        power = room.take<char>(most_power);
        weights = room.take<float>(most_features);
        motion = room.take<double>(n * J);
        moves = room.take<double>(J);
        shares = room.take<Share>(most_rows);
        pairs = room.take<char>(most_pairs);
    }
};

int32_t check_recording(const kn_model &model, const float *joints, int64_t n, double fps, Work &work) {
    const int64_t J = model.facts.n_joints;
    if (model.facts.needs_rate && !(fps >= 0.1 && fps <= 10000)) return KN_NO_RATE;
    for (int64_t k = 0; k < 3 * J * n; ++k) {
        if (joints[k] > FARTHEST || joints[k] < -FARTHEST) return KN_NOT_A_NUMBER;
        work.frames[k] = joints[k];
    }
    const int64_t starts[2] = {0, n};
    if (kn_find_missing(KN_FLOAT32, work.frames, nullptr, n, J, work.missing) == 0) return KN_OK;
    for (int64_t j = 0; j < J; ++j) {
        bool seen = false;
        for (int64_t s = 0; s < n && !seen; ++s) seen = !work.missing[s * J + j];
        if (!seen) return KN_MISSING_JOINT;
    }
    kn_fill_gaps(KN_FLOAT32, work.frames, work.missing, starts, J, 0, 1);
    return KN_OK;
}

void make_poses(const kn_model &model, const Step &step, int64_t n, Work &work) {
    const int64_t J = model.facts.n_joints, starts[2] = {0, n};
    double factor = 1;
    if (step.facts[0] == 2) {
        double total = 0;
        kn_bone_lengths(KN_FLOAT32, work.frames, starts, J, model.bones, model.n_bones, 0, 1, work.median, work.lengths);
        for (int64_t k = 0; k < model.n_bones; ++k) total += work.lengths[k];
        if (total > 0) factor = step.total / total;
    }
    kn_poses given = {};
    given.frames = work.frames;
    given.n_joints = J;
    given.starts = starts;
    given.factors = &factor;
    given.bones = model.bones;
    given.n_bones = model.n_bones;
    given.lengths = step.facts[0] == 1 ? step.lengths : nullptr;
    given.roots = step.roots;
    given.n_roots = step.n_roots;
    given.turn = (int32_t)step.facts[1];
    given.each_frame = (int32_t)step.facts[2];
    given.path = (int32_t)step.facts[3];
    given.across = step.across;
    given.n_across = step.n_across / 2;
    given.along = step.along;
    given.n_along = step.n_along / 2;
    kn_place_poses(KN_FLOAT32, KN_FLOAT32, &given, 0, 1, work.poses, work.signals);
}

// A signal of the poses of a step, (n, J, 3).
void make_signal(const kn_model &model, int64_t signal, int64_t n, double fps, Work &work) {
    const int64_t J = model.facts.n_joints, numbers = 3 * J * n, starts[2] = {0, n};
    const double rates[2] = {fps > 0 ? fps : 1, fps > 0 ? fps * fps : 1};
    float *out = work.signals + signal * numbers;
    if (signal == VELOCITY || signal == ACCELERATION) {
        const int64_t k = signal - VELOCITY;
        kn_derivative(KN_FLOAT32, work.signals, starts, J, model.taps + 9 * k, rates + k, 0, 1, out);
    } else if (signal == BONE)
        kn_directions(KN_FLOAT32, work.signals, n, J, model.parents, out);
    else if (signal != POSITION)
        kn_displacement(KN_FLOAT32, work.signals, starts, J, (int32_t)(signal - FROM_FIRST), 0, 1, work.mean, out);
}

// The vectors of all rows of a cue, of signals and times in the working memory.
struct Vectors {
    kn_vectors given;
    int64_t places[4];
    const void *coordinates[24];

    Vectors(const kn_model &model, const Cue &cue, int64_t n, const Work &work) : given(), places{0, n, 0, 0} {
        const int64_t J = model.facts.n_joints;
        for (int64_t k = 0; k < cue.n_signals; ++k)
            for (int64_t axis = 0; axis < cue.n_axes; ++axis)
                coordinates[k * cue.n_axes + axis] = work.signals + cue.signals[k] * 3 * J * n + axis;
        given.coordinates = coordinates;
        given.scales = cue.scales;
        given.n_coordinates = cue.n_runs;
        given.joint_step = 3;
        given.frame_step = 3 * J;
        given.places = places;
        given.n_recordings = 1;
        given.rows = cue.rows;
        given.n_rows = cue.n_rows;
        given.unit = cue.unit;
        given.n_axes = cue.n_axes;
        given.runs = cue.runs;
        given.factors = cue.factors;
        given.n_runs = cue.n_runs;
        given.n_factors = cue.n_factors;
        given.times = work.times;
        given.n_times = cue.n_times;
        given.size = cue.size;
    }
    Vectors(const Vectors &) = delete;
};

// Features of all rows of a cue.
bool encode(const kn_model &model, const Cue &cue, int64_t n, Work &work) {
    for (int64_t s = 0; s < n; ++s)
        for (int64_t p = 0; p < cue.n_times; ++p) {
            const double gap = (double)(s + 1) / (double)n - cue.times[p];
            work.times[s * cue.n_times + p] = exponential(-gap * gap * cue.times[cue.n_times + p]) * cue.times[2 * cue.n_times + p];
        }
    const Vectors vectors(model, cue, n, work);
    const int64_t groups = (cue.n_rows + LANES - 1) / LANES;
    return kn_sck2(KN_FLOAT32, &vectors.given, cue.power, cue.poles, 0, groups, work.power, work.features, work.failed) == KN_OK;
}

// Where a feature of a kept block comes from in the mirror image's block, and how much both count.
struct Sides {
    const float *own, *other;
    const int32_t *source;
    float factor, other_factor;
    Sides(const Cue &cue, int64_t k, const Work &work) {
        const int32_t *kept = cue.kept + 3 * k;
        own = work.features + kept[0] * cue.n_entries;
        other = work.features + kept[1] * cue.n_entries;
        source = cue.mirrored ? cue.permutations + kept[2] * cue.n_entries : nullptr;
        factor = cue.weights[2 * k];
        other_factor = cue.weights[2 * k + 1];
    }
};

// Mirrored, weighted and centred features of a cue into work.mirrored; returns 1/‖x‖, times the cue's share.
double finish(const Cue &cue, Work &work) {
    double square = 0;
    for (int64_t k = 0; k < cue.n_kept; ++k) {
        const Sides sides(cue, k, work);
        float *out = work.mirrored + k * cue.n_entries;
        const float *mean = cue.center ? cue.mean + k * cue.n_entries : nullptr;
        for (int64_t e = 0; e < cue.n_entries; ++e) {
            float x = sides.own[e] * sides.factor;
            if (sides.source) x += sides.other[sides.source[e]] * sides.other_factor;
            if (mean) x -= mean[e];
            out[e] = x;
            square += (double)x * (double)x;
        }
    }
    const double length = root(square);
    return cue.share * (cue.norm ? (length > cue.floor && length > 0 ? 1 / length : 0) : 1);
}

// What is done with the finished features of each cue; `use` returns false if it fails.
template <class Use>
int32_t each_cue(const kn_model &model, const float *joints, int32_t n, double fps, void *memory, int64_t size, Use use) {
    if (n < 1 || n > KN_MOST_FRAMES || !joints) return KN_NO_FRAMES;
    if (!memory || size < kn_predict_size(&model, n)) return KN_TOO_LITTLE_ROOM;
    Room room = {(char *)memory};
    Work work(model, n, room);
    if (!model.facts.needs_rate && !(fps >= 0.1 && fps <= 10000)) fps = 0;
    if (const int32_t code = check_recording(model, joints, n, fps, work)) return code;
    for (int64_t s = 0; s < model.n_steps; ++s) {
        make_poses(model, model.steps[s], n, work);
        unsigned made = 1u << POSITION;
        for (int64_t c = 0; c < model.n_cues; ++c) {
            const Cue &cue = model.cues[c];
            if (cue.step != s) continue;
            for (int64_t k = 0; k < cue.n_signals; ++k)
                if (!(made >> cue.signals[k] & 1)) {
                    make_signal(model, cue.signals[k], n, fps, work);
                    made |= 1u << cue.signals[k];
                }
            if (!encode(model, cue, n, work)) return KN_NOT_COMPUTED;
            if (!use(cue, work, finish(cue, work))) return KN_NOT_COMPUTED;
        }
    }
    return KN_OK;
}

double product(const float *a, const float *b, int64_t n) {
    Doubles total = 0.0;
    int64_t k = 0;
    for (; k + LANES <= n; k += LANES) total += convert<double>(load(a + k)) * convert<double>(load(b + k));
    double rest = 0;
    for (; k < n; ++k) rest += (double)a[k] * (double)b[k];
    return sum(total) + rest;
}

// Label, probabilities and the score of being unknown from decision values; alike: (n_labels,) or null.
void answer_from(const kn_model &model, const double *decisions, const double *alike, double *probabilities, kn_answer *answer) {
    const int32_t n = model.facts.n_labels;
    int32_t best = 0;
    for (int32_t k = 1; k < n; ++k)
        if (decisions[k] > decisions[best]) best = k;
    *answer = {best, 0, 0};
    if (!model.facts.calibrated) return;
    const double *numbers = model.numbers;
    double second = decisions[best == 0 ? 1 : 0], total = 0;
    for (int32_t k = 0; k < n; ++k) {
        if (k != best && decisions[k] > second) second = decisions[k];
        total += exponential(numbers[0] * (decisions[k] - decisions[best]));
    }
    for (int32_t k = 0; probabilities && k < n; ++k)
        probabilities[k] = exponential(numbers[0] * (decisions[k] - decisions[best])) / total;
    const double margin = decisions[best] - second, likeness = alike[best] - model.usual[best];
    answer->unknown = 1 / (1 + exponential(-(numbers[1] * margin + numbers[2] * likeness + numbers[3])));
    answer->is_unknown = answer->unknown > numbers[4];
}

}  // namespace

// --- what others call -------------------------------------------------------------------------------------

KN_PUBLIC const char *kn_sentence(int32_t code) {
    switch (code) {
    case KN_OK: return "fine";
    case KN_NO_MODEL: return "this is no model of Kerneton: expected the bytes of a .knx file that kerneton export wrote";
    case KN_NEWER_MODEL: return "the model was written by a newer Kerneton: take the runtime that was exported with it";
    case KN_DAMAGED_MODEL: return "the model is damaged: it was truncated or changed; copy or export it again";
    case KN_TOO_LITTLE_ROOM: return "less memory was given than the size function says";
    case KN_NO_FRAMES: return "a recording needs between 1 and 100000 frames";
    case KN_NOT_A_NUMBER: return "a joint is infinite or more than 1000000 metres away; expected metres, NaN where it is missing";
    case KN_MISSING_JOINT: return "a joint that the model needs is missing in every frame";
    case KN_NO_RATE: return "the model needs frames a second, between 0.1 and 10000";
    case KN_NOT_COMPUTED: return "the recording's features could not be computed";
    case KN_NO_SUCH_LABEL: return "the model has no such label";
    case KN_CLOCK_BACK: return "a pose is older than the one before: times of a stream must not run backwards";
    default: return "an unknown code";
    }
}

KN_PUBLIC int64_t kn_open_size(const void *bytes, int64_t n_bytes) {
    int64_t size = 0;
    const int32_t code = open_model(bytes, n_bytes, nullptr, &size, nullptr);
    return code ? code : size;
}

KN_PUBLIC int32_t kn_open(const void *bytes, int64_t n_bytes, void *memory, int64_t size, const kn_model **model) {
    const int64_t needed = kn_open_size(bytes, n_bytes);
    if (needed < 0) return (int32_t)needed;
    if (!memory || size < needed) return KN_TOO_LITTLE_ROOM;
    int64_t used = 0;
    return open_model(bytes, n_bytes, memory, &used, model);
}

KN_PUBLIC int32_t kn_describe(const kn_model *model, kn_facts *facts) {
    *facts = model->facts;
    return KN_OK;
}

KN_PUBLIC const char *kn_label(const kn_model *model, int32_t label) {
    return label < 0 || label >= model->facts.n_labels ? nullptr : model->labels[label];
}

KN_PUBLIC const char *kn_joint(const kn_model *model, int32_t joint) {
    return joint < 0 || joint >= model->facts.n_joints ? nullptr : model->joints[joint];
}

KN_PUBLIC int32_t kn_parent(const kn_model *model, int32_t joint) {
    return joint < 0 || joint >= model->facts.n_joints ? -1 : (int32_t)model->parents[joint];
}

KN_PUBLIC int64_t kn_predict_size(const kn_model *model, int32_t n_frames) {
    if (n_frames < 1 || n_frames > KN_MOST_FRAMES) return KN_NO_FRAMES;
    Room measure = {nullptr};
    Work work(*model, n_frames, measure);
    measure.take<double>(model->facts.n_labels);
    return (int64_t)measure.at;
}

KN_PUBLIC int32_t kn_predict(const kn_model *model, const float *joints, int32_t n_frames, double fps, void *room,
                             int64_t room_size, double *decisions, double *probabilities, kn_answer *answer) {
    const int64_t n = model->n_machines, n_labels = model->facts.n_labels;
    const int64_t needed = kn_predict_size(model, n_frames);
    if (needed < 0) return (int32_t)needed;
    if (!room || room_size < needed) return KN_TOO_LITTLE_ROOM;
    double *alike = (double *)((char *)room + needed) - (n_labels + 7) / 8 * 8;  // the end of the room
    for (int64_t k = 0; k < n_labels; ++k) alike[k] = 0;
    for (int64_t k = 0; k < n; ++k) decisions[k] = model->intercepts[k];
    const auto use = [&](const Cue &cue, Work &work, double scale) {
        const int64_t count = cue.n_kept * cue.n_entries;
        for (int64_t k = 0; k < n; ++k) decisions[k] += scale * product(work.mirrored, cue.coefficients + k * count, count);
        for (int64_t k = 0; cue.class_means && k < n_labels; ++k)
            alike[k] += scale * product(work.mirrored, cue.class_means + k * count, count);
        return true;
    };
    if (const int32_t code = each_cue(*model, joints, n_frames, fps, room, room_size, use)) return code;
    if (n == 1) {
        decisions[1] = decisions[0];
        decisions[0] = -decisions[1];
    }
    if (!all_finite(decisions, n_labels)) return KN_NOT_COMPUTED;
    answer_from(*model, decisions, alike, probabilities, answer);
    return finite(answer->unknown) ? KN_OK : KN_NOT_COMPUTED;
}
