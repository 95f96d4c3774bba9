// DCK from frames to tensors: sums over pairs of frames of Gaussians of displacements, in time linear in the frames.
//
//     X[z,p,q] = 1/(J T) Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)
//
// On a period P that covers displacement, pivot and the Gaussian's tail,
//
//     exp(-(d-ζ)²/σ²) = Σ_k g_k e^{iωk(d-ζ)},   ω = 2π/P,   g_k = σ√π/P exp(-(ωkσ)²/4)
//
// and e^{iωk(a-b)} splits into one factor per frame, so that all pivots share sums over frames. The window splits in the same
// way, G_σ4(s-s') = Σ_τ f_τ(s) f_τ(s') with Gaussians f_τ of width σ4/√2 a few frames apart; without a window there is one
// f = 1. Hence, with S_τk,ip = Σ_s f_τ(s) e^{iωk x_is} z_p(s),
//
//     X[z,p,q] = Re Σ_k g_k e^{-iωkζ_z} ( Σ_τ S_τk,ip conj(S_τk,i'q) - Σ_s Σ_τ f_τ(s)² e^{iωk(x_is - x_i's)} z_p(s) z_q(s) )
//
// Pivots ζ and -ζ share their even part, Σ g cos(ωkζ) Re(...), and their odd part, Σ g sin(ωkζ) Im(...). Numbers (i, p) of joint i
// and pivot of time p lie side by side, at i P + p.
#include "lanes.h"

using namespace kn;

namespace {

constexpr double PI = 3.141592653589793;
constexpr int FRAMES = 16;          // at once: what is computed for them stays in the first cache
constexpr int WINDOWS = 48;         // f_τ at once, at most
constexpr int64_t SUMS = 1 << 17;   // numbers S at once, if one f_τ does not need more
constexpr double NARROWEST = 0.2;   // σ4 in frames, below which only neighbouring frames count
constexpr int64_t FEW_FRAMES = 8;   // up to which, and
constexpr double SHORT_SPAN = 1.5;  // frames of σ4 below which terms s = s' are so large that they must cancel in float64

KN_INLINE int64_t padded(int64_t n) { return (n + LANES - 1) / LANES * LANES; }
double exp_of(double x) { return exp(Doubles(x)).get(0); }
double log_of(double x) { return log2(Doubles(x)).get(0) * LN2; }
int64_t ceiling(double x) { return (int64_t)x + ((double)(int64_t)x < x); }

// Working memory of sums in a precision.
template <class R> struct SumRoom {
    int64_t J, P, N, wide, Z, even, pairs_of_times, longest;
    double *x, *own;    // (T, padded J): coordinates; (T,): Σ_τ f_τ²
    R *f;               // (WINDOWS, padded T)
    R *step, *wave, *F; // (FRAMES, 2, wide): cosines, sines
    R *z;               // (FRAMES, wide)
    R *S;               // (n_harmonics, windows, 2, wide)
    R *X;               // (Z, N, wide): even parts, then odd parts
    double *zeta;       // (Z,): pivots
    R *weights;         // (n_harmonics, Z): of even parts, then of odd parts
    R *zz;              // (FRAMES, pairs_of_times)
    Vec<R> *parts, *same;  // (Z, FRAMES); (Z, pairs_of_times)
    int64_t *last;      // (J,): the last i' of the pairs of i, -1 for none

    SumRoom(const kn_displacements &given, Room &room)
        : J(given.n_joints), P(given.n_times), N(J * P), wide(padded(N)), Z(given.n_pivots), even((Z + 1) / 2),
          pairs_of_times(P * (P + 1) / 2), longest(given.longest) {
        const int64_t harmonics = KN_MOST_HARMONICS + 1;
        x = room.take<double>(longest * padded(J));
        own = room.take<double>(longest);
        f = room.take<R>(WINDOWS * padded(longest));
        step = room.take<R>(FRAMES * 2 * wide);
        wave = room.take<R>(FRAMES * 2 * wide);
        F = room.take<R>(FRAMES * 2 * wide);
        z = room.take<R>(FRAMES * wide);
        S = room.take<R>(SUMS > harmonics * 2 * wide ? SUMS : harmonics * 2 * wide);
        X = room.take<R>(Z * N * wide);
        zeta = room.take<double>(Z);
        weights = room.take<R>(harmonics * Z);
        zz = room.take<R>(FRAMES * pairs_of_times);
        parts = room.take<Vec<R>>(Z * FRAMES);
        same = room.take<Vec<R>>(Z * pairs_of_times);
        last = room.take<int64_t>(J);
    }
};

// What is done for one coordinate of one recording.
struct Plan {
    int64_t T;
    const double *times;  // (T, P)
    // The windows f_τ: τ = first + n gap for n < count; each reaches over `reach` frames. No window: gap 0, count 1.
    double span, first, gap, reach, height;
    int64_t count;
    double extent, omega;
    int64_t n_harmonics;
};

Plan plan_windows(const kn_displacements &given, const int64_t *place) {
    Plan plan = {};
    plan.T = place[1];
    plan.times = given.times + place[2] * given.n_times;
    plan.count = 1;
    if (given.sigma_span > 0) {
        plan.span = given.sigma_span < NARROWEST ? NARROWEST : given.sigma_span;
        plan.gap = PI * plan.span / root(2 * log_of(4 / given.tol));
        plan.height = root(plan.gap * root(2 / PI) / plan.span);
        plan.reach = plan.span * root(log_of(1e3 / given.tol) + 0.5 / (plan.span * plan.span));
        plan.first = -plan.reach * root(0.5);
        plan.count = ceiling(((double)(plan.T - 1) - 2 * plan.first) / plan.gap) + 1;
    }
    return plan;
}

// The coordinate of every joint and frame around the middle of its range, and the harmonics that it needs.
template <class T, class R>
void read(const kn_displacements &given, const int64_t *place, int64_t axis, SumRoom<R> &room, Plan &plan) {
    const T *frames = (const T *)given.coordinates[axis] + place[0] * given.frame_step;
    const int64_t joints = padded(room.J);
    double low = 0, high = 0;
    for (int64_t s = 0; s < plan.T; ++s)
        for (int64_t i = 0; i < joints; ++i) {
            const int64_t joint = given.joints[i < room.J ? i : room.J - 1];
            const double value = (double)frames[s * given.frame_step + joint * given.joint_step] * given.scale;
            room.x[s * joints + i] = value;
            if (s + i == 0 || value < low) low = value;
            if (s + i == 0 || value > high) high = value;
        }
    const Doubles centre = low / 2 + high / 2;
    Doubles *x = (Doubles *)room.x;
    for (int64_t k = 0; k < plan.T * joints / LANES; ++k) x[k] = x[k] - centre;
    plan.extent = high - low;
    const double tail = root(log_of(4 / given.tol)), period = plan.extent + given.reach + given.sigma * tail;
    const double needed = period * tail / (PI * given.sigma);
    plan.omega = 2 * PI / period;
    plan.n_harmonics = needed < 1e9 ? ceiling(needed) : 1000000000;
}

// g_k cos(ωkζ) for the pivots ζ ≤ 0, then g_k sin(ωkζ) for those ζ < 0; doubled for k > 0, since negative k are not summed.
template <class R> void weigh(const kn_displacements &given, const Plan &plan, SumRoom<R> &room) {
    for (int64_t k = 0; k <= plan.n_harmonics; ++k) {
        const double omega = plan.omega * (double)k, exponent = -omega * omega * given.sigma * given.sigma / 4;
        const double g = (k ? 2 : 1) * given.sigma * plan.omega / (2 * root(PI)) * exp_of(exponent);
        for (int64_t e = 0; e < room.even; ++e) {
            Doubles cosine, sine;
            cos_sin(Doubles(omega * room.zeta[e]), cosine, sine);
            room.weights[k * room.Z + e] = (R)(g * cosine.get(0));
            if (e < room.Z / 2) room.weights[k * room.Z + room.even + e] = (R)(g * sine.get(0));
        }
    }
}

// f_τ(s) of some windows at frames low ≤ s < high, and their squares.
template <class R>
void windows(const Plan &plan, int64_t window, int64_t n_windows, int64_t low, int64_t high, SumRoom<R> &room) {
    const double rate = plan.gap ? -1 / (plan.span * plan.span) : 0;
    for (int64_t n = 0; n < n_windows; ++n) {
        R *f = room.f + n * padded(room.longest);
        const double tau = plan.first + (double)(window + n) * plan.gap;
        for (int64_t s = low; s < high; s += LANES) {
            Doubles gap;
            for (int q = 0; q < LANES; ++q) gap.set(q, (double)(s + q) - tau);
            *(Vec<R> *)(f + s - low) = convert<R>(plan.gap ? exp(gap * gap * rate) * plan.height : Doubles(1.0));
        }
        for (int64_t s = low; s < high; ++s) room.own[s] += (double)f[s - low] * (double)f[s - low];
    }
}

// --- the sums over all pairs of frames --------------------------------------------------------------------

// The first wave e^{iωx} of some frames, and z, each as often as it is needed side by side.
template <class R> void start_waves(const Plan &plan, int64_t start, int64_t count, SumRoom<R> &room) {
    const int64_t joints = padded(room.J), P = room.P, wide = room.wide;
    for (int64_t s = 0; s < count; ++s) {
        R *c = room.step + s * 2 * wide, *z = room.z + s * wide;
        const Doubles *x = (const Doubles *)(room.x + (start + s) * joints);
        const double *times = plan.times + (start + s) * P;
        for (int64_t i = 0; i < joints; i += LANES) {
            Doubles cosine, sine;
            cos_sin(x[i / LANES] * plan.omega, cosine, sine);
            for (int64_t q = 0; q < LANES && i + q < room.J; ++q)
                for (int64_t p = 0; p < P; ++p) {
                    c[(i + q) * P + p] = (R)cosine.get((int)q);
                    c[wide + (i + q) * P + p] = (R)sine.get((int)q);
                    z[(i + q) * P + p] = (R)times[p];
                }
        }
        for (int64_t n = room.N; n < wide; ++n) c[n] = c[wide + n] = z[n] = 0;
    }
}

// The next wave of some frames, and times z into F. Wave k is wave k - 1 times the first.
template <class R> void next_wave(int64_t k, int64_t count, SumRoom<R> &room) {
    const int64_t n = room.wide / LANES;
    for (int64_t s = 0; s < count; ++s) {
        const Vec<R> *step = (const Vec<R> *)room.step + s * 2 * n, *z = (const Vec<R> *)room.z + s * n;
        Vec<R> *wave = (Vec<R> *)room.wave + s * 2 * n, *F = (Vec<R> *)room.F + s * 2 * n;
        for (int64_t l = 0; l < n; ++l) {
            Vec<R> c = 1.0, d = 0.0;
            if (k == 1) {
                c = step[l];
                d = step[n + l];
            } else if (k > 1) {
                c = wave[l] * step[l] - wave[n + l] * step[n + l];
                d = wave[l] * step[n + l] + wave[n + l] * step[l];
            }
            wave[l] = c;
            wave[n + l] = d;
            F[l] = c * z[l];
            F[n + l] = d * z[l];
        }
    }
}

template <class R> struct Registers {
    typedef typename Vec<R>::native Line;
    static constexpr int W = Vec<R>::WIDTH;
    static KN_INLINE Line all(R x) { return x - Line{}; }

    // S_τ += Σ_s f_τ(s) F_s of some windows, two lines at a time.
    template <int n>
    static KN_INLINE void add_frames(const Line *F, const R *f, int64_t stride, int64_t count, int64_t lines, Line *S) {
        for (int64_t l = 0; l < lines; l += 2) {
            Line sum[n][2];
            for (int r = 0; r < n; ++r)
                for (int k = 0; k < 2; ++k) sum[r][k] = S[r * lines + l + k];
            for (int64_t s = 0; s < count; ++s)
                for (int r = 0; r < n; ++r) {
                    const Line weight = all(f[r * stride + s]);
                    for (int k = 0; k < 2; ++k) sum[r][k] += weight * F[s * lines + l + k];
                }
            for (int r = 0; r < n; ++r)
                for (int k = 0; k < 2; ++k) S[r * lines + l + k] = sum[r][k];
        }
    }

    // X += weights of harmonic k times Σ_τ S_τ conj(S_τ), for some numbers (i, p) by a line of numbers (i', q).
    template <int n>
    static KN_INLINE void add_products(const R *S, int64_t n_windows, int64_t row, int64_t column, const R *weights,
                                       SumRoom<R> &room) {
        const int64_t wide = room.wide;
        Line real[n], imaginary[n];
        for (int r = 0; r < n; ++r) real[r] = imaginary[r] = all(0);
        for (int64_t k = 0; k < n_windows; ++k, S += 2 * wide) {
            const Line c = *(const Line *)(S + column), s = *(const Line *)(S + wide + column);
            for (int r = 0; r < n; ++r) {
                const Line a = all(S[row + r]), b = all(S[wide + row + r]);
                real[r] += a * c;
                imaginary[r] += b * c;
                real[r] += b * s;
                imaginary[r] -= a * s;
            }
        }
        R *X = room.X + row * wide + column;
        for (int64_t e = 0; e < room.Z; ++e, X += room.N * wide) {
            const Line weight = all(weights[e]);
            for (int r = 0; r < n; ++r) *(Line *)(X + r * wide) += weight * (e < room.even ? real[r] : imaginary[r]);
        }
    }
};

#define KN_SIX(function, n, ...)                           \
    switch (n) {                                           \
        case 1: function<1>(__VA_ARGS__); break;           \
        case 2: function<2>(__VA_ARGS__); break;           \
        case 3: function<3>(__VA_ARGS__); break;           \
        case 4: function<4>(__VA_ARGS__); break;           \
        case 5: function<5>(__VA_ARGS__); break;           \
        default: function<6>(__VA_ARGS__);                 \
    }

template <class R>
void add_frames(const R *F, const R *f, int64_t stride, int64_t count, int64_t wide, int64_t n_windows, R *S) {
    typedef typename Registers<R>::Line Line;
    const int64_t lines = 2 * wide / Registers<R>::W;
    for (; n_windows > 0; n_windows -= 6, f += 6 * stride, S += 12 * wide)
        KN_SIX(Registers<R>::template add_frames, n_windows, (const Line *)F, f, stride, count, lines, (Line *)S)
}

// The products of all wanted pairs of joints with harmonic k.
template <class R> void add_pairs(int64_t k, const R *S, int64_t n_windows, SumRoom<R> &room) {
    constexpr int W = Registers<R>::W;
    const int64_t P = room.P;
    const R *weights = room.weights + k * room.Z;
    for (int64_t i = 0; i < room.J; ++i)
        for (int64_t column = i * P / W * W; column < (room.last[i] + 1) * P; column += W)
            for (int64_t row = i * P, left = P; left > 0; left -= 6, row += 6)
                KN_SIX(Registers<R>::template add_products, left, S, n_windows, row, column, weights, room)
}

// Even and odd parts over all pairs of frames, s = s' included, and Σ_τ f_τ(s)² of each frame.
template <class R> void add_harmonics(const Plan &plan, SumRoom<R> &room) {
    const int64_t wide = room.wide, harmonics = plan.n_harmonics + 1, stride = padded(room.longest);
    for (int64_t k = 0; k < room.Z * room.N * wide; ++k) room.X[k] = 0;
    for (int64_t s = 0; s < plan.T; ++s) room.own[s] = 0;
    int64_t at_once = SUMS / (harmonics * 2 * wide);
    at_once = at_once < 1 ? 1 : at_once > WINDOWS ? WINDOWS : at_once;
    const int64_t rounds = (plan.count + at_once - 1) / at_once;
    at_once = (plan.count + rounds - 1) / rounds;
    for (int64_t window = 0; window < plan.count; window += at_once) {
        const int64_t n = plan.count - window < at_once ? plan.count - window : at_once;
        const double from = plan.first + (double)window * plan.gap - plan.reach;
        const double to = plan.first + (double)(window + n - 1) * plan.gap + plan.reach;
        const int64_t low = plan.gap == 0 || from <= 0 ? 0 : ceiling(from);
        const int64_t high = plan.gap == 0 || to >= (double)(plan.T - 1) ? plan.T : (int64_t)to + 1;
        if (low >= high) continue;
        windows(plan, window, n, low, high, room);
        for (int64_t k = 0; k < harmonics * n * 2 * wide; ++k) room.S[k] = 0;
        for (int64_t start = low; start < high; start += FRAMES) {
            const int64_t count = high - start < FRAMES ? high - start : FRAMES;
            int64_t a = 0, b = n;  // the windows that reach these frames
            if (plan.gap > 0) {
                const double least = plan.first + (double)window * plan.gap + plan.reach - (double)start;
                const double most = plan.first + (double)window * plan.gap - plan.reach - (double)(start + count - 1);
                while (a < b && least + (double)a * plan.gap < 0) ++a;
                while (a < b && most + (double)(b - 1) * plan.gap > 0) --b;
            }
            start_waves(plan, start, count, room);
            for (int64_t k = 0; k < harmonics; ++k) {
                next_wave(k, count, room);
                add_frames(room.F, room.f + a * stride + start - low, stride, count, wide, b - a,
                           room.S + (k * n + a) * 2 * wide);
            }
        }
        for (int64_t k = 0; k < harmonics; ++k) add_pairs(k, room.S + k * n * 2 * wide, n, room);
    }
}

// --- the pairs of a frame with itself ---------------------------------------------------------------------

// same[z, pq] = Σ_s Σ_τ f_τ(s)² (even or odd part of φ)(x_is - x_i's) z_p(s) z_q(s), p ≤ q, for LANES pairs of joints.
template <class R>
void add_same_time(const kn_displacements &given, const Plan &plan, int64_t first, SumRoom<R> &room) {
    const int64_t n = room.pairs_of_times, P = room.P, Z = room.Z, joints = padded(room.J);
    int64_t left[LANES], right[LANES];
    for (int q = 0; q < LANES; ++q) {
        const int64_t pair = first + q < given.n_pairs ? first + q : given.n_pairs - 1;
        const int64_t i = given.pairs[2 * pair], j = given.pairs[2 * pair + 1];
        left[q] = i < j ? i : j;
        right[q] = i < j ? j : i;
    }
    for (int64_t k = 0; k < Z * n; ++k) room.same[k] = 0.0;
    for (int64_t start = 0; start < plan.T; start += FRAMES) {
        const int64_t count = plan.T - start < FRAMES ? plan.T - start : FRAMES;
        for (int64_t s = 0; s < count; ++s) {
            const double *times = plan.times + (start + s) * P, *x = room.x + (start + s) * joints;
            R *zz = room.zz + s * n;
            for (int64_t p = 0; p < P; ++p)
                for (int64_t q = p; q < P; ++q) *zz++ = (R)(times[p] * times[q] * room.own[start + s]);
            Doubles gap, cosine, sine;
            for (int q = 0; q < LANES; ++q) gap.set(q, x[left[q]] - x[right[q]]);
            cos_sin(gap * plan.omega, cosine, sine);
            const Vec<R> c = convert<R>(cosine), d = convert<R>(sine);
            Vec<R> a = 1.0, b = 0.0;
            for (int64_t z = 0; z < Z; ++z) room.parts[z * FRAMES + s] = 0.0;
            for (int64_t k = 0; k <= plan.n_harmonics; ++k) {
                const R *weights = room.weights + k * Z;
                for (int64_t z = 0; z < Z; ++z) {
                    const Vec<R> weight = (double)weights[z];
                    room.parts[z * FRAMES + s] += weight * (z < room.even ? a : b);
                }
                const Vec<R> next = a * c - b * d;
                b = a * d + b * c;
                a = next;
            }
        }
        for (int64_t z = 0; z < Z; ++z) {
            const Vec<R> *part = room.parts + z * FRAMES;
            Vec<R> *same = room.same + z * n;
            int64_t k = 0;
            for (; k + 6 <= n; k += 6) {
                Vec<R> sum[6];
                for (int r = 0; r < 6; ++r) sum[r] = same[k + r];
                for (int64_t s = 0; s < count; ++s)
                    for (int r = 0; r < 6; ++r) sum[r] += part[s] * Vec<R>((double)room.zz[s * n + k + r]);
                for (int r = 0; r < 6; ++r) same[k + r] = sum[r];
            }
            for (; k < n; ++k)
                for (int64_t s = 0; s < count; ++s) same[k] += part[s] * Vec<R>((double)room.zz[s * n + k]);
        }
    }
}

// X of one coordinate and one pair of joints; for joints i > i', pivots of displacements and of time change places.
template <class T, class R>
void write(const kn_displacements &given, int64_t pair, int lane, double factor, const SumRoom<R> &room, T *out) {
    const int64_t P = room.P, Z = room.Z, wide = room.wide, plane = room.N * wide, n = room.pairs_of_times;
    const bool turned = given.pairs[2 * pair] > given.pairs[2 * pair + 1];
    const int64_t i = given.pairs[2 * pair + turned], j = given.pairs[2 * pair + !turned];
    for (int64_t p = 0; p < P; ++p)
        for (int64_t q = 0; q < P; ++q) {
            const R *X = room.X + (i * P + p) * wide + j * P + q;
            const int64_t a = p < q ? p : q, b = p < q ? q : p, k = a * P - a * (a - 1) / 2 + b - a;
            T *target = out + (turned ? q * P + p : p * P + q);
            for (int64_t e = 0; e < room.even; ++e) {
                const double even = (double)X[e * plane] - (double)room.same[e * n + k].get(lane);
                double odd = 0;
                if (e < Z / 2)
                    odd = (double)X[(room.even + e) * plane] - (double)room.same[(room.even + e) * n + k].get(lane);
                target[(turned ? Z - 1 - e : e) * P * P] = (T)(factor * (even + odd));
                target[(turned ? e : Z - 1 - e) * P * P] = (T)(factor * (even - odd));
            }
        }
}

// --- recordings -------------------------------------------------------------------------------------------

// One recording; its widest displacement and the harmonics that need it. False if they are too many.
template <class T, class R>
bool recording(const kn_displacements &given, const int64_t *place, SumRoom<R> &room, T *out, double *widest) {
    const int64_t Z = room.Z, axes = given.n_axes, size = room.P * room.P;
    const double spacing = Z > 1 ? 2 * given.reach / (double)(Z - 1) : 2 * given.reach, sigma = given.sigma_span;
    for (int64_t z = 0; z < Z; ++z) room.zeta[z] = Z > 1 ? (double)z * spacing - given.reach : 0;
    for (int64_t i = 0; i < room.J; ++i) room.last[i] = -1;
    for (int64_t n = 0; n < given.n_pairs; ++n) {
        const int64_t i = given.pairs[2 * n], j = given.pairs[2 * n + 1], a = i < j ? i : j, b = i < j ? j : i;
        if (b > room.last[a]) room.last[a] = b;
    }
    Plan plan = plan_windows(given, place);
    double factor = root(spacing * root(2 / PI) / given.sigma) / ((double)room.J * (double)plan.T);
    if (sigma > 0 && sigma < NARROWEST) factor *= exp_of(0.5 / (NARROWEST * NARROWEST) - 0.5 / (sigma * sigma));
    widest[0] = widest[1] = 0;
    for (int64_t axis = 0; axis < axes; ++axis) {
        read<T>(given, place, axis, room, plan);
        if (plan.extent > widest[0]) widest[0] = plan.extent;
        if ((double)plan.n_harmonics > widest[1]) widest[1] = (double)plan.n_harmonics;
    }
    if (widest[1] > KN_MOST_HARMONICS) return false;
    for (int64_t axis = 0; axis < axes; ++axis) {
        read<T>(given, place, axis, room, plan);
        if (plan.T > 1) {
            weigh(given, plan, room);
            add_harmonics(plan, room);
        }
        for (int64_t first = 0; first < given.n_pairs; first += LANES) {
            if (plan.T > 1) add_same_time(given, plan, first, room);
            for (int q = 0; q < LANES && first + q < given.n_pairs; ++q) {
                T *target = out + ((first + q) * axes + axis) * Z * size;
                if (plan.T > 1) write(given, first + q, q, factor, room, target);
                else  // one frame has no pair
                    for (int64_t k = 0; k < Z * size; ++k) target[k] = 0;
            }
        }
    }
    return true;
}

template <class T>
int32_t sums(const kn_displacements &given, int64_t first, int64_t last, void *memory, T *out, double *widest) {
    Room space = {(char *)memory}, same_space = space;
    SumRoom<double> room(given, space);
    SumRoom<T> own_room(given, same_space);
    const bool short_span = given.sigma_span > 0 && given.sigma_span < SHORT_SPAN;
    FlushSubnormals while_here;
    int32_t status = KN_OK;
    for (int64_t b = first; b < last; ++b) {
        const int64_t *place = given.places + 3 * b;
        T *target = out + (b - first) * given.n_pairs * given.n_axes * room.Z * room.P * room.P;
        const bool in_double = short_span || place[1] <= FEW_FRAMES;
        const bool found = in_double ? recording(given, place, room, target, widest + 2 * b)
                                     : recording(given, place, own_room, target, widest + 2 * b);
        if (!found) status = KN_TOO_WIDE;
    }
    return status;
}

}  // namespace

KN_API int64_t kn_dck_room(const kn_displacements *given) {
    Room measure = {nullptr};
    SumRoom<double> room(*given, measure);
    return (int64_t)measure.at;
}

KN_API int32_t kn_dck_sums(int32_t precision, const kn_displacements *given, int64_t first, int64_t last, void *room,
                           void *out, double *widest) {
    if (precision == KN_FLOAT64) return sums(*given, first, last, room, (double *)out, widest);
    return sums(*given, first, last, room, (float *)out, widest);
}
