/* graph_run.h -- runs a graph's lowered nodes through the reference kernels in f64, buffer by
 * buffer: forward over all layers, then recompute and backward from the last layer to the first.
 *
 * Fresh buffers are NaN, and so is, before backward, all that a recomputed region may not have
 * kept: what reads too early shows in the result. Buffers have their exact size, for the sanitizer.
 */
#ifndef LOCKSTEP_TESTS_GRAPH_RUN_H
#define LOCKSTEP_TESTS_GRAPH_RUN_H

#include <stdlib.h>

#include "kernels/kernel.h"
#include "kernels/math/philox.h"
#include "tests/unit/graph_builder.h"

enum { RUN_MICROBATCHES = 2, RUN_LAYERS_MAX = 8, RUN_REGIONS_MAX = 4, RUN_INPUTS_MAX = 4 };

typedef struct Run {
  Graph *g;
  int64_t group_layers;                                   /* of recomputation */
  void **frame[RUN_REGIONS_MAX][RUN_LAYERS_MAX];          /* by ValueId: its storage, or NULL */
  double **param[RUN_LAYERS_MAX], **grad[RUN_LAYERS_MAX]; /* by ParamId */
  void *input[RUN_MICROBATCHES][RUN_INPUTS_MAX];
  double loss[2 * LOSSES_MAX];
  Control control;
  int32_t microbatch;
  VEC(void *) blocks;
  void *scratch[2]; /* small, large */
  int64_t scratch_bytes[2];
} Run;

static inline void *run_alloc(Run *run, int64_t size_bytes) {
  void *block = malloc((size_t)size_bytes);
  assert(block);
  memset(block, 0xff, (size_t)size_bytes); /* NaN; ids below 0 */
  VEC_PUSH(run->g->compile->arena, &run->blocks, block);
  return block;
}

/* A number in [-1, 1) of stream `key`. */
static inline double run_random(uint64_t key, int64_t i) {
  uint32_t word[4];
  philox4(key, 0, (uint64_t)i, word);
  return 2 * philox_uniform(word[0]) - 1;
}

static inline void run_fill_params(Run *run) {
  Graph *g = run->g;
  for (int32_t l = 0; l < RUN_LAYERS_MAX; l++) {
    run->param[l] = ARENA_ARRAY(g->compile->arena, double *, g->params.count);
    run->grad[l] = ARENA_ARRAY(g->compile->arena, double *, g->params.count);
    for (ParamId p = 0; p < g->params.count; p++) {
      const Param *param = &g->params.at[p];
      if (l >= g->regions.at[param->region].repeat) continue;
      run->param[l][p] = run_alloc(run, param->elements * 8);
      run->grad[l][p] = run_alloc(run, param->elements * 8);
      bool norm = strstr(param->name, "norm") || strstr(param->name, "ln_");
      for (int64_t i = 0; i < param->elements; i++)
        run->param[l][p][i] = (norm ? 1 : 0) + 0.6 * run_random((uint64_t)p * 16 + (uint64_t)l, i);
    }
  }
}

static inline void run_fill_inputs(Run *run, int64_t vocab) {
  Graph *g = run->g;
  for (int32_t m = 0; m < RUN_MICROBATCHES; m++)
    for (int32_t k = 0; k < g->inputs.count; k++) {
      ValueId v = g->inputs.at[k].value;
      run->input[m][k] = run_alloc(run, value_bytes(g, v));
      for (int64_t i = 0; i < value_elements(g, v); i++) {
        double random = run_random(1000 + (uint64_t)m * 8 + (uint64_t)k, i);
        if (graph_value(g, v)->dtype == DTYPE_I32) {
          int32_t id = (int32_t)((random + 1) / 2 * (double)vocab);
          ((int32_t *)run->input[m][k])[i] = i == 3 ? -1 : id;
        } else {
          ((double *)run->input[m][k])[i] = random;
        }
      }
    }
}

static inline Run run_new(Graph *g, int64_t group_layers) {
  Run run = {.g = g, .group_layers = group_layers};
  run.control = (Control){.seed = 7,
                          .step = 1,
                          .updates = 1,
                          .clip_scale = 1,
                          .step_counts = 1,
                          .targets = 1,
                          .loss_scale = 1};
  run_fill_params(&run);
  const Dim *vocab = &g->dims.at[graph_dim(g, "vocab")];
  run_fill_inputs(&run, vocab->real_size > 0 ? vocab->real_size : vocab->size);
  for (RegionId r = 0; r < g->regions.count; r++)
    for (int64_t l = 0; l < g->regions.at[r].repeat; l++)
      run.frame[r][l] = ARENA_ARRAY(g->compile->arena, void *, g->values.count);
  return run;
}

static inline void run_free(Run *run) {
  for (int32_t i = 0; i < run->blocks.count; i++)
    free(run->blocks.at[i]);
  free(run->scratch[0]);
  free(run->scratch[1]);
}

static inline void *run_address(Run *run, RegionId r, int64_t l, ValueId v) {
  const Graph *g = run->g;
  const Value *value = graph_value(g, v);
  if (value->view_of != NO_ID)
    return (char *)run_address(run, r, l, value->view_of) +
           value->view_offset * dtype_bytes(value->dtype);
  int64_t home = value->param != NO_ID && g->params.at[value->param].region == r ? l : 0;
  switch (value->kind) {
  case VALUE_INPUT: return run->input[run->microbatch][value->input];
  case VALUE_PARAM: return run->param[home][value->param];
  case VALUE_PARAM_GRAD: return run->grad[home][value->param];
  case VALUE_LOSS: return run->loss + 2 * value->loss;
  default: break; /* an activation */
  }
  void **at = &run->frame[r][l][v];
  if (!*at) *at = run_alloc(run, value_bytes(g, v));
  return *at;
}

static inline int64_t run_operand_bytes(const Graph *g, ValueId v) {
  if (graph_value(g, v)->view_of == NO_ID) return value_bytes(g, v);
  int64_t elements = (value_rows(g, v) - 1) * value_row_stride(g, v) + value_features(g, v);
  return elements * dtype_bytes(graph_value(g, v)->dtype);
}

/* Small ones have their exact size, so that the sanitizer sees; large ones are kept: they are dear.
 */
static inline void *run_scratch(Run *run, int64_t size_bytes) {
  int32_t large = size_bytes >= 1 << 16;
  int64_t have = run->scratch_bytes[large];
  if (large ? have < size_bytes : have != size_bytes) {
    free(run->scratch[large]);
    run->scratch[large] = malloc((size_t)size_bytes);
    run->scratch_bytes[large] = size_bytes;
  }
  return run->scratch[large];
}

static inline void run_lowered(Run *run, RegionId r, int64_t l, const Node *n, const Lowered *low) {
  void *operand[KERNEL_OPERANDS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  int64_t bytes[KERNEL_OPERANDS_MAX];
  for (int32_t i = 0; i < low->operand_count; i++) {
    operand[i] = run_address(run, r, l, low->operands[i]);
    dtype[i] = graph_value(run->g, low->operands[i])->dtype;
    bytes[i] = run_operand_bytes(run->g, low->operands[i]);
  }
  KernelArgs args = {.operand = operand,
                     .dtype = dtype,
                     .bytes = bytes,
                     .dim = low->dims,
                     .attr = low->attrs,
                     .operand_count = low->operand_count};
  if (low->workspace_bytes > 0) {
    operand[low->operand_count] = run_scratch(run, low->workspace_bytes);
    dtype[low->operand_count] = DTYPE_F32;
    bytes[low->operand_count] = low->workspace_bytes;
    args.operand_count++;
  }
  args.accumulate = n->accumulate == ACCUMULATE_ALWAYS ||
                    (n->accumulate == ACCUMULATE_AFTER_FIRST && run->microbatch > 0);
  args.key = philox_mix(hash_text(n->path), (uint64_t)l);
  int64_t sample_first = run->microbatch * 2; /* batch is 2 */
  args.sample_first = &sample_first;
  const Kernel *kernel = kernel_find(low->kernel, KERNEL_REFERENCE);
  void *control[KERNEL_CONTROLS_MAX];
  const KernelContract *contract = contract_find(low->kernel);
  for (int32_t i = 0; i < contract->control_count; i++)
    control[i] = control_value(&run->control, contract->controls[i].slot);
  args.control = control;
  args.control_count = contract->control_count;
  const char *why = NULL;
  assert(kernel);
  KernelStatus ended = kernel->run(&args, &why);
  assert(ended == KERNEL_DONE);
  (void)ended;
}

static inline void run_node(Run *run, RegionId r, int64_t l, const Node *n) {
  Lowered low;
  op_lower(run->g, n, &low);
  if (low.kernel) run_lowered(run, r, l, n, &low);
}

static inline void run_list(Run *run, RegionId r, int64_t l, const NodeList *list) {
  for (int32_t i = 0; i < list->count; i++)
    run_node(run, r, l, graph_node(run->g, list->at[i]));
}

static inline void run_bind(Run *run, RegionId r, int64_t l, ValueId v, void *at) {
  if (v != NO_ID) run->frame[r][l][v] = at;
}

static inline void run_forward(Run *run) {
  Graph *g = run->g;
  void *carried = NULL;
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    for (int64_t l = 0; l < region->repeat; l++) {
      run_bind(run, r, l, region->input, carried);
      run_list(run, r, l, &region->forward);
      if (region->output != NO_ID) carried = run_address(run, r, l, region->output);
    }
  }
}

/* Values of forward that a recomputed layer does not keep become NaN. The outputs are the inputs of
 * the next layers: those inside a group go, too. */
static inline void run_forget(Run *run, RegionId r, int64_t l) {
  const Graph *g = run->g;
  const Region *region = &g->regions.at[r];
  for (int32_t i = 0; i < region->forward.count; i++) {
    const Node *n = graph_node(g, region->forward.at[i]);
    for (int32_t k = 0; k < n->output_count; k++) {
      ValueId v = n->outputs[k];
      bool kept = v == region->output && (l + 1) % run->group_layers == 0;
      if (!kept && graph_value(g, v)->view_of == NO_ID)
        memset(run_address(run, r, l, v), 0xff, (size_t)value_bytes(g, v));
    }
  }
}

/* Makes the layers of the group that ends with l again. */
static inline void run_recompute_group(Run *run, RegionId r, int64_t first, int64_t end) {
  const Region *region = &run->g->regions.at[r];
  for (int64_t l = first; l < end; l++) {
    if (l > first)
      run_bind(run, r, l, region->input, run_address(run, r, l - 1, region->output_again));
    run_list(run, r, l, &region->recompute);
  }
}

static inline void run_backward(Run *run) {
  Graph *g = run->g;
  void *d_carried = NULL;
  for (RegionId r = g->regions.count - 1; r >= 0; r--) {
    const Region *region = &g->regions.at[r];
    bool again = region->recompute.count > 0;
    for (int64_t l = 0; again && l < region->repeat; l++)
      run_forget(run, r, l);
    for (int64_t l = region->repeat - 1; l >= 0; l--) {
      bool group_end = again && (l == region->repeat - 1 || (l + 1) % run->group_layers == 0);
      if (group_end) run_recompute_group(run, r, l / run->group_layers * run->group_layers, l + 1);
      run_bind(run, r, l, region->d_output, d_carried);
      run_list(run, r, l, &region->backward);
      if (region->d_input != NO_ID) d_carried = run_address(run, r, l, region->d_input);
    }
  }
}

/* One step of all micro-batches; the weighted sum of losses, with gradients when `backward`. */
static inline double run_step(Run *run, bool backward) {
  for (run->microbatch = 0; run->microbatch < RUN_MICROBATCHES; run->microbatch++) {
    run_forward(run);
    if (backward) run_backward(run);
  }
  double sum = 0;
  for (int32_t i = 0; i < run->g->losses_count; i++) {
    const Value *loss = graph_value(run->g, run->g->losses[i]);
    sum += node_loss_weight(graph_node(run->g, loss->producer)) * run->loss[2 * i];
  }
  return sum;
}

#endif
