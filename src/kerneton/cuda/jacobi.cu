// Powers of symmetric positive semi-definite matrices of order N, several per warp: functions that the kernels share.
//
//     A = L Lᵀ     Cholesky with pivoting, in double precision
//     L J = U Σ    one-sided Jacobi: columns are rotated until they are orthogonal, in the precision R of the result
//     A^γ = Σ_i σ_i^2γ u_i u_iᵀ
//
// Rounding A to single precision would lose its small eigenvalues, which λ^γ enlarges; rounding L only causes a relative
// error of σ. So double precision is used up to L.
//
// A group of M lanes holds a matrix in registers, two columns per lane. Columns are in a row of 2M places. In an even
// step those in places 2p and 2p+1 are rotated and exchanged, in an odd one those in 2p+1 and 2p+2: after 2M steps
// every two have met once. A column is its entries times a scale, which saves half of a rotation's products.

#define ALL 0xffffffffu
#define EPS 2.220446049250313e-16
#define LARGEST 1.7976931348623157e308
#define MAX_SWEEPS 30
#define INLINE __device__ __forceinline__

template <class R> struct Precision;
template <> struct Precision<float> {
    static constexpr float turn = 1e-12f;   // cosine² worth a rotation,
    static constexpr float enough = 1e-4f;  // and cosine² that needs no further sweep: convergence is quadratic
};
template <> struct Precision<double> {
    static constexpr double turn = 1e-31;
    static constexpr double enough = 1e-24;
};

INLINE float inverse_root(float x) { return rsqrtf(x); }
INLINE double inverse_root(double x) { return rsqrt(x); }

// A lane's place p in its group, the group's first lane and the lane's neighbours. Left-over lanes, and groups beyond a
// number, shadow the first group: they compute the same and write nothing else.
template <int N> struct Place {
    static constexpr int M = (N + 1) / 2, GROUPS = 32 / M;
    int group, p, base, next, previous;
    bool shadow, first, last, second;  // second: whether 2p+1 is a column
    INLINE explicit Place(int lane, int groups = GROUPS) {
        shadow = lane >= groups * M;
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
        R sum = 0, odd = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) (i % 2 ? odd : sum) += entry[i] * entry[i];
        square = (sum + odd) * scale * scale;
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

// Rotate two columns so that they are orthogonal: x ← c (x - t y), y ← c (y + t x).
template <int N, class R> INLINE void turn(Column<N, R>& x, Column<N, R>& y, bool live, R enough, bool& again) {
    R dot = 0, odd = 0;  // two sums, which halves the latency
#pragma unroll
    for (int i = 0; i < N; ++i) (i % 2 ? odd : dot) += x.entry[i] * y.entry[i];
    dot = (dot + odd) * (x.scale * y.scale);
    R cosine2 = dot * dot, bound = x.square * y.square;
    live = live && cosine2 > Precision<R>::turn * bound;
    again |= live && cosine2 > enough * bound;
    // The angle need not be exact, but its cosine and sine must be consistent. Relative to the squares, so that
    // single precision has the range.
    float unit = __fdividef(1.f, (float)(x.square + y.square));
    float gap = (float)(y.square - x.square) * unit, twice = (float)(2 * dot) * unit;
    float tangent = __fdividef(twice, gap + copysignf(sqrtf(gap * gap + twice * twice), gap));
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

// All columns of a group's matrix orthogonal, after a sweep that met no cosine² above `enough`. Returns the number of
// sweeps, each of which reverses the columns' order; MAX_SWEEPS where they were not enough.
template <int N, class R>
INLINE int orthogonalize(Column<N, R>& left, Column<N, R>& right, R enough, const Place<N>& at) {
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
        if (!__any_sync(ALL, again)) return sweep + 1;
    }
    return MAX_SWEEPS;
}

// The columns 2p and 2p+1 of a symmetric matrix, scaled to entries about 1, become those of L. dx and dy are their
// diagonal entries, `column` is a buffer of N doubles that the group shares. Returns the largest remaining entry after
// pivoting: large if A was indefinite.
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

// Weigh orthogonal columns so that their outer products sum to factor² A^γ. A column of length σ was made of A + shift,
// where λ = σ - shift, or of its factor, where λ = σ² - shift.
template <int N, class R>
INLINE void weigh(Column<N, R>& x, Column<N, R>& y, bool factored, double shift, double power, double factor, const Place<N>& at) {
    x.measure();
    y.measure();
    double a = x.square, b = y.square;
    double sx = (factored ? a : sqrt(a)) - shift, sy = (factored ? b : sqrt(b)) - shift;
    double floor = fmax(16 * EPS * shift, 2 * sqrt((double)N) * EPS * at.largest(sx > sy ? sx : sy));
    R fx = sx > floor ? x.scale * (R)(factor * sqrt(pow(sx, power) / a)) : (R)0;
    R fy = sy > floor ? y.scale * (R)(factor * sqrt(pow(sy, power) / b)) : (R)0;
#pragma unroll
    for (int i = 0; i < N; ++i) x.entry[i] *= fx, y.entry[i] *= fy;
}

// Columns 2p and 2p+1 of W Wᵀ, a row at a time: put(row, entry, entry). `w` is a buffer of N rows of 2M that the group shares.
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
