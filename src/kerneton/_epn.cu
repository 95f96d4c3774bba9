// Powers of symmetric positive semi-definite matrices of order N, several to a warp.
//
//     A = L Lᵀ     Cholesky with pivoting, in double precision
//     L J = U Σ    one-sided Jacobi: columns turned until they are orthogonal, in the precision R of the result
//     A^γ = Σ_i σ_i^2γ u_i u_iᵀ
//
// Rounding A to single precision would cost its small eigenvalues, which λ^γ lifts; rounding L costs a relative error
// of σ, which λ = σ² does not feel. So double precision ends with L.
//
// A group of M lanes holds a matrix, two columns a lane, in registers. Columns stand in a row of 2M places. In an even
// step those in places 2p and 2p+1 are turned and change places, in an odd one those in 2p+1 and 2p+2: after 2M steps
// every two have met once. A column is its entries times a scale, which saves half of a rotation's products.

#define ALL 0xffffffffu
#define EPS 2.220446049250313e-16
#define LARGEST 1.7976931348623157e308
#define MAX_SWEEPS 30
#define INLINE __device__ __forceinline__

template <class R> struct Precision;
template <> struct Precision<float> {
    static constexpr float turn = 1e-12f;   // cosine² worth a rotation,
    static constexpr float enough = 9e-6f;  // and cosine² that needs no further sweep: convergence is quadratic
};
template <> struct Precision<double> {
    static constexpr double turn = 1e-31;
    static constexpr double enough = 1e-14;
};

INLINE float inverse_root(float x) { return rsqrtf(x); }
INLINE double inverse_root(double x) { return rsqrt(x); }

// A lane's place p in its group, the group's first lane and the lane's neighbours. Left-over lanes shadow the first
// group: they compute what it computes and write nothing else.
template <int N> struct Place {
    static constexpr int M = (N + 1) / 2, GROUPS = 32 / M;
    int group, p, base, next, previous;
    bool shadow, first, last, second;  // second: whether 2p+1 is a column
    INLINE explicit Place(int lane) {
        shadow = lane >= GROUPS * M;
        group = shadow ? 0 : lane / M;
        p = lane % M;
        base = group * M;
        next = base + (p + 1) % M;
        previous = base + (p + M - 1) % M;
        first = p == 0;
        last = p == M - 1;
        second = 2 * p + 1 < N;
    }
    template <class T> INLINE T largest(T value) const {
#pragma unroll
        for (int step = 1; step < M; step *= 2) {
            T other = __shfl_sync(ALL, value, base + (p + step) % M);
            value = other > value ? other : value;
        }
        return value;
    }
};

template <int N, class R> struct Column {
    R entry[N];
    R scale, inverse, square;  // of the entries; its inverse; the squared length, scale included
    INLINE void set(const double (&values)[N]) {
#pragma unroll
        for (int i = 0; i < N; ++i) entry[i] = (R)values[i];
        scale = inverse = 1;
    }
    INLINE void measure() {
        R sum = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) sum += entry[i] * entry[i];
        square = sum * scale * scale;
    }
    INLINE Column from(int lane) const {
        Column other;
#pragma unroll
        for (int i = 0; i < N; ++i) other.entry[i] = __shfl_sync(ALL, entry[i], lane);
        other.scale = __shfl_sync(ALL, scale, lane);
        other.inverse = __shfl_sync(ALL, inverse, lane);
        other.square = __shfl_sync(ALL, square, lane);
        return other;
    }
    INLINE void keep(bool own, const Column& old) {
#pragma unroll
        for (int i = 0; i < N; ++i) entry[i] = own ? old.entry[i] : entry[i];
        scale = own ? old.scale : scale;
        inverse = own ? old.inverse : inverse;
        square = own ? old.square : square;
    }
};

// Turn two columns until they are orthogonal: x ← c (x - t y), y ← c (y + t x).
template <int N, class R> INLINE void turn(Column<N, R>& x, Column<N, R>& y, bool live, R enough, bool& again) {
    R dot = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) dot += x.entry[i] * y.entry[i];
    dot *= x.scale * y.scale;
    R cosine2 = dot * dot, bound = x.square * y.square;
    live = live && cosine2 > Precision<R>::turn * bound;
    again |= live && cosine2 > enough * bound;
    // The angle need not be exact: only its cosine and sine must belong together.
    float ratio = __fdividef((float)(y.square - x.square), (float)(2 * dot));
    float tangent = __fdividef(1.f, ratio + copysignf(sqrtf(1 + ratio * ratio), ratio));
    R t = live ? (R)tangent : (R)0;
    R length2 = 1 + t * t, c = inverse_root(length2), d = c * length2;
    R u = t * y.scale * x.inverse, w = t * x.scale * y.inverse;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        R old = x.entry[i];
        x.entry[i] = old - u * y.entry[i];
        y.entry[i] = y.entry[i] + w * old;
    }
    x.scale *= c, y.scale *= c;
    x.inverse *= d, y.inverse *= d;
    x.square -= t * dot, y.square += t * dot;
}

// All columns of a group's matrix orthogonal, after a sweep that met no cosine² above `enough`; false where none did.
template <int N, class R>
INLINE bool orthogonalize(Column<N, R>& left, Column<N, R>& right, R enough, const Place<N>& at) {
#pragma unroll 1
    for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
        bool again = false;
        left.measure();
        right.measure();
#pragma unroll 1
        for (int step = 0; step < Place<N>::M; ++step) {
            turn(left, right, true, enough, again);  // and from here on right stands left of left
            Column<N, R> met = right.from(at.next);
            turn(left, met, !at.last, enough, again);
            Column<N, R> back = left.from(at.previous);
            back.keep(at.first, right);
            met.keep(at.last, left);
            left = back;
            right = met;
        }
        if (!__any_sync(ALL, again)) return true;
    }
    return false;
}

// The columns 2p and 2p+1 of a symmetric matrix, scaled to entries about 1, become those of L. dx and dy are their
// diagonal entries, `column` is room for N doubles that the group shares. Returns the largest entry of what pivoting
// leaves: large where A was indefinite.
template <int N>
INLINE double factorize(double (&x)[N], double (&y)[N], double dx, double dy, double* column, const Place<N>& at) {
    bool done_x = false, done_y = !at.second;
    double stop = N * EPS * at.largest(dx > dy ? dx : dy);
#pragma unroll 1
    for (int k = 0; k < N; ++k) {
        // The largest diagonal entry left, in single precision with its place in the lowest bits.
        unsigned kx = !done_x && dx > stop ? (__float_as_uint((float)dx) & ~63u) | (2 * at.p) : 0;
        unsigned ky = !done_y && dy > stop ? (__float_as_uint((float)dy) & ~63u) | (2 * at.p + 1) : 0;
        unsigned key = at.largest(kx > ky ? kx : ky);
        if (!__any_sync(ALL, key > 0)) break;
        int pivot = key & 63;
        bool own_x = key > 0 && pivot == 2 * at.p, own_y = key > 0 && pivot == 2 * at.p + 1;
        if (own_x) {
#pragma unroll
            for (int i = 0; i < N; ++i) column[i] = x[i];
        }
        if (own_y) {
#pragma unroll
            for (int i = 0; i < N; ++i) column[i] = y[i];
        }
        __syncwarp();
        if (key > 0) {
            double shrink = rsqrt(column[pivot]);
            double lx = done_x ? 0 : column[2 * at.p] * shrink;
            double ly = done_y ? 0 : column[2 * at.p + (at.second ? 1 : 0)] * shrink;
            dx -= lx * lx;
            dy -= ly * ly;
            // The pivot's own column, which is c, becomes c - (1 - shrink) c = shrink c.
            lx = own_x ? 1 - shrink : lx * shrink;
            ly = own_y ? 1 - shrink : ly * shrink;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                double c = column[i];
                x[i] -= lx * c;
                y[i] -= ly * c;
            }
            done_x |= own_x;
            done_y |= own_y;
        }
        __syncwarp();
    }
    double rest = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        rest = done_x ? rest : fmax(rest, fabs(x[i]));
        rest = done_y ? rest : fmax(rest, fabs(y[i]));
        x[i] = done_x ? x[i] : 0;
        y[i] = done_y ? y[i] : 0;
    }
    return at.largest(rest);
}

// Weigh orthogonal columns so that their outer products sum to factor² A^γ, where λ = σ², or σ - shift if that is positive.
template <int N, class R>
INLINE void weigh(Column<N, R>& x, Column<N, R>& y, double shift, double power, double factor, const Place<N>& at) {
    x.measure();
    y.measure();
    double a = x.square, b = y.square;
    double sx = shift > 0 ? sqrt(a) - shift : a, sy = shift > 0 ? sqrt(b) - shift : b;
    double noise = shift > 0 ? 8 * EPS * shift : 0;
    double floor = fmax(noise, 2 * sqrt((double)N) * EPS * at.largest(sx > sy ? sx : sy));
    R fx = sx > floor ? x.scale * (R)(factor * sqrt(pow(sx, power) / a)) : (R)0;
    R fy = sy > floor ? y.scale * (R)(factor * sqrt(pow(sy, power) / b)) : (R)0;
#pragma unroll
    for (int i = 0; i < N; ++i) x.entry[i] *= fx, y.entry[i] *= fy;
}

// Columns 2p and 2p+1 of W Wᵀ, a row at a time: put(row, entry, entry). `w` is room for N rows of 2M that the group shares.
template <int N, class R, class Put>
INLINE void multiply(const Column<N, R>& x, const Column<N, R>& y, R* w, const Place<N>& at, Put put) {
    constexpr int WIDTH = 2 * Place<N>::M;
#pragma unroll
    for (int i = 0; i < N; ++i) w[i * WIDTH + 2 * at.p] = x.entry[i], w[i * WIDTH + 2 * at.p + 1] = y.entry[i];
    __syncwarp();
    const R *wa = w + 2 * at.p * WIDTH, *wb = wa + (at.second ? WIDTH : 0);
    R a[WIDTH], b[WIDTH];
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) a[k] = wa[k], b[k] = wb[k];
#pragma unroll 1
    for (int row = 0; row < N; ++row) {
        R sa = 0, sb = 0;
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) {
            R value = w[row * WIDTH + k];
            sa += a[k] * value;
            sb += b[k] * value;
        }
        put(row, sa, sb);
    }
    __syncwarp();
}

// Columns 2p and 2p+1 of a symmetric matrix whose lower triangle is stored, times two factors.
template <int N, class T>
INLINE void read(const T* A, const Place<N>& at, double u, double v, double (&x)[N], double (&y)[N]) {
    int cx = 2 * at.p, cy = cx + (at.second ? 1 : 0);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        x[i] = (double)A[i >= cx ? i * N + cx : cx * N + i] * u * v;
        y[i] = at.second ? (double)A[i >= cy ? i * N + cy : cy * N + i] * u * v : 0;
    }
}

// A batch (count, N, N) to the given power, which comes as the two halves of a double; with `vectors`, eigenvectors as
// columns instead, zero beyond the rank. Shared memory: N·2M doubles a matrix.
template <int N, class T>
__global__ void __launch_bounds__(128) psd_power(const T* source, T* target, int* failed, int count, int high, int low, int vectors) {
    extern __shared__ double room[];
    int warp = threadIdx.x / 32;
    Place<N> at(threadIdx.x % 32);
    double* shared = room + (warp * at.GROUPS + at.group) * (N * 2 * at.M);
    long long item = ((long long)blockIdx.x * (blockDim.x / 32) + warp) * at.GROUPS + at.group;
    bool writes = !at.shadow && item < count;
    item = item < count ? item : count - 1;
    const T* A = source + item * N * N;
    T* out = target + item * N * N;
    double x[N], y[N], top = 0, power = vectors ? 0 : __hiloint2double(high, low);
    read(A, at, 1, 1, x, y);
    int unsound = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        top = fmax(top, fmax(fabs(x[i]), fabs(y[i])));
        unsound |= !(fabs(x[i]) <= LARGEST && fabs(y[i]) <= LARGEST);
    }
    unsound = at.largest(unsound);
    top = unsound ? 0 : at.largest(top);
    // Two factors, since the inverse of a subnormal overflows.
    int exponent = top > 0 ? ilogb(top) : 0;
    double u = top > 0 ? scalbn(1., -(exponent / 2)) : 0, v = scalbn(1., exponent / 2 - exponent);
    read(A, at, u, v, x, y);
    if (unsound) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = y[i] = 0;
    }
    double bound = 0, other = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) bound += fabs(x[i]), other += fabs(y[i]);
    bound = at.largest(fmax(bound, other));
    double dx = (double)A[2 * at.p * (N + 1)] * u * v;
    double dy = at.second ? (double)A[(2 * at.p + 1) * (N + 1)] * u * v : 0;
    double rest = factorize(x, y, unsound ? 0 : dx, unsound ? 0 : dy, shared, at), shift = 0;
    // Indefinite beyond rounding: A + ‖A‖ is definite. Lanes go together, so all matrices of the warp are shifted.
    if (__any_sync(ALL, rest > 64 * N * EPS)) {
        read(A, at, u, v, x, y);
        shift = bound + 1;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = (unsound ? 0 : x[i]) + (i == 2 * at.p ? shift : 0);
            y[i] = (unsound ? 0 : y[i]) + (i == 2 * at.p + 1 ? shift : 0);
        }
    }
    Column<N, double> a, b;
    a.set(x);
    b.set(y);
    // Against the shift all eigenvalues are nearly equal, and convergence is not quadratic until the end.
    bool converged = orthogonalize(a, b, shift > 0 ? 1e-30 : Precision<double>::enough, at);
    weigh(a, b, shift, power, vectors ? 1. : exp2(0.5 * exponent * power), at);
    auto put = [&](int row, double left, double right) {
        if (!writes) return;
        out[row * N + 2 * at.p] = unsound ? (T)nan("") : (T)left;
        if (at.second) out[row * N + 2 * at.p + 1] = unsound ? (T)nan("") : (T)right;
    };
    if (vectors) {
#pragma unroll
        for (int i = 0; i < N; ++i) put(i, a.entry[i], b.entry[i]);
    } else {
        multiply(a, b, shared, at, put);
    }
    if (!converged && writes) *failed = 1;
}

// Where the entry a ≤ b ≤ c of a symmetric tensor of side N stands, triples in lexicographic order.
template <int N> INLINE int simplex(int a, int b, int c) {
    int left = N - a;
    return N * (N + 1) * (N + 2) / 6 - left * (left + 1) * (left + 2) / 6 + (b - a) * (2 * N - a - b + 1) / 2 + c - b;
}

template <int N> INLINE int diagonal(int slice, int i) { return slice < i ? simplex<N>(slice, i, i) : simplex<N>(i, i, slice); }

// The whole of SCK for one joint of one recording, a block: v (T, N) → Σ_s v⊗v⊗v → slices to the power γ → entries that
// symmetry leaves. Only v is read and only features are written; what lies between stays on the chip.
//
// `entries`: 1 for a ≤ b ≤ c of the symmetric part, weighted by √multiplicity, 2 for those of slice c, 0 for i ≤ j of
// every slice.
// Shared memory: the tensor, the slices' lower triangles, and frames of v or one N·2M matrix for each group.
template <int N, class R>
__global__ void __launch_bounds__(128) sck_features(const R* vectors, R* features, int* failed, int frames, int high, int low, int entries) {
    constexpr int M = Place<N>::M, GROUPS = Place<N>::GROUPS, PAIRS = N * (N + 1) / 2, TRIPLES = PAIRS * (N + 2) / 3;
    constexpr int CHUNK = 16, STEP = 4;
    extern __shared__ double room[];
    double* tensor = room;
    double* frame = tensor + TRIPLES;                             // CHUNK frames of v, padded to a multiple of STEP
    R* slices = (R*)(frame + 4 * GROUPS * N * 2 * M);             // (N, PAIRS)
    constexpr int WIDTH = (N + STEP - 1) / STEP * STEP;
    const R* v = vectors + (long long)blockIdx.x * frames * N;
    double power = __hiloint2double(high, low);

    // The tensor, a pair i ≤ j a thread: Σ_s (v_i v_j) v_k for k ≤ i. Pairs are in the order of i, so that the
    // threads of a warp have about as many k.
    for (int first = 0; first < PAIRS; first += blockDim.x) {
        int pair = first + threadIdx.x, i = 0, j;
        {
            int start = 0;
            while (i < N - 1 && pair >= start + N - i) start += N - i, ++i;
            j = i + pair - start;
            j = j < N ? j : N - 1;
        }
        int most = i;
#pragma unroll
        for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(ALL, most, step));
        double sums[WIDTH];
#pragma unroll
        for (int k = 0; k < WIDTH; ++k) sums[k] = 0;
        for (int start = 0; start < frames; start += CHUNK) {
            int count = min(CHUNK, frames - start);
            __syncthreads();
            for (int e = threadIdx.x; e < count * WIDTH; e += blockDim.x) {
                int s = e / WIDTH, k = e % WIDTH;
                frame[e] = k < N ? (double)v[(start + s) * N + k] : 0;
            }
            __syncthreads();
            for (int s = 0; s < count; ++s) {
                const double* at = frame + s * WIDTH;
                double product = at[i] * at[j];
#pragma unroll
                for (int k = 0; k < WIDTH; k += STEP) {
                    if (k <= most) {
#pragma unroll
                        for (int m = 0; m < STEP; ++m) sums[k + m] += product * at[k + m];
                    }
                }
            }
        }
        if (pair < PAIRS) {
#pragma unroll
            for (int k = 0; k < N; ++k)
                if (k <= i) tensor[simplex<N>(k, i, j)] = sums[k];
        }
    }
    __syncthreads();

    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Place<N> at(threadIdx.x % 32);
    double* shared = frame + (warp * GROUPS + at.group) * (N * 2 * M);
    for (int first = warp * GROUPS; first < N; first += warps * GROUPS) {
        int slice = min(first + at.group, N - 1);
        double x[N], y[N], top = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            int low = min(slice, i), high = max(slice, i), c = 2 * at.p, d = c + (at.second ? 1 : 0);
            x[i] = tensor[simplex<N>(min(low, c), max(low, min(high, c)), max(high, c))];
            y[i] = at.second ? tensor[simplex<N>(min(low, d), max(low, min(high, d)), max(high, d))] : 0;
            top = fmax(top, fmax(fabs(x[i]), fabs(y[i])));
        }
        top = at.largest(top);
        int exponent = top > 0 && top < 1e300 ? ilogb(top) : 0;
        double unit = scalbn(1., -exponent);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= unit, y[i] *= unit;
        double dx = tensor[diagonal<N>(slice, 2 * at.p)] * unit;
        double dy = at.second ? tensor[diagonal<N>(slice, 2 * at.p + 1)] * unit : 0;
        factorize(x, y, dx, dy, shared, at);
        Column<N, R> a, b;
        a.set(x);
        b.set(y);
        bool converged = orthogonalize(a, b, Precision<R>::enough, at);
        weigh(a, b, 0, power, exp2(0.5 * exponent * power), at);
        bool writes = !at.shadow && first + at.group < N;
        multiply(a, b, (R*)shared, at, [&](int row, R left, R right) {
            R* out = slices + slice * PAIRS + row * (row + 1) / 2 + 2 * at.p;
            if (writes && 2 * at.p <= row) out[0] = left;
            if (writes && 2 * at.p + 1 <= row) out[1] = right;
        });
        if (!converged && writes) *failed = 1;
    }
    __syncthreads();

    auto entry = [&](int k, int i, int j) { return slices[k * PAIRS + j * (j + 1) / 2 + i]; };  // i ≤ j
    R* out = features + (long long)blockIdx.x * (entries ? TRIPLES : N * PAIRS);
    for (int pair = threadIdx.x; pair < PAIRS; pair += blockDim.x) {
        int i = 0, start = 0;
        while (pair >= start + N - i) start += N - i, ++i;
        int j = i + pair - start;
        if (entries) {
            for (int k = 0; k <= i; ++k) {
                R weight = k == j ? 1 : k == i || i == j ? (R)1.7320508075688772 : (R)2.449489742783178;
                R value = entry(j, k, i);
                if (entries == 1) value = (value + entry(i, k, j) + entry(k, i, j)) / 3;
                out[simplex<N>(k, i, j)] = value * weight;
            }
        } else {
            for (int k = 0; k < N; ++k) out[k * PAIRS + pair] = entry(k, i, j) * (i == j ? (R)1 : (R)1.4142135623730951);
        }
    }
}
