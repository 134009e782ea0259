/* attention_tensor.cu -- attention by tiles on tensor cores, for records that no library takes.
 *
 * A warp has 16 rows of scores: those of 16 queries or, for gradients of keys and values, of 16
 * keys. Its block keeps these rows of q (or k and v) in shared memory, split into parts (mma.h),
 * and loops over tiles of 32 or 16 rows of the other operands. Scores stay in registers, as the
 * first factor of the next product. Separate kernels make the gradients of queries and of keys, so
 * that every sum has one order; backward therefore multiplies seven times instead of five. Heads
 * wider than 128 take two launches of each kernel (attention_rows.h), which multiply thirteen
 * times. */
#include "kernels/cuda/attention_rows.h"

enum { WARPS_MOST = 4, THREADS_MOST = WARPS_MOST * WARP_LANES, WIDTH_MOST = 256 };

/* Rows of the tiles that a block loops over: few enough that registers hold scores and sums. */
template <int WIDTH> constexpr int passing_keys = WIDTH > 64 ? 16 : 32;
template <class T, int WIDTH> constexpr int passing_queries = WIDTH *Parts<T>::COUNT > 96 ? 16 : 32;

/* A lane's two queries, and positions of the first and last ones of its warp and block. */
struct Queries {
  int row; /* the warp's first */
  int position[2], lowest[2];
  int warp_first, warp_last, warp_lowest_first, warp_lowest_last; /* positions */
  int block_last, first_key;
};

static __device__ Queries queries_of(const Attention &a) {
  Queries q;
  const int64_t sample = blockIdx.z;
  const int first = (int)blockIdx.x * rows_of_block();
  q.row = first + warp_row();
  for (int r = 0; r < 2; r++) {
    const int token = token_within(a, q.row + row_of(2 * r));
    q.position[r] = position_of(a.q_runs, token);
    q.lowest[r] = (int)lower_bound(a, sample, token);
  }
  const int warp_first = token_within(a, q.row);
  const int warp_last = token_within(a, q.row + MMA_ROWS - 1);
  q.warp_first = position_of(a.q_runs, warp_first);
  q.warp_last = position_of(a.q_runs, warp_last);
  q.warp_lowest_first = (int)lower_bound(a, sample, warp_first);
  q.warp_lowest_last = (int)lower_bound(a, sample, warp_last);
  q.block_last = position_of(a.q_runs, token_within(a, first + rows_of_block() - 1));
  q.first_key = (int)runs_before(a.k_runs, lower_bound(a, sample, first));
  return q;
}

/* Scores of a warp with ROWS keys that are seen; 0 for all lanes or for none. */
template <int ROWS>
static __device__ unsigned seen_scores(const Attention &a, const Queries &q, int first) {
  const int low = position_of(a.k_runs, first);
  const int high = position_of(a.k_runs, token_within(a, first + ROWS - 1));
  const bool is_whole = first + ROWS <= (int)a.seq;
  if (q.row >= (int)a.seq || (a.causal && low > q.warp_last) || high < q.warp_lowest_first)
    return 0;
  if (is_whole && (!a.causal || high <= q.warp_first) && low >= q.warp_lowest_last) return ~0u;
  const unsigned bits = score_bits<ROWS>([&](int column, int r) {
    const int position = position_of(a.k_runs, first + column);
    return first + column < (int)a.seq && (!a.causal || position <= of_row(q.position, r)) &&
           position >= of_row(q.lowest, r);
  });
  return bits | SOME;
}

template <int ROWS>
static __device__ unsigned kept_scores(const Attention &a, const Queries &q, int first) {
  return kept_scores<ROWS>(a, blockIdx.y, [&](int column, int r, int *query, int *key) {
    *query = of_row(q.position, r);
    *key = position_of(a.k_runs, first + column);
  });
}

/* Copies the tiles of keys and values that begin at `first`. False, for the whole block: causality
 * hides these and all later ones. */
template <class T, int WIDTH>
static __device__ bool stage_keys(const Tile<T, WIDTH> &k_tile, const Tile<T, WIDTH> &v_tile,
                                  const T *k, const T *v, const Attention &a, const Queries &q,
                                  int first, bool vectors) {
  if (a.causal && position_of(a.k_runs, first) > q.block_last) return false;
  const int64_t kv_head = blockIdx.y / (a.heads / a.kv_heads);
  __syncthreads(); /* the tiles before have been read */
  k_tile.stage(k + blockIdx.z * a.seq * a.k_stride + kv_head * a.head, a.k_stride, first, a.seq,
               a.head, a.tf32, vectors);
  v_tile.stage(v + blockIdx.z * a.seq * a.v_stride + kv_head * a.head, a.v_stride, first, a.seq,
               a.head, a.tf32, vectors);
  __syncthreads();
  return true;
}

/* ---- forward ---- */

/* The softmax of a lane's two rows over the tiles so far; `weight` sums the lane's columns only. */
struct TwoRows {
  float highest[2] = {-INFINITY, -INFINITY}, weight[2] = {0, 0};

  /* Turns products into exp(score - highest), with dropout. shrink: the factor by which the sums so
   * far must be multiplied, because `highest` has grown. */
  template <int BLOCKS>
  __device__ void take(const Attention &a, float (&s)[BLOCKS][4], unsigned seen, unsigned kept,
                       float *shrink) {
    float top[2] = {highest[0], highest[1]}, base[2];
#pragma unroll
    for (int n = 0; n < BLOCKS; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        s[n][e] = has(seen, n, e) ? score_of(a, s[n][e]) : -INFINITY;
        top[e / 2] = s[n][e] > top[e / 2] ? s[n][e] : top[e / 2];
      }
#pragma unroll
    for (int r = 0; r < 2; r++) {
      top[r] = row_max(top[r]);
      base[r] = top[r] == -INFINITY ? 0 : top[r];
      shrink[r] = expf(highest[r] - base[r]);
      weight[r] *= shrink[r];
      highest[r] = top[r];
    }
#pragma unroll
    for (int n = 0; n < BLOCKS; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const float p = expf(s[n][e] - base[e / 2]);
        weight[e / 2] += p;
        s[n][e] = has(kept, n, e) ? to_factor(p * a.keep_scale, a.tf32) : 0;
      }
  }
};

/* grid: blocks of queries, heads, samples. */
template <class T, int WIDTH>
__global__ void __launch_bounds__(THREADS_MOST, WIDTH *Parts<T>::COUNT > 64 ? 2 : 3)
    attend_tensor(const T *q, const T *k, const T *v, T *out, float *lse, Attention a, bool vectors,
                  int launch_column) {
  constexpr int ROWS = passing_keys<WIDTH>, COLUMNS = columns<WIDTH>;
  const int of_sum = first_of<WIDTH>(launch_column);
  SHARED_OF_LAUNCH(uint32_t, memory, (Tile<T, WIDTH>::words(rows_of_block() + 2 * ROWS)));
  const Tile<T, WIDTH> q_tile = {memory, rows_of_block()}, k_tile = {q_tile.end(), ROWS};
  const Tile<T, WIDTH> v_tile = {k_tile.end(), ROWS};
  const Queries own = queries_of(a);
  const int64_t sample = blockIdx.z, head = blockIdx.y;
  float sum[COLUMNS / MMA_COLS][4] = {}, shrink[2];
  TwoRows softmax;
  q_tile.stage(q + sample * a.seq * a.q_stride + head * a.head, a.q_stride,
               (int64_t)blockIdx.x * rows_of_block(), a.seq, a.head, a.tf32, vectors);
  for (int first = own.first_key / ROWS * ROWS; first < (int)a.seq; first += ROWS) {
    if (!stage_keys(k_tile, v_tile, k, v, a, own, first, vectors)) break;
    const unsigned seen = seen_scores<ROWS>(a, own, first);
    if (seen == 0) continue;
    float s[ROWS / MMA_COLS][4];
    rows_by_rows<T, WIDTH, ROWS>(s, q_tile, warp_row(), k_tile);
    softmax.take(a, s, seen, kept_scores<ROWS>(a, own, first), shrink);
    add_columns<COLUMNS>(sum, shrink, Factors<T, ROWS>(s), v_tile, of_sum);
  }
  float weight[2], inverse[2];
  for (int r = 0; r < 2; r++) {
    weight[r] = row_sum(softmax.weight[r]);
    inverse[r] = weight[r] == 0 ? 0 : 1 / weight[r];
  }
  store_rows<T, COLUMNS>(out + sample * a.seq * a.out_stride + head * a.head, a.out_stride, sum,
                         inverse, own.row, of_sum, a);
  for (int r = 0; r < 2; r++) {
    const int i = own.row + row_of(2 * r);
    if (threadIdx.x % 4 > 0 || i >= (int)a.seq || of_sum > 0) continue;
    lse[(sample * a.heads + head) * a.seq + i] =
        weight[r] == 0 ? -INFINITY : softmax.highest[r] + logf(weight[r]);
  }
}

/* ---- backward ---- */

template <class T> struct Inputs {
  const T *d_out, *q, *k, *v;
  const float *lse, *term;
};

/* Products become the gradients of scores. */
template <int ROWS>
static __device__ void slopes_of_queries(const Attention &a, const float *lse, const float *term,
                                         unsigned seen, unsigned kept, float (*s)[4],
                                         const float (*d_p)[4]) {
#pragma unroll
  for (int n = 0; n < ROWS / MMA_COLS; n++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const float score = score_of(a, s[n][e]);
      const float keep = has(kept, n, e) ? a.keep_scale : 0;
      const float slope = a.scale * (keep * d_p[n][e] - term[e / 2]) * cap_slope(a, score);
      s[n][e] = has(seen, n, e) ? to_factor(expf(score - lse[e / 2]) * slope, a.tf32) : 0;
    }
}

/* Makes d_q: the loop of forward, with the probabilities computed again. */
template <class T, int WIDTH>
__global__ void __launch_bounds__(THREADS_MOST, 2)
    slope_queries_tensor(Inputs<T> in, T *d_q, Attention a, bool vectors, int launch_column) {
  constexpr int ROWS = passing_keys<WIDTH>, COLUMNS = columns<WIDTH>;
  const int of_sum = first_of<WIDTH>(launch_column);
  SHARED_OF_LAUNCH(uint32_t, memory, (Tile<T, WIDTH>::words(2 * rows_of_block() + 2 * ROWS)));
  const Tile<T, WIDTH> q_tile = {memory, rows_of_block()}, d_tile = {q_tile.end(), q_tile.rows};
  const Tile<T, WIDTH> k_tile = {d_tile.end(), ROWS}, v_tile = {k_tile.end(), ROWS};
  const Queries own = queries_of(a);
  const int64_t sample = blockIdx.z, head = blockIdx.y;
  const int64_t block = (int64_t)blockIdx.x * rows_of_block();
  const float one[2] = {1, 1};
  float sum[COLUMNS / MMA_COLS][4] = {}, own_lse[2], own_term[2];
  for (int r = 0; r < 2; r++) {
    const int token = token_within(a, own.row + row_of(2 * r));
    own_lse[r] = in.lse[(sample * a.heads + head) * a.seq + token];
    own_term[r] = in.term[(sample * a.heads + head) * a.seq + token];
  }
  q_tile.stage(in.q + sample * a.seq * a.q_stride + head * a.head, a.q_stride, block, a.seq, a.head,
               a.tf32, vectors);
  d_tile.stage(in.d_out + sample * a.seq * a.out_stride + head * a.head, a.out_stride, block, a.seq,
               a.head, a.tf32, vectors);
  for (int first = own.first_key / ROWS * ROWS; first < (int)a.seq; first += ROWS) {
    if (!stage_keys(k_tile, v_tile, in.k, in.v, a, own, first, vectors)) break;
    const unsigned seen = seen_scores<ROWS>(a, own, first);
    if (seen == 0) continue;
    const unsigned kept = kept_scores<ROWS>(a, own, first);
    float s[ROWS / MMA_COLS][4], d_p[ROWS / MMA_COLS][4];
    rows_by_rows<T, WIDTH, ROWS>(s, q_tile, warp_row(), k_tile);
    rows_by_rows<T, WIDTH, ROWS>(d_p, d_tile, warp_row(), v_tile);
    slopes_of_queries<ROWS>(a, own_lse, own_term, seen, kept, s, d_p);
    add_columns<COLUMNS>(sum, one, Factors<T, ROWS>(s), k_tile, of_sum);
  }
  store_rows<T, COLUMNS>(d_q + sample * a.seq * a.d_q_stride + head * a.head, a.d_q_stride, sum,
                         one, own.row, of_sum, a);
}

/* The statistics and positions of a tile of queries, in shared memory. */
template <int ROWS> struct PassingQueries {
  float *lse, *term;
  int *position, *lowest;
  enum { WORDS = 4 * ROWS };

  __device__ explicit PassingQueries(uint32_t *at)
      : lse((float *)at), term(lse + ROWS), position((int *)(term + ROWS)),
        lowest(position + ROWS) {}

  __device__ void stage(const Attention &a, const float *all_lse, const float *all_term,
                        int64_t sample, int64_t head, int first) const {
    const int i = threadIdx.x;
    if (i >= ROWS) return;
    const int token = token_within(a, first + i);
    lse[i] = all_lse[(sample * a.heads + head) * a.seq + token];
    term[i] = all_term[(sample * a.heads + head) * a.seq + token];
    position[i] = position_of(a.q_runs, token);
    lowest[i] = (int)lower_bound(a, sample, token);
  }
};

/* Returns the number, but hides its value from the compiler, so that expressions of it are computed
 * inside a loop instead of being hoisted out of it and kept in registers. */
static __device__ int within_loop(int number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/* A lane's two keys, and positions of the first and last ones of its warp and block. */
struct Keys {
  int row;
  int position[2];
  int warp_first, warp_last, block_first, block_last; /* positions */
};

static __device__ Keys keys_of(const Attention &a, int block) {
  Keys k;
  const int first = block * rows_of_block();
  k.row = first + warp_row();
  for (int r = 0; r < 2; r++)
    k.position[r] = position_of(a.k_runs, token_within(a, k.row + row_of(2 * r)));
  k.warp_first = position_of(a.k_runs, token_within(a, k.row));
  k.warp_last = position_of(a.k_runs, token_within(a, k.row + MMA_ROWS - 1));
  k.block_first = position_of(a.k_runs, first);
  k.block_last = position_of(a.k_runs, token_within(a, first + rows_of_block() - 1));
  return k;
}

/* True if one of the queries first .. last may see a key of the block. */
static __device__ bool is_seen_by(const Attention &a, const Keys &k, int first, int last) {
  if (a.causal && position_of(a.q_runs, last) < k.block_first) return false;
  return lower_bound(a, blockIdx.z, first) <= k.block_last; /* nor do later queries see it */
}

template <int ROWS>
static __device__ unsigned seen_scores(const Attention &a, const Keys &k,
                                       const PassingQueries<ROWS> &q, int first) {
  const int last = token_within(a, first + ROWS - 1) - first;
  const bool is_whole = first + ROWS <= (int)a.seq;
  if (k.row >= (int)a.seq || (a.causal && q.position[last] < k.warp_first) ||
      q.lowest[0] > k.warp_last)
    return 0;
  if (is_whole && (!a.causal || k.warp_last <= q.position[0]) && k.warp_first >= q.lowest[last])
    return ~0u;
  const unsigned bits = score_bits<ROWS>([&](int column, int r) {
    return first + column < (int)a.seq &&
           (!a.causal || of_row(k.position, r) <= q.position[column]) &&
           of_row(k.position, r) >= q.lowest[column];
  });
  return bits | SOME;
}

/* Products become probabilities with dropout, and d_p the gradients of scores. */
template <int ROWS>
static __device__ void slopes_of_keys(const Attention &a, const PassingQueries<ROWS> &queries,
                                      unsigned seen, unsigned kept, float (*s)[4],
                                      float (*d_p)[4]) {
#pragma unroll
  for (int n = 0; n < ROWS / MMA_COLS; n++)
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int i = column_of(n, e);
      const float score = score_of(a, s[n][e]);
      const float p = has(seen, n, e) ? expf(score - queries.lse[i]) : 0;
      const float keep = has(kept, n, e) ? a.keep_scale : 0;
      const float slope = a.scale * (keep * d_p[n][e] - queries.term[i]) * cap_slope(a, score);
      s[n][e] = to_factor(p * keep, a.tf32);
      d_p[n][e] = has(seen, n, e) ? to_factor(p * slope, a.tf32) : 0;
    }
}

/* The sums that a launch makes. Wide heads have too few registers for both, so they take a launch
 * each: five products instead of four. */
enum Sums { OF_VALUES = 1, OF_KEYS = 2, OF_BOTH = 3 };
template <int WIDTH> constexpr bool is_in_two = WIDTH > 64;

/* Makes d_k and d_v: loops over the queries of all heads that share a key. */
template <class T, int WIDTH, int SUMS>
__global__ void __launch_bounds__(THREADS_MOST, 2)
    slope_keys_tensor(Inputs<T> in, T *d_k, T *d_v, Attention a, bool vectors, int launch_column) {
  constexpr int ROWS = passing_queries<T, WIDTH>, COLUMNS = columns<WIDTH>;
  const int of_sum = first_of<WIDTH>(launch_column);
  SHARED_OF_LAUNCH(uint32_t, memory,
                   (Tile<T, WIDTH>::words(2 * rows_of_block() + 2 * ROWS) + 4 * ROWS));
  const Tile<T, WIDTH> k_tile = {memory, rows_of_block()}, v_tile = {k_tile.end(), k_tile.rows};
  const Tile<T, WIDTH> q_tile = {v_tile.end(), ROWS}, d_tile = {q_tile.end(), ROWS};
  const PassingQueries<ROWS> queries(d_tile.end());
  const int kv_head = blockIdx.y, group = (int)(a.heads / a.kv_heads);
  const float one[2] = {1, 1};
  float k_sum[SUMS & OF_KEYS ? COLUMNS / MMA_COLS : 1][4] = {};
  float v_sum[SUMS & OF_VALUES ? COLUMNS / MMA_COLS : 1][4] = {};
  const int64_t block = (int64_t)blockIdx.x * rows_of_block();
  k_tile.stage(in.k + blockIdx.z * a.seq * a.k_stride + kv_head * a.head, a.k_stride, block, a.seq,
               a.head, a.tf32, vectors);
  v_tile.stage(in.v + blockIdx.z * a.seq * a.v_stride + kv_head * a.head, a.v_stride, block, a.seq,
               a.head, a.tf32, vectors);
  for (int h = kv_head * group; h < (kv_head + 1) * group; h++)
    for (int first = 0; first < (int)a.seq; first += ROWS) {
      const Keys own = keys_of(a, within_loop(blockIdx.x));
      if (!is_seen_by(a, own, first, token_within(a, first + ROWS - 1))) continue;
      const int64_t sample = within_loop(blockIdx.z);
      __syncthreads(); /* the tiles before have been read */
      q_tile.stage(in.q + sample * a.seq * a.q_stride + h * a.head, a.q_stride, first, a.seq,
                   a.head, a.tf32, vectors);
      d_tile.stage(in.d_out + sample * a.seq * a.out_stride + h * a.head, a.out_stride, first,
                   a.seq, a.head, a.tf32, vectors);
      queries.stage(a, in.lse, in.term, sample, h, first);
      __syncthreads();
      const unsigned seen = seen_scores<ROWS>(a, own, queries, first);
      if (seen == 0) continue;
      const unsigned kept = kept_scores<ROWS>(a, h, [&](int column, int r, int *query, int *key) {
        *query = queries.position[column];
        *key = of_row(own.position, r);
      });
      float s[ROWS / MMA_COLS][4], d_p[ROWS / MMA_COLS][4] = {};
      rows_by_rows<T, WIDTH, ROWS>(s, k_tile, warp_row(), q_tile);
      if constexpr (SUMS & OF_KEYS) rows_by_rows<T, WIDTH, ROWS>(d_p, v_tile, warp_row(), d_tile);
      slopes_of_keys<ROWS>(a, queries, seen, kept, s, d_p);
      if constexpr (SUMS & OF_VALUES)
        add_columns<COLUMNS>(v_sum, one, Factors<T, ROWS>(s), d_tile, of_sum);
      if constexpr (SUMS & OF_KEYS)
        add_columns<COLUMNS>(k_sum, one, Factors<T, ROWS>(d_p), q_tile, of_sum);
    }
  if constexpr (SUMS & OF_KEYS)
    store_rows<T, COLUMNS>(d_k + blockIdx.z * a.seq * a.d_k_stride + kv_head * a.head, a.d_k_stride,
                           k_sum, one, (int)block + warp_row(), of_sum, a);
  if constexpr (SUMS & OF_VALUES)
    store_rows<T, COLUMNS>(d_v + blockIdx.z * a.seq * a.d_v_stride + kv_head * a.head, a.d_v_stride,
                           v_sum, one, (int)block + warp_row(), of_sum, a);
}

/* ---- launching ---- */

/* Bytes of shared memory that a block may ask for; 0: the GPU, or what was compiled for it, has no
 * mma of bf16. */
static int64_t shared_most(void) {
#ifdef __CUDACC__
  static thread_local int known = -1, most = 0;
  int gpu = 0, bytes = 0;
  cudaFuncAttributes compiled = {};
  if (cudaGetDevice(&gpu) != cudaSuccess) return 0;
  if (gpu == known) return most;
  const bool done =
      cudaFuncGetAttributes(&compiled, attend_tensor<Bf16, 64>) == cudaSuccess &&
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu) == cudaSuccess;
  if (!done) (void)cudaGetLastError(); /* the fallback starts with none */
  most = done && compiled.ptxVersion >= 80 && compiled.binaryVersion >= 80 ? bytes : 0;
  known = gpu;
  return most;
#else
  return shim::shared_most_bytes;
#endif
}

/* A block's warps: as many as its rows need and shared memory has room for. 0: one does not fit. */
struct Block {
  int warps;
  size_t bytes;
};

template <class T, int WIDTH>
static Block block_of(const Attention &a, int kept, int passing, int more_words) {
  const int64_t most = shared_most();
  for (int warps = WARPS_MOST; warps > 0; warps /= 2) {
    const int rows = kept * warps * MMA_ROWS + 2 * passing;
    const int64_t bytes = 4 * (int64_t)(Tile<T, WIDTH>::words(rows) + more_words);
    const bool is_needed = warps == 1 || warps / 2 * MMA_ROWS < a.seq;
    if (bytes <= most && is_needed) return {warps, (size_t)bytes};
  }
  return {0, 0};
}

static dim3 grid_of(const Attention &a, const Block &block, int64_t heads) {
  const int64_t rows = block.warps * MMA_ROWS;
  return dim3((unsigned)((a.seq + rows - 1) / rows), (unsigned)heads, (unsigned)a.batch);
}

template <class T> static bool in_vectors(const Attention &a, const void *const *at, int count) {
  bool whole = (a.head | a.q_stride | a.k_stride | a.v_stride | a.out_stride) % 4 == 0;
  for (int i = 0; i < count; i++)
    whole = whole && (uintptr_t)at[i] % (4 * sizeof(T)) == 0;
  return whole;
}

/* Runs `run` with the first column of each launch. */
template <int WIDTH, class Run> static void with_columns(const Attention &a, Run run) {
  for (int column = 0; column < a.head; column += columns<WIDTH>)
    run(column);
}

/* Runs `run` with the width of tiles for the head. */
template <class Run> static bool with_width(int64_t head, Run run) {
  if (head <= 32) return run(Count<32>());
  if (head <= 64) return run(Count<64>());
  if (head <= 128) return run(Count<128>());
  return head <= WIDTH_MOST && run(Count<WIDTH_MOST>());
}

bool attention_on_tensor_cores(const KernelArgs *args, const Attention &a, Launch *run) {
  void *const *at = args->operand;
  const char *none = "";
  bool taken = false;
  (void)with_float(args->dtype[0], &none, [&](auto number) {
    typedef decltype(number) T;
    const bool vectors = in_vectors<T>(a, at, 3);
    taken = with_width(a.head, [&](auto width) {
      constexpr int WIDTH = decltype(width)::VALUE;
      const Block block = block_of<T, WIDTH>(a, 1, passing_keys<WIDTH>, 0);
      if (block.warps == 0) return false;
      with_columns<WIDTH>(a, [&](int column) {
        run->blocks_with(grid_of(a, block, a.heads), (unsigned)block.warps * WARP_LANES,
                         block.bytes, attend_tensor<T, WIDTH>, (const T *)at[0], (const T *)at[1],
                         (const T *)at[2], (T *)at[3], (float *)at[4], a, vectors, column);
      });
      return true;
    });
    return KERNEL_DONE;
  });
  return taken;
}

bool attention_backward_on_tensor_cores(const KernelArgs *args, const Attention &a,
                                        const float *term, Launch *run) {
  void *const *at = args->operand;
  const char *none = "";
  bool taken = false;
  (void)with_float(args->dtype[0], &none, [&](auto number) {
    typedef decltype(number) T;
    const Inputs<T> in = {(const T *)at[0], (const T *)at[1],     (const T *)at[2],
                          (const T *)at[3], (const float *)at[5], term};
    const bool vectors = in_vectors<T>(a, at, 4);
    taken = with_width(a.head, [&](auto width) {
      constexpr int WIDTH = decltype(width)::VALUE;
      constexpr int PASSING = passing_queries<T, WIDTH>;
      const Block queries = block_of<T, WIDTH>(a, 2, passing_keys<WIDTH>, 0);
      const Block keys = block_of<T, WIDTH>(a, 2, PASSING, 4 * PASSING);
      if (queries.warps == 0 || keys.warps == 0) return false;
      with_columns<WIDTH>(a, [&](int column) {
        run->blocks_with(grid_of(a, queries, a.heads), (unsigned)queries.warps * WARP_LANES,
                         queries.bytes, slope_queries_tensor<T, WIDTH>, in, (T *)at[6], a, vectors,
                         column);
      });
      const auto slope_keys = [&](auto sums) {
        with_columns<WIDTH>(a, [&](int column) {
          run->blocks_with(grid_of(a, keys, a.kv_heads), (unsigned)keys.warps * WARP_LANES,
                           keys.bytes, slope_keys_tensor<T, WIDTH, decltype(sums)::VALUE>, in,
                           (T *)at[7], (T *)at[8], a, vectors, column);
        });
      };
      if constexpr (is_in_two<WIDTH>) {
        slope_keys(Count<OF_VALUES>());
        slope_keys(Count<OF_KEYS>());
      } else {
        slope_keys(Count<OF_BOTH>());
      }
      return true;
    });
    return KERNEL_DONE;
  });
  return taken;
}
