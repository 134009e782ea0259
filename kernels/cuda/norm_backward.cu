/* norm_backward.cu -- the backward of layernorm and rmsnorm, also fused with the addition after it
 * and with the sums of the rows of both (linear_db).
 *
 * Each warp (rows up to 768 wide) or block walks over rows and keeps its sums for the weights'
 * gradients in registers, and of rows up to 8,192 wide also what it reads of them; a second kernel
 * adds the blocks' sums in order. */
#include "kernels/cuda/norm.h"

/* with_columns for the backward pass: narrow rows in vectors have a warp each, so that no block
 * waits at a barrier for its rows. */
template <class T, class Run>
static void with_backward_columns(int64_t width, bool in_vectors, Run run) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  if (in_vectors && width <= 256)
    run(Columns<T, V, WARP_LANES, 8 / V, 8>());
  else if (in_vectors && width <= 512)
    run(Columns<T, V, WARP_LANES, 16 / V, 8>());
  else if (in_vectors && width <= 768)
    run(Columns<T, V, WARP_LANES, 24 / V, 4>());
  else if (in_vectors && width <= 1024)
    run(Columns<T, V, 128, 8 / V, 2>());
  else if (in_vectors && width <= 2048)
    run(Columns<T, V, 256, 8 / V, 1>());
  else if (in_vectors && width <= 4096)
    run(Columns<T, V, 512, 8 / V, 1>());
  else
    with_columns<T>(width, in_vectors, run);
}

/* The same for rows with a rider: fewer rows a block leave registers for its sums. Only rows in
 * vectors, at most RIDDEN_MOST wide, have riders. */
enum { RIDDEN_MOST = 4096 };

template <class T, class Run> static void with_ridden_columns(int64_t width, Run run) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  if (width <= 256)
    run(Columns<T, V, WARP_LANES, 8 / V, 4>());
  else if (width <= 512)
    run(Columns<T, V, WARP_LANES, 16 / V, 4>());
  else if (width <= 768)
    run(Columns<T, V, WARP_LANES, 24 / V, 4>());
  else if (width <= 1024)
    run(Columns<T, V, 128, 8 / V, 1>());
  else if (width <= 2048)
    run(Columns<T, V, 256, 8 / V, 1>());
  else
    run(Columns<T, V, 512, 8 / V, 1>());
}

/* The arguments of layernorm_backward and rmsnorm_backward; rmsnorm's mean is 0, and its d_bias
 * is not made. With `other`, y is d_x + other, and d_x is written where it is not NULL. */
template <class T> struct NormBackward {
  const T *d_y, *x, *weight;
  const float *stats;
  T *d_x;
  const T *other;
  T *y;
  float *sums;
  int64_t rows, width;
  int64_t vectors, padded; /* of the blocks' sums: how many, and elements of one */
  bool has_mean;
  float offset;
};

/* A thread's part of a row as it is in memory. All its loads are in flight at the same time. */
template <class C> struct LoadedRow {
  typedef typename C::T T;
  Vector<T, C::V> d_y[C::PER], x[C::PER], other[C::PER];
  float mean, rstd;

  /* width 0: there is no such row. */
  __device__ void load(const NormBackward<T> &n, int64_t r, int64_t width) {
    const C columns;
    mean = rstd = 0;
    if (width > 0)
      mean = n.has_mean ? n.stats[2 * r] : 0, rstd = n.stats[n.has_mean ? 2 * r + 1 : r];
    EACH_VECTOR (columns, p, c, width) {
      d_y[p] = *(const Vector<T, C::V> *)(n.d_y + r * n.width + c);
      x[p] = *(const Vector<T, C::V> *)(n.x + r * n.width + c);
      if (n.other != nullptr) other[p] = *(const Vector<T, C::V> *)(n.other + r * n.width + c);
    }
  }
};

/* The same for a row that is too wide for registers: SlopeVector reads it where it is needed,
 * twice.
 */
template <class C> struct ReadRow {
  typedef typename C::T T;
  Vector<T, C::V> d_y[1], x[1], other[1];
  float mean, rstd;

  __device__ void load(const NormBackward<T> &n, int64_t r, int64_t width) {
    mean = rstd = 0;
    if (width > 0)
      mean = n.has_mean ? n.stats[2 * r] : 0, rstd = n.stats[n.has_mean ? 2 * r + 1 : r];
  }
};

template <class C> static constexpr bool KEEPS = C::COUNT <= KEPT_MOST || C::THREADS == WARP_LANES;
template <class C, bool KEEPS> struct RowOf { typedef LoadedRow<C> Type; };
template <class C> struct RowOf<C, false> { typedef ReadRow<C> Type; };

/* Element v of d_y, and of x in units of its row's deviation. */
template <class C> struct SlopeVector {
  float slope[C::V], unit[C::V];
  int at; /* number of the vector in the row */

  template <class Row>
  __device__ SlopeVector(const NormBackward<typename C::T> &n, Row &row, int64_t r, int vector,
                         int64_t column)
      : at(KEEPS<C> ? vector : 0) {
    if constexpr (!KEEPS<C>) {
      const int64_t first = r * n.width + column;
      row.d_y[0] = *(const Vector<typename C::T, C::V> *)(n.d_y + first);
      row.x[0] = *(const Vector<typename C::T, C::V> *)(n.x + first);
      if (n.other != nullptr)
        row.other[0] = *(const Vector<typename C::T, C::V> *)(n.other + first);
    }
#pragma unroll
    for (int v = 0; v < C::V; v++) {
      slope[v] = to_float(row.d_y[at].at[v]);
      unit[v] = (to_float(row.x[at].at[v]) - row.mean) * row.rstd;
    }
  }
};

/* A thread's sums over its rows, by its columns: for the gradients of weight and bias and, with
 * RIDES, of `other`. */
enum { OF_WEIGHT, OF_BIAS, OF_OTHER, VECTORS_MOST };
template <class C, bool RIDES> struct Gradients {
  static constexpr int VECTORS = RIDES ? VECTORS_MOST : OF_OTHER;
  float sum[VECTORS][C::COUNT];
};

/* Writes vector `at` of d_x, or of its sum with `other`. The sum is rounded as if d_x had been
 * stored first, so it is no multiply-add. */
template <class C, bool RIDES>
static __device__ void store_slope(const NormBackward<typename C::T> &n, int64_t at, int vector,
                                   const float *d_x, const Vector<typename C::T, C::V> &other,
                                   Gradients<C, RIDES> &add) {
  typedef typename C::T T;
  if (n.d_x != nullptr) store_vector<C::V>(n.d_x + at, d_x);
  if (n.other == nullptr) return;
  float sum[C::V];
#pragma unroll
  for (int v = 0; v < C::V; v++) {
    sum[v] = __fadd_rn(to_float(other.at[v]), rounded<T>(d_x[v]));
    if constexpr (RIDES) add.sum[OF_OTHER][vector * C::V + v] += to_float(other.at[v]);
  }
  store_vector<C::V>(n.y + at, sum);
}

/* Replaces a and b by their sums over the threads that share a row. All threads of the block call
 * it, with `turn` alternating between 0 and 1. One barrier a call is enough: a thread that writes
 * parts of one turn has passed the barrier of the other turn, which all threads reach only after
 * they have read the earlier parts of this one. */
template <class C> static __device__ void row_sums(float *a, float *b, int turn) {
  if constexpr (C::THREADS == WARP_LANES) { /* a warp has its row alone: nobody waits */
    *a = warp_sum(*a);
    *b = warp_sum(*b);
    return;
  }
  enum { WARPS = C::THREADS / WARP_LANES, ALL = WARPS * C::ROWS };
  SHARED(float, parts, 2 * 2 * ALL);
  float *part = parts + turn * 2 * ALL;
  const int warp = (int)threadIdx.x / WARP_LANES, first = warp / WARPS * WARPS;
  *a = warp_sum(*a);
  *b = warp_sum(*b);
  if (threadIdx.x % WARP_LANES == 0) {
    part[warp] = *a;
    part[ALL + warp] = *b;
  }
  __syncthreads();
  *a = *b = 0;
  for (int i = first; i < first + WARPS; i++) {
    *a += part[i];
    *b += part[ALL + i];
  }
}

/* Writes the block's sums: adds up the threads of its first row, then of its second, and so on. */
template <class C, bool RIDES>
static __device__ void store_sums(const NormBackward<typename C::T> &n,
                                  const Gradients<C, RIDES> &add) {
  enum { WIDTH = C::ROWS > 1 ? C::THREADS * C::COUNT : 1, ALL = Gradients<C, RIDES>::VECTORS };
  SHARED(float, sums, ALL *WIDTH); /* sums so far */
  const C columns;
  const int own = (int)threadIdx.x / C::THREADS;
  float *to = n.sums + blockIdx.x * n.vectors * n.padded;
  for (int row = 0; row < C::ROWS; row++) {
    const bool is_last = row == C::ROWS - 1;
    EACH_VECTOR (columns, p, c, own == row ? n.width : 0) {
#pragma unroll
      for (int v = 0; v < C::V; v++)
#pragma unroll
        for (int k = 0; k < ALL; k++) {
          float sum = add.sum[k][p * C::V + v];
          if (row > 0) sum = sums[k * WIDTH + c + v] + sum;
          if (!is_last) sums[k * WIDTH + c + v] = sum;
          if (is_last && k < n.vectors) to[k * n.padded + c + v] = sum;
        }
    }
    if (!is_last) __syncthreads();
  }
}

/* Adds a row to the sums and writes its d_x. */
template <class C, bool RIDES, class Row>
static __device__ void backward_row(const NormBackward<typename C::T> &n, Row &row, int64_t r,
                                    int64_t width, int turn, Gradients<C, RIDES> &add) {
  const C columns;
  float sum_g = 0, sum_gn = 0;
  EACH_VECTOR (columns, p, c, width) {
    float weight[C::V];
    load_vector<C::V>(n.weight + c, weight);
    const SlopeVector<C> of(n, row, r, p, c);
#pragma unroll
    for (int v = 0; v < C::V; v++) {
      add.sum[OF_WEIGHT][p * C::V + v] += of.slope[v] * of.unit[v];
      add.sum[OF_BIAS][p * C::V + v] += of.slope[v];
      float g = __fmul_rn(of.slope[v], weight[v] + n.offset);
      sum_g += g;
      sum_gn += g * of.unit[v];
    }
  }
  row_sums<C>(&sum_gn, &sum_g, turn);
  float mean_gn = sum_gn / (float)n.width, mean_g = n.has_mean ? sum_g / (float)n.width : 0;
  EACH_VECTOR (columns, p, c, width) {
    float weight[C::V], d_x[C::V];
    load_vector<C::V>(n.weight + c, weight);
    const SlopeVector<C> of(n, row, r, p, c);
#pragma unroll
    for (int v = 0; v < C::V; v++) {
      float g = __fmul_rn(of.slope[v], weight[v] + n.offset); /* as in the sums, to cancel */
      d_x[v] = row.rstd * (g - mean_g - of.unit[v] * mean_gn);
    }
    store_slope<C, RIDES>(n, r * n.width + c, p, d_x, row.other[of.at], add);
  }
}

/* Blocks of up to 256 threads (128 with riders) run two to a multiprocessor. Where several warps
 * share a row and registers suffice, the loads of the next row are in flight while they wait at the
 * barrier. */
template <class C, bool RIDES>
__global__ void __launch_bounds__(C::THREADS *C::ROWS,
                                  C::THREADS *C::ROWS <= (RIDES ? 128 : 256) ? 2 : 1)
    norm_backward_rows(NormBackward<typename C::T> n) {
  typedef typename RowOf<C, KEEPS<C>>::Type Row;
  constexpr bool AHEAD = C::COUNT <= 8 && C::THREADS > WARP_LANES;
  Gradients<C, RIDES> add = {};
  int turn = 0;
  const int64_t step = (int64_t)gridDim.x * C::ROWS;
  Row row, next;
  int64_t r = (int64_t)blockIdx.x * C::ROWS + threadIdx.x / C::THREADS;
  if (AHEAD) row.load(n, r, r < n.rows ? n.width : 0);
  for (int64_t first = (int64_t)blockIdx.x * C::ROWS; first < n.rows; first += step, r += step) {
    const int64_t width = r < n.rows ? n.width : 0;
    if (AHEAD)
      next.load(n, r + step, r + step < n.rows ? n.width : 0);
    else
      row.load(n, r, width);
    backward_row<C, RIDES>(n, row, r, width, turn, add);
    if (AHEAD) row = next;
    turn = 1 - turn;
  }
  store_sums<C, RIDES>(n, add);
}

enum { ADD_COLUMNS = WARP_LANES, ADD_LANES = 8 };

/* Memory that the sums are written or added to; NULL: they are not kept. */
template <class G> struct SumsTo {
  G *at[VECTORS_MOST];
  bool accumulate[VECTORS_MOST];
};

/* Each block of threads adds up ADD_COLUMNS columns; a lane takes every ADD_LANES-th block of rows.
 */
template <class G, class T>
__global__ void __launch_bounds__(ADD_COLUMNS *ADD_LANES)
    add_blocks(SumsTo<G> to, NormBackward<T> n, int64_t blocks) {
  SHARED(float, part, ADD_COLUMNS *ADD_LANES);
  int64_t i = (int64_t)blockIdx.x * ADD_COLUMNS + threadIdx.x % ADD_COLUMNS;
  int64_t vector = i / n.width, c = i % n.width;
  bool is_column = vector < n.vectors && to.at[vector] != nullptr;
  float sum = 0;
  for (int64_t b = threadIdx.x / ADD_COLUMNS; is_column && b < blocks; b += ADD_LANES)
    sum += n.sums[(b * n.vectors + vector) * n.padded + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (!is_column || threadIdx.x >= ADD_COLUMNS) return;
  for (int lane = 1; lane < ADD_LANES; lane++)
    sum += part[lane * ADD_COLUMNS + threadIdx.x];
  put_or_add(to.at[vector] + c, sum, to.accumulate[vector]);
}

/* The records that are fused with a norm's backward, or NULL: the addition of d_x to `other`, and
 * linear_db of the rows of `other`. */
struct Following {
  const KernelArgs *add = nullptr, *sum = nullptr;
};

/* The operands are d_y, x, weight, stats, d_x, d_weight, d_bias where there is one, and scratch. */
static KernelStatus norm_backward(const KernelArgs *args, Following with, bool has_bias,
                                  const char **why, const char *name) {
  if (!is_taken(args->dim[1], why)) return KERNEL_REFUSED;
  void *const *added = with.add != nullptr ? with.add->operand : nullptr;
  const void *other = added != nullptr ? added[added[0] == args->operand[4] ? 1 : 0] : nullptr;
  void *y = added != nullptr ? added[2] : nullptr;
  return with_floats(args->dtype[0], args->dtype[5], why, [=](auto value, auto gradient) {
    typedef decltype(value) T;
    typedef decltype(gradient) G;
    void *const *at = args->operand;
    int64_t rows = args->dim[0], width = args->dim[1];
    int64_t blocks = 0;
    NormBackward<T> n = {(const T *)at[0],
                         (const T *)at[1],
                         (const T *)at[2],
                         (const float *)at[3],
                         y == at[4] ? nullptr : (T *)at[4],
                         (const T *)other,
                         (T *)y,
                         (float *)at[has_bias ? 7 : 6],
                         rows,
                         width,
                         with.sum != nullptr ? (int64_t)VECTORS_MOST
                         : has_bias          ? 2
                                             : 1,
                         (width + 15) / 16 * 16,
                         has_bias,
                         (float)args->attr[0]};
    SumsTo<G> to = {{(G *)at[5], has_bias ? (G *)at[6] : nullptr},
                    {args->accumulate, args->accumulate}};
    if (with.sum != nullptr) {
      to.at[OF_OTHER] = (G *)with.sum->operand[1];
      to.accumulate[OF_OTHER] = with.sum->accumulate;
    }
    const void *all[] = {n.d_y, n.x, n.weight, n.d_x, n.other, n.y};
    Launch run(args, why, name);
    auto issue = [&](auto columns, auto kernel) {
      typedef decltype(columns) C;
      blocks = (rows + C::ROWS - 1) / C::ROWS;
      if (blocks > WORK_NORM_BLOCKS_CUDA) blocks = WORK_NORM_BLOCKS_CUDA;
      run.blocks(dim3((unsigned)blocks), C::THREADS * C::ROWS, kernel, n);
    };
    if (with.sum != nullptr)
      with_ridden_columns<T>(width, [&](auto columns) {
        issue(columns, norm_backward_rows<decltype(columns), true>);
      });
    else
      with_backward_columns<T>(width, are_vectors<T>(width, all, 6), [&](auto columns) {
        issue(columns, norm_backward_rows<decltype(columns), false>);
      });
    run.blocks(dim3((unsigned)((n.vectors * width + ADD_COLUMNS - 1) / ADD_COLUMNS)),
               ADD_COLUMNS * ADD_LANES, add_blocks<G, T>, to, n, blocks);
    return run.status;
  });
}

CUDA_KERNEL(layernorm_backward) {
  return norm_backward(args, {}, true, why, "layernorm_backward");
}

CUDA_KERNEL(rmsnorm_backward) {
  return norm_backward(args, {}, false, why, "rmsnorm_backward");
}

/* ---- fused with the records that follow. Results have the same bits as one record after the
 * other, because values between them are rounded as if they were stored; only the rider's sums of
 * columns are added up in another order than linear_db's. */

/* True if d_x is one summand of the addition, and not both. */
static bool adds_slope(const KernelArgs *norm, const KernelArgs *add) {
  const void *d_x = norm->operand[4];
  return (add->operand[0] == d_x) != (add->operand[1] == d_x);
}

template <bool HAS_BIAS>
static KernelStatus run_then_added(const KernelFused *, const KernelArgs *args, const char **why) {
  const KernelArgs *norm = &args[0], *add = &args[1];
  const char *name = HAS_BIAS ? "layernorm_backward" : "rmsnorm_backward";
  if (adds_slope(norm, add)) return norm_backward(norm, {add}, HAS_BIAS, why, name);
  KernelStatus ended = norm_backward(norm, {}, HAS_BIAS, why, name);
  return ended == KERNEL_DONE ? cuda_add(add, why) : ended;
}

/* The records are layernorm_backward, linear_db of `other`, add: the sum is made by itself, before
 * the addition may write over its rows. */
static KernelStatus run_beside(const KernelFused *, const KernelArgs *args, const char **why) {
  const KernelArgs two[] = {args[0], args[2]};
  /* linear_db sums the result of the norm */
  const bool sums_slope = args[1].operand[0] == args[0].operand[4];
  KernelStatus ended = sums_slope ? cuda_layernorm_backward(&args[0], why) : KERNEL_DONE;
  if (ended == KERNEL_DONE) ended = cuda_linear_db(&args[1], why);
  if (ended != KERNEL_DONE) return ended;
  return sums_slope ? cuda_add(&args[2], why) : run_then_added<true>(nullptr, two, why);
}

/* Runs the same three records in one pass. */
static KernelStatus run_ridden(const KernelFused *, const KernelArgs *args, const char **why) {
  const KernelArgs *norm = &args[0], *sum = &args[1], *add = &args[2];
  const bool slope_first = add->operand[0] == norm->operand[4];
  const void *other = add->operand[slope_first ? 1 : 0];
  const void *rows[] = {
      norm->operand[0], norm->operand[1], norm->operand[2], norm->operand[4], other,
      add->operand[2]};
  bool good = adds_slope(norm, add) && sum->operand[0] == other;
  for (const void *at : rows)
    good = good && is_aligned(at);
  if (good) return norm_backward(norm, {add, sum}, true, why, "layernorm_backward");
  return run_beside(nullptr, args, why);
}

/* True if the rider's rows have the shape and dtype of the norm's, and its gradient their dtype. */
static bool sums_rows(const KernelUse *sum, const KernelUse *norm) {
  return sum->dim[0] == norm->dim[0] && sum->dim[1] == norm->dim[1] &&
         sum->dtype[0] == norm->dtype[0] && sum->dtype[1] == norm->dtype[5];
}

/* True if the norm's scratch has room for a rider's sums, and its rows are whole vectors. */
static bool takes_rider(const KernelUse *norm) {
  const int64_t rows = norm->dim[0], width = norm->dim[1];
  const int64_t most = WORK_NORM_BLOCKS_CUDA, blocks = rows < most ? rows : most;
  const int64_t row_bytes = width * dtype_bytes((DType)norm->dtype[0]);
  const int64_t sums_bytes =
      blocks * VECTORS_MOST * ((width + 15) / 16 * 16) * (int64_t)sizeof(float);
  return norm->operand_count > 7 && norm->bytes[7] >= sums_bytes && width <= RIDDEN_MOST &&
         row_bytes % VECTOR_BYTES == 0;
}

CUDA_FUSION(layernorm_backward) {
  (void)why;
  const Kernel *last = kernel[count - 1];
  if (last->id != KERNEL_add || !adds_rows(&use[count - 1], &use[0])) return KERNEL_DONE;
  if (count == 2) fused->run = run_then_added<true>;
  if (count == 3 && kernel[1]->id == KERNEL_linear_db)
    fused->run = sums_rows(&use[1], &use[0]) && takes_rider(&use[0]) ? run_ridden : run_beside;
  return KERNEL_DONE;
}

CUDA_FUSION(rmsnorm_backward) {
  (void)why;
  if (count == 2 && kernel[1]->id == KERNEL_add && adds_rows(&use[1], &use[0]))
    fused->run = run_then_added<false>;
  return KERNEL_DONE;
}
