/* attention.cu -- attention by tiles (arXiv:2205.14135), our own: the fallback of
 * attention_tensor.cu for heads wider than 256, for GPUs without tensor cores for bf16, and for
 * tiles that do not fit into shared memory.
 *
 * A query (backward, for keys: a key) is one thread's, or a group of neighbouring threads' that
 * share its columns. Keys and values pass through shared memory, where all threads of a warp read
 * the same element at once. Heads up to 512 wide. */
#include "kernels/cuda/attention.h"

enum { THREADS = 128, TILE_FLOATS = 4096, TILE_MOST = 16, HEAD_MOST = 512, COLUMNS_MOST = 32 };

/* Tokens first .. first + count - 1 of one head into shared memory, `width` floats each; zeros
 * where there is no token or column. */
template <class T>
static __device__ void stage(float *to, const T *from, int64_t stride, int64_t first, int count,
                             int64_t tokens, int width, int64_t head, bool tf32) {
  for (int i = threadIdx.x; i < count * width; i += THREADS) {
    int64_t token = first + i / width, c = i % width;
    to[i] = token < tokens && c < head ? to_factor(from[token * stride + c], tf32) : 0;
  }
}

/* The sum over the threads that share a row. */
template <int GROUP> static __device__ float group_sum(float value) {
  for (int lanes = GROUP / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, lanes);
  return value;
}

/* Heads up to WIDTH wide: the columns of a thread, the threads that share a row, and the rows of a
 * tile in shared memory. More columns a thread spill where four rows are kept. */
template <int WIDTH_> struct Split {
  static constexpr int WIDTH = WIDTH_;
  static constexpr int COLUMNS = WIDTH < COLUMNS_MOST ? WIDTH : COLUMNS_MOST;
  static constexpr int GROUP = WIDTH / COLUMNS;
  static constexpr int ROWS = THREADS / GROUP;
  static constexpr int TILE = TILE_FLOATS / WIDTH < TILE_MOST ? TILE_FLOATS / WIDTH : TILE_MOST;
};

/* Threads of a group have every GROUP-th column, so that neighbours read neighbours. */
template <class S> struct Row {
  static constexpr int COLUMNS = S::COLUMNS, GROUP = S::GROUP;
  float at[COLUMNS];

  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      at[c] = 0;
  }
  template <class T> __device__ void load(const T *row, bool is_there, int64_t head, bool tf32) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int64_t column = (int64_t)c * GROUP + threadIdx.x % GROUP;
      at[c] = is_there && column < head ? to_factor(row[column], tf32) : 0;
    }
  }
  template <class T> __device__ void store(T *row, int64_t head, float scale) const {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      int64_t column = (int64_t)c * GROUP + threadIdx.x % GROUP;
      if (column < head) put(row + column, at[c] * scale);
    }
  }
  __device__ float dot(const float *row) const {
    float sum = 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      sum += at[c] * row[c * GROUP + threadIdx.x % GROUP];
    return group_sum<GROUP>(sum);
  }
  __device__ void add(float weight, const float *row) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      at[c] += weight * row[c * GROUP + threadIdx.x % GROUP];
  }
  __device__ void multiply(float factor) {
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
      at[c] *= factor;
  }
};

/* The query of a thread's row. Only is_there and the row's own memory are apart from its
 * neighbours: a thread beyond the last query goes along, for the tiles' sake. */
struct Query {
  int sample, head, kv_head;
  int i, position, last_position; /* the last of the block */
  int lowest;                     /* position of the first key that it sees */
  int first_key;                  /* the first key that any query of the block sees */
  bool is_there;
  uint64_t key;
  int64_t step;
};

template <int ROWS, int GROUP> static __device__ Query query_of(const Attention &a) {
  Query query;
  query.sample = (int)blockIdx.z;
  query.head = (int)blockIdx.y;
  query.kv_head = (int)(query.head / (a.heads / a.kv_heads));
  int64_t first = (int64_t)blockIdx.x * ROWS;
  query.i = (int)(first + threadIdx.x / GROUP);
  query.is_there = query.i < a.seq;
  query.position = (int)runs_position(a.q_runs, query.is_there ? query.i : a.seq - 1);
  int64_t last = first + ROWS < a.seq ? first + ROWS - 1 : a.seq - 1;
  query.last_position = (int)runs_position(a.q_runs, last);
  query.lowest = (int)lower_bound(a, query.sample, query.is_there ? query.i : a.seq - 1);
  query.first_key = (int)runs_before(a.k_runs, lower_bound(a, query.sample, first));
  query.key = a.threshold > 0 ? philox_mix(*a.seed, a.record_key) : 0;
  query.step = a.threshold > 0 ? *a.step : 0;
  return query;
}

/* Keys and values first .. of the query's head. False, the same for the whole block: all of them
 * are in the future, and so are those after them, as positions ascend with the token's number. */
template <class T, class S>
static __device__ bool stage_keys(float *k_tile, float *v_tile, const T *k, const T *v,
                                  const Attention &a, const Query &query, int64_t first) {
  if (a.causal && runs_position(a.k_runs, first) > query.last_position) return false;
  k += query.sample * a.seq * a.k_stride + query.kv_head * a.head;
  v += query.sample * a.seq * a.v_stride + query.kv_head * a.head;
  stage(k_tile, k, a.k_stride, first, S::TILE, a.seq, S::WIDTH, a.head, a.tf32);
  stage(v_tile, v, a.v_stride, first, S::TILE, a.seq, S::WIDTH, a.head, a.tf32);
  __syncthreads();
  return true;
}

static __device__ bool sees(const Attention &a, const Query &query, int64_t k_token) {
  if (k_token >= a.seq) return false;
  const int64_t position = runs_position(a.k_runs, k_token);
  return (!a.causal || position <= query.position) && position >= query.lowest;
}

/* Dropout's factor of the probability of a key. */
static __device__ float keep(const Attention &a, const Query &query, int64_t k_token) {
  return mask(a, query.key, query.step, query.sample, query.head, query.position,
              runs_position(a.k_runs, k_token));
}

/* ---- forward ---- */

/* A softmax over the tiles met so far: `sum` and `weight` are by exp(score - highest). */
template <class S> struct Softmax {
  Row<S> sum;
  float highest = -INFINITY, weight = 0;

  __device__ void take(const Attention &a, const Query &query, const Row<S> &row,
                       const float *k_tile, const float *v_tile, int64_t first) {
    float score[S::TILE], top = highest;
#pragma unroll
    for (int j = 0; j < S::TILE; j++) {
      float dot = score_of(a, row.dot(k_tile + j * S::WIDTH));
      score[j] = sees(a, query, first + j) ? dot : -INFINITY;
      top = score[j] > top ? score[j] : top;
    }
    /* Where none is seen yet, any will do. A score that is no number makes the weight none. */
    const float base = top == -INFINITY ? 0 : top, shrink = expf(highest - base);
    sum.multiply(shrink);
    weight *= shrink;
    highest = top;
#pragma unroll
    for (int j = 0; j < S::TILE; j++) {
      float p = expf(score[j] - base);
      weight += p;
      if (p > 0) sum.add(to_factor(p * keep(a, query, first + j), a.tf32), v_tile + j * S::WIDTH);
    }
  }
};

/* grid: blocks of queries, heads, samples. Left alone, ptxas would spill narrow heads on sm_100 for
 * the sake of more blocks. */
template <class T, class S>
__global__ void __launch_bounds__(THREADS, S::WIDTH <= 16 ? 3 : 0)
    attend(const T *q, const T *k, const T *v, T *out, float *lse, Attention a) {
  SHARED(float, k_tile, TILE_FLOATS);
  SHARED(float, v_tile, TILE_FLOATS);
  Query query = query_of<S::ROWS, S::GROUP>(a);
  int64_t token = query.sample * a.seq + query.i;
  Row<S> row;
  Softmax<S> softmax;
  row.load(q + token * a.q_stride + query.head * a.head, query.is_there, a.head, a.tf32);
  softmax.sum.clear();
  for (int64_t first = query.first_key / S::TILE * S::TILE; first < a.seq; first += S::TILE) {
    if (!stage_keys<T, S>(k_tile, v_tile, k, v, a, query, first)) break;
    softmax.take(a, query, row, k_tile, v_tile, first);
    __syncthreads();
  }
  if (!query.is_there) return;
  float weight = softmax.weight;
  T *to = out + token * a.out_stride + query.head * a.head;
  softmax.sum.store(to, a.head, weight == 0 ? 0 : 1 / weight);
  if (threadIdx.x % S::GROUP > 0) return;
  lse[(query.sample * a.heads + query.head) * a.seq + query.i] =
      weight == 0 ? -INFINITY : softmax.highest + logf(weight);
}

/* ---- backward ---- */

/* The gradient of a score is complete, with scale and softcap's slope, before tf32 rounds it: where
 * scale is no power of two, scaling the sums instead would round other numbers than processors. */

/* d_out . out of each row of probabilities. A warp a head of a token. */
template <class T>
__global__ void row_terms(const T *d_out, const T *out, float *term, Attention a) {
  const int64_t row = (int64_t)blockIdx.x * (ROW_THREADS / WARP_LANES) + threadIdx.x / WARP_LANES;
  if (row >= a.batch * a.heads * a.seq) return;
  const int64_t h = row % a.heads, i = row / a.heads % a.seq, b = row / a.heads / a.seq;
  float sum = 0;
  for (int64_t c = threadIdx.x % WARP_LANES; c < a.head; c += WARP_LANES)
    sum += to_float(d_out[row * a.head + c]) * to_float(out[row * a.head + c]);
  sum = warp_sum(sum);
  if (threadIdx.x % WARP_LANES == 0) term[(b * a.heads + h) * a.seq + i] = sum;
}

/* d_q: as forward, with the probabilities made again. */
template <class T, class S>
__global__ void __launch_bounds__(THREADS, S::WIDTH <= 16 ? 4 : 2)
    slope_queries(const T *d_out, const T *q, const T *k, const T *v, const float *lse,
                  const float *term, T *d_q, Attention a) {
  SHARED(float, k_tile, TILE_FLOATS);
  SHARED(float, v_tile, TILE_FLOATS);
  Query query = query_of<S::ROWS, S::GROUP>(a);
  int64_t token = query.sample * a.seq + query.i, i = query.is_there ? query.i : a.seq - 1;
  int64_t probabilities = (query.sample * a.heads + query.head) * a.seq + i;
  float own_lse = lse[probabilities], own_term = term[probabilities];
  Row<S> row, d_row, sum;
  row.load(q + token * a.q_stride + query.head * a.head, query.is_there, a.head, a.tf32);
  d_row.load(d_out + token * a.out_stride + query.head * a.head, query.is_there, a.head, a.tf32);
  sum.clear();
  for (int64_t first = query.first_key / S::TILE * S::TILE; first < a.seq; first += S::TILE) {
    if (!stage_keys<T, S>(k_tile, v_tile, k, v, a, query, first)) break;
#pragma unroll 2
    for (int j = 0; j < S::TILE; j++) {
      const float *key = k_tile + j * S::WIDTH, *value = v_tile + j * S::WIDTH;
      float score = score_of(a, row.dot(key)), d_p = d_row.dot(value);
      if (!query.is_there || !sees(a, query, first + j)) continue;
      float slope = a.scale * (keep(a, query, first + j) * d_p - own_term) * cap_slope(a, score);
      sum.add(to_factor(expf(score - own_lse) * slope, a.tf32), key);
    }
    __syncthreads();
  }
  if (query.is_there) sum.store(d_q + token * a.d_q_stride + query.head * a.head, a.head, 1);
}

/* d_k and d_v: a key's thread walks over the queries of all heads that share it. */
template <class T, class S>
__global__ void __launch_bounds__(THREADS, S::WIDTH <= 16 ? 3 : 0)
    slope_keys(const T *d_out, const T *q, const T *k, const T *v, const float *lse,
               const float *term, T *d_k, T *d_v, Attention a) {
  constexpr int TILE = S::TILE, WIDTH = S::WIDTH;
  SHARED(float, q_tile, TILE_FLOATS);
  SHARED(float, d_tile, TILE_FLOATS);
  SHARED(float, row_tile, 2 * TILE_MOST); /* lse, then terms */
  int64_t b = blockIdx.z, kv_head = blockIdx.y, group = a.heads / a.kv_heads;
  int64_t k_first = (int64_t)blockIdx.x * S::ROWS;
  int64_t j = k_first + threadIdx.x / S::GROUP, token = b * a.seq + j;
  bool is_there = j < a.seq;
  int64_t k_position = runs_position(a.k_runs, is_there ? j : a.seq - 1);
  int64_t first_position = runs_position(a.k_runs, k_first);
  int64_t k_last = k_first + S::ROWS < a.seq ? k_first + S::ROWS - 1 : a.seq - 1;
  int64_t last_position = runs_position(a.k_runs, k_last);
  uint64_t random_key = a.threshold > 0 ? philox_mix(*a.seed, a.record_key) : 0;
  int64_t step = a.threshold > 0 ? *a.step : 0;
  Row<S> key, value, k_sum, v_sum;
  key.load(k + token * a.k_stride + kv_head * a.head, is_there, a.head, a.tf32);
  value.load(v + token * a.v_stride + kv_head * a.head, is_there, a.head, a.tf32);
  k_sum.clear();
  v_sum.clear();
  for (int64_t h = kv_head * group; h < (kv_head + 1) * group; h++)
    for (int64_t first = 0; first < a.seq; first += TILE) {
      int64_t last = first + TILE < a.seq ? first + TILE - 1 : a.seq - 1;
      if (a.causal && runs_position(a.q_runs, last) < first_position) continue;
      /* later queries do not see the key either */
      if (lower_bound(a, b, first) > last_position) continue;
      stage(q_tile, q + b * a.seq * a.q_stride + h * a.head, a.q_stride, first, TILE, a.seq, WIDTH,
            a.head, a.tf32);
      stage(d_tile, d_out + b * a.seq * a.out_stride + h * a.head, a.out_stride, first, TILE, a.seq,
            WIDTH, a.head, a.tf32);
      for (int i = threadIdx.x; i < TILE && first + i < a.seq; i += THREADS) {
        row_tile[i] = lse[(b * a.heads + h) * a.seq + first + i];
        row_tile[TILE_MOST + i] = term[(b * a.heads + h) * a.seq + first + i];
      }
      __syncthreads();
#pragma unroll 2
      for (int i = 0; i < TILE; i++) {
        int64_t q_token = first + i, q_position = runs_position(a.q_runs, q_token);
        bool seen = is_there && q_token < a.seq && (!a.causal || k_position <= q_position) &&
                    k_position >= lower_bound(a, b, q_token);
        float score = score_of(a, key.dot(q_tile + i * WIDTH)), d_p = value.dot(d_tile + i * WIDTH);
        if (!seen) continue;
        float p = expf(score - row_tile[i]);
        float kept = mask(a, random_key, step, b, h, q_position, k_position);
        v_sum.add(to_factor(p * kept, a.tf32), d_tile + i * WIDTH);
        float slope = a.scale * (kept * d_p - row_tile[TILE_MOST + i]) * cap_slope(a, score);
        k_sum.add(to_factor(p * slope, a.tf32), q_tile + i * WIDTH);
      }
      __syncthreads();
    }
  if (!is_there) return;
  k_sum.store(d_k + token * a.d_k_stride + kv_head * a.head, a.head, 1);
  v_sum.store(d_v + token * a.d_v_stride + kv_head * a.head, a.head, 1);
}

/* ---- launching ---- */

static dim3 grid_of(const Attention &a, int64_t rows_a_block, int64_t heads) {
  return dim3((unsigned)((a.seq + rows_a_block - 1) / rows_a_block), (unsigned)heads,
              (unsigned)a.batch);
}

static bool is_taken(const Attention &a, const char **why) {
  *why = "attention for GPUs takes heads up to 512 wide, 65,535 heads and samples, and 2^30 tokens";
  return a.head <= HEAD_MOST && a.heads <= 65535 && a.batch <= 65535 && a.seq <= 1 << 30;
}

/* Runs `run` with the split for heads of this width. */
template <class Run> static void with_split(int64_t head, Run run) {
  if (head <= 16)
    run(Split<16>());
  else if (head <= 32)
    run(Split<32>());
  else if (head <= 64)
    run(Split<64>());
  else if (head <= 128)
    run(Split<128>());
  else
    run(Split<HEAD_MOST>());
}

static KernelStatus run_forward(const KernelArgs *args, const char **why, const char *name,
                                const int32_t *begin) {
  Attention a = attention_of(args);
  a.begin = begin;
  if (!is_taken(a, why)) return KERNEL_REFUSED;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    Launch run(args, why, name);
    if (attention_on_tensor_cores(args, a, &run)) return run.status;
    with_split(a.head, [&](auto split) {
      typedef decltype(split) S;
      run.blocks(grid_of(a, S::ROWS, a.heads), THREADS, attend<T, S>, (const T *)at[0],
                 (const T *)at[1], (const T *)at[2], (T *)at[3], (float *)at[4], a);
    });
    return run.status;
  });
}

CUDA_KERNEL(attention) {
  return run_forward(args, why, "attention", NULL);
}
CUDA_KERNEL(attention_apart) {
  return run_forward(args, why, "attention_apart", (const int32_t *)args->operand[5]);
}

/* Operands 0 .. 8 are d_out q k v out lse d_q d_k d_v; term is scratch. */
template <class T>
static void launch_backward(Launch &run, const KernelArgs *args, const Attention &a, float *term) {
  void *const *at = args->operand;
  const T *d_out = (const T *)at[0], *q = (const T *)at[1], *k = (const T *)at[2];
  const T *v = (const T *)at[3], *out = (const T *)at[4];
  const float *lse = (const float *)at[5];
  const int64_t rows = a.batch * a.heads * a.seq, rows_a_block = ROW_THREADS / WARP_LANES;
  run.blocks(dim3((unsigned)((rows + rows_a_block - 1) / rows_a_block)), ROW_THREADS, row_terms<T>,
             d_out, out, term, a);
  if (attention_backward_on_tensor_cores(args, a, term, &run)) return;
  with_split(a.head, [&](auto split) {
    typedef decltype(split) S;
    run.blocks(grid_of(a, S::ROWS, a.heads), THREADS, slope_queries<T, S>, d_out, q, k, v, lse,
               term, (T *)at[6], a);
    run.blocks(grid_of(a, S::ROWS, a.kv_heads), THREADS, slope_keys<T, S>, d_out, q, k, v, lse,
               term, (T *)at[7], (T *)at[8], a);
  });
}

static KernelStatus run_backward(const KernelArgs *args, const char **why, const char *name,
                                 const int32_t *begin, int32_t scratch) {
  Attention a = attention_of(args);
  a.begin = begin;
  if (!is_taken(a, why)) return KERNEL_REFUSED;
  a.d_q_stride = args->dim[8];
  a.d_k_stride = args->dim[9];
  a.d_v_stride = args->dim[10];
  return with_float(args->dtype[0], why, [=](auto number) {
    Launch run(args, why, name);
    launch_backward<decltype(number)>(run, args, a, (float *)args->operand[scratch]);
    return run.status;
  });
}

CUDA_KERNEL(attention_backward) {
  return run_backward(args, why, "attention_backward", NULL, 9);
}
CUDA_KERNEL(attention_apart_backward) {
  return run_backward(args, why, "attention_apart_backward", (const int32_t *)args->operand[9], 10);
}

/* ---- two sets of keys ---- */

/* A head of a token; see reference/attention_merge.c. */
template <class T, class F>
__global__ void merge_rows(F *out, float *lse, const T *out1, const float *lse1, int64_t rows,
                           int64_t seq, int64_t heads, int64_t head, bool accumulate) {
  int64_t r = blockIdx.x, h = r % heads, i = r / heads % seq, b = r / heads / seq;
  int64_t row = (b * heads + h) * seq + i;
  float before = accumulate ? lse[row] : -INFINITY, other = lse1[row];
  __syncthreads(); /* everyone has the old lse */
  if (r >= rows || (accumulate && other == -INFINITY)) return;
  bool first = before == -INFINITY;
  float highest = before > other ? before : other;
  float weight = expf(before - highest), weight1 = expf(other - highest), sum = weight + weight1;
  for (int64_t c = threadIdx.x; c < head; c += blockDim.x) {
    float value = to_float(out1[r * head + c]);
    F *at = out + r * head + c;
    put(at, first ? value : (weight * to_float(*at) + weight1 * value) / sum);
  }
  if (threadIdx.x == 0) lse[row] = first ? other : highest + logf(sum);
}

CUDA_KERNEL(attention_merge) {
  const int64_t *dim = args->dim;
  return with_floats(args->dtype[2], args->dtype[0], why, [=](auto value, auto sum) {
    typedef decltype(value) T;
    typedef decltype(sum) F;
    void *const *at = args->operand;
    int64_t rows = dim[0] * dim[1] * dim[2];
    Launch run(args, why, "attention_merge");
    run.blocks(dim3((unsigned)rows), WARP_LANES, merge_rows<T, F>, (F *)at[0], (float *)at[1],
               (const T *)at[2], (const float *)at[3], rows, dim[1], dim[2], dim[3],
               args->accumulate);
    return run.status;
  });
}
