#include "tests/parity/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/roles.h"
#include "kernels/math/bf16.h"

/* One rank's copy of a tensor: part [first, end) of its tp part, read from `at`. */
typedef struct Held {
  const Draft *draft;
  int32_t rank;
  int32_t coordinate[FLEET_AXES_MAX];
  const Param *param;
  const uint8_t *at;
  DType dtype;
  int64_t first, end;
} Held;

static void *zeroed(int64_t count, size_t item_bytes) {
  void *made = calloc((size_t)count + 1, item_bytes);
  if (!made) abort();
  return made;
}

/* ---- the tensors of a model */

static int64_t whole_elements(const Graph *g, const Param *param) {
  int64_t count = 1;
  for (int32_t i = 0; i < param->dim_count; i++) {
    const Dim *dim = &g->dims.at[param->dims[i]];
    while (dim->is_part)
      dim = &g->dims.at[dim->whole];
    count *= dim->size;
  }
  return count;
}

static void name_layer(Tensor *tensor, const char *name, int64_t layer) {
  const char *star = strchr(name, '*');
  int before = star ? (int)(star - name) : (int)strlen(name);
  if (star)
    (void)snprintf(tensor->name, sizeof tensor->name, "%.*s%lld%s", before, name, (long long)layer,
                   star + 1);
  else
    (void)snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

static void make_tensors(Tensors *tensors, const Draft *d) {
  const Graph *g = d->train;
  int64_t count = 0;
  for (ParamId p = 0; p < g->params.count; p++)
    count += d->blocks.at[d->params[p].block].layers;
  *tensors = (Tensors){.at = zeroed(count, sizeof *tensors->at)};
  for (ParamId p = 0; p < g->params.count; p++)
    for (int64_t layer = 0; layer < d->blocks.at[d->params[p].block].layers; layer++) {
      Tensor *tensor = &tensors->at[tensors->count++];
      const Param *param = &g->params.at[p];
      name_layer(tensor, param->name, layer);
      tensor->count = whole_elements(g, param);
      tensor->values = zeroed(tensor->count, sizeof *tensor->values);
      tensor->seen = zeroed(tensor->count, sizeof *tensor->seen);
    }
}

void tensors_free(Tensors *tensors) {
  for (int32_t i = 0; i < tensors->count; i++) {
    free(tensors->at[i].values);
    free(tensors->at[i].seen);
  }
  free(tensors->at);
  *tensors = (Tensors){0};
}

/* ---- from a rank's part to the whole */

/* Where entry `i` of a dim, as the rank has it, is in the whole dim; its size in *size. */
static int64_t whole_entry(const Held *held, DimId d, int64_t i, int64_t *size) {
  const Graph *g = held->draft->train;
  const Dim *dim = &g->dims.at[d];
  for (; dim->is_part; dim = &g->dims.at[dim->whole])
    i += held->coordinate[dim->mesh] * dim->size;
  *size = dim->size;
  return i;
}

static int64_t whole_index(const Held *held, int64_t index) {
  const Graph *g = held->draft->train;
  int64_t whole = 0, stride = 1;
  for (int32_t i = held->param->dim_count - 1; i >= 0; i--) {
    DimId d = held->param->dims[i];
    int64_t local = g->dims.at[d].size, size;
    whole += whole_entry(held, d, index % local, &size) * stride;
    index /= local;
    stride *= size;
  }
  return whole;
}

static float number_at(const Held *held, int64_t i) {
  float value;
  uint16_t narrow;
  if (held->dtype == DTYPE_BF16) {
    memcpy(&narrow, held->at + 2 * i, sizeof narrow);
    return bf16_to_float(narrow);
  }
  memcpy(&value, held->at + 4 * i, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* False at the first number that another rank has otherwise. */
static bool add_held(Tensor *tensor, const Held *held) {
  for (int64_t i = held->first; i < held->end; i++) {
    int64_t to = whole_index(held, i);
    float value = number_at(held, i - held->first);
    if (tensor->seen[to] && bits_of(tensor->values[to]) != bits_of(value)) {
      printf("  %s: rank %d has %.9g at %lld, a rank before it %.9g\n", tensor->name, held->rank,
             (double)value, (long long)to, (double)tensor->values[to]);
      return false;
    }
    tensor->values[to] = value;
    tensor->seen[to] = 1;
  }
  return true;
}

/* ---- where a rank has it */

/* The number of this rank among those that share a block's pieces. */
static int64_t piece_of(const Held *held) {
  return held->coordinate[MESH_DP] * held->draft->mesh.size[MESH_CP] + held->coordinate[MESH_CP];
}

/* False: the rank holds nothing of it. */
static bool find_held(Held *held, ParamId p, int64_t layer, BaseRole role, const uint8_t *arena) {
  const Draft *d = held->draft;
  const ParamPlace *place = &d->params[p];
  const Block *block = &d->blocks.at[place->block];
  const Stage *stage = &d->stages[held->coordinate[MESH_PP]];
  const StageBlock *on_stage = &stage->blocks[place->block];
  int32_t position = on_stage->held > 0 ? on_stage->position[layer] : -1;
  if (position < 0) return false;
  bool is_shard = role == BASE_PARAM ? block->shards_params : block->shards_grads;
  BaseRole found = role == BASE_PARAM ? stored_role(d, block) : is_shard ? BASE_GRAD_SHARD : role;
  const Buffer *buffer = &stage->buffers.at[on_stage->buffers[found]];
  bool own_only = is_shard || (role == BASE_GRAD && block->shards_state);
  held->param = &d->train->params.at[p];
  held->dtype = role_dtype(d, block, found);
  held->first = own_only ? piece_of(held) * place->piece : 0;
  held->end = own_only ? held->first + place->piece : place->elements;
  if (held->end > place->elements) held->end = place->elements;
  int64_t from = is_shard ? place->shard_first : place->first + held->first;
  held->at = arena + buffer->offset + position * block_stride_bytes(d, block, found) +
             from * dtype_bytes(held->dtype);
  return true;
}

static bool read_rank(Tensors *tensors, Held *held, BaseRole role, const uint8_t *arena) {
  const Draft *d = held->draft;
  int32_t next = 0;
  for (ParamId p = 0; p < d->train->params.count; p++)
    for (int64_t layer = 0; layer < d->blocks.at[d->params[p].block].layers; layer++, next++)
      if (find_held(held, p, layer, role, arena) && !add_held(&tensors->at[next], held))
        return false;
  return true;
}

static bool is_whole(const Tensor *tensor) {
  int64_t missing = 0;
  for (int64_t i = 0; i < tensor->count; i++)
    missing += !tensor->seen[i];
  if (missing > 0)
    printf("  %s: no rank has %lld of %lld numbers\n", tensor->name, (long long)missing,
           (long long)tensor->count);
  return missing == 0;
}

bool tensors_read(Tensors *tensors, const Draft *draft, const Fleet *fleet, BaseRole role) {
  make_tensors(tensors, draft);
  bool good = true;
  for (int32_t rank = 0; good && rank < fleet_rank_count(fleet); rank++) {
    Held held = {.draft = draft, .rank = rank};
    fleet_coordinates(fleet, rank, held.coordinate);
    good &= read_rank(tensors, &held, role, fleet_arena(fleet, rank));
  }
  for (int32_t i = 0; good && i < tensors->count; i++)
    good = is_whole(&tensors->at[i]);
  return good;
}

double tensor_rms(const Tensor *tensor) {
  double squares = 0;
  for (int64_t i = 0; i < tensor->count; i++)
    squares += (double)tensor->values[i] * (double)tensor->values[i];
  return sqrt(squares / (double)tensor->count);
}

double tensor_farthest(const Tensor *a, const Tensor *b) {
  double far = 0;
  for (int64_t i = 0; i < a->count; i++) {
    double here = fabs((double)a->values[i] - (double)b->values[i]);
    if (!(here <= far)) far = here;
  }
  return far;
}

double tensor_distance(const Tensor *a, const Tensor *b) {
  double squares = 0;
  for (int64_t i = 0; i < a->count; i++) {
    double here = (double)a->values[i] - (double)b->values[i];
    squares += here * here;
  }
  return sqrt(squares);
}
