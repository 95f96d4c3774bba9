// SCK of order 2 in one kernel, several matrices per warp; needs jacobi.cu.

// signals → v → A = 1/(T√J) Σ_s v vᵀ → A^γ → unique entries i ≤ j, times √2 off the diagonal. A row is a joint of a
// recording, or a pair of them whose signals are subtracted here: `rows` (n_rows, 2) names both joints, -1 for none. The bits of
// `unit` name the signals that are then scaled to unit length. Only signals (N, joints, width) are read,
// in which recording b has frames starts[b] to starts[b + 1] - 1, and only features are written.
//
// `table` (4, N) defines v, as in sck.cu. Vectors and sums are double: a power of 0.3 turns rounding errors of 1e-7 into 8e-3.
// Shared memory: N rows of 2M numbers for each group, before that M frames of v in single precision's room.
template <int N, class R>
__global__ void __launch_bounds__(128, 2) sck_matrices(const R* signals, const int* starts, const int* rows, const double* table, R* features, int* failed, int count, int n_rows, int joints, int width, int unit, int axes, int high, int low) {
    constexpr int M = Place<N>::M, PAIRS = N * (N + 1) / 2, CHUNK = M * sizeof(R) / 4;
    extern __shared__ double room[];
    int warp = threadIdx.x / 32;
    Place<N> at(threadIdx.x % 32);
    R* shared = (R*)room + (warp * at.GROUPS + at.group) * (N * 2 * M);
    double* frame = (double*)shared;
    long long item = ((long long)blockIdx.x * (blockDim.x / 32) + warp) * at.GROUPS + at.group;
    bool writes = !at.shadow && item < count;
    item = item < count ? item : count - 1;
    int recording = item / n_rows, row = item % n_rows;
    int begin = starts[recording], length = starts[recording + 1] - begin, longest = length;
    int first = rows[2 * row], other = rows[2 * row + 1];
    const R* from = signals + (long long)begin * joints * width;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) longest = max(longest, __shfl_xor_sync(ALL, longest, step));

    double x[N], y[N], dx = 0, dy = 0;
    int cx = 2 * at.p, cy = cx + (at.second ? 1 : 0);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = y[i] = 0;
    for (int start = 0; start < longest; start += CHUNK) {
        __syncwarp();
        for (int e = at.p; e < CHUNK * N; e += M) {
            int s = start + e / N, k = e % N, place = (int)table[k];
            double value = 0;
            if (s < length) {
                double u = (double)(s + 1) / length;
                if (place >= 0) {
                    const R *a = from + ((long long)s * joints + first) * width, *b = from + ((long long)s * joints + other) * width;
                    u = other < 0 ? a[place] : a[place] - b[place];
                    int signal = place / axes;
                    if (unit >> signal & 1) {
                        double square = 0;
                        for (int c = signal * axes; c < (signal + 1) * axes; ++c) {
                            double d = other < 0 ? a[c] : a[c] - b[c];
                            square += d * d;
                        }
                        u = square > 0 ? (double)(R)(u / sqrt(square)) : 0;
                    }
                }
                double gap = u - table[N + k];
                value = table[3 * N + k] * exp(-gap * gap * table[2 * N + k]);
            }
            frame[e] = value;
        }
        __syncwarp();
        int limit = min(CHUNK, longest - start);
#pragma unroll 1
        for (int s = 0; s < limit; ++s) {
            const double* v = frame + s * N;
            double vx = v[cx], vy = at.second ? v[cy] : 0;
            dx += vx * vx, dy += vy * vy;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                double value = v[i];
                x[i] += vx * value;
                y[i] += vy * value;
            }
        }
    }
    __syncwarp();
    double share = 1 / (length * sqrt((double)n_rows)), top = at.largest(fmax(dx, dy)) * share;
    int exponent = top > 0 && top < 1e300 ? ilogb(top) : 0;
    double scale = scalbn(share, -exponent);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] *= scale, y[i] *= scale;
    factorize(x, y, dx * scale, dy * scale, frame, at);
    Column<N, R> a, b;
    a.set(x);
    b.set(y);
    int sweeps = orthogonalize(a, b, Precision<R>::enough, at);
    double power = __hiloint2double(high, low);
    weigh(a, b, true, 0, power, exp2(0.5 * exponent * power), at);
    R* out = features + item * PAIRS;
    multiply(a, b, shared, at, [&](int i, R left, R right) {
        R* start = out + i * N - i * (i - 1) / 2 - i;
        if (writes && cx >= i) start[cx] = cx == i ? left : left * (R)1.4142135623730951;
        if (writes && at.second && cy >= i) start[cy] = cy == i ? right : right * (R)1.4142135623730951;
    });
    if (sweeps == MAX_SWEEPS && writes) *failed = 1;
}
