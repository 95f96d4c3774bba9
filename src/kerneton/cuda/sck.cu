// SCK of order 3 in one kernel; needs jacobi.cu.

#ifndef BLOCKS
#define BLOCKS 3  // on a multiprocessor
#endif

// The position of the entry a ≤ b ≤ c of a symmetric tensor of side N, triples in lexicographic order.
template <int N> INLINE int simplex(int a, int b, int c) {
    int left = N - a;
    return N * (N + 1) * (N + 2) / 6 - left * (left + 1) * (left + 2) / 6 + (b - a) * (2 * N - a - b + 1) / 2 + c - b;
}

template <int N> INLINE int diagonal(int slice, int i) { return slice < i ? simplex<N>(slice, i, i) : simplex<N>(i, i, slice); }

INLINE float gauss(float gap, float inverse) { return expf(-gap * gap * inverse); }
INLINE double gauss(double gap, double inverse) { return exp(-gap * gap * inverse); }

// SCK for one joint of one recording per block: signals → v → Σ_s v⊗v⊗v → slices to the power γ → unique entries.
// Only signals (N, joints, width) are read, in which recording b has frames starts[b] to starts[b + 1] - 1, and only
// features are written; everything else stays in shared memory.
//
// `table` (4, N) defines v, v_e = amplitude exp(-(u - pivot)² / σ²): for each entry its position among the signals
// (-1 for the time s / length), pivot, 1/σ² and amplitude. `entries`: 1 for a ≤ b ≤ c of the symmetric part, weighted
// by √multiplicity, 2 for those of slice c, 0 for i ≤ j of every slice.
// Shared memory: the tensor, the slices' lower triangles, and frames of v or one N·2M matrix for each group.
template <int N, class R>
__global__ void __launch_bounds__(128, sizeof(R) == 4 ? BLOCKS : 2) sck_features(const R* signals, const int* starts, const double* table, R* features, int* failed, int joints, int width, int high, int low, int entries) {
    constexpr int M = Place<N>::M, GROUPS = Place<N>::GROUPS, PAIRS = N * (N + 1) / 2, TRIPLES = PAIRS * (N + 2) / 3;
    constexpr int CHUNK = 16, STEP = 4;
    constexpr int WIDTH = (N + STEP - 1) / STEP * STEP;
    extern __shared__ double room[];
    double* tensor = room;
    double* frame = tensor + TRIPLES;                         // CHUNK frames of v, a frame padded to WIDTH; later
    R* work = (R*)frame;                                      // N rows of 2M for each group
    R* slices = work + blockDim.x / 32 * GROUPS * N * 2 * M;  // (N, PAIRS)
    double power = __hiloint2double(high, low);
    int recording = blockIdx.x / joints, joint = blockIdx.x % joints, begin = starts[recording], length = starts[recording + 1] - begin;
    const R* x = signals + ((long long)begin * joints + joint) * width;
    double share = cbrt(1 / (length * sqrt((double)joints)));

    // The tensor, one thread per pair i ≤ j: Σ_s (v_i v_j) v_k for k ≤ i. Pairs are in the order of i, so that the
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
        for (int start = 0; start < length; start += CHUNK) {
            int count = min(CHUNK, length - start);
            __syncthreads();
            for (int e = threadIdx.x; e < count * WIDTH; e += blockDim.x) {
                int s = start + e / WIDTH, k = e % WIDTH;
                if (k < N) {
                    int place = (int)table[k];
                    R u = place < 0 ? (R)(s + 1) / (R)length : x[(long long)s * joints * width + place];
                    R value = gauss(u - (R)table[N + k], (R)table[2 * N + k]);
                    frame[e] = (R)(table[3 * N + k] * share) * value;
                } else {
                    frame[e] = 0;
                }
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
    R* shared = work + (warp * GROUPS + at.group) * (N * 2 * M);
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
        factorize(x, y, dx, dy, (double*)shared, at);
        Column<N, R> a, b;
        a.set(x);
        b.set(y);
        int sweeps = orthogonalize(a, b, Precision<R>::enough, at);
        weigh(a, b, true, 0, power, exp2(0.5 * exponent * power), at);
        bool writes = !at.shadow && first + at.group < N;
        multiply(a, b, shared, at, [&](int row, R left, R right) {
            R* out = slices + slice * PAIRS + row * (row + 1) / 2 + 2 * at.p;
            if (writes && 2 * at.p <= row) out[0] = left;
            if (writes && 2 * at.p + 1 <= row) out[1] = right;
        });
        if (sweeps == MAX_SWEEPS && writes) *failed = 1;
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
