/* norm.cu -- layernorm and rmsnorm, also fused with the addition before or after them.
 *
 * Forward, a block has a row, and keeps it in registers: x is read once. Backward, each warp (rows
 * up to 768 wide) or block walks over rows and keeps its sums for the weights' gradients in
 * registers, and of rows up to 8,192 wide also what it reads of them; a second kernel adds the
 * blocks' sums in order. */
#include "kernels/cuda/vectors.h"

/* ---- a row, shared out over the threads of a block ---- */

enum { WIDEST = 16 * 1024, KEPT_MOST = 16 };

/* THREADS threads have a row, each of them PER vectors of V neighbours: the first thread's first
 * vector at column 0, the others every THREADS V. Rows are no wider than all of them, and hold
 * whole vectors. Backward, a block has ROWS rows at once: of narrow ones so many that memory is
 * busy. */
template <class T_, int V_, int THREADS_, int PER_, int ROWS_> struct Columns {
  typedef T_ T;
  static constexpr int V = V_, THREADS = THREADS_, PER = PER_, COUNT = PER * V, ROWS = ROWS_;
  static __device__ int64_t first(int vector) {
    const unsigned thread = ROWS > 1 ? threadIdx.x % THREADS : threadIdx.x;
    return ((int64_t)vector * THREADS + thread) * V;
  }
};

/* Loops over the vectors of a thread that are in the row: the vector's number, and its first
 * column. */
#define EACH_VECTOR(C, vector, column, width)                                                      \
  _Pragma("unroll") for (int vector = 0; vector < (C).PER;                                         \
                         vector++) if (int64_t column = (C).first(vector); column < (width))

/* Runs `run` with columns for rows of this width, forward; in vectors of 16 bytes where rows begin
 * and end at multiples of it. */
template <class T, class Run> static void with_columns(int64_t width, bool in_vectors, Run run) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  if (!in_vectors && width <= 1024)
    run(Columns<T, 1, 128, 8, 4>());
  else if (!in_vectors)
    run(Columns<T, 1, 512, 32, 1>());
  else if (width <= 1024)
    run(Columns<T, V, 128, 8 / V, 4>());
  else if (width <= 2048)
    run(Columns<T, V, 256, 8 / V, 2>());
  else if (width <= 4096)
    run(Columns<T, V, 256, 16 / V, 1>());
  else if (width <= 8192)
    run(Columns<T, V, 512, 16 / V, 1>());
  else
    run(Columns<T, V, 512, 32 / V, 1>());
}

/* The same backward: of narrow rows in vectors each warp has one, and no block waits for its rows.
 */
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

template <class T> static bool are_vectors(int64_t width, const void *const *at, int count) {
  bool good = width * (int64_t)sizeof(T) % VECTOR_BYTES == 0;
  for (int i = 0; i < count; i++)
    good = good && is_aligned(at[i]);
  return good;
}

static bool is_taken(int64_t width, const char **why) {
  *why = "kernels for GPUs take rows of up to 16,384";
  return width <= WIDEST;
}

/* ---- forward ---- */

/* The arguments of layernorm and rmsnorm; rmsnorm has no mean and no bias. With b, x is not read
 * but made: a + b. */
template <class T> struct NormForward {
  const T *a, *b;
  T *x;
  const T *weight, *bias;
  T *y;
  float *stats;
  int64_t width;
  float eps, offset;
};

template <class C>
__global__ void __launch_bounds__(C::THREADS) norm_row(NormForward<typename C::T> n) {
  typedef typename C::T T;
  const C columns;
  const int64_t row = blockIdx.x * n.width;
  float x[C::COUNT], sum = 0, square = 0;
  EACH_VECTOR (columns, p, c, n.width) {
    load_vector<C::V>(n.a + row + c, x + p * C::V);
    if (n.b != nullptr) {
      float more[C::V];
      load_vector<C::V>(n.b + row + c, more);
#pragma unroll
      for (int v = 0; v < C::V; v++)
        x[p * C::V + v] = rounded<T>(x[p * C::V + v] + more[v]);
      store_vector<C::V>(n.x + row + c, x + p * C::V);
    }
#pragma unroll
    for (int v = 0; v < C::V; v++)
      sum += x[p * C::V + v];
  }
  float mean = n.bias != nullptr ? block_sum(sum) / (float)n.width : 0;
  EACH_VECTOR (columns, p, c, n.width) {
#pragma unroll
    for (int v = 0; v < C::V; v++)
      square += (x[p * C::V + v] - mean) * (x[p * C::V + v] - mean);
  }
  float rstd = 1 / sqrtf(block_sum(square) / (float)n.width + n.eps);
  EACH_VECTOR (columns, p, c, n.width) {
    float weight[C::V], bias[C::V] = {};
    load_vector<C::V>(n.weight + c, weight);
    if (n.bias != nullptr) load_vector<C::V>(n.bias + c, bias);
#pragma unroll
    for (int v = 0; v < C::V; v++)
      x[p * C::V + v] = (x[p * C::V + v] - mean) * rstd * (weight[v] + n.offset) + bias[v];
    store_vector<C::V>(n.y + row + c, x + p * C::V);
  }
  if (threadIdx.x > 0) return;
  if (n.bias != nullptr) n.stats[2 * (int64_t)blockIdx.x] = mean;
  n.stats[n.bias != nullptr ? 2 * (int64_t)blockIdx.x + 1 : blockIdx.x] = rstd;
}

/* The operands of layernorm are x, weight, bias, y, stats; rmsnorm has no bias. `add`, of operands
 * a, b, y, makes x; or NULL. */
static KernelStatus norm_forward(const KernelArgs *add, const KernelArgs *args, bool has_bias,
                                 const char **why, const char *name) {
  if (!is_taken(args->dim[1], why)) return KERNEL_REFUSED;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    const int y = has_bias ? 3 : 2;
    const void *b = add != nullptr ? add->operand[1] : nullptr;
    NormForward<T> n = {(const T *)(add != nullptr ? add->operand[0] : at[0]),
                        (const T *)b,
                        (T *)at[0],
                        (const T *)at[1],
                        has_bias ? (const T *)at[2] : nullptr,
                        (T *)at[y],
                        (float *)at[y + 1],
                        args->dim[1],
                        (float)args->attr[0],
                        (float)args->attr[1]};
    const void *rows[] = {n.a, n.b, n.x, n.weight, n.bias, n.y};
    Launch run(args, why, name);
    with_columns<T>(n.width, are_vectors<T>(n.width, rows, 6), [&](auto columns) {
      typedef decltype(columns) C;
      run.blocks(dim3((unsigned)args->dim[0]), C::THREADS, norm_row<C>, n);
    });
    return run.status;
  });
}

CUDA_KERNEL(layernorm) {
  return norm_forward(nullptr, args, true, why, "layernorm");
}

CUDA_KERNEL(rmsnorm) {
  return norm_forward(nullptr, args, false, why, "rmsnorm");
}

/* ---- backward ---- */

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
  int64_t vectors, padded; /* of the blocks' sums: 1 or 2, and elements of one */
  bool has_mean, accumulate;
  float offset;
};

/* A thread's part of a row as it is in memory: all that is read of it, under way at once. */
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

/* The same of a row that is too wide to be kept: read where it is needed, twice. */
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
  int at; /* which of the row's vectors */

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

/* Writes a vector of d_x, or of its sum with `other`. That is rounded as if d_x had been in memory:
 * no multiply-add. */
template <class C>
static __device__ void store_slope(const NormBackward<typename C::T> &n, int64_t at,
                                   const float *d_x, const Vector<typename C::T, C::V> &other) {
  if (n.d_x != nullptr) store_vector<C::V>(n.d_x + at, d_x);
  if (n.other == nullptr) return;
  float sum[C::V];
#pragma unroll
  for (int v = 0; v < C::V; v++)
    sum[v] = __fadd_rn(to_float(other.at[v]), rounded<typename C::T>(d_x[v]));
  store_vector<C::V>(n.y + at, sum);
}

/* Makes of a and b their sums over the threads that share a row. All threads of the block call it,
 * with `turn` alternating between 0 and 1: a thread that writes parts of one turn has seen all
 * others reach the other turn, so they have read the earlier parts of this one. */
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

/* The share of a thread's columns in the gradients of weight and bias. */
template <class C> struct Gradients { float weight[C::COUNT], bias[C::COUNT]; };

/* Writes the block's sums: those of the threads with the first of its rows, then of the second ..
 */
template <class C>
static __device__ void store_sums(const NormBackward<typename C::T> &n, const Gradients<C> &add) {
  enum { WIDTH = C::ROWS > 1 ? C::THREADS * C::COUNT : 1 };
  SHARED(float, sums, 2 * WIDTH); /* sums so far */
  const C columns;
  const int own = (int)threadIdx.x / C::THREADS;
  float *to = n.sums + blockIdx.x * n.vectors * n.padded;
  for (int row = 0; row < C::ROWS; row++) {
    const bool is_last = row == C::ROWS - 1;
    EACH_VECTOR (columns, p, c, own == row ? n.width : 0) {
#pragma unroll
      for (int v = 0; v < C::V; v++) {
        float weight = add.weight[p * C::V + v], bias = add.bias[p * C::V + v];
        if (row > 0) weight = sums[c + v] + weight, bias = sums[WIDTH + c + v] + bias;
        if (!is_last) sums[c + v] = weight, sums[WIDTH + c + v] = bias;
        if (is_last) to[c + v] = weight;
        if (is_last && n.vectors > 1) to[n.padded + c + v] = bias;
      }
    }
    if (!is_last) __syncthreads();
  }
}

/* Adds a row to the sums, writes its d_x. */
template <class C, class Row>
static __device__ void backward_row(const NormBackward<typename C::T> &n, Row &row, int64_t r,
                                    int64_t width, int turn, Gradients<C> &add) {
  const C columns;
  float sum_g = 0, sum_gn = 0;
  EACH_VECTOR (columns, p, c, width) {
    float weight[C::V];
    load_vector<C::V>(n.weight + c, weight);
    const SlopeVector<C> of(n, row, r, p, c);
#pragma unroll
    for (int v = 0; v < C::V; v++) {
      add.weight[p * C::V + v] += of.slope[v] * of.unit[v];
      add.bias[p * C::V + v] += of.slope[v];
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
    store_slope<C>(n, r * n.width + c, d_x, row.other[of.at]);
  }
}

/* Blocks of up to 256 threads run two to a multiprocessor. Of rows that several warps share the
 * next one is under way while they wait for each other, where registers suffice for both. */
template <class C>
__global__ void __launch_bounds__(C::THREADS *C::ROWS, C::THREADS *C::ROWS <= 256 ? 2 : 1)
    norm_backward_rows(NormBackward<typename C::T> n) {
  typedef typename RowOf<C, KEEPS<C>>::Type Row;
  constexpr bool AHEAD = C::COUNT <= 8 && C::THREADS > WARP_LANES;
  Gradients<C> add = {};
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
    backward_row<C>(n, row, r, width, turn, add);
    if (AHEAD) row = next;
    turn = 1 - turn;
  }
  store_sums<C>(n, add);
}

enum { ADD_COLUMNS = WARP_LANES, ADD_LANES = 8 };

/* Each block of threads adds up ADD_COLUMNS columns; a lane takes every ADD_LANES-th block of rows.
 */
template <class G, class T>
__global__ void __launch_bounds__(ADD_COLUMNS *ADD_LANES)
    add_blocks(G *d_weight, G *d_bias, NormBackward<T> n, int64_t blocks) {
  SHARED(float, part, ADD_COLUMNS *ADD_LANES);
  int64_t i = (int64_t)blockIdx.x * ADD_COLUMNS + threadIdx.x % ADD_COLUMNS;
  int64_t vector = i / n.width, c = i % n.width;
  bool is_column = vector < n.vectors;
  float sum = 0;
  for (int64_t b = threadIdx.x / ADD_COLUMNS; is_column && b < blocks; b += ADD_LANES)
    sum += n.sums[(b * n.vectors + vector) * n.padded + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (!is_column || threadIdx.x >= ADD_COLUMNS) return;
  for (int lane = 1; lane < ADD_LANES; lane++)
    sum += part[lane * ADD_COLUMNS + threadIdx.x];
  put_or_add((vector == 0 ? d_weight : d_bias) + c, sum, n.accumulate);
}

/* The operands are d_y, x, weight, stats, d_x, d_weight, d_bias where there is one, and scratch.
 * `other` and `y`: NULL, or what d_x is added to and where the sum goes. */
static KernelStatus norm_backward(const KernelArgs *args, const void *other, void *y, bool has_bias,
                                  const char **why, const char *name) {
  if (!is_taken(args->dim[1], why)) return KERNEL_REFUSED;
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
                         has_bias ? 2 : 1,
                         (width + 15) / 16 * 16,
                         has_bias,
                         args->accumulate,
                         (float)args->attr[0]};
    const void *all[] = {n.d_y, n.x, n.weight, n.d_x, n.other, n.y};
    Launch run(args, why, name);
    with_backward_columns<T>(width, are_vectors<T>(width, all, 6), [&](auto columns) {
      typedef decltype(columns) C;
      blocks = (rows + C::ROWS - 1) / C::ROWS;
      if (blocks > WORK_NORM_BLOCKS_CUDA) blocks = WORK_NORM_BLOCKS_CUDA;
      run.blocks(dim3((unsigned)blocks), C::THREADS * C::ROWS, norm_backward_rows<C>, n);
    });
    run.blocks(dim3((unsigned)((n.vectors * width + ADD_COLUMNS - 1) / ADD_COLUMNS)),
               ADD_COLUMNS * ADD_LANES, add_blocks<G, T>, (G *)at[5],
               has_bias ? (G *)at[6] : nullptr, n, blocks);
    return run.status;
  });
}

CUDA_KERNEL(layernorm_backward) {
  return norm_backward(args, nullptr, nullptr, true, why, "layernorm_backward");
}

CUDA_KERNEL(rmsnorm_backward) {
  return norm_backward(args, nullptr, nullptr, false, why, "rmsnorm_backward");
}

/* ---- an addition before or after a norm, in one pass over the rows. Results are bitwise those of
 * the two: the value between is rounded as it is in memory. ---- */

static bool adds_rows(const KernelUse *add, const KernelUse *norm) {
  return combines_all(add, norm->dim[0] * norm->dim[1], norm->dtype[0]);
}

template <bool HAS_BIAS>
static KernelStatus run_added(const KernelFused *, const KernelArgs *add, const KernelArgs *norm,
                              const char **why) {
  if (add->operand[2] == norm->operand[0])
    return norm_forward(add, norm, HAS_BIAS, why, HAS_BIAS ? "layernorm" : "rmsnorm");
  KernelStatus ended = cuda_add(add, why);
  return ended != KERNEL_DONE ? ended
         : HAS_BIAS           ? cuda_layernorm(norm, why)
                              : cuda_rmsnorm(norm, why);
}

CUDA_FUSION(add) {
  (void)kernel, (void)why;
  if (!adds_rows(&use[0], &use[1])) return KERNEL_DONE;
  if (second->id == KERNEL_layernorm) fused->run = run_added<true>;
  if (second->id == KERNEL_rmsnorm) fused->run = run_added<false>;
  return KERNEL_DONE;
}

template <bool HAS_BIAS>
static KernelStatus run_then_added(const KernelFused *, const KernelArgs *norm,
                                   const KernelArgs *add, const char **why) {
  void *d_x = norm->operand[4], *const *at = add->operand;
  const char *name = HAS_BIAS ? "layernorm_backward" : "rmsnorm_backward";
  if ((at[0] == d_x) != (at[1] == d_x))
    return norm_backward(norm, at[at[0] == d_x ? 1 : 0], at[2], HAS_BIAS, why, name);
  KernelStatus ended = norm_backward(norm, nullptr, nullptr, HAS_BIAS, why, name);
  return ended == KERNEL_DONE ? cuda_add(add, why) : ended;
}

CUDA_FUSION(layernorm_backward) {
  (void)kernel, (void)why;
  if (second->id == KERNEL_add && adds_rows(&use[1], &use[0])) fused->run = run_then_added<true>;
  return KERNEL_DONE;
}

CUDA_FUSION(rmsnorm_backward) {
  (void)kernel, (void)why;
  if (second->id == KERNEL_add && adds_rows(&use[1], &use[0])) fused->run = run_then_added<false>;
  return KERNEL_DONE;
}
