/* embedding.cu -- rows of a table by id; ids that the table does not have give zeros and no
 * gradient. */
#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/runs.h"
}

struct Table {
  int64_t rows, width, vocab, first; /* rows: of ids */
};

static Table table_of(const KernelArgs *args) {
  Table table = {args->dim[0], args->dim[1], args->dim[2], (int64_t)args->attr[0]};
  return table;
}

static __device__ bool has_row(const Table &table, int32_t id) {
  return id >= table.first && id < table.first + table.vocab;
}

template <class T, int V>
__global__ void gather(const T *rows, const int32_t *ids, T *y, Table table) {
  const int64_t vectors = table.width / V; /* of a row */
  for (EACH_ELEMENT(i, table.rows * vectors)) {
    int32_t id = ids[i / vectors];
    Vector<T, V> vector = {};
    if (has_row(table, id))
      vector = *(const Vector<T, V> *)(rows + (id - table.first) * table.width + i % vectors * V);
    *(Vector<T, V> *)(y + i * V) = vector;
  }
}

CUDA_KERNEL(embedding) {
  Table table = table_of(args);
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const T *rows = (const T *)args->operand[0];
    T *y = (T *)args->operand[2];
    bool in_vectors =
        table.width * sizeof(T) % VECTOR_BYTES == 0 && is_aligned(rows) && is_aligned(y);
    Launch run(args, why, "embedding");
    with_vectors<sizeof(T)>(in_vectors, [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.flat(table.rows * (table.width / V), gather<T, V>, rows,
               (const int32_t *)args->operand[1], y, table);
    });
    return run.status;
  });
}

/* ---- backward: the table's rows are shared out over parts, a block each. The block searches all
 * ids for those of its part, and lists them in order. Then each of its warps adds up all rows of an
 * id, in order, in some columns: every element of the table is added to once, by one thread. */

enum {
  PARTS_MOST = 1024, /* some for each multiprocessor; a power of two */
  SEARCH_THREADS = 256,
  SEARCH_WARPS = SEARCH_THREADS / WARP_LANES,
  SEARCH_EACH = 4, /* ids that a thread looks at once */
  FOUND_MOST = 4096,
  ROWS_AT_ONCE = 8
};

/* Rows of ids of one part, in order; their number may be more than there is room for. */
struct Found {
  int32_t *id, *row;
  int count;
};

/* True if the id is in the table and this block adds its gradient. */
static __device__ bool is_of_part(const Table &table, int32_t id) {
  return has_row(table, id) && ((uint32_t)id & (gridDim.x - 1)) == blockIdx.x;
}

/* Notes which of the next ids are of the block's part. All threads of the block call it. */
static __device__ void find(Found *found, const Table &table, const int32_t *ids, int64_t first) {
  static_assert(SEARCH_EACH * SEARCH_WARPS == WARP_LANES, "a lane for each ballot");
  SHARED(unsigned, ballot, WARP_LANES);
  const int lane = (int)threadIdx.x % WARP_LANES, warp = (int)threadIdx.x / WARP_LANES;
  int32_t id[SEARCH_EACH];
  unsigned bits[SEARCH_EACH];
#pragma unroll
  for (int k = 0; k < SEARCH_EACH; k++) {
    int64_t row = first + k * SEARCH_THREADS + threadIdx.x;
    id[k] = row < table.rows ? ids[row] : -1;
  }
  __syncthreads(); /* the ballots before have been read */
#pragma unroll
  for (int k = 0; k < SEARCH_EACH; k++) {
    bits[k] = __ballot_sync(0xffffffffu, is_of_part(table, id[k]));
    if (lane == 0) ballot[k * SEARCH_WARPS + warp] = bits[k];
  }
  __syncthreads();
  const int count = __popc(ballot[lane]);
  int until = count; /* of this ballot and all before it */
  if (__ballot_sync(0xffffffffu, count > 0) == 0) return;
  for (int lanes = 1; lanes < WARP_LANES; lanes *= 2) {
    int before = __shfl_sync(0xffffffffu, until, lane - lanes);
    if (lane >= lanes) until += before;
  }
#pragma unroll
  for (int k = 0; k < SEARCH_EACH; k++) {
    int at = found->count + __shfl_sync(0xffffffffu, until - count, k * SEARCH_WARPS + warp) +
             __popc(bits[k] & ((1u << lane) - 1));
    if ((bits[k] >> lane & 1u) == 0 || at >= FOUND_MOST) continue;
    found->id[at] = id[k];
    found->row[at] = (int32_t)(first + k * SEARCH_THREADS + threadIdx.x);
  }
  found->count += __shfl_sync(0xffffffffu, until, WARP_LANES - 1);
}

/* The number of rows that a thread loads at once, and the least bytes of registers that a value
 * counts for: with as much under way as of bf16, registers of fp16 spill. */
template <class T> struct Scattered {
  static constexpr int ROWS = ROWS_AT_ONCE;
  static constexpr size_t BYTES = sizeof(T);
};
template <> struct Scattered<F16> {
  static constexpr int ROWS = 2;
  static constexpr size_t BYTES = sizeof(float);
};

/* Adds the rows of d_y whose bits are set, the lowest first. */
template <int V, class T, class RowOf>
static __device__ void add_rows(float *sum, const T *d_y, int64_t width, unsigned bits,
                                RowOf row_of) {
  constexpr int ROWS = Scattered<T>::ROWS;
  while (bits != 0) {
    Vector<T, V> vector[ROWS] = {};
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      if (bits != 0)
        vector[i] = *(const Vector<T, V> *)(d_y + row_of(__ffs((int)bits) - 1) * width);
      bits &= bits - 1;
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
      for (int v = 0; v < V; v++)
        sum[v] += to_float(vector[i].at[v]);
  }
}

/* Where sums in some columns of an id go. */
template <int V, class G>
static __device__ void add_to_table(G *d_table, const Table &table, int32_t id, int64_t column,
                                    const float *sum) {
  float now[V];
  G *to = d_table + (id - table.first) * table.width + column;
  load_vector<V>(to, now);
#pragma unroll
  for (int v = 0; v < V; v++)
    now[v] += sum[v];
  store_vector<V>(to, now);
}

/* Columns of a warp, of which each lane has V. */
template <int V> static __device__ int64_t column_of(int64_t strip) {
  return (strip * WARP_LANES + threadIdx.x % WARP_LANES) * V;
}

/* A warp has an id where it was found first, in a strip of columns. */
template <int V, class T, class G>
static __device__ void add_found(const Found &found, const T *d_y, G *d_table, const Table &table,
                                 int64_t strips) {
  const int lane = (int)threadIdx.x % WARP_LANES;
  for (int64_t i = threadIdx.x / WARP_LANES; i < found.count * strips; i += SEARCH_WARPS) {
    const int place = (int)(i / strips);
    const int32_t id = found.id[place];
    const int64_t column = column_of<V>(i % strips);
    bool is_earlier = false;
    for (int k = lane; k < place; k += WARP_LANES)
      is_earlier = is_earlier || found.id[k] == id;
    if (__ballot_sync(0xffffffffu, is_earlier) != 0) continue;
    float sum[V] = {};
    for (int k = place; k < found.count; k += WARP_LANES) {
      bool is_ours = k + lane < found.count && found.id[k + lane] == id;
      unsigned bits = __ballot_sync(0xffffffffu, is_ours);
      add_rows<V>(sum, d_y + column, table.width, column < table.width ? bits : 0,
                  [&](int bit) { return (int64_t)found.row[k + bit]; });
    }
    if (column < table.width) add_to_table<V>(d_table, table, id, column, sum);
  }
}

/* The same where more rows were found than can be noted: a warp looks through all ids itself. */
template <int V, class T, class G>
static __device__ void add_all(const int32_t *ids, const T *d_y, G *d_table, const Table &table,
                               int64_t strips) {
  const int lane = (int)threadIdx.x % WARP_LANES;
  const int64_t parts = gridDim.x, first = (blockIdx.x - table.first) & (parts - 1);
  const int64_t count = (table.vocab - first + parts - 1) / parts;
  for (int64_t i = threadIdx.x / WARP_LANES; i < count * strips; i += SEARCH_WARPS) {
    const int32_t id = (int32_t)(table.first + first + i / strips * parts);
    const int64_t column = column_of<V>(i % strips);
    unsigned bits[SEARCH_EACH], any = 0;
    float sum[V] = {};
    for (int64_t r = 0; r < table.rows; r += SEARCH_EACH * WARP_LANES) {
#pragma unroll
      for (int k = 0; k < SEARCH_EACH; k++) {
        int64_t row = r + k * WARP_LANES + lane;
        bits[k] = row < table.rows && ids[row] == id;
      }
#pragma unroll
      for (int k = 0; k < SEARCH_EACH; k++) {
        unsigned found = __ballot_sync(0xffffffffu, (int)bits[k]);
        any |= found;
        add_rows<V>(sum, d_y + column, table.width, column < table.width ? found : 0,
                    [=](int bit) { return r + k * WARP_LANES + bit; });
      }
    }
    if (any != 0 && column < table.width) add_to_table<V>(d_table, table, id, column, sum);
  }
}

template <class T, class G, int V>
__global__ void __launch_bounds__(SEARCH_THREADS)
    scatter_part(const T *d_y, const int32_t *ids, G *d_table, Table table) {
  SHARED(int32_t, id, FOUND_MOST);
  SHARED(int32_t, row, FOUND_MOST);
  Found found = {id, row, 0};
  for (int64_t first = 0; first < table.rows; first += SEARCH_EACH * SEARCH_THREADS)
    find(&found, table, ids, first);
  __syncthreads(); /* until all indices are noted */
  const int64_t strips = (table.width + WARP_LANES * V - 1) / (WARP_LANES * V);
  if (found.count <= FOUND_MOST)
    add_found<V>(found, d_y, d_table, table, strips);
  else
    add_all<V>(ids, d_y, d_table, table, strips);
}

template <class G, int V> __global__ void clear(G *at, int64_t n) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    *(Vector<G, W> *)(at + i) = Vector<G, W>{};
  });
}

static unsigned parts_of(int64_t vocab) {
  unsigned parts = 1;
  while (parts < vocab && parts < PARTS_MOST)
    parts *= 2;
  return parts;
}

CUDA_KERNEL(embedding_backward) {
  Table table = table_of(args);
  return with_floats(args->dtype[0], args->dtype[2], why, [=](auto value, auto gradient) {
    typedef decltype(value) T;
    typedef decltype(gradient) G;
    constexpr size_t LARGER = Scattered<T>::BYTES > sizeof(G) ? Scattered<T>::BYTES : sizeof(G);
    const T *d_y = (const T *)args->operand[0];
    const int32_t *ids = (const int32_t *)args->operand[1];
    G *d_table = (G *)args->operand[2];
    const int64_t all = table.vocab * table.width;
    bool in_vectors = table.width * LARGER % VECTOR_BYTES == 0 && is_aligned(d_y);
    Launch run(args, why, "embedding_backward");
    if (!args->accumulate)
      with_vectors<sizeof(G)>(is_aligned(d_table), [&](auto count) {
        constexpr int V = decltype(count)::VALUE;
        run.vectors<V>(all, clear<G, V>, d_table, all);
      });
    with_vectors<LARGER>(in_vectors && is_aligned(d_table), [&](auto count) {
      run.blocks(dim3(parts_of(table.vocab)), SEARCH_THREADS,
                 scatter_part<T, G, decltype(count)::VALUE>, d_y, ids, d_table, table);
    });
    return run.status;
  });
}

__global__ void number_tokens(int32_t *y, Runs runs) {
  for (EACH_ELEMENT(i, runs.seq))
    y[i] = (int32_t)runs_position(runs, i);
}

CUDA_KERNEL(positions) {
  Runs runs = {args->dim[0], (int64_t)args->attr[0], (int64_t)args->attr[1]};
  Launch run(args, why, "positions");
  run.flat(runs.seq, number_tokens, (int32_t *)args->operand[0], runs);
  return run.status;
}
