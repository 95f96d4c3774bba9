// Powers of a batch of matrices; needs jacobi.cu.

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
// columns instead, zero beyond the rank. Shared memory: N·2M doubles per matrix.
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
    top = at.largest(top);
    top = unsound ? 0 : top;
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
    double dx = unsound ? 0 : (double)A[2 * at.p * (N + 1)] * u * v;
    double dy = unsound || !at.second ? 0 : (double)A[(2 * at.p + 1) * (N + 1)] * u * v;
    double rest = factorize(x, y, dx, dy, shared, at), shift = 0;
    bool indefinite = rest > 64 * N * EPS, factored = true;
    auto again = [&]() {
        read(A, at, u, v, x, y);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = (unsound ? 0 : x[i]) + (i == 2 * at.p ? shift : 0);
            y[i] = (unsound ? 0 : y[i]) + (i == 2 * at.p + 1 ? shift : 0);
        }
    };
    // Rounding to single precision may make eigenvalues negative: a small addition to the diagonal makes A factorisable.
    if (sizeof(T) == 4 && __any_sync(ALL, indefinite)) {
        shift = indefinite ? N * 2.4e-7 : 0;
        again();
        rest = factorize(x, y, dx + shift, at.second ? dy + shift : 0, shared, at);
        indefinite = rest > 64 * N * EPS;
    }
    // Otherwise the columns of A itself are rotated.
    if (indefinite) {
        shift = bound + 1;
        factored = false;
        again();
    }
    Column<N, double> a, b;
    a.set(x);
    b.set(y);
    // Against a large shift all eigenvalues are nearly equal, and convergence is not quadratic until the end.
    int sweeps = orthogonalize(a, b, factored ? Precision<double>::enough : 1e-30, at);
    weigh(a, b, factored, shift, power, vectors ? 1. : exp2(0.5 * exponent * power), at);
    auto put = [&](int row, double left, double right) {
        if (!writes) return;
        out[row * N + 2 * at.p] = unsound ? (T)nan("") : (T)left;
        if (at.second) out[row * N + 2 * at.p + 1] = unsound ? (T)nan("") : (T)right;
    };
    if (vectors) {
        int ca = sweeps % 2 ? 2 * at.M - 1 - 2 * at.p : 2 * at.p, cb = sweeps % 2 ? ca - 1 : ca + 1;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (writes && ca < N) out[i * N + ca] = unsound ? (T)nan("") : (T)a.entry[i];
            if (writes && cb < N) out[i * N + cb] = unsound ? (T)nan("") : (T)b.entry[i];
        }
    } else {
        multiply(a, b, shared, at, put);
    }
    if (sweeps == MAX_SWEEPS && writes) *failed = 1;
}
