// DCK's sums over pairs of frames, one block per coordinate and recording.
//
//     X[z,p,q] = 1/(J T) Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)
//
// One thread per pair of joints and pivot z, with all p and q in registers.

#define INLINE __device__ __forceinline__
#define MAX_HARMONICS 64  // recordings that need more are computed elsewhere
#define FEW_FRAMES 8      // up to here summing all pairs of frames is cheaper


INLINE float pivot_at(int k, int n, float low, float high) {
    return n > 1 ? low + (high - low) * k / (n - 1) : (low + high) / 2;
}

INLINE float largest_of_block(float value, float* room) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) value = fmaxf(value, room[w]);
    __syncthreads();
    return value;
}

// x (N, joints, 3), in which recording b has frames starts[b] to starts[b + 1] - 1, at most `frames` of them →
// target (B, n_pairs, 3, n_pivots, P, P). Without a window (span 0) by harmonics, as in core/dck.cpp; with one, over frames up to where no sum, whatever p and q,
// has more than the tolerance left.
// `plan` holds σ, reach and amplitude of the pivots, the span, σ, ends and amplitude of the pivots in time, the tolerance.
// `failed` becomes 1 if more harmonics are needed than there is memory for.
template <int P>
__global__ void __launch_bounds__(192) dck_sums(const float* source, const int* starts, const int* pairs, const double* plan, float* target, int* failed, int frames, int joints, int n_pairs, int n_pivots) {
    extern __shared__ double room[];
    int recording = blockIdx.x / 3, axis = blockIdx.x % 3;
    int begin = starts[recording], length = starts[recording + 1] - begin;
    float sigma = plan[0], reach = plan[1], amplitude = plan[2], span = plan[3];
    float time_sigma = plan[4], time_low = plan[5], time_high = plan[6], time_amplitude = plan[7];
    double tol = plan[8];
    float* x = (float*)room;            // (length, joints)
    float* z = x + frames * joints;     // (length, P)
    float* weights = z + frames * P;    // (2, harmonics, n_pivots); before that one number per warp
    float* sums = weights + 2 * MAX_HARMONICS * n_pivots;  // (2, harmonics, joints, P), or the window's values
    const float* all = source + (long long)begin * joints * 3;

    // The middle of each coordinate, this one's values around it, and the extent of them all.
    float extent = 0;
    for (int a = 0; a < 3; ++a) {
        float high = -3.4e38f, low = -3.4e38f;
        for (int e = threadIdx.x; e < length * joints; e += blockDim.x) {
            float value = all[e * 3 + a];
            high = fmaxf(high, value);
            low = fmaxf(low, -value);
        }
        high = largest_of_block(high, weights);
        low = -largest_of_block(low, weights);
        float middle = low / 2 + high / 2;
        extent = fmaxf(extent, fmaxf(high - middle, middle - low));
        if (a == axis)
            for (int e = threadIdx.x; e < length * joints; e += blockDim.x) x[e] = all[e * 3 + a] - middle;
    }
    for (int e = threadIdx.x; e < length * P; e += blockDim.x) {
        float gap = (float)(e / P + 1) / length - pivot_at(e % P, P, time_low, time_high);
        z[e] = time_amplitude * expf(-gap * gap / (time_sigma * time_sigma));
    }
    __syncthreads();

    bool harmonic = span == 0 && length > FEW_FRAMES;
    int harmonics = 0, band = length - 1;
    double period = 0;
    if (harmonic) {
        double tail = sqrt(log(4 / tol)), covered = ceil(2. * extent * 4 + 1e-9) / 4;
        period = covered + reach + sigma * tail;
        harmonics = (int)ceil(period * tail / (3.141592653589793 * sigma)) + 1;
        if (harmonics > MAX_HARMONICS) {
            if (threadIdx.x == 0) *failed = 1;
            return;
        }
        for (int task = threadIdx.x; task < harmonics * n_pivots; task += blockDim.x) {
            int k = task / n_pivots;
            double omega = 6.283185307179586 * k / period, g = (k ? 2 : 1) * sigma * 1.772453850905516 / period;
            float size = (float)(g * exp(-omega * omega * sigma * sigma / 4)), sine, cosine;
            sincospif((float)(2 * k / period * pivot_at(task % n_pivots, n_pivots, -reach, reach)), &sine, &cosine);
            weights[task] = size * cosine;
            weights[harmonics * n_pivots + task] = -size * sine;
        }
        // S_k = Σ_s e^{iωk x_j} z_p, one thread per harmonic and joint.
        for (int task = threadIdx.x; task < harmonics * joints; task += blockDim.x) {
            int k = task / joints, j = task % joints;
            float real[P], imaginary[P], turns = (float)(2 * k / period);
#pragma unroll
            for (int p = 0; p < P; ++p) real[p] = imaginary[p] = 0;
            for (int s = 0; s < length; ++s) {
                float sine, cosine;
                sincospif(turns * x[s * joints + j], &sine, &cosine);
#pragma unroll
                for (int p = 0; p < P; ++p) real[p] += cosine * z[s * P + p], imaginary[p] += sine * z[s * P + p];
            }
#pragma unroll
            for (int p = 0; p < P; ++p) {
                sums[task * P + p] = real[p];
                sums[(harmonics * joints + task) * P + p] = imaginary[p];
            }
        }
    } else if (span > 0) {
        band = min(band, (int)ceil(span * sqrt(6 * log(1 / tol))));
        for (int e = threadIdx.x; e <= band; e += blockDim.x) sums[e] = expf(-(float)e * e / (2 * span * span));
    } else {
        for (int e = threadIdx.x; e <= band; e += blockDim.x) sums[e] = 1;
    }
    __syncthreads();

    float inverse = 1 / (sigma * sigma), share = 1.f / ((float)joints * length);
    for (int task = threadIdx.x; task < n_pairs * n_pivots; task += blockDim.x) {
        int pair = task / n_pivots, zeta = task % n_pivots, i = pairs[2 * pair], j = pairs[2 * pair + 1];
        float pivot = pivot_at(zeta, n_pivots, -reach, reach);
        float total[P][P];
#pragma unroll
        for (int p = 0; p < P; ++p)
#pragma unroll
            for (int q = 0; q < P; ++q) total[p][q] = 0;
        if (harmonic) {
            // All pairs of frames: Re Σ_k w_k S_ip conj(S_jq),
            const float *ci = sums + i * P, *si = ci + harmonics * joints * P;
            const float *cj = sums + j * P, *sj = cj + harmonics * joints * P;
            for (int k = 0; k < harmonics; ++k) {
                float wr = weights[k * n_pivots + zeta], wi = weights[(harmonics + k) * n_pivots + zeta];
                int at = k * joints * P;
#pragma unroll
                for (int p = 0; p < P; ++p) {
                    float a = wr * ci[at + p] - wi * si[at + p], b = wr * si[at + p] + wi * ci[at + p];
#pragma unroll
                    for (int q = 0; q < P; ++q) total[p][q] += a * cj[at + q], total[p][q] += b * sj[at + q];
                }
            }
            // minus those of a frame with itself, which need no harmonics.
            for (int s = 0; s < length; ++s) {
                float gap = x[s * joints + i] - x[s * joints + j] - pivot, phi = expf(-gap * gap * inverse);
#pragma unroll
                for (int p = 0; p < P; ++p) {
                    float weighted = phi * z[s * P + p];
#pragma unroll
                    for (int q = 0; q < P; ++q) total[p][q] -= weighted * z[s * P + q];
                }
            }
        } else {
            for (int s = 0; s < length; ++s) {
                float row[P], from = x[s * joints + i] - pivot;
#pragma unroll
                for (int q = 0; q < P; ++q) row[q] = 0;
                for (int t = max(0, s - band); t <= min(length - 1, s + band); ++t) {
                    float gap = from - x[t * joints + j], phi = t == s ? 0 : sums[abs(t - s)] * expf(-gap * gap * inverse);
#pragma unroll
                    for (int q = 0; q < P; ++q) row[q] += phi * z[t * P + q];
                }
#pragma unroll
                for (int p = 0; p < P; ++p)
#pragma unroll
                    for (int q = 0; q < P; ++q) total[p][q] += z[s * P + p] * row[q];
            }
        }
        float* out = target + ((((long long)recording * n_pairs + pair) * 3 + axis) * n_pivots + zeta) * P * P;
#pragma unroll
        for (int p = 0; p < P; ++p)
#pragma unroll
            for (int q = 0; q < P; ++q) out[p * P + q] = total[p][q] * (amplitude * share);
    }
}
