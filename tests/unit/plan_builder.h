/* plan_builder.h -- plans made by hand: tables that grow, and one complete small training plan.
 *
 * The example trains `layers` linear layers after an embedding with a squared error: small enough
 * to read as text, yet with every kind of thing a plan has: micro-batches, overlapped all-reduces,
 * clipping, AdamW, evaluation. */
#ifndef LOCKSTEP_TESTS_PLAN_BUILDER_H
#define LOCKSTEP_TESTS_PLAN_BUILDER_H

#include <string.h>

#include "compiler/draft/lane.h"
#include "runtime/plan/control.h"
#include "runtime/plan/plan_job.h"

/* Writable tables of a plan. Zeroed = empty. Mutate them freely, then take a view. */
typedef struct PlanBuilder {
#define PLAN_T(Type, table)                                                                        \
  Type *table;                                                                                     \
  uint32_t table##_count, table##_capacity;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
} PlanBuilder;

/* build_TABLE(builder, record) appends one record and returns its index. */
#define PLAN_T(Type, table) uint32_t build_##table(PlanBuilder *builder, Type record);
PLAN_TABLES(PLAN_T)
#undef PLAN_T

/* The rows of settings.def: numbers, constants of plan.h, and texts (NULL is ""). */
typedef struct BuildJob {
#define COUNT(name, key, least) int64_t name;
#define U64(name, key)          uint64_t name;
#define U32(name, key, least)   uint32_t name;
#define F64(name, key)          double name;
#define FLAG(name, key)         bool name;
#define WORD(name, key, Enum)   uint32_t name;
#define TEXT(name, key)         const char *name;
#include "runtime/plan/settings.def"
#include "runtime/plan/settings_undef.h"
} BuildJob;

/* Appends all rows, which must be the first settings. checkpoint_every counts steps. */
void build_job(PlanBuilder *builder, BuildJob job);

/* The number of a row that is there, to be changed; and another word or text for it. */
int64_t *build_count(PlanBuilder *builder, JobRow row);
double *build_real(PlanBuilder *builder, JobRow row);
void build_word(PlanBuilder *builder, JobRow row, const char *text);

/* The offset of `text` in the strings table; equal texts share one. */
uint32_t build_string(PlanBuilder *builder, const char *text);

/* A plan whose tables are the builder's: valid until the builder grows or is freed. */
Plan build_view(const PlanBuilder *builder);

/* Fills an empty builder with a copy of every table of the plan. */
void build_copy(PlanBuilder *builder, const Plan *plan);

void build_free(PlanBuilder *builder);

/* A plan with one loss has so many. */
enum { BUILT_CONTROL_BYTES = CONTROL_SLOT_BYTES * (CONTROL_SLOT_COUNT - 3 * LOSSES_MAX + 2) };

/* Record `index` starts only after record `after` of its segment. The tables stay in order, so this
 * moves the edges of later records. */
void build_edge(PlanBuilder *builder, uint32_t index, uint32_t after);
/* The number of a slot in the table; slots_count: the plan does not have it. */
uint32_t build_slot(const PlanBuilder *b, ControlSlot slot);

/* Gives record `index` the control slots of its kernel's row. */
void build_record_controls(PlanBuilder *builder, uint32_t index);
/* Appends a copy of record `index`, with edges of its own. */
void build_record_like(PlanBuilder *builder, uint32_t index);

/* Fills in what the compiler records of each program: peak and live bytes of the present ledger. */
void build_peaks_of_programs(PlanBuilder *builder);

/* Ranks count along the last axis first; returns how many there are. After all axes. */
uint32_t build_strides(PlanBuilder *builder);

/* One node for the whole mesh, and a link for every class and communicator, all as fast as this. To
 * be called again when there are more of them. */
void build_one_node(PlanBuilder *builder, int64_t latency_ns, double bytes_per_s);

/* An axis by its usual name: dp and its like divide samples, cp tokens, pp depth, tp features. */
PlanAxis build_axis_named(PlanBuilder *builder, const char *name, uint32_t size);

/* Layouts without dims: whole, or owed over a mask of axes. Index of the layout. */
uint32_t build_layout(PlanBuilder *builder, uint32_t owed_axes);

/* One more lane, which no record is on; its number. `lanes` is the plan's table from here on. */
static inline uint32_t build_idle_lane(Plan *plan, PlanLane lanes[PLAN_LANES_MAX]) {
  memcpy(lanes, plan->lanes, sizeof *lanes * plan->lanes_count);
  lanes[plan->lanes_count] = (PlanLane){PROCESSOR_DEVICE, 1, plan->strings_count - 1}; /* "" */
  plan->lanes = lanes;
  return plan->lanes_count++;
}

/* The one tier of plans made here, their lanes, and all control slots but those of a loss scale, at
 * their offsets in Control. */
void build_device(PlanBuilder *builder);

typedef struct ExampleOptions {
  uint32_t layers;       /* at least 1 */
  uint32_t accumulation; /* at least 1 */
  uint32_t replicas;     /* size of the dp axis; 1 has no communications */
  uint32_t classes;      /* the replicas are cut into so many classes, each with its own lists */
  bool loop;             /* write the inner micro-batches as one loop (accumulation >= 4) */
} ExampleOptions;

void build_example(PlanBuilder *builder, ExampleOptions options);

#endif
