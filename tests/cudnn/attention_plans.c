/* attention_plans DEVICEPROP.json... <LIST -- whether the real cuDNN has an engine for each
 * attention of the list (as `presets` writes it) on each described GPU, and whether the scratch of
 * the plan is enough for it. No GPU is needed; a libcuda.so.1 is, for the library compiles through
 * it: that of a driver, or tests/gpu/probes/null_driver.c.
 *
 * Engines and their workspace are those of the configuration; of each GPU the first record of each
 * kernel, number of operations and part of a sample is also compiled, and the compiled plan wants
 * the same. Exit status 77: the library or the driver is missing, and it says which. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/attentions.h"
#include "kernels/cuda/cudnn_plan.h"
#include "runtime/device/cudnn_library.h"
#include "tests/unit/check.h"

enum { RECORDS_MAX = 1024, LINE_BYTES = 1024, JSON_BYTES = 4096, OPERATIONS_MAX = 32 };

typedef struct Record {
  KernelId id;
  int64_t dim[KERNEL_DIMS_MAX], scratch_bytes;
  AttentionShape shape;
} Record;

static Record records[RECORDS_MAX];
static int32_t record_count;
static const DnnApi *api;

/* ---- the list */

static int32_t read_numbers(char *text, double *number, int32_t most) {
  int32_t count = 0;
  for (char *end = NULL; count < most; text = end, count++) {
    number[count] = strtod(text, &end);
    if (end == text) break;
  }
  return count;
}

/* "attention_backward 1 1024 12 ... : 1 0.125 ...": as the plan has it, in bf16. */
static bool read_record(char *line, Record *record) {
  char *space = strchr(line, ' '), *colon = strchr(line, ':');
  double dim[KERNEL_DIMS_MAX], attr[KERNEL_ATTRS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  const char *why = NULL;
  if (space == NULL || colon == NULL) return false;
  *space = *colon = '\0';
  const KernelContract *contract = contract_find(line);
  if (contract == NULL) return false;
  int32_t dims = read_numbers(space + 1, dim, KERNEL_DIMS_MAX);
  int32_t attrs = read_numbers(colon + 1, attr, KERNEL_ATTRS_MAX);
  if (dims != contract->dim_count || attrs != contract->attr_count) return false;
  for (int32_t i = 0; i < dims; i++)
    record->dim[i] = (int64_t)dim[i];
  for (int32_t i = 0; i < KERNEL_OPERANDS_MAX; i++)
    dtype[i] = DTYPE_BF16;
  KernelUse use = {.dtype = dtype, .dim = record->dim, .attr = attr, .align_bytes = 256};
  WorkspaceUse work = {KERNEL_TARGET_CUDA, record->dim, dtype, 1, false};
  record->id = contract->id;
  record->scratch_bytes = contract_workspace_bytes(contract, &work);
  record->shape = attention_shape_of(record->id, &use, &why);
  return why == NULL;
}

static void read_list(void) {
  char line[LINE_BYTES];
  while (record_count < RECORDS_MAX && fgets(line, sizeof line, stdin) != NULL) {
    bool good = read_record(line, &records[record_count]);
    if (!good) printf("a record that cuDNN's graph cannot say, or that is none: %s\n", line);
    CHECK(good);
    record_count += good;
  }
}

/* ---- plans */

static DnnDescriptor describe(const char *path, char *name) {
  static char json[JSON_BYTES];
  FILE *file = fopen(path, "r");
  size_t length = file != NULL ? fread(json, 1, sizeof json - 1, file) : 0;
  DnnDescriptor made = NULL;
  json[length] = '\0';
  if (file != NULL) (void)fclose(file);
  const char *words = strstr(json, "\"deviceName\":\"");
  if (words == NULL || sscanf(words, "\"deviceName\":\"%63[^\"]", name) != 1) return NULL;
  CHECK_INT(api->descriptor_create(DNN_DEVICE, &made), DNN_DONE);
  CHECK_INT(api->set(made, DNN_DEVICE_JSON, DNN_AS_CHAR, (int64_t)strlen(json) + 1, json),
            DNN_DONE);
  CHECK_INT(api->finalize(made), DNN_DONE);
  return made;
}

/* The bytes of the plan's workspace that cuDNN may use. */
static int64_t left_bytes(const Record *record) {
  return record->scratch_bytes - attention_terms_bytes(&record->shape) -
         attention_d_q_sum_bytes(&record->shape);
}

static void say(const Record *record, const char *gpu, const char *what, const DnnPlan *plan) {
  const AttentionShape *s = &record->shape;
  printf("%s  %-18s B %lld T %lld/%lld H %lld/%lld D %lld  %s", gpu,
         contract_of(record->id)->row->name, (long long)s->batch, (long long)s->seq,
         (long long)s->keys, (long long)s->heads, (long long)s->kv_heads, (long long)s->head, what);
  if (plan->config != NULL)
    printf("  engine %lld wants %lld bytes of %lld", (long long)plan->engine,
           (long long)plan->workspace_bytes, (long long)left_bytes(record));
  printf("\n");
}

typedef struct Tally {
  int32_t found, too_large, none;
  bool compiled[KERNEL_COUNT][OPERATIONS_MAX][3]; /* by what of a sample takes part, too */
} Tally;

static void plan_record(const Record *record, const char *gpu, const DnnTarget *target,
                        Tally *tally) {
  DnnGraph graph;
  DnnPlan seen = {0}, made = {0};
  dnn_graph_start(&graph, api);
  attention_graph(&graph, &record->shape);
  CHECK(dnn_graph_finish(&graph, NULL));
  DnnFound found = dnn_plan_look(&graph, target, left_bytes(record), &seen);
  const AttentionShape *shape = &record->shape;
  int32_t part = shape->seq < shape->sample ? 2 : shape->keys < shape->sample ? 1 : 0;
  bool *compiled = &tally->compiled[record->id][graph.operation_count][part];
  tally->found += found == DNN_FOUND;
  tally->none += found == DNN_NO_ENGINE;
  tally->too_large += found == DNN_WANTS_WORKSPACE;
  /* On sm_80 no engine takes wider heads backward. */
  bool is_wide = shape->is_backward && shape->head > 128;
  CHECK(found == DNN_FOUND || (found == DNN_NO_ENGINE && is_wide));
  if (found != DNN_FOUND)
    say(record, gpu, found == DNN_NO_ENGINE ? "no engine" : "more scratch than planned", &seen);
  if (found == DNN_FOUND && !*compiled) {
    CHECK(dnn_plan_make(&graph, target, left_bytes(record), &made) == DNN_FOUND);
    CHECK_INT(made.engine, seen.engine);
    CHECK_INT(made.workspace_bytes, seen.workspace_bytes);
    say(record, gpu, "compiled", &made);
    *compiled = true;
  }
  dnn_plan_free(&made), dnn_plan_free(&seen);
  dnn_graph_free(&graph);
}

static void plan_all(const char *path) {
  char gpu[64];
  Tally tally = {0};
  DnnDescriptor described = describe(path, gpu);
  CHECK(described != NULL);
  if (described == NULL) return;
  DnnTarget target = {.described = described};
  for (int32_t i = 0; i < record_count; i++)
    plan_record(&records[i], gpu, &target, &tally);
  printf(
      "%s: %d of %d records by cuDNN %zu, %d want more scratch than planned, %d have no engine\n",
      gpu, tally.found, record_count, api->get_version(), tally.too_large, tally.none);
  (void)api->descriptor_destroy(described);
}

int main(int argc, char **argv) {
  Status status = {0};
  api = cudnn_library(NULL, &status);
  bool has_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL;
  if (api == NULL || !has_driver) {
    printf("skipped: %s\n",
           api == NULL ? status.text : "no libcuda.so.1 for cuDNN to compile with");
    return 77;
  }
  read_list();
  CHECK(record_count > 0);
  for (int i = 1; i < argc; i++)
    plan_all(argv[i]);
  CHECK_DONE();
}
