/* layouts_test.c -- a checkpoint of any layout is loaded in any other, to the bit.
 *
 * No steps are run: every element of the state gets a value that follows from its tensor, its kind
 * and its place in the whole. What each rank's memory holds is computed here from the layout alone,
 * element by element, so that neither side is compared with itself. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/math/bf16.h"
#include "kernels/math/codes.h"
#include "kernels/math/philox.h"
#include "kernels/math/split.h"
#include "runtime/boot/local.h"
#include "runtime/checkpoint/owner.h"
#include "runtime/checkpoint/take.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

enum { RANKS_MAX = 16, LAYOUTS_MAX = 24, CHANGES_MAX = 8 };

static char folder[64];

typedef struct LayoutCase {
  const char *name, *model;
  const char *change[CHANGES_MAX];
} LayoutCase;

/* Layouts of one model and precision: each is loaded from the one before, the first from the last.
 */
static const LayoutCase fp32[] = {
    {"one rank", "llama", {NULL}},
    {"tp 4, shared key-value heads",
     "llama",
     {"cluster.devices=4", "parallel={tp=4}", "model.vocab_multiple=4"}},
    {"dp 4, zero 1, parts of 256 bytes",
     "llama",
     {"cluster.devices=4", "parallel={zero=1}", "checkpoint.part=256B"}},
    {"pp 2 x tp 2 x dp 2, zero 2, padded",
     "llama",
     {"cluster.devices=8", "parallel={tp=2,pp=2,zero=2}", "model.vocab_multiple=40"}},
    {"dp 4, zero 3", "llama", {"cluster.devices=4", "parallel={zero=3, zero_keep=\"0B\"}"}},
    {"interleaved",
     "llama",
     {"cluster.devices=2", "parallel={pp=2, pipeline={\"interleaved\", chunks=2}}"}},
    {"cp 2 x tp 2, zero 1, parts of 64 KiB",
     "llama",
     {"cluster.devices=4", "parallel={tp=2,cp=2,zero=1}", "checkpoint.part=64KiB"}},
    {"dp 4 in groups of 2, zero 3",
     "llama",
     {"cluster.devices=4", "parallel={zero=3, zero_group=2}"}},
};
static const LayoutCase tied[] = {
    {"tied, one rank", "gpt2", {NULL}},
    {"tied, pp 2 x dp 2, zero 2", "gpt2", {"cluster.devices=4", "parallel={pp=2,zero=2}"}},
    {"tied, tp 2 x pp 2", "gpt2", {"cluster.devices=4", "parallel={tp=2,pp=2}"}},
    {"tied, zero 3", "gpt2", {"cluster.devices=2", "parallel={zero=3}"}},
};
static const LayoutCase bf16[] = {
    {"bf16, one rank", "llama", {"precision=bf16"}},
    {"bf16, tp 2 x dp 2, zero 1",
     "llama",
     {"precision=bf16", "cluster.devices=4", "parallel={tp=2,zero=1}", "checkpoint.part=4KiB"}},
    {"bf16, zero 3",
     "llama",
     {"precision=bf16", "cluster.devices=4", "parallel={zero=3, zero_keep=\"0B\"}"}},
    {"fp32 weights",
     "llama",
     {"cluster.devices=2", "parallel={zero=2}"}}, /* of a master, and back */
};
static const LayoutCase split[] = {
    {"split, one rank", "llama", {"precision={\"bf16\", master=\"split\"}"}},
    {"split, dp 4, zero 2",
     "llama",
     {"precision={\"bf16\", master=\"split\"}", "cluster.devices=4", "parallel={zero=2}"}},
    {"split, tp 2 x dp 2, zero 3",
     "llama",
     {"precision={\"bf16\", master=\"split\"}", "cluster.devices=4",
      "parallel={tp=2,zero=3, zero_keep=\"0B\"}"}},
};
static const LayoutCase kahan[] = {
    {"kahan, one rank", "llama", {"precision={\"bf16\", update=\"kahan\"}"}},
    {"kahan, tp 2 x dp 2, zero 2",
     "llama",
     {"precision={\"bf16\", update=\"kahan\"}", "cluster.devices=4", "parallel={tp=2,zero=2}",
      "checkpoint.part=1KiB"}},
};

#define INT8 "precision.moments=int8", "model.ffn=136" /* which codes have tensors of */

/* Moments in codes: pieces of ZeRO are whole blocks, and tp has blocks of other elements. */
static const LayoutCase int8[] = {
    {"int8, one rank", "llama", {INT8}},
    {"int8, dp 4, zero 3, parts of 256 bytes",
     "llama",
     {INT8, "cluster.devices=4", "parallel={zero=3, zero_keep=\"0B\"}", "checkpoint.part=256B"}},
    {"int8, tp 2 x dp 2, zero 2, padded",
     "llama",
     {INT8, "cluster.devices=4", "parallel={tp=2,zero=2}", "model.vocab_multiple=40"}},
    {"int8, tp 4",
     "llama",
     {INT8, "cluster.devices=4", "parallel={tp=4}", "model.vocab_multiple=4"}},
    {"int8, pp 2 x tp 2", "llama", {INT8, "cluster.devices=4", "parallel={tp=2,pp=2}"}},
};

/* ---- the value of an element */

/* A finite number: its bits as an f32. */
static uint32_t bits_of(const char *name, uint32_t kind, int64_t index) {
  uint64_t hash = kind * 1000003u + 17;
  for (; *name; name++)
    hash = philox_mix(hash, (uint64_t)(unsigned char)*name);
  return (uint32_t)philox_mix(hash, (uint64_t)index) & 0xbfffffffu;
}

static float real_of(const char *name, uint32_t kind, int64_t index) {
  uint32_t bits = bits_of(name, kind, index);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The masters of a plan: it has some, and they are split. */
typedef struct Masters {
  bool any, split;
} Masters;

static Masters masters_of(const Plan *plan) {
  Masters masters = {0};
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].kind == BUFFER_MASTER) {
      masters.any = true;
      masters.split |= plan->tensors[i].dtype == DTYPE_I16;
    }
  return masters;
}

/* Weights are the rounding of one number, whatever they are stored as. */
static void put_value(const Masters *masters, const PlanTensor *tensor, const char *name,
                      int64_t index, uint8_t *to) {
  bool weight = tensor->kind == BUFFER_PARAM || tensor->kind == BUFFER_MASTER;
  float value = real_of(name, weight ? BUFFER_PARAM : tensor->kind, index);
  uint16_t half = masters->split ? split_high(value) : bf16_from_float(value);
  if (tensor->kind == BUFFER_MASTER && tensor->dtype == DTYPE_I16)
    half = (uint16_t)split_low(value);
  if (dtype_bytes((DType)tensor->dtype) == 2)
    memcpy(to, &half, sizeof half);
  else
    memcpy(to, &value, sizeof value);
}

/* ---- where it lies */

enum { PADDING = -1 };

static int64_t part_of(const Plan *plan, const PlanLayoutDim *dim, const int32_t *coordinate,
                       int64_t *room) {
  int64_t index = 0, parts = 1;
  for (uint32_t i = 0; i < dim->cuts_count; i++) {
    uint32_t axis = plan->cuts[dim->cuts_first + i].axis;
    index = index * plan->axes[axis].size + coordinate[axis];
    parts *= plan->axes[axis].size;
  }
  *room = dim->size / parts;
  return index;
}

/* The index in the whole, real sizes, of element `at` of a rank's memory; PADDING: it is none. */
static int64_t whole_index(const Plan *plan, const PlanTensor *tensor, const int32_t *coordinate,
                           int64_t at) {
  const PlanLayout *layout = &plan->layouts[tensor->layout];
  int64_t member = 0, whole = 0, scale = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if (layout->flat_axes >> i & 1u) member = member * plan->axes[i].size + coordinate[i];
  at += member * layout->piece;
  for (uint32_t i = layout->dims_count; i-- > 0;) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + i];
    int64_t room = 0, part = part_of(plan, dim, coordinate, &room);
    int64_t index = part * room + at % room;
    at /= room;
    if (index >= dim->real_size) return PADDING;
    whole += index * scale;
    scale *= dim->real_size;
  }
  return at == 0 ? whole : PADDING;
}

static bool is_coded(const PlanTensor *tensor) {
  return tensor->dtype == DTYPE_U8 || tensor->kind == BUFFER_MOMENT1_MAX ||
         tensor->kind == BUFFER_MOMENT2_MAX;
}

/* Calls for each element of a rank's state but moments in codes. */
typedef void Element(void *context, const PlanTensor *tensor, const char *name, int64_t index,
                     uint8_t *at);

static void each_element(const Plan *plan, const Mesh *mesh, int32_t rank, uint8_t *const *arena,
                         Element *element, void *context) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  int32_t coordinate[PLAN_AXES_MAX];
  state_coordinates(plan, mesh_number(mesh, rank), coordinate);
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (!state_kind_of(tensor->kind) || is_coded(tensor)) continue;
    for (uint32_t k = 0; k < tensor->layer_count; k++) {
      char *name = state_layer_name(
          plan, tensor, tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)k);
      uint8_t *base = arena[tensor->tier] + tensor->offset + k * tensor->layer_stride;
      for (int64_t e = 0; e < tensor->elements; e++)
        element(context, tensor, name, whole_index(plan, tensor, coordinate, e),
                base + e * dtype_bytes((DType)tensor->dtype));
      free(name);
    }
  }
}

/* ---- moments in codes */

/* Most are small beside their block's largest. */
static float moment_of(const char *name, uint32_t kind, int64_t index) {
  const float unit = (float)(bits_of(name, kind, index) >> 8 & 0xffff) / 65536.0f;
  const float sign = (bits_of(name, kind, index) & 1) != 0 && kind == BUFFER_MOMENT1 ? -1 : 1;
  return sign * unit * unit * unit;
}

/* A layer of a tensor of codes, on one rank. */
typedef struct Coded {
  const PlanTensor *tensor;
  const char *name;
  const int32_t *coordinate;
  uint8_t *code;
  float *most;
} Coded;

static void put_block(const Coded *c, const float *number, int64_t n, uint8_t *code, float *most) {
  static const CodesMap of_m = CODES_SIGNED, of_v = CODES_POSITIVE;
  *most = 0;
  for (int64_t i = 0; i < n; i++)
    *most = fmaxf(*most, fabsf(number[i]));
  const float inverse = codes_inverse(*most);
  for (int64_t i = 0; i < n; i++)
    code[i] = *most == 0                          ? 0
              : c->tensor->kind == BUFFER_MOMENT1 ? codes_signed(&of_m, number[i], inverse)
                                                  : codes_positive(&of_v, number[i], inverse);
}

/* The half of the widest gap of a map, relative to a block's maximum, which is 1 at most. */
static double widest_error(const PlanTensor *tensor) {
  return (tensor->kind == BUFFER_MOMENT1 ? 0.9 / 128 : 0.9 / 256) * 1.001;
}

/* The block that begins with element `first`; returns how many elements are wrong: they have other
 * codes, or with `blocks_move` they are farther off than two roundings. */
static int64_t see_block(const Plan *plan, const Coded *c, int64_t first, bool saves,
                         bool blocks_move) {
  const int64_t left = c->tensor->elements - first, n = left < CODES_BLOCK ? left : CODES_BLOCK;
  float number[CODES_BLOCK], most;
  uint8_t code[CODES_BLOCK], *at = c->code + first;
  bool is_real[CODES_BLOCK];
  int64_t wrong = 0, real = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t index = whole_index(plan, c->tensor, c->coordinate, first + i);
    is_real[i] = index != PADDING;
    real += is_real[i];
    number[i] = is_real[i] ? moment_of(c->name, c->tensor->kind, index) : 0;
  }
  if (saves) put_block(c, number, n, at, &c->most[first / CODES_BLOCK]);
  if (saves || real == 0) return 0;
  put_block(c, number, n, code, &most);
  if (!blocks_move && most != c->most[first / CODES_BLOCK]) return n;
  for (int64_t i = 0; i < n; i++) {
    const float value =
        c->tensor->kind == BUFFER_MOMENT1 ? codes_signed_value(at[i]) : codes_positive_value(at[i]);
    const double off = fabs((double)(value * c->most[first / CODES_BLOCK]) - (double)number[i]);
    const bool good = blocks_move ? off <= 2 * widest_error(c->tensor) : code[i] == at[i];
    wrong += is_real[i] && !good;
  }
  return wrong;
}

/* Fills the moments of a rank, or returns how many are wrong. */
static int64_t see_codes(const Plan *plan, const Mesh *mesh, int32_t rank, uint8_t *const *arena,
                         bool saves, bool blocks_move) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  int32_t coordinate[PLAN_AXES_MAX];
  int64_t wrong = 0;
  state_coordinates(plan, mesh_number(mesh, rank), coordinate);
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (tensor->dtype != DTYPE_U8) continue;
    for (uint32_t k = 0; k < tensor->layer_count; k++) {
      const int32_t layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)k;
      const PlanTensor *maxima = checkpoint_tensor(
          plan, class, tensor->name,
          tensor->kind == BUFFER_MOMENT1 ? BUFFER_MOMENT1_MAX : BUFFER_MOMENT2_MAX, layer);
      char *name = state_layer_name(plan, tensor, layer);
      uint8_t *most = arena[maxima->tier] + maxima->offset + k * maxima->layer_stride;
      const Coded coded = {tensor, name, coordinate,
                           arena[tensor->tier] + tensor->offset + k * tensor->layer_stride,
                           (float *)(void *)most};
      for (int64_t first = 0; first < tensor->elements; first += CODES_BLOCK)
        wrong += see_block(plan, &coded, first, saves, blocks_move);
      free(name);
    }
  }
  return wrong;
}

typedef struct Sight {
  Masters masters;
  int64_t wrong;
  char first[256];
} Sight;

static void fill(void *context, const PlanTensor *tensor, const char *name, int64_t index,
                 uint8_t *at) {
  const Sight *sight = context;
  if (index == PADDING)
    memset(at, 0, (size_t)dtype_bytes((DType)tensor->dtype));
  else
    put_value(&sight->masters, tensor, name, index, at);
}

/* Padding must be as it was: 0xee. */
static void compare(void *context, const PlanTensor *tensor, const char *name, int64_t index,
                    uint8_t *at) {
  Sight *sight = context;
  uint8_t want[8] = {0xee, 0xee, 0xee, 0xee};
  if (index != PADDING) put_value(&sight->masters, tensor, name, index, want);
  if (memcmp(at, want, (size_t)dtype_bytes((DType)tensor->dtype)) == 0) return;
  if (sight->wrong++ == 0)
    (void)snprintf(sight->first, sizeof sight->first, "%s/%s element %lld", name,
                   state_kind_of(tensor->kind)->name, (long long)index);
}

/* ---- a world of ranks that save or load */

typedef struct LayoutWorld {
  Plan plan;
  Mesh mesh;
  Boot *boot;
  char path[CHECKPOINT_PATH_BYTES];
  bool saves, blocks_move; /* blocks_move: of codes, since they were saved */
  int64_t step;
  Checkpoint checkpoint[RANKS_MAX];
  CheckpointStore store[RANKS_MAX];
  int64_t wrong;
  char first[256];
} LayoutWorld;

static bool meet(Comm *comm) {
  return comm->ops->barrier(comm);
}

static bool save_as(LayoutWorld *world, int32_t rank, Comm *comm, CheckpointState *state,
                    Status *status) {
  CheckpointStore *store = &world->store[rank];
  bool good = checkpoint_store_open(store, &world->plan, &world->mesh, rank, rank == 0,
                                    (CheckpointData){.sum = 7}, status);
  if (good && rank == 0) good = checkpoint_store_list(store, status);
  good = good && comm->ops->broadcast_bytes(comm, 0, &store->steps, sizeof store->steps);
  if (good && rank == 0) good = checkpoint_begin(store, state->step, status);
  good = good && meet(comm) && checkpoint_write(store, state, status) && meet(comm);
  if (good && rank == 0) good = checkpoint_publish(store, state, NULL, status);
  good = good && meet(comm);
  checkpoint_store_close(store);
  return good;
}

static bool load_from(LayoutWorld *world, int32_t rank, Comm *comm, const CheckpointTarget *target,
                      Status *status) {
  int64_t below = world->step + 1;
  CheckpointFault fault;
  CheckpointChanges none = {0};
  Checkpoint *own = &world->checkpoint[rank];
  CheckpointSearch search = {.plan = &world->plan,
                             .mesh = &world->mesh,
                             .rank = rank,
                             .comm = comm,
                             .path = world->path,
                             .below = &below};
  bool good = checkpoint_find(&search, own, &fault, status) &&
              checkpoint_match(own, &world->plan, &none, status) &&
              checkpoint_verify(&search, own, &fault, status) &&
              checkpoint_restore(&search, own, target, &fault, status);
  checkpoint_close(own);
  return good;
}

static bool body(void *context, int32_t rank, Status *status) {
  LayoutWorld *world = context;
  const Plan *plan = &world->plan;
  const PlanClass *class = mesh_class(&world->mesh, plan, rank);
  uint8_t *arena[Tier_COUNT];
  Comm *comm = world->boot->ops->comm(world->boot, rank, NULL);
  Device *device = device_cpu_open(&(DeviceSetup){0}, status);
  Sight sight = {.masters = masters_of(plan)};
  bool good = false;
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    uint64_t bytes = plan_arena_bytes(plan, class, tier);
    arena[tier] = malloc(bytes + 1);
    memset(arena[tier], 0xee, bytes);
  }
  if (world->saves) {
    CheckpointState state = {.device = device, .arena = arena, .step = world->step, .samples = 9};
    each_element(plan, &world->mesh, rank, arena, fill, &sight);
    (void)see_codes(plan, &world->mesh, rank, arena, true, false);
    good = save_as(world, rank, comm, &state, status);
  } else {
    CheckpointTarget target = {.device = device, .arena = arena, .class = class};
    good = load_from(world, rank, comm, &target, status);
    each_element(plan, &world->mesh, rank, arena, compare, &sight);
    const int64_t codes = see_codes(plan, &world->mesh, rank, arena, false, world->blocks_move);
    if (codes > 0) (void)snprintf(sight.first, sizeof sight.first, "codes");
    sight.wrong += codes;
  }
  if (sight.wrong > 0) {
    world->wrong += sight.wrong;
    memcpy(world->first, sight.first, sizeof sight.first);
  }
  device->ops->close(device);
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    free(arena[tier]);
  return good;
}

static void run(LayoutWorld *world, bool saves) {
  Status status = {0};
  world->saves = saves;
  world->boot = boot_local_new(&world->plan, &world->mesh, 1, (CommDelay){0});
  CHECK(world->boot->ops->run(world->boot, body, world, &status));
  CHECK_TEXT(status.text, "");
  world->boot->ops->close(world->boot);
}

static bool open_world(LayoutWorld *world, const LayoutCase *of, int64_t step) {
  char data[128], dir[128], plan_path[128];
  Status status;
  (void)snprintf(data, sizeof data, "data.train=%s/tokens.u8", folder);
  (void)snprintf(dir, sizeof dir, "checkpoint.path=%s/saved", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/job.plan", folder);
  JobChanges changes = {{"data=tokens", data, "data.format=u8", dir, "checkpoint.every=5 steps",
                         "train.batch=16 sequences", "train.microbatch=1", "model.layers=4"}};
  for (int32_t i = 0; i < CHANGES_MAX && of->change[i]; i++)
    changes.text[8 + i] = of->change[i];
  *world = (LayoutWorld){.step = step};
  checkpoint_path(world->path, dir + strlen("checkpoint.path="), step);
  return job_plan(of->model, &changes, plan_path, &world->plan) &&
         mesh_read(&world->mesh, &world->plan, &status);
}

/* The bytes of all tensors in the parts: those of each element once. */
static int64_t saved_bytes(const Plan *plan) {
  State state;
  Status status;
  int64_t bytes = 0;
  CHECK(state_open(&state, plan, &status));
  for (int32_t number = 0; number < state.numbers; number++)
    bytes += state_part_data(&state, number);
  state_close(&state);
  return bytes;
}

/* The parts of the first tensor with codes; 0: there is none. */
static int64_t coded_parts(const Plan *plan) {
  uint32_t i = 0;
  while (i < plan->tensors_count && plan->tensors[i].dtype != DTYPE_U8)
    i++;
  if (i == plan->tensors_count) return 0;
  const PlanLayout *layout = &plan->layouts[plan->tensors[i].layout];
  const int32_t first_rank[PLAN_AXES_MAX] = {0};
  int64_t parts = 1;
  for (uint32_t d = 0; d < layout->dims_count; d++) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + d];
    int64_t room = 0;
    (void)part_of(plan, dim, first_rank, &room);
    parts *= dim->size / room;
  }
  return parts;
}

static void check_ring(const LayoutCase *cases, int32_t count) {
  static LayoutWorld before, after;
  static int64_t step;
  for (int32_t i = 0; i < count; i++) {
    const LayoutCase *from = &cases[i], *to = &cases[(i + 1) % count],
                     *far = &cases[(i + 3) % count];
    char line[160];
    (void)snprintf(line, sizeof line, "%s to %s", from->name, to->name);
    TEST(line) {
      bool opened = open_world(&before, from, ++step);
      CHECK(opened);
      if (!opened) continue;
      CHECK((coded_parts(&before.plan) > 0) == (cases == int8));
      if (cases != int8) CHECK_INT(saved_bytes(&before.plan), 12 * job_parameters(&before.plan));
      run(&before, true);
      for (const LayoutCase *target = to; opened; target = far) {
        opened = open_world(&after, target, step);
        CHECK(opened);
        after.blocks_move = coded_parts(&before.plan) != coded_parts(&after.plan);
        if (opened) run(&after, false);
        CHECK_TEXT(after.first, "");
        CHECK_INT(after.wrong, 0);
        if (target == far) break;
      }
    }
  }
}

#define RING(cases) check_ring(cases, (int32_t)(sizeof(cases) / sizeof *(cases)))

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_layouts_%d", (int)getpid());
  job_folder(folder, 1 << 14, 61);
  RING(fp32);
  RING(tied);
  RING(bf16);
  RING(split);
  RING(kahan);
  RING(int8);
  job_folder_remove(folder);
  CHECK_DONE();
}
