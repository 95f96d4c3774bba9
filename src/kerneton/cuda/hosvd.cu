// Power normalisation of small tensors by higher-order singular value decomposition; needs jacobi.cu.
//
//     X = E ×₁U₁ ×₂U₂ ×₃U₃  →  V = sgn(E)|E|^γ ×₁U₁ ×₂U₂ ×₃U₃  →  sgn(V)|V|^γ*
//
// A warp holds TENSORS tensors of A × B × C in shared memory, in double precision, LANES lanes per tensor. The factors are
// eigenvectors of the Gram matrices X₍ₙ₎X₍ₙ₎ᵀ: squaring loses less than the rounding of single precision.

__device__ constexpr int longest(int a, int b, int c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }
// A power of two, for tensors whose longest side takes so many lanes.
__device__ constexpr int tensors_a_warp(int lanes) { return lanes > 16 ? 1 : 2 * tensors_a_warp(2 * lanes); }

// Eigenvectors of the Gram matrix of a mode of extent N, as columns of U (N, N), zero beyond the rank. The mode's
// entries lie `stride` apart; the vectors along it start at s + t·outer, s < inner, t < COUNT / inner.
template <int N, int COUNT>
INLINE bool mode_vectors(const double* X, int stride, int inner, int outer, double* U, const Place<N>& at) {
    double x[N], y[N], dx = 0, dy = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = y[i] = 0;
    int cx = 2 * at.p, cy = cx + (at.second ? 1 : 0);
#pragma unroll 1
    for (int k = 0; k < COUNT; ++k) {
        const double* v = X + k % inner + k / inner * outer;
        double a = v[cx * stride], b = at.second ? v[cy * stride] : 0;
        dx += a * a, dy += b * b;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            double value = v[i * stride];
            x[i] += a * value;
            y[i] += b * value;
        }
    }
    double top = at.largest(fmax(dx, dy));
    int exponent = top > 0 && top < 1e300 ? ilogb(top) : 0;
    double unit = scalbn(1., -exponent);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] *= unit, y[i] *= unit;
    factorize(x, y, dx * unit, dy * unit, U, at);  // U is used as a buffer
    Column<N, double> a, b;
    a.set(x);
    b.set(y);
    int sweeps = orthogonalize(a, b, Precision<double>::enough, at);
    weigh(a, b, true, 0, 0, 1, at);
    int ca = sweeps % 2 ? 2 * at.M - 1 - 2 * at.p : 2 * at.p, cb = sweeps % 2 ? ca - 1 : ca + 1;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < N; ++i) {
        if (ca < N) U[i * N + ca] = a.entry[i];
        if (cb < N) U[i * N + cb] = b.entry[i];
    }
    __syncwarp();
    return sweeps < MAX_SWEEPS;
}

// X ×ₙUᵀ, or ×ₙU where `back`, in place: each vector along the mode by one lane of the tensor's.
template <int N, int COUNT, int LANES>
INLINE void multiply_mode(double* X, int stride, int inner, int outer, const double* U, bool back, int lane) {
    int step = back ? 1 : N, row = back ? N : 1;
#pragma unroll 1
    for (int k = lane; k < COUNT; k += LANES) {
        double* v = X + k % inner + k / inner * outer;
        double old[N];
#pragma unroll
        for (int i = 0; i < N; ++i) old[i] = v[i * stride];
#pragma unroll 1
        for (int j = 0; j < N; ++j) {
            double sum = 0;
#pragma unroll
            for (int i = 0; i < N; ++i) sum += U[j * row + i * step] * old[i];
            v[j * stride] = sum;
        }
    }
    __syncwarp();
}

INLINE double signed_power(double x, float power) {
    float size = exp2f(power * log2f(fabsf((float)x)));
    return x > 0 ? size : -size;
}

// A batch (count, A, B, C). Powers come as the two halves of doubles.
template <int A, int B, int C>
__global__ void __launch_bounds__(64) hosvd_power(const float* source, float* target, int* failed, int count, int high, int low, int entry_high, int entry_low) {
    constexpr int SIZE = A * B * C, TENSORS = tensors_a_warp((longest(A, B, C) + 1) / 2), LANES = 32 / TENSORS;
    constexpr int ROOM = (SIZE + A * A + B * B + C * C) | 1;  // odd, so that neighbouring tensors are in different banks
    extern __shared__ double room[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / LANES, mine = lane % LANES;
    long long first = ((long long)blockIdx.x * (blockDim.x / 32) + warp) * TENSORS;
    double* all = room + warp * TENSORS * ROOM;
    double power = __hiloint2double(high, low), entry_power = __hiloint2double(entry_high, entry_low);
    for (int e = lane; e < TENSORS * SIZE; e += 32) {
        long long item = first + e / SIZE;
        all[e / SIZE * ROOM + e % SIZE] = item < count ? (double)source[item * SIZE + e % SIZE] : 0;
    }
    __syncwarp();

    bool fine = true;
    {
        Place<A> at(lane, TENSORS);
        double* X = all + at.group * ROOM;
        fine &= mode_vectors<A, B * C>(X, B * C, B * C, 0, X + SIZE, at);
    }
    {
        Place<B> at(lane, TENSORS);
        double* X = all + at.group * ROOM;
        fine &= mode_vectors<B, A * C>(X, C, C, B * C, X + SIZE + A * A, at);
    }
    {
        Place<C> at(lane, TENSORS);
        double* X = all + at.group * ROOM;
        fine &= mode_vectors<C, A * B>(X, 1, 1, C, X + SIZE + A * A + B * B, at);
    }
    if (!fine) *failed = 1;

    double* X = all + group * ROOM;
    const double *U1 = X + SIZE, *U2 = U1 + A * A, *U3 = U2 + B * B;
    double poison = 0, top = 0;
    for (int e = mine; e < SIZE; e += LANES) poison += X[e] * 0;
    __syncwarp();
    multiply_mode<C, A * B, LANES>(X, 1, 1, C, U3, false, mine);
    multiply_mode<B, A * C, LANES>(X, C, C, B * C, U2, false, mine);
    multiply_mode<A, B * C, LANES>(X, B * C, B * C, 0, U1, false, mine);
    for (int e = mine; e < SIZE; e += LANES) top = fmax(top, fabs(X[e]));
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        top = fmax(top, __shfl_xor_sync(ALL, top, step));
        poison += __shfl_xor_sync(ALL, poison, step);
    }
    // Powers in single precision, of values divided by the largest.
    double floor = longest(A, B, C) * EPS, unit = top > 0 ? 1 / top : 0, scale = top > 0 ? pow(top, power) : 0;
    for (int e = mine; e < SIZE; e += LANES) {
        double value = X[e] * unit;
        X[e] = fabs(value) > floor ? signed_power(value, (float)power) * scale : 0;
    }
    __syncwarp();
    multiply_mode<A, B * C, LANES>(X, B * C, B * C, 0, U1, true, mine);
    multiply_mode<B, A * C, LANES>(X, C, C, B * C, U2, true, mine);
    multiply_mode<C, A * B, LANES>(X, 1, 1, C, U3, true, mine);
    if (entry_power != 1)
        for (int e = mine; e < SIZE; e += LANES) X[e] = X[e] != 0 ? signed_power(X[e], (float)entry_power) : 0;
    for (int e = mine; e < SIZE; e += LANES) X[e] += poison;
    __syncwarp();
    for (int e = lane; e < TENSORS * SIZE; e += 32) {
        long long item = first + e / SIZE;
        if (item < count) target[item * SIZE + e % SIZE] = (float)all[e / SIZE * ROOM + e % SIZE];
    }
}
