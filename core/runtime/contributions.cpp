// What joints contribute to a decision value: kn_explain, as kerneton.recognize.contributions.
//
// A block's part of the value is linear in the features of its rows, before mirroring. A joint has that of its rows; a pair's
// is divided between its joints at each frame by how they move. What belongs to no frame, the share of the mean above all, is
// divided between the rows of a block by the roots of how far their joints move on average, and between the joints of a pair as their
// frames are on average.
#define KN_BUILDS_LIBRARY
#include "kerneton.h"

#include "../frames.h"
#include "../moments.h"

namespace {

constexpr double HALF_ROOT = 0.70710678118654752;  // of entries off the diagonal, which features hold times √2

struct PairRoom {
    int64_t wide;
    Doubles *A, *B, *V, *X, *sums, *W, *G;
    GradientRoom gradient;
    PairRoom(const Cue &cue, Room &room)
        : wide(padded(cue.size)), A(room.take<Doubles>(wide * wide)), B(room.take<Doubles>(wide * wide)),
          V(room.take<Doubles>(CHUNK * wide)), X(room.take<Doubles>(cue.n_runs + 1)),
          sums(room.take<Doubles>(packed(wide))), W(room.take<Doubles>(packed(wide))),
          G(room.take<Doubles>(packed(wide))), gradient(cue.size, room) {}
};

int64_t pair_room(const Cue &cue) {
    Room measure = {nullptr};
    if (cue.rows[1] >= 0) PairRoom room(cue, measure);
    return (int64_t)measure.at;
}

// ⟨G, A⟩ of a packed lower triangle and a full matrix.
Doubles inner(const Doubles *G, const Doubles *A, int64_t d, int64_t wide) {
    Doubles sum = 0.0;
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j) sum += G[packed(i) + j] * A[i * wide + j] * Doubles(i == j ? 1.0 : 2.0);
    return sum;
}

// The part of the first side of a block that two rows share: how far its joints move, beside those of both.
double first_side(const Cue &cue, const int32_t *kept, const Work &work) {
    double moves[2] = {0, 0};
    for (int side = 0; side < 2; ++side)
        for (int64_t end = 0; end < 2; ++end) {
            const int64_t joint = cue.rows[2 * kept[side] + end];
            if (joint >= 0) moves[side] += work.moves[joint];
        }
    const double one = sqrt(Doubles(moves[0])).get(0), other = sqrt(Doubles(moves[1])).get(0);
    return one / (one + other);
}

// How the sum of each pair of a cue, with the weights in the working memory, is divided.
bool divide_pairs(const kn_model &model, const Cue &cue, int64_t n, Work &work) {
    Room memory = {work.pairs};
    PairRoom room(cue, memory);
    const Vectors vectors(model, cue, n, work);
    const int64_t d = cue.size, wide = room.wide, J = model.facts.n_joints;
    for (int64_t k = 0; k < CHUNK * wide; ++k) room.V[k] = 0.0;
    for (int64_t first = 0; first < cue.n_rows; first += LANES) {
        const int64_t count = cue.n_rows - first < LANES ? cue.n_rows - first : LANES;
        const Rows rows(vectors.given, first, count, 2, cue.n_entries);
        Doubles average = 0.0;
        for (int64_t k = 0; k < wide * wide; ++k) room.A[k] = room.B[k] = 0.0;
        for (int64_t start = 0; start < n; start += CHUNK) {
            const int64_t now = n - start < CHUNK ? n - start : CHUNK;
            Doubles divisions[CHUNK];
            for (int64_t s = 0; s < now; ++s) {
                const double *moved = work.motion + (start + s) * J;
                for (int q = 0; q < LANES; ++q) {
                    const double one = moved[rows.lane[q].i], other = moved[rows.lane[q].j];
                    divisions[s].set(q, one / (one + other));
                }
                average += divisions[s];
                read_frame<float>(vectors.given, rows, start + s, room.X, room.V + s * wide);
                map_frame(vectors.given, room.X, room.V + s * wide);
            }
            add_squares(room.V, now, wide, room.A);
            for (int64_t s = 0; s < now; ++s) {
                const Doubles factor = sqrt(divisions[s]);
                for (int64_t k = 0; k < d; ++k) room.V[s * wide + k] *= factor;
            }
            add_squares(room.V, now, wide, room.B);
        }
        for (int64_t k = 0; k < packed(wide); ++k) room.sums[k] = room.W[k] = 0.0;
        for (int64_t i = 0, at = 0; i < d; ++i)
            for (int64_t j = i; j < d; ++j, ++at) {
                room.sums[packed(j) + i] = room.A[j * wide + i];
                for (int64_t q = 0; q < count; ++q)
                    room.W[packed(j) + i].set((int)q, work.weights[(first + q) * cue.n_entries + at] * (i == j ? 1.0 : HALF_ROOT));
            }
        if (!power_gradient(room.sums, room.W, cue.power, room.gradient, room.G)) return false;
        const Doubles all = inner(room.G, room.A, d, wide), part = inner(room.G, room.B, d, wide);
        for (int64_t q = 0; q < count; ++q) {
            Share &share = work.shares[first + q];
            share.all = all.get((int)q);
            share.part = part.get((int)q);
            share.average = average.get((int)q) / (double)n;
        }
    }
    return true;
}

}  // namespace

KN_PUBLIC int32_t kn_explain(const kn_model *model, const float *joints, int32_t n_frames, double fps, int32_t label,
                             void *room, int64_t room_size, double *contributions, double *intercept) {
    const int64_t n = model->n_machines, J = model->facts.n_joints;
    if (label < 0 || label >= model->facts.n_labels) return KN_NO_SUCH_LABEL;
    const double sign = n == 1 && label == 0 ? -1 : 1;
    const int64_t machine = n == 1 ? 0 : label;
    for (int64_t j = 0; j < J; ++j) contributions[j] = 0;
    *intercept = sign * model->intercepts[machine];
    int64_t moved = -1;  // the step whose motion is known
    const auto use = [&](const Cue &cue, Work &work, double scale) {
        const int64_t n_entries = cue.n_entries;
        for (int64_t k = 0; k < cue.n_rows * n_entries; ++k) work.weights[k] = 0;
        for (int64_t p = 0; p < cue.n_rows; ++p) work.shares[p] = {0, 0, 0, 0};
        if (moved != cue.step) {
            kn_motion(KN_FLOAT32, work.signals, n_frames, J, fps <= 10000 ? fps : 0, work.median, work.motion);
            for (int64_t j = 0; j < J; ++j) {
                work.moves[j] = 0;
                for (int64_t s = 0; s < n_frames; ++s) work.moves[j] += sqrt(Doubles(sqrt(Doubles(work.motion[s * J + j])))).get(0);
            }
            moved = cue.step;
        }
        const float *w = cue.coefficients + machine * cue.n_kept * n_entries;
        for (int64_t k = 0; k < cue.n_kept; ++k, w += n_entries) {
            const Sides sides(cue, k, work);
            const int32_t *kept = cue.kept + 3 * k;
            float *own = work.weights + kept[0] * n_entries, *other = work.weights + kept[1] * n_entries;
            double less = 0;
            for (int64_t e = 0; e < n_entries; ++e) {
                own[e] += w[e] * sides.factor;
                if (sides.source) other[sides.source[e]] += w[e] * sides.other_factor;
                if (cue.center) less += (double)w[e] * (double)cue.mean[k * n_entries + e];
            }
            const double side = sides.source && kept[0] != kept[1] ? first_side(cue, kept, work) : 1;
            work.shares[kept[0]].rest -= side * less;
            work.shares[kept[1]].rest -= (1 - side) * less;
        }
        const bool pairs = cue.rows[1] >= 0;
        if (pairs && !divide_pairs(*model, cue, n_frames, work)) return false;
        for (int64_t p = 0; p < cue.n_rows; ++p) {
            const Share &share = work.shares[p];
            const int64_t at = p * n_entries;
            const double sum = product(work.weights + at, work.features + at, n_entries);
            const double rest = sum - share.all + share.rest, factor = sign * scale;
            contributions[cue.rows[2 * p]] += factor * (pairs ? share.part + rest * share.average : rest);
            if (pairs) contributions[cue.rows[2 * p + 1]] += factor * (share.all - share.part + rest * (1 - share.average));
        }
        return true;
    };
    if (const int32_t code = each_cue(*model, joints, n_frames, fps, room, room_size, use)) return code;
    return all_finite(contributions, J) ? KN_OK : KN_NOT_COMPUTED;
}
