// Newton's method for linear support vector machines with the squared hinge, class after class, on a Gram matrix.
//
// A class minimises ½ βKβ + ½ Σ_i c_i max(0, 1 - y_i f_i)² with f = βK. Each step solves (K_FF + 1/c_F) β_F = y_F of the
// examples F with a loss, a_i = c_i max(0, 1 - y_i f_i) > 0. Classes are independent problems of different sizes.
#include "rows.h"

using namespace kn;

namespace {

constexpr int PIVOTS = 8, ROWS = 4;  // of one update of the rest of a matrix

// R of A = RᵀR over the upper triangle of A, (m, stride) with zeros up to whole vectors; false if A is not positive definite.
bool factor(double *A, int64_t m, int64_t stride) {
    for (int64_t p = 0; p < m; p += PIVOTS) {
        const int64_t last = p + PIVOTS < m ? p + PIVOTS : m;
        for (int64_t i = p; i < last; ++i) {
            double *row = A + i * stride;
            for (int64_t k = p; k < i; ++k) {
                const double *above = A + k * stride;
                const Doubles x = above[i];
                for (int64_t j = i / LANES * LANES; j < m; j += LANES) store(row + j, load(row + j) - x * load(above + j));
            }
            if (!(row[i] > 0)) return false;
            const Doubles inverse = 1 / root(row[i]);
            for (int64_t j = i / LANES * LANES; j < m; j += LANES) store(row + j, load(row + j) * inverse);
        }
        if (last - p < PIVOTS) break;
        const double *pivot = A + p * stride;
        int64_t i = last;
        for (; i + ROWS <= m; i += ROWS) {
            double x[PIVOTS][ROWS];
            for (int k = 0; k < PIVOTS; ++k)
                for (int r = 0; r < ROWS; ++r) x[k][r] = pivot[k * stride + i + r];
            for (int64_t j = i / LANES * LANES; j < m; j += LANES) {
                Doubles rest[ROWS];
                for (int r = 0; r < ROWS; ++r) rest[r] = load(A + (i + r) * stride + j);
                for (int k = 0; k < PIVOTS; ++k) {
                    const Doubles above = load(pivot + k * stride + j);
                    for (int r = 0; r < ROWS; ++r) rest[r] = rest[r] - Doubles(x[k][r]) * above;
                }
                for (int r = 0; r < ROWS; ++r) store(A + (i + r) * stride + j, rest[r]);
            }
        }
        for (; i < m; ++i)
            for (int64_t j = i / LANES * LANES; j < m; j += LANES) {
                Doubles rest = load(A + i * stride + j);
                for (int k = 0; k < PIVOTS; ++k)
                    rest = rest - Doubles(pivot[k * stride + i]) * load(pivot + k * stride + j);
                store(A + i * stride + j, rest);
            }
    }
    return true;
}

// x ← (RᵀR)⁻¹ x, x with zeros up to a whole vector. Entries up to the next whole vector are taken one by one.
void solve_factored(const double *R, int64_t m, int64_t stride, double *x) {
    for (int64_t p = 0; p < m; ++p) {
        const double *row = R + p * stride, known = x[p] /= row[p];
        const int64_t next = whole_vectors(p + 1);
        for (int64_t j = p + 1; j < next && j < m; ++j) x[j] -= known * row[j];
        for (int64_t j = next; j < m; j += LANES) store(x + j, load(x + j) - Doubles(known) * load(row + j));
    }
    for (int64_t p = m - 1; p >= 0; --p) {
        const double *row = R + p * stride;
        const int64_t next = whole_vectors(p + 1);
        double rest = x[p];
        for (int64_t j = p + 1; j < next && j < m; ++j) rest -= row[j] * x[j];
        Doubles total = 0.0;
        for (int64_t j = next; j < m; j += LANES) total += load(row + j) * load(x + j);
        x[p] = (rest - sum(total)) / row[p];
    }
}

struct NewtonRoom {  // vectors of n examples, with zeros up to a whole vector, and the matrix of a system
    double *y, *c, *b, *f, *a, *new_b, *new_f, *new_a, *norms, *ranked, *x, *A;
    int64_t *free;
    NewtonRoom(int64_t n, Room &room) {
        const int64_t size = whole_vectors(n);
        double **const vectors[] = {&y, &c, &b, &f, &a, &new_b, &new_f, &new_a, &norms, &ranked, &x};
        for (double **vector : vectors) *vector = room.take<double>(size);
        A = room.take<double>(size * size);
        free = room.take<int64_t>(size);
    }
};

// The value at a rank of x (n), 0 being the smallest; x is reordered.
double ranked(double *x, int64_t n, int64_t rank) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = x[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                const double other = x[i];
                x[i++] = x[j];
                x[j--] = other;
            }
        }
        if (rank <= j) high = j;
        else if (rank >= i) low = i;
        else break;
    }
    return x[rank];
}

// The examples with a loss, or the given share of them with the largest losses; returns their number.
int64_t choose_free(const double *a, int64_t n, double share, double *sorted, int64_t *free) {
    int64_t n_free = 0, kept = 0;
    for (int64_t i = 0; i < n; ++i) n_free += a[i] > 0;
    double least = 0;
    if (share < 1 && n_free > 0) {
        int64_t most = (int64_t)(share * (double)n_free);
        most += (double)most < share * (double)n_free;
        for (int64_t i = 0; i < n; ++i) sorted[i] = a[i];
        least = ranked(sorted, n, n - (most > 1 ? most : 1));
    }
    for (int64_t i = 0; i < n; ++i)
        if (a[i] > 0 && a[i] >= least) free[kept++] = i;
    return kept;
}

// (K_FF + 1/c_F) b_F = y_F, zero elsewhere; whether the matrix is positive definite.
bool solve_free(const double *K, int64_t n, const NewtonRoom &at, int64_t m) {
    const int64_t stride = whole_vectors(m);
    for (int64_t p = 0; p < m; ++p) {
        const double *source = K + at.free[p] * n;
        double *row = at.A + p * stride;
        for (int64_t q = p / LANES * LANES; q < p; ++q) row[q] = 0;
        for (int64_t q = p; q < m; ++q) row[q] = source[at.free[q]];
        for (int64_t q = m; q < stride; ++q) row[q] = 0;
        row[p] += 1 / at.c[at.free[p]];
        at.x[p] = at.y[at.free[p]];
    }
    for (int64_t q = m; q < stride; ++q) at.x[q] = 0;
    if (!factor(at.A, m, stride)) return false;
    solve_factored(at.A, m, stride, at.x);
    for (int64_t i = 0; i < n; ++i) at.new_b[i] = 0;
    for (int64_t p = 0; p < m; ++p) at.new_b[at.free[p]] = at.x[p];
    return true;
}

// new_f = new_b K, from the rows of the free examples.
void decide(const double *K, int64_t n, const NewtonRoom &at, int64_t m) {
    for (int64_t i = 0; i < n; ++i) at.new_f[i] = 0;
    for (int64_t p = 0; p < m; p += ROWS) {
        const double *row[ROWS];
        Doubles weight[ROWS];
        for (int r = 0; r < ROWS; ++r) {  // beyond the last row, one of the others with the weight zero
            row[r] = K + at.free[p + r < m ? p + r : p] * n;
            weight[r] = p + r < m ? at.x[p + r] : 0;
        }
        for (int64_t j = 0; j < n; j += LANES) {
            Doubles total = load(at.new_f + j);
            for (int r = 0; r < ROWS; ++r) total += weight[r] * load(row[r] + j, n - j);
            store(at.new_f + j, total);
        }
    }
}

void loss(const NewtonRoom &at, const double *f, int64_t n, double *a) {
    for (int64_t j = 0; j < n; j += LANES)
        store(a + j, load(at.c + j) * maximum(Doubles(1.0) - load(at.y + j) * load(f + j), 0.0));
}

double cost(const NewtonRoom &at, const double *b, const double *f, const double *a, int64_t n) {
    Doubles total = 0.0;
    for (int64_t j = 0; j < n; j += LANES)
        total += load(b + j) * load(f + j) + load(a + j) * (Doubles(1.0) - load(at.y + j) * load(f + j));
    return 0.5 * sum(total);
}

// The exact minimiser between two points, t from 0 to 1.
double line_search(const NewtonRoom &at, int64_t n) {
    Doubles along = 0.0, growing = 0.0;
    for (int64_t j = 0; j < n; j += LANES) {
        const Doubles step = load(at.new_f + j) - load(at.f + j), b = load(at.b + j);
        along += b * step;
        growing += (load(at.new_b + j) - b) * step;
    }
    const double start = sum(along), growth = sum(growing);
    double low = 0, high = 1, t = 0.5;
    for (int k = 0; k < 60; ++k) {
        Doubles pull = 0.0, bend = 0.0;
        for (int64_t j = 0; j < n; j += LANES) {
            const Doubles f = load(at.f + j), step = load(at.new_f + j) - f, y = load(at.y + j), c = load(at.c + j);
            const Doubles gap = Doubles(1.0) - y * (f + t * step);
            const Mask<double> inside = gap > Doubles(0.0);
            pull += where(inside, y * step * c * gap, Doubles(0.0));
            bend += where(inside, step * step * c, Doubles(0.0));
        }
        const double slope = start + t * growth - sum(pull), curvature = growth + sum(bend);
        (slope < 0 ? low : high) = t;
        double next = curvature > 0 ? t - slope / curvature : t - slope;
        if (!(low < next && next < high)) next = 0.5 * (low + high);
        const double moved = next > t ? next - t : t - next;
        t = next;
        if (moved <= 1e-12) break;
    }
    return t;
}

// Steps of one class from b and f = bK, in place; returns their number, and whether they converged.
// A system that is not positive definite ends it.
int64_t one_class(const double *K, int64_t n, const NewtonRoom &at, double largest_norm, double tol, int64_t n_iter,
                  int64_t max_iter, const double *shares, int64_t n_shares, bool &converged) {
    converged = false;
    loss(at, at.f, n, at.a);
    while (n_iter < max_iter) {
        ++n_iter;
        const double share = n_iter < n_shares ? shares[n_iter] : 1;
        const int64_t m = choose_free(at.a, n, share, at.ranked, at.free);
        if (!solve_free(K, n, at, m)) return n_iter;
        decide(K, n, at, m);
        loss(at, at.new_f, n, at.new_a);
        bool same = true;
        for (int64_t i = 0, p = 0; i < n; ++i) {
            const bool was_free = p < m && at.free[p] == i;
            p += was_free;
            same &= was_free == (at.new_a[i] > 0);
        }
        const double before = cost(at, at.b, at.f, at.a, n), after = cost(at, at.new_b, at.new_f, at.new_a, n);
        const bool worse = after > before + 1e-12 * (before < 0 ? -before : before);
        const Doubles t = worse ? line_search(at, n) : 1.0;
        Doubles far = 0.0, noises = 0.0;
        for (int64_t j = 0; j < n; j += LANES) {
            const Doubles f = load(at.f + j), b = load(at.b + j), step = t * (load(at.new_f + j) - f);
            const Doubles new_b = b + t * (load(at.new_b + j) - b);
            far = maximum(far, absolute(step));
            noises += absolute(new_b) * load(at.norms + j);
            store(at.b + j, new_b);
            store(at.f + j, f + step);
        }
        double moved = 0;
        for (int k = 0; k < LANES; ++k) moved = far.get(k) > moved ? far.get(k) : moved;
        const bool at_rest = share == 1 && moved <= EPS * sum(noises) * largest_norm + 1e-3 * tol;
        if ((same && !worse) || at_rest) {
            converged = true;
            return n_iter;
        }
        loss(at, at.f, n, at.a);
    }
    return n_iter;
}

}  // namespace

KN_API int64_t kn_newton_room(int64_t n) {
    Room measure = {nullptr};
    NewtonRoom room(n, measure);
    return (int64_t)measure.at;
}

KN_API int32_t kn_newton(const double *K, int64_t n, const double *Y, const double *C, int64_t n_classes, double tol,
                         int64_t n_iter, int64_t max_iter, const double *shares, int64_t n_shares, void *room,
                         double *coef, double *F, int64_t *steps, uint8_t *converged) {
    Room space = {(char *)room};
    const NewtonRoom at(n, space);
    const int64_t size = whole_vectors(n);
    double largest_norm = 0;
    for (int64_t j = 0; j < size; ++j) {
        at.norms[j] = j < n ? root(K[j * n + j]) : 0;
        if (at.norms[j] > largest_norm) largest_norm = at.norms[j];
        at.y[j] = at.c[j] = at.b[j] = at.f[j] = at.new_b[j] = at.new_f[j] = 0;
    }
    int32_t status = KN_OK;
    for (int64_t k = 0; k < n_classes; ++k) {
        for (int64_t j = 0; j < n; ++j)
            at.y[j] = Y[k * n + j], at.c[j] = C[k * n + j], at.b[j] = coef[k * n + j], at.f[j] = F[k * n + j];
        bool done;
        steps[k] = one_class(K, n, at, largest_norm, tol, n_iter, max_iter, shares, n_shares, done);
        converged[k] = done;
        if (!done) status = KN_NOT_CONVERGED;
        for (int64_t j = 0; j < n; ++j) coef[k * n + j] = at.b[j], F[k * n + j] = at.f[j];
    }
    return status;
}
