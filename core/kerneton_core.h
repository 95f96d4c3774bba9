/* The core of Kerneton, as C sees it.
 *
 * Functions never allocate, keep no state and start no threads. A function that needs working memory says how much
 * (kn_..._room, in bytes) and gets it from its caller, aligned to 64 bytes. Arrays are contiguous in C order. Functions
 * return KN_OK or one of the other codes. Results do not depend on batches or threads, to the bit.
 */
#ifndef KERNETON_CORE_H
#define KERNETON_CORE_H

#include <stdint.h>

#if defined(KN_RUNTIME) /* inside libkerneton, whose header is runtime/kerneton.h */
#define KN_API
#elif defined(_WIN32)
#define KN_API __declspec(dllexport)
#else
#define KN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define KN_VERSION 1 /* of this interface; another one does not fit */

enum { KN_OK = 0, KN_NOT_CONVERGED = 1, KN_BAD_ARGUMENT = 2, KN_TOO_WIDE = 3 };
enum { KN_FLOAT32 = 0, KN_FLOAT64 = 1 };

KN_API int32_t kn_version(void);
KN_API int32_t kn_lanes(void); /* problems that are computed at the same time */

/* Level of this processor: 2, 3 or 4 of x86-64, 1 if it has less; 1 on others. */
KN_API int32_t kn_processor_level(void);

/* --- powers of symmetric matrices ------------------------------------------------------------------------- */

/* A^γ of n_batch symmetric positive semi-definite matrices (n_batch, n, n), eigenvalues below the rank's floor as zero.
 * out may be A. failed (n_batch): 1 where no power was found; that matrix is copied unchanged. */
KN_API int64_t kn_psd_power_room(int32_t precision, int32_t n);
KN_API int32_t kn_psd_power(int32_t precision, const void *A, int64_t n_batch, int32_t n, double power, void *room,
                            void *out, uint8_t *failed);

/* ∇f(A) / γ of f(A) = ⟨W, A^γ⟩ for n_batch positive semi-definite matrices; A, W and out (n_batch, n, n), and of W its symmetric
 * part counts. failed (n_batch): 1 where no eigenvalues were found; those results are zero. */
KN_API int64_t kn_power_gradient_room(int32_t n);
KN_API int32_t kn_power_gradient(const double *A, const double *W, int64_t n_batch, int32_t n, double power, void *room,
                                 double *out, uint8_t *failed);

/* --- powers of tensors' cores ------------------------------------------------------------------------------ */

/* EPN by HOSVD of n_batch tensors (n_batch, a, b, c) of at least 16 entries; entry_power is γ* of the entries.
 * failed (n_batch): 1 where no power was found in max_sweeps (40 is enough); those results are undefined. */
KN_API int64_t kn_hosvd_power_room(int32_t precision, int32_t a, int32_t b, int32_t c);
KN_API int32_t kn_hosvd_power(int32_t precision, const void *X, int64_t n_batch, int32_t a, int32_t b, int32_t c,
                              double power, double entry_power, int32_t max_sweeps, void *room, void *out,
                              uint8_t *failed);

/* --- sums over pairs of frames (DCK) ------------------------------------------------------------------------- */

enum { KN_MOST_HARMONICS = 256 };

/* Recordings whose frames lie one after the other, the joints and pairs of joints that are compared, and Gaussians. */
typedef struct {
    const void *const *coordinates; /* (n_axes,): of the first joint of the first frame, in the precision of the call */
    int64_t n_axes, joint_step, frame_step; /* from a joint and from a frame to the next, in numbers */
    double scale;                   /* factor of all coordinates */
    const int64_t *joints;          /* (n_joints,): which are used */
    int64_t n_joints;
    const int64_t *pairs;           /* (n_pairs, 2) of these, each once */
    int64_t n_pairs;
    const int64_t *places;          /* (n_recordings, 3): first frame, number of frames, first row in times */
    int64_t n_recordings, longest;  /* frames of the longest recording */
    double sigma, reach;            /* of displacements; pivots lie evenly on [-reach, reach] */
    int64_t n_pivots;
    double sigma_span;              /* of the window in frames; 0 for none */
    double tol;                     /* largest error, relative to the sum with every Gaussian at its peak */
    const double *times;            /* (n, n_times): z of all frames of recordings of each length */
    int64_t n_times;
} kn_displacements;

/* X = 1/(J T) Σ over s ≠ s' of G(s-s') φ(x_is - x_i's') z(s) z(s'), (last - first, n_pairs, n_axes n_pivots, n_times,
 * n_times), of recordings from first to last - 1. widest (n_recordings, 2): their largest displacement and the number of
 * harmonics that it needs; KN_TOO_WIDE if these are more than KN_MOST_HARMONICS. */
KN_API int64_t kn_dck_room(const kn_displacements *given);
KN_API int32_t kn_dck_sums(int32_t precision, const kn_displacements *given, int64_t first, int64_t last, void *room,
                           void *out, double *widest);
/* --- poses and signals --------------------------------------------------------------------------------------
 *
 * Frames of recordings lie one after the other, (n, n_joints, 3); recording b has those from starts[b] to starts[b + 1] - 1.
 * Recordings from first to last - 1 are computed, into the same places of out. */

/* Joints that are NaN, of no confidence (n, n_joints; or null), or in a frame of zeros, into missing (n, n_joints); returns
 * how many. */
KN_API int64_t kn_find_missing(int32_t precision, const void *frames, const void *confidence, int64_t n_frames,
                               int64_t n_joints, uint8_t *missing);

/* Missing joints in place, linearly from their neighbours in time; joints that are never there stay. */
KN_API void kn_fill_gaps(int32_t precision, void *frames, const uint8_t *missing, const int64_t *starts,
                         int64_t n_joints, int64_t first, int64_t last);

/* Median length of each bone (parent, child) over the frames of each recording, (n_recordings, n_bones). room: one number
 * for each frame of the longest recording. */
KN_API void kn_bone_lengths(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                            const int64_t *bones, int64_t n_bones, int64_t first, int64_t last, void *room, double *out);

/* How much each joint of one recording counts at each frame where something is divided between joints, (n_frames,
 * n_joints): the square of the square of its distance from its usual place and of its speed, never zero. fps is 0 if it is
 * not known; room: one number for each frame. */
KN_API void kn_motion(int32_t precision, const void *frames, int64_t n_frames, int64_t n_joints, double fps, void *room,
                      double *out);

enum { KN_TURN_NONE = 0, KN_TURN_YAW = 1, KN_TURN_FULL = 2 };

/* How poses are made comparable: one size, a place, a direction. */
typedef struct {
    const void *frames;
    int64_t n_joints;
    const int64_t *starts;
    const double *factors;  /* (n_recordings,): by how much each is scaled; or null */
    const int64_t *bones;   /* (n_bones, 2): parent and child, every parent before its children */
    const double *lengths;  /* (n_bones,): the new lengths of bones, which keep their directions; or null */
    int64_t n_bones;
    const int64_t *roots;   /* the mean of these joints is put at the origin of every frame */
    int64_t n_roots;
    int32_t path;           /* 1: the only root keeps its way from the first frame, of the same scale, turned as the rest */
    int32_t turn;           /* about the vertical, in full, or not at all; recordings with z = 0 are not turned */
    int32_t each_frame;     /* 1: each frame by itself; 0: each recording, by the geometric median over its frames */
    int32_t unused;
    /* Yaw: pairs from left to right across the body, and pairs along its view. Full: the mean difference of pairs along
     * becomes y, that of pairs across becomes z. */
    const int64_t *across;
    int64_t n_across;
    const int64_t *along;
    int64_t n_along;
} kn_poses;

KN_API int64_t kn_poses_room(int64_t longest, int64_t n_joints);
KN_API void kn_place_poses(int32_t precision, int32_t out_precision, const kn_poses *poses, int64_t first, int64_t last,
                           void *room, void *out);

/* The sum of frames s - 4, ..., s + 4 less the first, weighted by taps (9,), times the recording's rate. */
KN_API void kn_derivative(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                          const double *taps, const double *rates, int64_t first, int64_t last, void *out);

/* Unit vectors from each joint's parent, zero where that is negative; from the origin where parents is null. */
KN_API void kn_directions(int32_t precision, const void *frames, int64_t n_frames, int64_t n_joints,
                          const int64_t *parents, void *out);

enum { KN_FROM_FIRST = 0, KN_FROM_MEAN = 1, KN_FROM_MIDDLE = 2 };

/* Displacement from the first pose, the mean pose, or the mean of all joints and frames. room: 3 n_joints numbers. */
KN_API void kn_displacement(int32_t precision, const void *frames, const int64_t *starts, int64_t n_joints,
                            int32_t origin, int64_t first, int64_t last, void *room, void *out);

/* --- vectors of frames and their sums (SCK) ----------------------------------------------------------------- */

/* v_s = [√β₁ φ(x_s); √β₂ z(s/T)] of every frame s of rows of recordings whose frames lie one after the other. A row is a joint,
 * or a pair of joints as a pseudo-joint x_i - x_j. */
typedef struct {
    const void *const *coordinates; /* (n_coordinates,): of the first joint of the first frame, in the precision of the call */
    const void *scales;      /* (n_coordinates,): factors of these, in the precision of the call */
    int64_t n_coordinates;
    int64_t joint_step, frame_step; /* from a joint and from a frame to the next, in numbers */
    const int64_t *places;   /* (n_recordings, 4): first frame, number of frames, first row in times, number of the recording */
    int64_t n_recordings;
    const int64_t *rows;     /* (n_rows, 2): joint i minus joint j; joint i alone if j < 0 */
    int64_t n_rows;
    uint64_t unit;           /* bit k: signal k is scaled to unit length */
    int64_t n_axes;          /* coordinates of a signal */
    const int64_t *runs;     /* (n_runs, 3): coordinate, number of its pivots, whether each needs its own exponential */
    const double *factors;   /* (n_runs, n_factors): first pivot, spacing, 1/σ², amplitude, factors from pivot to pivot */
    int64_t n_runs, n_factors;
    const double *times;     /* (n, n_times): z of all frames of recordings of each length */
    int64_t n_times;
    int64_t size;            /* d, the length of v: the pivots of all runs, and n_times */
} kn_vectors;

/* Features of order 2: A = 1/(T√J) Σ_s v_s v_sᵀ, A^γ, unique entries with √2 off the diagonal, d(d+1)/2 of each row of each
 * recording, (n_recordings, n_rows, d(d+1)/2). Groups of kn_lanes() rows from first to last - 1 are computed; failed
 * (last - first): 1 where no power was found. poles: of kn_sck_poles() resolvents (s, w s), or null for eigenvalues. */
KN_API int32_t kn_sck_poles(void);
KN_API int64_t kn_sck2_room(int32_t precision, const kn_vectors *vectors);
KN_API int32_t kn_sck2(int32_t precision, const kn_vectors *vectors, double power, const double *poles, int64_t first,
                       int64_t last, void *room, void *out, uint8_t *failed);

/* Which entries of the tensors of order 3 become features: entry sources[m] of the packed lower triangle of slice k, times
 * weights[m], is added to feature targets[m], for begins[k] <= m < begins[k + 1]. */
typedef struct {
    const int64_t *sources, *targets, *begins;
    const double *weights;
    int64_t n_entries; /* features of a row */
} kn_entries;

/* Features of order 3: T = 1/(T√J) Σ_s v_s ⊗ v_s ⊗ v_s, its slices to the power, and entries of these; rows from first to last - 1,
 * row after row and recording after recording, into their places in out (n_recordings, n_rows, n_entries). failed
 * (last - first): 1 where no power was found. poles as for order 2. */
KN_API int64_t kn_sck3_room(int32_t precision, const kn_vectors *vectors, int64_t n_entries);
KN_API int32_t kn_sck3(int32_t precision, const kn_vectors *vectors, double power, const double *poles,
                       const kn_entries *entries, int64_t first, int64_t last, void *room, void *out, uint8_t *failed);

/* Features of order 1: 1/(T√J) Σ_s v_s to the power, d of each row. room: that of order 3 with d entries. */
KN_API int32_t kn_sck1(int32_t precision, const kn_vectors *vectors, double power, int64_t first, int64_t last, void *room,
                       void *out);

/* --- Gram matrices of blocks ------------------------------------------------------------------------------ */

/* Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij [code_i = code_j] and Σ K_ii of blocks [first, last), over each of n_sides
 * training sides: out (n_blocks, n_sides, 6). K are the first n rows of a block of block_size entries, less their mean;
 * r_i is the sum of row i over the side; codes are below n; sides (n_sides, n) are zeros and ones, counts (n_sides, n)
 * the c_i. */
KN_API int64_t kn_alignment_room(int64_t n, int64_t n_sides);
KN_API int32_t kn_alignment_sums(int32_t precision, const void *blocks, int64_t block_size, int64_t first, int64_t last,
                                 int64_t n, const int64_t *codes, const double *sides, const double *counts,
                                 int64_t n_sides, void *room, double *out);

/* out (n_sums, size) = weights (n_sums, n_blocks) · blocks (n_blocks, size), columns [first, last) of it. */
KN_API int32_t kn_weighted_sums(int32_t precision, const double *weights, int64_t n_sums, const void *blocks,
                                int64_t n_blocks, int64_t size, int64_t first, int64_t last, double *out);

/* Rows i of a Gram matrix K (n, n) and the columns j of a training side, of features centred on the side's mean and, with
 * norm, of unit length: (K_ij - r_i - r_j + g) s_i s_j, r_i the mean of row i over the side, g that of the r of the side,
 * s_i = 1 / √(K_ii - 2 r_i + g), zero for features equal to the mean. The first n_train of the rows are the side: out
 * (n_rows, n_train). */
KN_API int64_t kn_center_normalize_room(int64_t n, int64_t n_rows, int64_t n_train);
KN_API int32_t kn_center_normalize(const double *K, int64_t n, const int64_t *rows, int64_t n_rows, int64_t n_train,
                                   int32_t center, int32_t norm, void *room, double *out);

/* --- Newton's method for support vector machines ---------------------------------------------------------- */

/* Classes minimise ½ βKβ + ½ Σ_i c_i max(0, 1 - y_i f_i)² with f = βK on one Gram matrix K (n, n), from the rows of
 * coef = β and F = f (n_classes, n), which are overwritten. Y are signs, C the factors c, not negative. Step number s
 * uses only the share shares[s] of the examples with a loss, those with the largest. A class converges when its decision
 * values have errors of about tol/1000; it does not if a system is singular or after max_iter steps. */
KN_API int64_t kn_newton_room(int64_t n);
KN_API int32_t kn_newton(const double *K, int64_t n, const double *Y, const double *C, int64_t n_classes, double tol,
                         int64_t n_iter, int64_t max_iter, const double *shares, int64_t n_shares, void *room,
                         double *coef, double *F, int64_t *steps, uint8_t *converged);

/* --- mirrored features ------------------------------------------------------------------------------------- */

/* out (n_rows, n_kept) = features[:, columns] · own + features[:, source] · other, features (n_rows, n_all). */
KN_API int32_t kn_mirror_average(int32_t precision, const void *features, int64_t n_rows, int64_t n_all,
                                 const int64_t *columns, const int64_t *source, const void *own, const void *other,
                                 int64_t n_kept, void *out);

#ifdef __cplusplus
}
#endif
#endif
