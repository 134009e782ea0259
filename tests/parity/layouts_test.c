/* layouts_test.c -- a checkpoint of any layout is loaded in any other, to the bit.
 *
 * No steps are run: every element of the state gets a value that follows from its tensor, its kind
 * and its place in the whole. What each rank's memory holds is computed here from the layout alone,
 * element by element, so that neither side is compared with itself. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/math/bf16.h"
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

/* Calls for each element of a rank's state. */
typedef void Element(void *context, const PlanTensor *tensor, const char *name, int64_t index,
                     uint8_t *at);

static void each_element(const Plan *plan, const Mesh *mesh, int32_t rank, uint8_t *const *arena,
                         Element *element, void *context) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  int32_t coordinate[PLAN_AXES_MAX];
  state_coordinates(plan, mesh_number(mesh, rank), coordinate);
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (!state_kind_of(tensor->kind)) continue;
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
  bool saves;
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
  bool good = checkpoint_store_open(store, &world->plan, &world->mesh, rank,
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
    good = save_as(world, rank, comm, &state, status);
  } else {
    CheckpointTarget target = {.device = device, .arena = arena, .class = class};
    good = load_from(world, rank, comm, &target, status);
    each_element(plan, &world->mesh, rank, arena, compare, &sight);
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
      CHECK_INT(saved_bytes(&before.plan), 12 * job_parameters(&before.plan));
      run(&before, true);
      for (const LayoutCase *target = to; opened; target = far) {
        opened = open_world(&after, target, step);
        CHECK(opened);
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
  job_folder_remove(folder);
  CHECK_DONE();
}
