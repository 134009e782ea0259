/* job.c -- the job of a plan agrees with the samples that are loaded, with the model and with how
 * the plan computes. Each number of the job is in the plan once, so nothing compares two tables of
 * them. */
#include <string.h>

#include "compiler/plan/prove/records/rules.h"
#include "runtime/plan/loss_scales.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_inputs.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/plan_text.h"

/* ---- settings */

/* Every setting has one row: what a plan left out would hold nothing, and of two rows the other
 * one could be compared. (Rows of settings.def: plan_check.) False: reported. */
static bool is_said_once(const View *view, const char *key) {
  const Plan *plan = view->plan;
  uint32_t rows = 0;
  for (uint32_t i = 0; i < plan->settings_count; i++)
    rows += strcmp(plan_string(plan, plan->settings[i].key), key) == 0;
  if (rows != 1)
    prove_finding(view, NULL, -1, "records", "expected one row of the setting %s, found %u", key,
                  rows);
  return rows == 1;
}

static void check_word(const View *view, const char *key, const char *used) {
  const char *said = job_setting(view->plan, key);
  if (!is_said_once(view, key)) return;
  if (strcmp(said, "none") != 0 && strcmp(said, used) != 0)
    prove_finding(view, NULL, -1, "records", "%s is %.40s, and %.40s is used", key, said, used);
}

/* A validation reads as many batches as the job says. */
static void check_validation(const View *view) {
  const Plan *plan = view->plan;
  const int64_t steps = job_validate_steps(plan), samples = job_validate_samples(plan);
  if (steps > 0 && job_validate_every(plan) > 0 &&
      (samples == 0 || (samples - 1) / job_batch_samples(plan) < steps - 1))
    prove_finding(view, NULL, -1, "records",
                  "train.validate_steps is %lld, and %lld sample%s %s read", (long long)steps,
                  (long long)samples, plural(samples), plural_is(samples));
}

/* As settings write a name of a list: in double quotes where it holds what separates names. */
static void add_name(Line *text, const char *name, size_t length) {
  bool is_plain = length > 0;
  for (size_t i = 0; i < length; i++)
    is_plain = is_plain && strchr(" ,;:\"\t\r\n", name[i]) == NULL;
  if (!is_plain) line_add(text, "\"");
  for (size_t i = 0; i < length; i++)
    line_add(text, "%s%c", name[i] == '"' ? "\"" : "", name[i]);
  if (!is_plain) line_add(text, "\"");
}

/* Files are those that settings list: the first three, and of more of them a hash. */
static void check_files(const View *view, const char *key, uint32_t valid) {
  const Plan *plan = view->plan;
  uint32_t count = 0;
  size_t room = 64;
  for (uint32_t i = 0; i < plan->files_count; i++)
    room += 2 * strlen(plan_string(plan, plan->files[i].path)) + 3;
  char *text = arena_alloc(view->arena, room), *all = arena_alloc(view->arena, room);
  Line shown = {text, room, 0};
  for (uint32_t i = 0; i < plan->files_count; i++) {
    const char *path = plan_string(plan, plan->files[i].path);
    if (plan->files[i].valid != valid) continue;
    if (count > 0 && count < 3) line_add(&shown, " ");
    if (count < 3) add_name(&shown, path, strlen(path));
    (void)snprintf(all, room, "%016llx %s", (unsigned long long)plan_key(all), path);
    if (job_data(plan) == DATA_TOKENS)
      check_word(view, "data.format", DataFormat_names[plan->files[i].format]);
    count++;
  }
  if (count > 3)
    line_add(&shown, " ... (%u files, #%08llx)", count,
             (unsigned long long)(plan_key(all) & 0xffffffff));
  if (strcmp(job_setting(plan, key), count > 0 ? text : "none") != 0)
    prove_finding(view, NULL, -1, "records", "%s is %.80s, and %.80s is read", key,
                  job_setting(plan, key), text);
}

/* ---- samples */

/* Losses are means over the samples of a step; the job says how many there are. */
static void check_batch(const View *view) {
  int64_t batch = 0, replicas = 1;
  for (uint32_t axis = 0; axis < view->plan->axes_count; axis++)
    if (view->plan->axes[axis].divides == DIVIDES_SAMPLES) replicas *= view->plan->axes[axis].size;
  if (__builtin_mul_overflow(job_microbatch_samples(view->plan), job_accumulation(view->plan),
                             &batch) ||
      __builtin_mul_overflow(batch, replicas, &batch) || batch != job_batch_samples(view->plan))
    prove_finding(view, NULL, -1, "records",
                  "batch of %lld sample%s is not %lld a micro-batch * %lld * %lld replica%s",
                  (long long)job_batch_samples(view->plan), plural(job_batch_samples(view->plan)),
                  (long long)job_microbatch_samples(view->plan),
                  (long long)job_accumulation(view->plan), (long long)replicas, plural(replicas));
}

/* Too few loads leave something unread, which types find. */
static void check_loads(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t i = 0; i < plan->programs_count; i++) {
    const PlanProgram *program = &plan->programs[i];
    int64_t most = program->kind == PROGRAM_TRAIN_STEP ? job_accumulation(plan) : 1;
    if (plan_loads(plan, program) > most)
      prove_finding(view, NULL, -1, "records", "%s loads a micro-batch twice",
                    ProgramKind_names[program->kind]);
  }
}

/* Adds the fields of a line of CSV, with a blank before each. `field` has room for the longest. */
static void add_columns(Line *text, const char *columns, char *field) {
  size_t length = 0;
  bool is_quoted = false;
  if (*columns == '\0') return;
  for (const char *at = columns;; at++) {
    const bool is_doubled = is_quoted && at[0] == '"' && at[1] == '"';
    const bool ends = *at == '\0' || (*at == ',' && !is_quoted);
    at += is_doubled;
    if (ends) {
      line_add(text, " ");
      add_name(text, field, length);
      length = 0;
    } else if (*at == '"' && !is_doubled) {
      is_quoted = !is_quoted;
    } else {
      field[length++] = *at;
    }
    if (*at == '\0') return;
  }
}

/* Settings list the columns of all inputs: "x: rooms area; y: price". */
static bool has_columns(const View *view, const char *said, const char *name, const char *columns) {
  const size_t room = 6 * (strlen(name) + strlen(columns)) + 16; /* a name a blank and two quotes */
  char *wanted = arena_alloc(view->arena, room), *field = arena_alloc(view->arena, room);
  Line text = {wanted, room, 0};
  add_name(&text, name, strlen(name));
  line_add(&text, ":");
  add_columns(&text, columns, field);
  bool is_quoted = false, begins = true;
  for (const char *first = said; *said != '\0'; said++) {
    if (begins && strncmp(said, wanted, text.used) == 0 &&
        (said[text.used] == '\0' || strncmp(said + text.used, "; ", 2) == 0))
      return true;
    is_quoted = is_quoted != (*said == '"');
    begins = !is_quoted && *said == ' ' && said > first && said[-1] == ';';
  }
  return false;
}

/* Its second input are ids among the classes of the first. */
static bool compares_ids(const Plan *plan, const PlanNode *node) {
  const char *op = plan_string(plan, node->op);
  return strcmp(op, "cross_entropy") == 0 || strcmp(op, "draw") == 0;
}

/* True if a cross-entropy compares with this input. */
static bool is_compared(const View *view, uint32_t value) {
  const Plan *plan = view->plan;
  for (uint32_t n = 0; n < plan->nodes_count; n++) {
    const PlanNode *node = &plan->nodes[n];
    const PlanUse *in = &plan->uses[node->inputs_first];
    if (compares_ids(plan, node) && node->inputs_count > 1 &&
        plan->values[in[1].value].kind == VALUE_INPUT &&
        value_named(view, in[1].value, VALUE_INPUT) == value)
      return true;
  }
  return false;
}

/* Returns the source of an input. An i32 input with dims [batch, seq] has token ids, or the ids of
 * the tokens one later; other inputs are columns of a table. */
static uint32_t role_of(const View *view, uint32_t input) {
  const Plan *plan = view->plan;
  const PlanValue *value = &plan->values[input];
  const PlanLayout *layout = &plan->layouts[value->layout];
  const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first];
  if (value->dtype != DTYPE_I32 || layout->dims_count != 2 ||
      strcmp(plan_string(plan, dim[1].name), "seq") != 0)
    return is_compared(view, input) ? INPUT_CLASSES : INPUT_COLUMNS;
  const char *name = plan_string(plan, value->name);
  if (strcmp(name, "document_begins") == 0) return INPUT_BEGINS;
  if (strcmp(name, "document_places") == 0) return INPUT_PLACES;
  return strcmp(name, "targets") == 0 ? INPUT_TARGETS : INPUT_TOKENS;
}

/* A staged input must be the value that the model reads under its name: a micro-batch of samples,
 * of the job's length. Types find that inputs are loaded in the order of their values. */
static const char *input_fault(const View *view, const PlanInput *input, uint32_t number) {
  const Plan *plan = view->plan;
  const PlanValue *value = &plan->values[number];
  const PlanLayout *layout = &plan->layouts[value->layout];
  const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first];
  int64_t elements = 1;
  if (input->dtype != value->dtype) return "has another dtype";
  if (input->role != role_of(view, number)) return "is filled with something else";
  for (uint32_t i = 0; i < layout->dims_count; i++) {
    bool is_seq = strcmp(plan_string(plan, dim[i].name), "seq") == 0;
    if (is_seq && dim[i].size != job_sample_tokens(plan)) return "has not the tokens of a sample";
    if (__builtin_mul_overflow(elements, dim[i].size, &elements)) return "is too large";
  }
  bool fits = layout->dims_count > 0 && dim[0].size == job_microbatch_samples(plan) &&
              elements / dim[0].size == input->sample_elements;
  return fits ? NULL : "is not a micro-batch of samples";
}

/* Ids must be below the rows of the embedding that looks them up, and below the classes of the
 * scores that they are compared with. */
static const char *ids_fault(const View *view, const PlanInput *input, uint32_t value) {
  const Plan *plan = view->plan;
  for (uint32_t n = 0; n < plan->nodes_count; n++) {
    const PlanNode *node = &plan->nodes[n];
    const PlanUse *in = &plan->uses[node->inputs_first];
    bool looks_up = strcmp(plan_string(plan, node->op), "embedding") == 0;
    bool compares = compares_ids(plan, node);
    if (node->inputs_count < 2 || !(looks_up || compares) ||
        plan->values[in[1].value].kind != VALUE_INPUT ||
        value_named(view, in[1].value, VALUE_INPUT) != value)
      continue;
    const PlanLayout *of = &plan->layouts[plan->values[in[0].value].layout];
    uint32_t dim = of->dims_first + (looks_up || of->dims_count == 0 ? 0 : of->dims_count - 1);
    if (of->dims_count == 0 || input->vocab == 0 || input->vocab > plan->layout_dims[dim].real_size)
      return "has more ids than the model";
  }
  return NULL;
}

/* Tokens and targets come from one file. */
static void check_vocab(const View *view) {
  const Plan *plan = view->plan;
  uint32_t least = 0;
  for (const PlanInput *at = plan->inputs; at < plan->inputs + plan->inputs_count; at++)
    if (!input_is_columns(at->role) && !input_is_of_documents(at->role) && at->vocab > 0 &&
        (least == 0 || at->vocab < least))
      least = at->vocab;
  if (job_vocab(plan) != least)
    prove_finding(view, NULL, -1, "records", "%u tokens are known, and inputs have %u",
                  job_vocab(plan), least);
}

/* A sample has as many tokens as its inputs have places in seq. */
static void check_tokens(const View *view) {
  const Plan *plan = view->plan;
  bool has_seq = false;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanLayout *layout = &plan->layouts[plan->values[v].layout];
    for (uint32_t i = 0; i < layout->dims_count && plan->values[v].kind == VALUE_INPUT; i++)
      has_seq = has_seq || strcmp(plan_string(plan, plan->layout_dims[layout->dims_first + i].name),
                                  "seq") == 0;
  }
  if (!has_seq && job_sample_tokens(plan) != 1)
    prove_finding(view, NULL, -1, "records", "expected samples of 1 token, found %lld",
                  (long long)job_sample_tokens(plan));
}

/* The loss of a step is divided by the slot exactly where some targets may not count. */
static void check_targets(const View *view) {
  const Plan *plan = view->plan;
  bool may_lack = false, is_masked = false;
  for (uint32_t i = 0; i < plan->files_count; i++)
    is_masked |= plan->files[i].may_lack_targets != 0;
  for (const PlanInput *at = plan->inputs; at < plan->inputs + plan->inputs_count; at++)
    may_lack |= (at->role == INPUT_CLASSES && job_data(plan) == DATA_TABLE) ||
                (at->role == INPUT_TARGETS && is_masked);
  if (may_lack != (plan_slot(plan, CONTROL_targets) != NULL))
    prove_finding(view, NULL, -1, "records",
                  may_lack ? "targets may be missing, and nothing counts those that are there"
                           : "no target can be missing, and the loss is divided by a count");
}

/* Each loss has its slots: a sum and a count, and of several losses whose targets may be missing a
 * divisor each. */
static void check_losses(const View *view) {
  const Plan *plan = view->plan;
  const PlanLosses losses = plan_losses(plan);
  const bool has_divisors = losses.count > 1 && plan_slot(plan, CONTROL_targets) != NULL;
  if (plan_losses_held(plan) != losses.count)
    prove_finding(view, NULL, -1, "records", "the model has %d losses, and there are slots of %d",
                  losses.count, plan_losses_held(plan));
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    if ((plan_slot(plan, control_divisor(i, LOSSES_MAX)) != NULL) !=
        (has_divisors && i < losses.count))
      prove_finding(view, NULL, -1, "records", "slot %s: %s",
                    control_name(control_divisor(i, LOSSES_MAX)),
                    has_divisors && i < losses.count ? "it is missing, and a loss divides by it"
                                                     : "no loss divides by it");
}

/* Losses are scaled exactly where the job has a loss scale, which is where compute is fp16. */
static void check_loss_scale(const View *view) {
  const PlanSetting *said = plan_setting(view->plan, "precision.loss_scale");
  const bool is_said = said != NULL && said->kind != SETTING_NONE;
  const bool is_narrow = strcmp(job_setting(view->plan, "precision.compute"), "fp16") == 0;
  char name[LOSS_SCALE_NAME_BYTES];
  for (int32_t i = 0; is_said && i < LOSS_SCALE_NUMBERS; i++)
    (void)is_said_once(view, loss_scale_setting(i, name));
  const uint64_t slots = plan_slot_mask(view->plan) & CONTROL_SCALE_SLOTS;
  if (is_said != is_narrow)
    prove_finding(view, NULL, -1, "records",
                  is_said ? "compute is not fp16, and losses are scaled"
                          : "compute is fp16, and the plan has no loss scale");
  else if (slots != (is_said ? CONTROL_SCALE_SLOTS : 0))
    prove_finding(view, NULL, -1, "records",
                  is_said ? "losses are scaled, and slots of the scale are missing"
                          : "no loss is scaled, and there are slots of a scale");
}

static void check_inputs(const View *view) {
  const Plan *plan = view->plan;
  uint32_t input = 0;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanValue *value = &plan->values[v];
    if (value->kind != VALUE_INPUT || value_named(view, v, VALUE_INPUT) != v) continue;
    const PlanInput *at = &plan->inputs[input];
    const char *name = plan_string(plan, value->name);
    const char *fault = input++ >= plan->inputs_count                    ? "is not staged"
                        : strcmp(plan_string(plan, at->name), name) != 0 ? "is staged as another"
                                                                         : input_fault(view, at, v);
    if (fault == NULL) fault = ids_fault(view, at, v);
    if (fault == NULL && job_data(plan) == DATA_TABLE &&
        !has_columns(view, job_setting(plan, "data.columns"), name, plan_string(plan, at->columns)))
      fault = "is filled with other columns";
    if (fault != NULL) prove_finding(view, NULL, -1, "records", "input %.60s %s", name, fault);
  }
}

/* ---- random numbers */

/* All parameters persist in one dtype, and all kernels read one dtype. */
static void check_dtypes(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].kind == BUFFER_PARAM)
      check_word(view, "precision.param", dtype_name((DType)plan->tensors[i].dtype));
  for (uint32_t i = 0; i < plan->values_count; i++) {
    const uint32_t kind = plan->values[i].kind, dtype = plan->values[i].dtype;
    const char *name = dtype_name((DType)dtype);
    if (kind == VALUE_PARAM)
      check_word(view, "precision.compute",
                 dtype == DTYPE_F32 && computes_tf32(plan) ? "tf32" : name);
    else if (kind == VALUE_PARAM_GRAD)
      check_word(view, "precision.grad", name);
  }
}

/* Samples end as for mse where one of several losses is one: then the others may be cross-entropy.
 */
static bool may_end_so(const Plan *plan, const PlanNode *node) {
  return plan_losses_held(plan) > 1 && strcmp(job_loss(plan), "mse") == 0 &&
         strcmp(plan_string(plan, node->op), "cross_entropy") == 0;
}

/* Two streams are the same only where two names are. */
static void check_keys(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t i = 0; i < plan->parameters_count; i++) {
    const char *name = plan_string(plan, plan->values[plan->parameters[i].value].name);
    if (plan->parameters[i].key != plan_key(name))
      prove_finding(view, NULL, -1, "records", "parameter %.80s begins with another's numbers",
                    name);
  }
  for (uint32_t i = 0; i < plan->nodes_count; i++) {
    const char *path = plan_string(plan, plan->nodes[i].path);
    const PlanNode *node = &plan->nodes[i];
    if (node->outputs_count > 0 &&
        plan->values[plan->uses[node->outputs_first].value].kind == VALUE_LOSS &&
        strcmp(plan_string(plan, node->op), job_loss(plan)) != 0 && !may_end_so(plan, node))
      prove_finding(view, NULL, -1, "records", "the loss is %.40s, and samples end as for %.40s",
                    plan_string(plan, node->op), job_loss(plan));
    if (*path != '\0' && plan->nodes[i].key != plan_key(path))
      prove_finding(view, NULL, -1, "records", "%.40s of %.80s draws another's numbers",
                    plan_string(plan, plan->nodes[i].op), path);
  }
}

/* Whoever issues records runs the main lane, on the device. plan_check: each lane touches memory
 * that it reaches. */
static void check_lanes(const View *view) {
  if (plan_is_host_lane(view->plan, plan_main_lane(view->plan)))
    prove_finding(view, NULL, -1, "records", "the main lane is not the device's");
}

void prove_job(const View *view) {
  if (view->plan->regions_count == 0) return;
  check_validation(view);
  prove_model(view);
  check_batch(view);
  check_inputs(view);
  check_tokens(view);
  check_targets(view);
  check_losses(view);
  check_loss_scale(view);
  check_vocab(view);
  check_dtypes(view);
  check_keys(view);
  check_lanes(view);
  check_loads(view);
  check_files(view, "data.train", 0);
  check_files(view, "data.valid", 1);
}
