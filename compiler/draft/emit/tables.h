/* tables.h -- the tables of a plan while they grow. */
#ifndef LOCKSTEP_EMIT_TABLES_H
#define LOCKSTEP_EMIT_TABLES_H

#include "compiler/draft/draft.h"

typedef struct Tables {
  Arena *arena;
  int32_t *string_slots; /* open addressing: offset + 1 of each string, 0 = free */
  int32_t string_slot_count, string_count;
  /* By value and by node of the model of each program: its place in values, in nodes; PLAN_NONE:
   * in no list. */
  int32_t *value_index[ProgramKind_COUNT], *node_index[ProgramKind_COUNT];
#define PLAN_T(Type, table) VEC(Type) table;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
} Tables;

#define TABLE_PUSH(t, table, ...) VEC_PUSH((t)->arena, &(t)->table, __VA_ARGS__)

/* The vocabulary that tokens must be below; 0: the model reads none. */
uint32_t token_vocab(const Graph *g);
void emit_inputs(Tables *t, const Draft *d);
void emit_files(Tables *t, const Draft *d);
/* The job, and what follows from it. After the model, whose hash is one of the rows. */
void emit_settings(Tables *t, const Draft *d, int64_t parameters);

uint32_t table_string(Tables *t, const char *text); /* NULL is "" */
uint32_t table_kernel(Tables *t, const char *name);
uint32_t table_layout(Tables *t, const Layout *layout);

/* The lanes of lane.h that the draft uses. */
void table_lanes(Tables *t, const Draft *d);
/* One for each mask of axes that something varies over, LANE_COMPUTE; and one more for each other
 * lane that communicates over them: lanes meet their peers independently of each other. */
uint32_t table_comm(Tables *t, uint32_t axes, Lane lane);

/* Writes values, nodes and regions of an uncut graph, and remembers where each of its ids went. */
void emit_model(Tables *t, const Graph *model);
uint32_t table_value(const Tables *t, const Graph *model, ValueId v);
uint32_t table_node(const Tables *t, const Graph *model, NodeId n);

/* Emits the persistent tensors of a stage's ranks: parameters, gradients, optimizer states. */
void emit_tensors(Tables *t, const Draft *d, const Stage *stage);

/* A plan over the tables as they are so far. */
void table_view(const Tables *t, Plan *plan);

/* How long programs take, and what the time goes into. Needs all other tables. */
void emit_predictions(Tables *t, const Draft *d, const Plan *plan);

/* The interval of checkpoint.every = "auto", from the bytes of a checkpoint of the plan. */
void emit_interval(Tables *t, const Draft *d, const Plan *plan);

/* Chooses where ranks are (place/) and writes places, seats and links. Needs all other tables but
 * the predictions. */
Choice emit_places(Tables *t, const Draft *d);

#endif
