// Recordings made comparable, and their signals: gaps, size, place, facing; derivatives, bones, displacements.
//
// Frames of all recordings lie one after the other; recording b has those from starts[b] to starts[b + 1] - 1. Functions
// compute recordings from first to last - 1, in float64 whatever the precision of the frames.
#include "lanes.h"

using namespace kn;

namespace {

constexpr int ROUNDS = 20;   // of Weiszfeld's iteration
constexpr int REACH = 4;     // frames on either side that a derivative uses
constexpr double CLOSE = 1e-6;

struct Point {
    double x, y, z;
};

KN_INLINE Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
KN_INLINE Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
KN_INLINE Point operator*(double s, Point a) { return {s * a.x, s * a.y, s * a.z}; }
KN_INLINE double dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
KN_INLINE double size(Point a) { return root(dot(a, a)); }
KN_INLINE Point cross(Point a, Point b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
// Of length one; zero stays zero.
KN_INLINE Point unit(Point a) {
    const double length = size(a);
    return length > 0 ? (1 / length) * a : Point{0, 0, 0};
}
KN_INLINE Point unit_or(Point a, Point otherwise) {
    const double length = size(a);
    return length > CLOSE ? (1 / length) * a : otherwise;
}

template <class T> KN_INLINE Point read(const T *p) { return {(double)p[0], (double)p[1], (double)p[2]}; }
template <class T> KN_INLINE void write(Point a, T *p) {
    p[0] = (T)a.x;
    p[1] = (T)a.y;
    p[2] = (T)a.z;
}

// --- gaps -------------------------------------------------------------------------------------------------

// Joints that are NaN, of no confidence, or in a frame of zeros; returns how many.
template <class T>
int64_t find_missing(const T *frames, const T *confidence, int64_t n_frames, int64_t n_joints, uint8_t *missing) {
    int64_t count = 0;
    for (int64_t s = 0; s < n_frames; ++s) {
        const T *frame = frames + s * n_joints * 3;
        bool zero = n_joints > 1;
        for (int64_t k = 0; k < 3 * n_joints && zero; ++k) zero = frame[k] == 0;
        for (int64_t j = 0; j < n_joints; ++j) {
            const T *p = frame + 3 * j;
            const bool lost = zero || p[0] != p[0] || p[1] != p[1] || p[2] != p[2] ||
                              (confidence && !(confidence[s * n_joints + j] > 0));
            missing[s * n_joints + j] = lost;
            count += lost;
        }
    }
    return count;
}

// One joint of a recording: linear between the frames that have it; the ends take the nearest.
template <class T> void fill_joint(T *at, const uint8_t *missing, int64_t T_frames, int64_t n_joints) {
    const int64_t step = 3 * n_joints;
    int64_t before = -1;
    for (int64_t s = 0; s <= T_frames; ++s) {
        if (s < T_frames && missing[s * n_joints]) continue;
        if (s - before > 1 && !(before < 0 && s == T_frames))
            for (int c = 0; c < 3; ++c) {
                const double low = before < 0 ? (double)at[s * step + c] : (double)at[before * step + c];
                const double high = s == T_frames ? low : (double)at[s * step + c];
                const double slope = before < 0 ? 0 : (high - low) / (double)(s - before);
                for (int64_t k = before + 1; k < s; ++k) at[k * step + c] = (T)(low + slope * (double)(k - before));
            }
        before = s;
    }
}

template <class T>
void fill(T *frames, const uint8_t *missing, const int64_t *starts, int64_t n_joints, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b)
        for (int64_t j = 0; j < n_joints; ++j) {
            const int64_t at = starts[b] * n_joints + j;
            fill_joint(frames + 3 * at, missing + at, starts[b + 1] - starts[b], n_joints);
        }
}

// --- bones ------------------------------------------------------------------------------------------------

// The k-th smallest of n numbers, with none larger before it and none smaller behind it (Hoare's selection).
void select(double *x, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const double kept = x[i];
                x[i++] = x[j];
                x[j--] = kept;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

double median(double *x, int64_t n) {
    select(x, n, n / 2);
    if (n % 2) return x[n / 2];
    double below = x[0];
    for (int64_t k = 1; k < n / 2; ++k) below = x[k] > below ? x[k] : below;
    return 0.5 * (below + x[n / 2]);
}

template <class T>
void bone_lengths(const T *frames, const int64_t *starts, int64_t n_joints, const int64_t *bones, int64_t n_bones,
                  int64_t first, int64_t last, double *room, double *out) {
    for (int64_t b = first; b < last; ++b) {
        const int64_t n = starts[b + 1] - starts[b];
        const T *x = frames + starts[b] * n_joints * 3;
        for (int64_t k = 0; k < n_bones; ++k) {
            const T *parent = x + 3 * bones[2 * k], *child = x + 3 * bones[2 * k + 1];
            for (int64_t s = 0; s < n; ++s)
                room[s] = size(read(child + s * n_joints * 3) - read(parent + s * n_joints * 3));
            out[b * n_bones + k] = median(room, n);
        }
    }
}

// --- motion -----------------------------------------------------------------------------------------------

constexpr double PACE = 0.2;         // seconds: a speed counts like the distance that it covers in this time
constexpr double USUAL_RATE = 30;    // frames a second of recordings whose rate is not known
constexpr double AT_REST = 1e-12;    // so that nothing is divided by zero

// (a² + p²)² of each joint at each frame: a is how far it is from its usual place, p how far it moves in the time PACE.
template <class T>
void motion(const T *frames, int64_t n, int64_t n_joints, double fps, double *room, double *out) {
    const double pace = PACE * (fps > 0 ? fps : USUAL_RATE);
    const int64_t step = 3 * n_joints;
    for (int64_t j = 0; j < n_joints; ++j) {
        for (int64_t s = 0; s < n; ++s) out[s * n_joints + j] = 0;
        for (int64_t axis = 0; axis < 3; ++axis) {
            const T *x = frames + 3 * j + axis;
            for (int64_t s = 0; s < n; ++s) room[s] = (double)x[s * step];
            const double usual = median(room, n);
            for (int64_t s = 0; s < n; ++s) {
                const int64_t before = s > 0 ? s - 1 : 0, after = s < n - 1 ? s + 1 : n - 1;
                const double away = (double)x[s * step] - usual, moved = (double)x[after * step] - (double)x[before * step];
                const double speed = after > before ? pace * moved / (double)(after - before) : 0;
                out[s * n_joints + j] += away * away + speed * speed;
            }
        }
        for (int64_t s = 0; s < n; ++s) {
            double *at = out + s * n_joints + j;
            *at = *at * *at + AT_REST;
        }
    }
}

// --- facing -----------------------------------------------------------------------------------------------

// Geometric median of n points of D coordinates, by Weiszfeld's iteration from the mean.
template <int D> void geometric_median(const double *points, int64_t n, double *middle) {
    for (int c = 0; c < D; ++c) middle[c] = 0;
    for (int64_t s = 0; s < n; ++s)
        for (int c = 0; c < D; ++c) middle[c] += points[D * s + c] / (double)n;
    for (int round = 0; round < ROUNDS; ++round) {
        double next[D] = {}, total = 0;
        for (int64_t s = 0; s < n; ++s) {
            double square = 0;
            for (int c = 0; c < D; ++c) {
                const double apart = points[D * s + c] - middle[c];
                square += apart * apart;
            }
            const double distance = root(square), pull = 1 / (distance > CLOSE ? distance : CLOSE);
            for (int c = 0; c < D; ++c) next[c] += points[D * s + c] * pull;
            total += pull;
        }
        for (int c = 0; c < D; ++c) middle[c] = next[c] / total;
    }
}

// Sum of the horizontal directions (x, z) to the right of a body in a frame.
void yaw_of(const kn_poses &given, const double *frame, double *across) {
    across[0] = across[1] = 0;
    for (int64_t k = 0; k < given.n_across; ++k) {
        const Point line = read(frame + 3 * given.across[2 * k + 1]) - read(frame + 3 * given.across[2 * k]);
        const Point flat = unit({line.x, 0, line.z});
        across[0] += flat.x;
        across[1] += flat.z;
    }
    for (int64_t k = 0; k < given.n_along; ++k) {  // to the right of where it looks
        const Point line = read(frame + 3 * given.along[2 * k + 1]) - read(frame + 3 * given.along[2 * k]);
        const Point flat = unit({-line.z, 0, line.x});
        across[0] += flat.x;
        across[1] += flat.z;
    }
}

// Mean direction of pairs of joints in a frame.
void mean_direction(const int64_t *pairs, int64_t count, const double *frame, double *out) {
    Point sum = {0, 0, 0};
    for (int64_t k = 0; k < count; ++k) sum = sum + (read(frame + 3 * pairs[2 * k + 1]) - read(frame + 3 * pairs[2 * k]));
    write(unit(sum), out);
}

struct Turn {
    Point x, y, z;  // rows of the rotation
    KN_INLINE Point of(Point a) const { return {dot(x, a), dot(y, a), dot(z, a)}; }
};

Turn yaw_turn(const double *across) {
    const double length = root(across[0] * across[0] + across[1] * across[1]);
    const double c = length > 0 ? across[0] / length : 1, s = length > 0 ? across[1] / length : 0;
    return {{c, 0, s}, {0, 1, 0}, {-s, 0, c}};
}

// From a direction along and one across: rows are the normal, along, and across, orthogonal.
Turn full_turn(const double *both) {
    const Point along = unit_or(read(both), {0, 1, 0}), line = read(both + 3);
    const Point otherwise = unit_or(cross(along, {1, 0, 0}), {0, 0, 1});
    const Point across = unit_or(line - dot(line, along) * along, otherwise);
    return {cross(along, across), along, across};
}

void face_front(const kn_poses &given, double *x, int64_t n, int64_t n_points, double *points) {
    const bool full = given.turn == KN_TURN_FULL;
    const int D = full ? 6 : 2;
    for (int64_t s = 0; s < n; ++s) {
        const double *frame = x + s * n_points * 3;
        if (full) {
            mean_direction(given.along, given.n_along, frame, points + D * s);
            mean_direction(given.across, given.n_across, frame, points + D * s + 3);
        } else
            yaw_of(given, frame, points + D * s);
    }
    Turn turn = {};
    if (!given.each_frame) {
        double middle[6];
        if (full)
            geometric_median<6>(points, n, middle);
        else
            geometric_median<2>(points, n, middle);
        turn = full ? full_turn(middle) : yaw_turn(middle);
    }
    for (int64_t s = 0; s < n; ++s) {
        if (given.each_frame) turn = full ? full_turn(points + D * s) : yaw_turn(points + D * s);
        for (int64_t j = 0; j < n_points; ++j) {
            double *at = x + (s * n_points + j) * 3;
            write(turn.of(read(at)), at);
        }
    }
}

// --- poses ------------------------------------------------------------------------------------------------

// One recording of n frames into out. x has room for one more joint: the path of the root.
template <class T, class Out>
void place(const kn_poses &given, const T *raw, int64_t n, double factor, double *x, double *points, Out *out) {
    const int64_t J = given.n_joints, n_points = J + (given.path ? 1 : 0);
    Point start = {0, 0, 0};
    bool flat = true;
    for (int64_t s = 0; s < n; ++s) {
        const T *frame = raw + s * J * 3;
        double *to = x + s * n_points * 3;
        for (int64_t j = 0; j < J; ++j) write(read(frame + 3 * j), to + 3 * j);
        if (given.lengths)  // outwards from the roots, where every parent comes before its children
            for (int64_t k = 0; k < given.n_bones; ++k) {
                const int64_t parent = given.bones[2 * k], child = given.bones[2 * k + 1];
                const Point bone = read(frame + 3 * child) - read(frame + 3 * parent);
                const double length = size(bone), scale = length > 0 ? given.lengths[k] / length : 0;
                write(read(to + 3 * parent) + scale * bone, to + 3 * child);
            }
        Point origin = {0, 0, 0};
        for (int64_t r = 0; r < given.n_roots; ++r)
            origin = origin + (1 / (double)given.n_roots) * read(to + 3 * given.roots[r]);
        if (s == 0) start = origin;
        if (given.path) write(factor * (origin - start), to + 3 * J);
        for (int64_t j = 0; j < J; ++j) write(factor * (read(to + 3 * j) - origin), to + 3 * j);
        for (int64_t j = 0; j < n_points; ++j) flat &= to[3 * j + 2] == 0;
    }
    if (given.turn != KN_TURN_NONE && !flat) face_front(given, x, n, n_points, points);
    for (int64_t s = 0; s < n; ++s) {
        const double *from = x + s * n_points * 3;
        Out *to = out + s * J * 3;
        for (int64_t k = 0; k < 3 * J; ++k) to[k] = (Out)from[k];
        if (given.path) write(read(from + 3 * J), to + 3 * given.roots[0]);
    }
}

template <class T, class Out>
void poses(const kn_poses &given, int64_t first, int64_t last, void *memory, Out *out) {
    int64_t longest = 0;
    for (int64_t b = first; b < last; ++b) {
        const int64_t n = given.starts[b + 1] - given.starts[b];
        longest = n > longest ? n : longest;
    }
    Room room = {(char *)memory};
    double *x = room.take<double>(longest * (given.n_joints + 1) * 3), *points = room.take<double>(longest * 6);
    for (int64_t b = first; b < last; ++b) {
        const int64_t at = given.starts[b] * given.n_joints * 3;
        const double factor = given.factors ? given.factors[b] : 1;
        place(given, (const T *)given.frames + at, given.starts[b + 1] - given.starts[b], factor, x, points, out + at);
    }
}

// --- signals ----------------------------------------------------------------------------------------------

// A filter of frames s - REACH, ..., s + REACH, relative to the first frame, times the rate; the ends are repeated.
template <class T>
void derivative(const T *frames, const int64_t *starts, int64_t width, const double *taps, const double *rates,
                int64_t first, int64_t last, T *out) {
    for (int64_t b = first; b < last; ++b) {
        const int64_t n = starts[b + 1] - starts[b];
        const T *x = frames + starts[b] * width;
        const T rate = (T)rates[b];
        for (int64_t s = 0; s < n; ++s) {
            const T *near[2 * REACH + 1];
            for (int k = 0; k <= 2 * REACH; ++k) {
                const int64_t at = s + k - REACH;
                near[k] = x + (at < 0 ? 0 : at < n ? at : n - 1) * width;
            }
            T *to = out + (starts[b] + s) * width;
            for (int64_t w = 0; w < width; ++w) {
                double total = 0;
                for (int k = 0; k <= 2 * REACH; ++k) total += taps[k] * ((double)near[k][w] - (double)x[w]);
                to[w] = (T)total * rate;
            }
        }
    }
}

// Unit vectors along the bone that ends in each joint, or to each joint where parents is null; zero for roots.
template <class T>
void directions(const T *frames, int64_t n_frames, int64_t n_joints, const int64_t *parents, T *out) {
    for (int64_t s = 0; s < n_frames; ++s) {
        const T *frame = frames + s * n_joints * 3;
        T *to = out + s * n_joints * 3;
        for (int64_t j = 0; j < n_joints; ++j) {
            Point line = read(frame + 3 * j);
            if (parents) line = parents[j] < 0 ? Point{0, 0, 0} : line - read(frame + 3 * parents[j]);
            write(unit(line), to + 3 * j);
        }
    }
}

// Displacement from the first pose, the mean pose, or the mean of all joints and frames.
template <class T>
void displacement(const T *frames, const int64_t *starts, int64_t n_joints, int32_t origin, int64_t first, int64_t last,
                  double *mean, T *out) {
    const int64_t width = 3 * n_joints;
    for (int64_t b = first; b < last; ++b) {
        const int64_t n = starts[b + 1] - starts[b], counted = origin == KN_FROM_FIRST ? 1 : n;
        const T *x = frames + starts[b] * width;
        for (int64_t w = 0; w < width; ++w) mean[w] = 0;
        for (int64_t s = 0; s < counted; ++s)
            for (int64_t w = 0; w < width; ++w) mean[w] += (double)x[s * width + w];
        for (int64_t w = 0; w < width; ++w) mean[w] /= (double)counted;
        if (origin == KN_FROM_MIDDLE)
            for (int c = 0; c < 3; ++c) {
                double total = 0;
                for (int64_t j = 0; j < n_joints; ++j) total += mean[3 * j + c];
                for (int64_t j = 0; j < n_joints; ++j) mean[3 * j + c] = total / (double)n_joints;
            }
        T *to = out + starts[b] * width;
        for (int64_t s = 0; s < n; ++s)
            for (int64_t w = 0; w < width; ++w) to[s * width + w] = (T)((double)x[s * width + w] - mean[w]);
    }
}

}  // namespace

#define KN_BOTH(call_double, call_float) \
    do {                                 \
        if (precision == KN_FLOAT64)     \
            call_double;                 \
        else                             \
            call_float;                  \
    } while (false)

KN_API int64_t kn_find_missing(int32_t precision, const void *frames, const void *confidence, int64_t n_frames,
                               int64_t n_joints, uint8_t *missing) {
    if (precision == KN_FLOAT64)
        return find_missing((const double *)frames, (const double *)confidence, n_frames, n_joints, missing);
    return find_missing((const float *)frames, (const float *)confidence, n_frames, n_joints, missing);
}

KN_API void kn_fill_gaps(int32_t precision, void *frames, const uint8_t *missing, const int64_t *starts,
                         int64_t n_joints, int64_t first, int64_t last) {
    KN_BOTH(fill((double *)frames, missing, starts, n_joints, first, last),
            fill((float *)frames, missing, starts, n_joints, first, last));
}

KN_API void kn_bone_lengths(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                            const int64_t *bones, int64_t n_bones, int64_t first, int64_t last, void *room, double *out) {
    KN_BOTH(bone_lengths((const double *)frames, starts, n_joints, bones, n_bones, first, last, (double *)room, out),
            bone_lengths((const float *)frames, starts, n_joints, bones, n_bones, first, last, (double *)room, out));
}

KN_API void kn_motion(int32_t precision, const void *frames, int64_t n_frames, int64_t n_joints, double fps, void *room,
                      double *out) {
    KN_BOTH(motion((const double *)frames, n_frames, n_joints, fps, (double *)room, out),
            motion((const float *)frames, n_frames, n_joints, fps, (double *)room, out));
}

KN_API int64_t kn_poses_room(int64_t longest, int64_t n_joints) {
    Room measure = {nullptr};
    measure.take<double>(longest * (n_joints + 1) * 3);
    measure.take<double>(longest * 6);
    return (int64_t)measure.at;
}

KN_API void kn_place_poses(int32_t precision, int32_t out_precision, const kn_poses *given, int64_t first, int64_t last,
                           void *room, void *out) {
    if (out_precision == KN_FLOAT64)
        KN_BOTH(poses<double>(*given, first, last, room, (double *)out),
                poses<float>(*given, first, last, room, (double *)out));
    else
        KN_BOTH(poses<double>(*given, first, last, room, (float *)out),
                poses<float>(*given, first, last, room, (float *)out));
}

KN_API void kn_derivative(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                          const double *taps, const double *rates, int64_t first, int64_t last, void *out) {
    KN_BOTH(derivative((const double *)frames, starts, 3 * n_joints, taps, rates, first, last, (double *)out),
            derivative((const float *)frames, starts, 3 * n_joints, taps, rates, first, last, (float *)out));
}

KN_API void kn_directions(int32_t precision, const void *frames, int64_t n_frames, int64_t n_joints,
                          const int64_t *parents, void *out) {
    KN_BOTH(directions((const double *)frames, n_frames, n_joints, parents, (double *)out),
            directions((const float *)frames, n_frames, n_joints, parents, (float *)out));
}

KN_API void kn_displacement(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                            int32_t origin, int64_t first, int64_t last, void *room, void *out) {
    KN_BOTH(displacement((const double *)frames, starts, n_joints, origin, first, last, (double *)room, (double *)out),
            displacement((const float *)frames, starts, n_joints, origin, first, last, (double *)room, (float *)out));
}
