#include "tests/unit/plan_builder.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_flat.h"
#include "runtime/plan/plan_text.h"

static void *grown(void *items, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return items;
  *capacity = *capacity ? *capacity * 2 : 16;
  items = realloc(items, *capacity * item_bytes);
  if (items == NULL) abort();
  return items;
}

#define PLAN_T(Type, table)                                                                        \
  uint32_t build_##table(PlanBuilder *builder, Type record) {                                      \
    builder->table =                                                                               \
        grown(builder->table, builder->table##_count, &builder->table##_capacity, sizeof record);  \
    builder->table[builder->table##_count] = record;                                               \
    return builder->table##_count++;                                                               \
  }
PLAN_TABLES(PLAN_T)
#undef PLAN_T

uint32_t build_string(PlanBuilder *builder, const char *text) {
  size_t length = strlen(text) + 1;
  for (uint32_t at = 0; at < builder->strings_count;
       at += (uint32_t)strlen(builder->strings + at) + 1)
    if (strcmp(builder->strings + at, text) == 0) return at;
  uint32_t offset = builder->strings_count;
  for (size_t i = 0; i < length; i++)
    build_strings(builder, text[i]);
  return offset;
}

static void build_row(PlanBuilder *b, JobRow row, int64_t count, double real, const char *text) {
  const JobRowInfo *info = &job_rows[row];
  const bool is_derived = strncmp(info->key, "plan.", 5) == 0;
  build_settings(b, (PlanSetting){.count = count,
                                  .real = real,
                                  .effect = is_derived ? SETTING_DERIVED : SETTING_SAFE,
                                  .kind = info->kind,
                                  .key = build_string(b, info->key),
                                  .text = build_string(b, text != NULL ? text : ""),
                                  .origin = build_string(b, "derived")});
}

void build_job(PlanBuilder *b, BuildJob job) {
#define COUNT(name, key, least) build_row(b, JOB_##name, job.name, 0, NULL);
#define U64(name, key)          build_row(b, JOB_##name, (int64_t)job.name, 0, NULL);
#define U32(name, key, least)   build_row(b, JOB_##name, job.name, 0, NULL);
#define F64(name, key)                                                                             \
  build_row(b, JOB_##name, 0, job.name, JOB_##name == JOB_checkpoint_every ? "steps" : NULL);
#define FLAG(name, key)       build_row(b, JOB_##name, job.name, 0, NULL);
#define WORD(name, key, Enum) build_row(b, JOB_##name, 0, 0, Enum##_names[job.name]);
#define TEXT(name, key)       build_row(b, JOB_##name, 0, 0, job.name);
#include "runtime/plan/settings.def"
#include "runtime/plan/settings_undef.h"
}

int64_t *build_count(PlanBuilder *b, JobRow row) {
  return &b->settings[row].count;
}

double *build_real(PlanBuilder *b, JobRow row) {
  return &b->settings[row].real;
}

void build_word(PlanBuilder *b, JobRow row, const char *text) {
  b->settings[row].text = build_string(b, text);
}

/* As the compiler counts them; of what has no such dims, nothing. */
static void count_flat_calls(const PlanBuilder *builder) {
  for (uint32_t i = 0; i < builder->records_count; i++) {
    PlanRecord *record = &builder->records[i];
    bool turns = record->kind == RECORD_ALL_TO_ALL;
    if (!plan_is_communication(record)) continue;
    if ((uint64_t)record->dims_first + record->dims_count > builder->ints_count) continue;
    if (turns ? record->dims_count < 3
              : record->dims_count % 2 != 0 && record->kind < RECORD_EXCHANGE)
      continue;
    record->flat_calls = plan_flat_calls((RecordKind)record->kind,
                                         builder->ints + record->dims_first, record->dims_count);
  }
}

Plan build_view(const PlanBuilder *builder) {
  Plan plan = {0};
  count_flat_calls(builder);
#define PLAN_T(Type, name)                                                                         \
  plan.name = builder->name;                                                                       \
  plan.name##_count = builder->name##_count;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  return plan;
}

static void *copied(const void *items, uint32_t count, size_t item_bytes) {
  void *copy = malloc((count + 1) * item_bytes);
  if (copy == NULL) abort();
  if (count > 0) memcpy(copy, items, count * item_bytes);
  return copy;
}

void build_copy(PlanBuilder *builder, const Plan *plan) {
#define PLAN_T(Type, table)                                                                        \
  builder->table = copied(plan->table, plan->table##_count, sizeof(Type));                         \
  builder->table##_count = plan->table##_count;                                                    \
  builder->table##_capacity = plan->table##_count + 1;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}

void build_free(PlanBuilder *builder) {
#define PLAN_T(Type, table) free(builder->table);
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  *builder = (PlanBuilder){0};
}

/* Ranges are ascending: the edges of a record come after those of every earlier one. */
void build_edge(PlanBuilder *b, uint32_t index, uint32_t after) {
  uint32_t at = 0;
  for (uint32_t i = 0; i <= index; i++)
    if (b->records[i].after_count > 0) at = b->records[i].after_first + b->records[i].after_count;
  build_edges(b, (PlanEdge){0});
  memmove(b->edges + at + 1, b->edges + at, (b->edges_count - 1 - at) * sizeof *b->edges);
  b->edges[at] = (PlanEdge){after};
  if (b->records[index].after_count++ == 0) b->records[index].after_first = at;
  for (uint32_t i = index + 1; i < b->records_count; i++)
    b->records[i].after_first += b->records[i].after_count > 0;
}

void build_record_like(PlanBuilder *b, uint32_t index) {
  PlanRecord record = b->records[index];
  uint32_t first = record.after_first;
  record.after_first = b->edges_count;
  for (uint32_t i = 0; i < record.after_count; i++)
    build_edges(b, b->edges[first + i]);
  build_records(b, record);
}

PlanAxis build_axis_named(PlanBuilder *b, const char *name, uint32_t size) {
  Divides divides = strcmp(name, "pp") == 0       ? DIVIDES_DEPTH
                    : strcmp(name, "cp") == 0     ? DIVIDES_TOKENS
                    : strncmp(name, "tp", 2) == 0 ? DIVIDES_FEATURES
                                                  : DIVIDES_SAMPLES;
  return (PlanAxis){.size = size, .divides = divides, .name = build_string(b, name)};
}

uint32_t build_layout(PlanBuilder *b, uint32_t owed_axes) {
  for (uint32_t i = 0; i < b->layouts_count; i++)
    if (b->layouts[i].owed_axes == owed_axes && b->layouts[i].dims_count == 0) return i;
  return build_layouts(b, (PlanLayout){.owed_axes = owed_axes, .owed = REDUCE_SUM});
}

static void build_lane(PlanBuilder *b, const char *name, uint32_t priority) {
  build_lanes(b, (PlanLane){PROCESSOR_DEVICE, priority, build_string(b, name)});
}

static void build_control(PlanBuilder *b) {
  const uint64_t others = control_losses_lacking(1);
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++) {
    if (((CONTROL_SCALE_SLOTS | CONTROL_SAVE_SLOTS | others) & CONTROL_BIT(i)) != 0) continue;
    PlanSlot slot = plan_slot_known(i);
    const int32_t before = __builtin_popcountll(others & (CONTROL_BIT(i) - 1));
    slot.offset = CONTROL_SLOT_BYTES * (uint64_t)((int32_t)i - before);
    slot.name = build_string(b, control_name(i));
    slot.unit = build_string(b, plan_slot_unit(i));
    build_slots(b, slot);
  }
}

uint32_t build_slot(const PlanBuilder *b, ControlSlot slot) {
  uint32_t i = 0;
  while (i < b->slots_count && strcmp(b->strings + b->slots[i].name, control_name(slot)) != 0)
    i++;
  return i;
}

void build_record_controls(PlanBuilder *b, uint32_t index) {
  PlanRecord *record = &b->records[index];
  const KernelContract *row = contract_find(b->strings + b->kernels[record->kernel].name);
  record->controls_first = b->controls_count;
  for (int32_t i = 0; i < row->control_count; i++) {
    uint32_t slot = build_slot(b, row->controls[i].slot);
    if (slot < b->slots_count) build_controls(b, (PlanControl){slot, row->controls[i].access});
  }
  record->controls_count = b->controls_count - record->controls_first;
}

/* One kind of memory, as on a processor, and the lanes of lane.h that all plans have. */
void build_device(PlanBuilder *b) {
#define BUILD_LANE(id, name, priority, processor)                                                  \
  if ((int)LANE_##id < (int)LANES_OF_DEVICE) build_lane(b, name, priority);
  LANES(BUILD_LANE)
#undef BUILD_LANE
  build_tiers(b, (PlanTier){.alignment_bytes = PLAN_ALIGN_BYTES,
                            .kind = TIER_DEVICE,
                            .path = build_string(b, "")});
  build_control(b);
}

uint32_t build_strides(PlanBuilder *b) {
  uint32_t ranks = 1;
  for (uint32_t i = b->axes_count; i-- > 0; ranks *= b->axes[i].size)
    b->axes[i].rank_stride = ranks;
  return ranks;
}

void build_one_node(PlanBuilder *b, int64_t latency_ns, double bytes_per_s) {
  PlanPlace place = {.rank_count = 1,
                     .core_count =
                         b->settings_count > 0 ? (uint32_t)*build_count(b, JOB_threads) : 1};
  place.rank_count = build_strides(b);
  place.node_ranks = place.rank_count;
  b->places_count = b->links_count = 0;
  build_places(b, place);
  for (uint32_t class = 0; class < b->classes_count; class ++)
    for (uint32_t comm = 0; comm < b->comms_count; comm++)
      build_links(b, (PlanLink){.bytes_per_s = bytes_per_s,
                                .pair_bytes_per_s = bytes_per_s,
                                .latency_ns = latency_ns,
                                .class = class,
                                .comm = comm});
}

static PlanPeak peak_of(const PlanBuilder *b, const PlanClass *class, uint32_t index,
                        uint32_t tier) {
  const PlanProgram *program = &b->programs[index];
  PlanPeak peak = {0};
  for (uint32_t call = 0; call == 0 || call < program->calls_count; call++) {
    uint64_t live = 0;
    for (uint32_t i = 0; i < class->buffers_count; i++) {
      const PlanBuffer *buffer = &b->buffers[class->buffers_first + i];
      bool persistent = buffer->program == PLAN_NONE;
      if (buffer->tier != tier) continue;
      if (!persistent &&
          (buffer->program != index || buffer->first_call > call || buffer->last_call < call))
        continue;
      live += (buffer->size_bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
      if (buffer->offset + buffer->size_bytes > peak.peak_bytes)
        peak.peak_bytes = buffer->offset + buffer->size_bytes;
    }
    if (live > peak.live_bytes) peak.live_bytes = live;
  }
  return peak;
}

void build_peaks_of_programs(PlanBuilder *b) {
  b->peaks_count = 0;
  for (uint32_t c = 0; c < b->classes_count; c++)
    for (uint32_t p = 0; p < b->classes[c].programs_count; p++) {
      uint32_t index = b->classes[c].programs_first + p;
      b->programs[index].peaks_first = b->peaks_count;
      for (uint32_t tier = 0; tier < b->tiers_count; tier++)
        (void)build_peaks(b, peak_of(b, &b->classes[c], index, b->tiers[tier].kind));
      b->programs[index].peaks_count = b->tiers_count;
    }
}
