/* shard_run.h -- runs a sharded graph on all its ranks in lockstep, collectives by hand, and
 * compares the loss and every element of every gradient with the uncut graph's. */
#ifndef LOCKSTEP_TESTS_SHARD_RUN_H
#define LOCKSTEP_TESTS_SHARD_RUN_H

#include "tests/unit/check.h"
#include "tests/unit/graph_run.h"

enum { WORLD_RANKS_MAX = 16 };

typedef struct World {
  Graph *g;
  int32_t ranks;
  Run run[WORLD_RANKS_MAX];
  int64_t group_layers;
} World;

static inline int32_t axis_ranks(const Graph *g, int32_t axis) {
  return g->mesh.size[axis] > 1 ? (int32_t)g->mesh.size[axis] : 1;
}

/* Ranks are numbered as in a plan: the innermost axis counts fastest. */
static inline int32_t coordinate(const World *w, int32_t rank, int32_t axis) {
  for (int32_t inner = MESH_AXES - 1; inner > axis; inner--)
    rank /= axis_ranks(w->g, inner);
  return rank % axis_ranks(w->g, axis);
}

static inline int32_t member_of(const World *w, int32_t rank, uint32_t axes) {
  int32_t member = 0;
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (axes >> axis & 1) member = member * axis_ranks(w->g, axis) + coordinate(w, rank, axis);
  return member;
}

static inline int32_t member_count(const World *w, uint32_t axes) {
  int32_t count = 1;
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (axes >> axis & 1) count *= axis_ranks(w->g, axis);
  return count;
}

/* The rank that is `member` among those that differ from `rank` along `axes` only. */
static inline int32_t peer_of(const World *w, int32_t rank, uint32_t axes, int32_t member) {
  for (int32_t other = 0; other < w->ranks; other++)
    if (member_of(w, other, axes) == member &&
        member_of(w, other, ~axes) == member_of(w, rank, ~axes))
      return other;
  abort();
}

/* ---- parts of parameters */

/* Where element i of a dim's part on `rank` is in the whole dim. */
static inline int64_t whole_index(const World *w, int32_t rank, DimId d, int64_t i) {
  const Dim *dim = &w->g->dims.at[d];
  if (!dim->is_part) return i;
  return whole_index(w, rank, dim->whole, coordinate(w, rank, dim->mesh) * dim->size + i);
}

static inline int64_t whole_size(const Graph *g, DimId d) {
  while (g->dims.at[d].is_part)
    d = g->dims.at[d].whole;
  return g->dims.at[d].size;
}

/* Number in the whole parameter of element i of the rank's part. */
static inline int64_t whole_element(const World *w, int32_t rank, const Param *param, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int32_t k = param->dim_count - 1; k >= 0; k--) {
    int64_t size = w->g->dims.at[param->dims[k]].size;
    at += whole_index(w, rank, param->dims[k], i % size) * stride;
    i /= size;
    stride *= whole_size(w->g, param->dims[k]);
  }
  return at;
}

static inline void world_open(World *w, Graph *g, const Run *whole, int64_t group_layers) {
  *w = (World){.g = g, .ranks = 1, .group_layers = group_layers};
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    w->ranks *= axis_ranks(g, axis);
  assert(w->ranks <= WORLD_RANKS_MAX);
  for (int32_t rank = 0; rank < w->ranks; rank++) {
    w->run[rank] = run_new(g, group_layers);
    for (ParamId p = 0; p < g->params.count; p++) {
      const Param *param = &g->params.at[p];
      for (int64_t l = 0; l < g->regions.at[param->region].repeat; l++)
        for (int64_t i = 0; i < param->elements; i++)
          w->run[rank].param[l][p][i] = whole->param[l][p][whole_element(w, rank, param, i)];
    }
  }
}

static inline void world_close(World *w) {
  for (int32_t rank = 0; rank < w->ranks; rank++)
    run_free(&w->run[rank]);
}

/* ---- collectives, on copies of what was there before */

typedef struct Moved {
  World *w;
  const Lowered *low;
  int32_t size;                                       /* of an element */
  void *before[WORLD_RANKS_MAX][KERNEL_OPERANDS_MAX]; /* of operands that are read */
  void *at[WORLD_RANKS_MAX][KERNEL_OPERANDS_MAX];
} Moved;

static inline const void *peer_data(const Moved *m, int32_t rank, int32_t member, int32_t operand) {
  return m->before[peer_of(m->w, rank, m->low->axes, member)][operand];
}

static inline void move_element(const Moved *m, void *to, int64_t i, const void *from, int64_t k) {
  memcpy((char *)to + i * m->size, (const char *)from + k * m->size, (size_t)m->size);
}

static inline void do_all_reduce(const Moved *m, int32_t rank) {
  int64_t count = value_elements(m->w->g, m->low->operands[0]);
  double *to = m->at[rank][0];
  assert(m->size == 8);
  memset(to, 0, (size_t)count * 8);
  for (int32_t k = 0; k < member_count(m->w, m->low->axes); k++)
    for (int64_t i = 0; i < count; i++)
      to[i] += ((const double *)peer_data(m, rank, k, 0))[i];
}

static inline void do_all_gather(const Moved *m, int32_t rank) {
  int64_t times = m->low->dims[0], elements = m->low->dims[1];
  int32_t members = member_count(m->w, m->low->axes);
  for (int32_t k = 0; k < members; k++)
    for (int64_t i = 0; i < times * elements; i++)
      move_element(m, m->at[rank][1], (i / elements * members + k) * elements + i % elements,
                   peer_data(m, rank, k, 0), i);
}

static inline void do_reduce_scatter(const Moved *m, int32_t rank) {
  int64_t times = m->low->dims[0], elements = m->low->dims[1];
  int32_t members = member_count(m->w, m->low->axes), own = member_of(m->w, rank, m->low->axes);
  double *to = m->at[rank][1];
  assert(m->size == 8);
  for (int64_t i = 0; i < times * elements; i++) {
    to[i] = 0;
    for (int32_t k = 0; k < members; k++)
      to[i] += ((const double *)peer_data(
          m, rank, k, 0))[(i / elements * members + own) * elements + i % elements];
  }
}

static inline void do_all_to_all(const Moved *m, int32_t rank) {
  const int64_t *d = m->low->dims;
  int64_t outer = d[0], a = d[1], middle = d[2], b = d[3], inner = d[4];
  int64_t n = member_count(m->w, m->low->axes), own = member_of(m->w, rank, m->low->axes);
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = 0; i < outer * a * middle * b * inner; i++) {
      int64_t at_inner = i % inner, at_b = i / inner % b, at_middle = i / inner / b % middle;
      int64_t at_a = i / inner / b / middle % a, at_outer = i / inner / b / middle / a;
      int64_t x_b = m->low->attrs[0] != 0 ? k * b + at_b : own * b + at_b;
      int64_t y_a = m->low->attrs[0] != 0 ? own * a + at_a : k * a + at_a;
      int64_t x = (((at_outer * a + at_a) * middle + at_middle) * b * n + x_b) * inner + at_inner;
      int64_t y = (((at_outer * a * n + y_a) * middle + at_middle) * b + at_b) * inner + at_inner;
      const void *from = peer_data(m, rank, (int32_t)k, 0);
      if (m->low->attrs[0] != 0)
        move_element(m, m->at[rank][1], x, from, y);
      else
        move_element(m, m->at[rank][1], y, from, x);
    }
}

/* Sends are before receives here, and the k-th meets the k-th. */
static inline void do_exchange(const Moved *m, int32_t rank) {
  int32_t n = member_count(m->w, m->low->axes), own = member_of(m->w, rank, m->low->axes);
  int32_t half = m->low->operand_count / 2;
  for (int32_t i = half; i < m->low->operand_count; i++) {
    int32_t from = (int32_t)(own + m->low->dims[i] + n) % n;
    CHECK_INT(m->low->dims[i - half], -m->low->dims[i]);
    CHECK_INT(m->low->access[i - half], ACCESS_READ);
    memcpy(m->at[rank][i], peer_data(m, rank, from, i - half),
           (size_t)run_operand_bytes(m->w->g, m->low->operands[i]));
  }
}

static inline void world_move(World *w, RegionId r, int64_t l, const Lowered *low) {
  Moved m = {
      .w = w, .low = low, .size = (int32_t)dtype_bytes(graph_value(w->g, low->operands[0])->dtype)};
  for (int32_t rank = 0; rank < w->ranks; rank++)
    for (int32_t i = 0; i < low->operand_count; i++) {
      int64_t bytes = run_operand_bytes(w->g, low->operands[i]);
      m.at[rank][i] = run_address(&w->run[rank], r, l, low->operands[i]);
      if (low->access[i] == ACCESS_WRITE) continue;
      m.before[rank][i] = malloc((size_t)bytes);
      assert(m.before[rank][i]);
      memcpy(m.before[rank][i], m.at[rank][i], (size_t)bytes);
    }
  for (int32_t rank = 0; rank < w->ranks; rank++) {
    if (low->kind == RECORD_ALL_REDUCE) do_all_reduce(&m, rank);
    if (low->kind == RECORD_ALL_GATHER) do_all_gather(&m, rank);
    if (low->kind == RECORD_REDUCE_SCATTER) do_reduce_scatter(&m, rank);
    if (low->kind == RECORD_ALL_TO_ALL) do_all_to_all(&m, rank);
    if (low->kind == RECORD_EXCHANGE) do_exchange(&m, rank);
  }
  for (int32_t rank = 0; rank < w->ranks; rank++)
    for (int32_t i = 0; i < low->operand_count; i++)
      free(m.before[rank][i]);
}

/* ---- lists and steps, on all ranks */

static inline void world_node(World *w, RegionId r, int64_t l, const Node *n) {
  Lowered low;
  op_lower(w->g, n, &low);
  if (!low.kernel) return;
  if (low.kind != RECORD_KERNEL) {
    world_move(w, r, l, &low);
    return;
  }
  for (int32_t rank = 0; rank < w->ranks; rank++) {
    Lowered own = low;
    for (int32_t i = 0; i < low.vary_count; i++) {
      const LoweredVary *vary = &low.varies[i];
      int32_t member = member_of(w, rank, vary->axes);
      own.attrs[vary->attr] += member * vary->stride + (vary->values ? vary->values[member] : 0);
    }
    run_lowered(&w->run[rank], r, l, n, &own);
  }
}

static inline void world_list(World *w, RegionId r, int64_t l, const NodeList *list) {
  for (int32_t i = 0; i < list->count; i++)
    world_node(w, r, l, graph_node(w->g, list->at[i]));
}

/* The carried value (or its gradient) of the next region or layer is where this one's is. */
static inline void world_bind(World *w, RegionId r, int64_t l, ValueId v, void **at) {
  for (int32_t rank = 0; rank < w->ranks; rank++)
    run_bind(&w->run[rank], r, l, v, at[rank]);
}

static inline void world_carry(World *w, RegionId r, int64_t l, ValueId v, void **at) {
  for (int32_t rank = 0; rank < w->ranks && v != NO_ID; rank++)
    at[rank] = run_address(&w->run[rank], r, l, v);
}

static inline void world_forward(World *w) {
  void *carried[WORLD_RANKS_MAX] = {0};
  for (RegionId r = 0; r < w->g->regions.count; r++) {
    const Region *region = &w->g->regions.at[r];
    for (int64_t l = 0; l < region->repeat; l++) {
      world_bind(w, r, l, region->input, carried);
      world_list(w, r, l, &region->forward);
      world_carry(w, r, l, region->output, carried);
    }
  }
}

static inline void world_recompute(World *w, RegionId r, int64_t first, int64_t end) {
  const Region *region = &w->g->regions.at[r];
  void *carried[WORLD_RANKS_MAX] = {0};
  for (int64_t l = first; l < end; l++) {
    if (l > first) {
      world_carry(w, r, l - 1, region->output_again, carried);
      world_bind(w, r, l, region->input, carried);
    }
    world_list(w, r, l, &region->recompute);
  }
}

static inline void world_backward(World *w) {
  void *d_carried[WORLD_RANKS_MAX] = {0};
  for (RegionId r = w->g->regions.count - 1; r >= 0; r--) {
    const Region *region = &w->g->regions.at[r];
    bool again = region->recompute.count > 0;
    for (int64_t l = 0; again && l < region->repeat; l++)
      for (int32_t rank = 0; rank < w->ranks; rank++)
        run_forget(&w->run[rank], r, l);
    for (int64_t l = region->repeat - 1; l >= 0; l--) {
      int64_t group = w->group_layers;
      if (again && (l == region->repeat - 1 || (l + 1) % group == 0))
        world_recompute(w, r, l / group * group, l + 1);
      world_bind(w, r, l, region->d_output, d_carried);
      world_list(w, r, l, &region->backward);
      world_carry(w, r, l, region->d_input, d_carried);
    }
  }
  for (RegionId r = w->g->regions.count - 1; r >= 0; r--) /* as late as a schedule may */
    for (int64_t l = w->g->regions.at[r].repeat - 1; l >= 0; l--)
      world_list(w, r, l, &w->g->regions.at[r].weight);
}

static inline void world_step(World *w) {
  for (int32_t m = 0; m < RUN_MICROBATCHES; m++) {
    for (int32_t rank = 0; rank < w->ranks; rank++)
      w->run[rank].microbatch = m;
    world_forward(w);
    if (w->g->training) world_backward(w);
  }
}

/* ---- against the uncut graph */

/* Element i of a rank's gradient, with what other ranks have still to add. */
static inline double summed_gradient(const World *w, int32_t rank, ParamId p, int64_t l,
                                     int64_t i) {
  uint32_t axes = w->g->params.at[p].partial;
  double sum = 0;
  for (int32_t k = 0; k < member_count(w, axes); k++)
    sum += w->run[peer_of(w, rank, axes, k)].grad[l][p][i];
  return sum;
}

/* Cut classes meet in numbers of f32; everything else is f64. */
static inline double world_tolerance(const World *w) {
  return axis_ranks(w->g, MESH_TP) * axis_ranks(w->g, MESH_TP_GROUP) > 1 ? 3e-7 : 1e-12;
}

static inline void check_same_gradients(const World *w, const Run *whole) {
  for (ParamId p = 0; p < w->g->params.count; p++) {
    const Param *param = &w->g->params.at[p];
    double worst = 0, largest = 0;
    for (int64_t l = 0; l < w->g->regions.at[param->region].repeat; l++)
      for (int32_t rank = 0; rank < w->ranks; rank++)
        for (int64_t i = 0; i < param->elements; i++) {
          double want = whole->grad[l][p][whole_element(w, rank, param, i)];
          double off = fabs(summed_gradient(w, rank, p, l, i) - want);
          if (!(off <= worst)) worst = off; /* NaN, too */
          if (fabs(want) > largest) largest = fabs(want);
        }
    CHECK(largest > 0);
    if (!(worst <= world_tolerance(w))) {
      printf("  gradient of %s is off by %g of %g\n", param->name, worst, largest);
      CHECK(false);
    }
  }
}

static inline void check_same_loss(const World *w, const Run *whole) {
  double sum = 0, weight = 0;
  for (int32_t rank = 0; rank < w->ranks; rank++) {
    sum += w->run[rank].loss[0];
    weight += w->run[rank].loss[1];
  }
  CHECK_NEAR(sum / weight, whole->loss[0] / whole->loss[1], world_tolerance(w));
}

#endif
