/* embedding.cu -- rows of a table by id; ids that the table does not have give zeros and no
 * gradient. */
#include "kernels/cuda/cuda.h"
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

template <class T> __global__ void gather(const T *rows, const int32_t *ids, T *y, Table table) {
  for (EACH_ELEMENT(i, table.rows * table.width)) {
    int32_t id = ids[i / table.width];
    if (has_row(table, id))
      y[i] = rows[(id - table.first) * table.width + i % table.width];
    else
      put(y + i, 0);
  }
}

CUDA_KERNEL(embedding) {
  Table table = table_of(args);
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "embedding");
    run.flat(table.rows * table.width, gather<T>, (const T *)args->operand[0],
             (const int32_t *)args->operand[1], (T *)args->operand[2], table);
    return run.status;
  });
}

template <class G> __global__ void clear(G *at, int64_t n) {
  for (EACH_ELEMENT(i, n))
    put(at + i, 0);
}

/* Rows [first, first + ROW_THREADS) that have the id, in order, as distances from `base`; returns
 * how many. All threads of the block call it. */
static __device__ int find_rows(const int32_t *ids, int32_t id, int64_t rows, int64_t base,
                                int64_t first, int32_t *found) {
  SHARED(unsigned, ballot, ROW_THREADS / WARP_LANES);
  unsigned lane = threadIdx.x % WARP_LANES, warp = threadIdx.x / WARP_LANES;
  int64_t row = first + threadIdx.x;
  bool is_ours = row < rows && ids[row] == id;
  unsigned bits = __ballot_sync(0xffffffffu, is_ours);
  __syncthreads(); /* what was found before has been read */
  if (lane == 0) ballot[warp] = bits;
  __syncthreads();
  int before = __popc(bits & ((1u << lane) - 1)), all = 0;
  for (unsigned w = 0; w < ROW_THREADS / WARP_LANES; w++) {
    if (w < warp) before += __popc(ballot[w]);
    all += __popc(ballot[w]);
  }
  if (is_ours) found[before] = (int32_t)(row - base);
  __syncthreads();
  return all;
}

/* The block of the first row with an id sums all rows with that id, in order: every element of the
 * table is added to once, by one thread. */
template <class T, class G>
__global__ void scatter_first(const T *d_y, const int32_t *ids, G *d_table, Table table) {
  SHARED(int32_t, found, ROW_THREADS);
  int64_t row = blockIdx.x;
  int32_t id = ids[row];
  if (!has_row(table, id)) return;
  int earlier = 0;
  for (int64_t r = threadIdx.x; r < row; r += blockDim.x)
    earlier += ids[r] == id;
  if (block_sum(earlier) > 0) return;
  G *to = d_table + (id - table.first) * table.width;
  for (int64_t column = 0; column < table.width; column += ROW_THREADS) {
    int64_t c = column + threadIdx.x;
    float sum = 0;
    for (int64_t first = row; first < table.rows; first += ROW_THREADS) {
      int count = find_rows(ids, id, table.rows, row, first, found);
      for (int k = 0; k < count && c < table.width; k++)
        sum += to_float(d_y[(row + found[k]) * table.width + c]);
    }
    if (c < table.width) put(to + c, to_float(to[c]) + sum);
  }
}

CUDA_KERNEL(embedding_backward) {
  Table table = table_of(args);
  return with_floats(args->dtype[0], args->dtype[2], why, [=](auto value, auto gradient) {
    typedef decltype(value) T;
    typedef decltype(gradient) G;
    G *d_table = (G *)args->operand[2];
    Launch run(args, why, "embedding_backward");
    if (!args->accumulate)
      run.flat(table.vocab * table.width, clear<G>, d_table, table.vocab * table.width);
    run.blocks(dim3((unsigned)table.rows), ROW_THREADS, scatter_first<T, G>,
               (const T *)args->operand[0], (const int32_t *)args->operand[1], d_table, table);
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
