/* offload.c -- reads the keys of section offload: which tensors move, how many bytes of them, and
 * which keys need which others. */
#include "compiler/job/offload.h"

#include <string.h>

#include "compiler/job/units.h"

Amount *offload_part(Job *job, int32_t field) {
  if (field == FIELD_offload_optimizer) return &job->offload_part;
  return field == FIELD_offload_activations ? &job->frames_part : NULL;
}

/* The fix is the nearest value that the key takes: it keeps the word and the part that it can. */
static void fix_part(Compile *c, int32_t field, bool is_file, const RawEntry *part) {
  const Raw *raw = part != NULL ? part->value : NULL;
  const bool is_most = part != NULL && strcmp(part->key, "most") == 0;
  const bool is_number = raw != NULL && raw->kind == RAW_NUMBER && raw->number > 0;
  const char *amount = is_most ? "40GB" : "60%";
  Amount said = {0};
  if (is_most && is_number && raw->number >= 1 && raw->number < 1e18)
    amount = arena_printf(c->arena, "%.0fB", raw->number);
  else if (!is_most && is_number && raw->number <= 100)
    amount = arena_printf(c->arena, "%.15g%%", raw->number * (raw->number <= 1 ? 100 : 1));
  else if (raw != NULL && raw->kind == RAW_TEXT &&
           units_amount(raw->text, is_most ? "bytes" : "%", &said) && said.value > 0 &&
           (is_most || said.value <= 100))
    amount = raw->text;
  fix_last(c, "%s = { \"%s\", %s = \"%s\" }", spec_fields[field].key, is_file ? "nvme" : "cpu",
           is_most ? "most" : "share", amount);
}

/* { "cpu", share = "60%" } or { "cpu", most = "40GB" }: how much of it, whole layers. */
bool offload_check_part(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  const bool is_file = field == FIELD_offload_optimizer && raw->list.count == 1 &&
                       raw->list.at[0]->kind == RAW_TEXT &&
                       strcmp(raw->list.at[0]->text, "nvme") == 0;
  const bool has_word = raw->list.count == 1 && raw->list.at[0]->kind == RAW_TEXT &&
                        (strcmp(raw->list.at[0]->text, "cpu") == 0 || is_file);
  const RawEntry *part = raw->named.count == 1 ? &raw->named.at[0] : NULL;
  const bool is_share = part != NULL && strcmp(part->key, "share") == 0;
  const bool is_most = part != NULL && strcmp(part->key, "most") == 0;
  Amount amount = {0};
  bool is_good = has_word && (is_share || is_most) && part->value->kind == RAW_TEXT &&
                 units_amount(part->value->text, is_share ? "%" : "bytes", &amount);
  if (!is_good)
    error_at(c, value->origin.span, "wrong-type",
             "%s: expected a word, { \"cpu\", share = \"60%%\" } or { \"%s\", most = \"40GB\" }",
             field_name(c->arena, field), field == FIELD_offload_optimizer ? "nvme" : "cpu");
  else if (!(amount.value > 0) || (is_share && amount.value > 100))
    is_good =
        error_at(c, value->origin.span, "range", "%s: %s is above 0%s", field_name(c->arena, field),
                 part->key, is_share ? ", and at most 100 %" : "");
  if (!is_good) {
    fix_part(c, field, is_file, part);
    return false;
  }
  *(int32_t *)field_at(job, field) = is_file ? CHOICE_OFFLOAD_NVME : CHOICE_OFFLOAD_CPU;
  *offload_part(job, field) = amount;
  return true;
}

/* The tier of the states, by the key or the section's word. */
static int32_t states_of(const Job *job) {
  return job->set[FIELD_offload_optimizer] ? job->offload.optimizer : job->offload.head;
}

static void check_path(Compile *c, Job *job) {
  const bool may_choose = states_of(job) == CHOICE_OFFLOAD_AUTO;
  if (may_choose && !job->set[FIELD_offload_path] && job->slurm.scratch != NULL) {
    job->offload.path = job->slurm.scratch;
    field_derive(job, FIELD_offload_path, "slurm.scratch");
  }
  if (states_of(job) != CHOICE_OFFLOAD_NVME && !(may_choose && job->offload.path != NULL)) {
    const int32_t fields[] = {FIELD_offload_path, FIELD_offload_disk, FIELD_offload_verify};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
      refuse_useless(c, job, fields[i], "states in files", "no key of offload is \"nvme\"");
    return;
  }
  if (job->set[FIELD_offload_path]) return; /* offload = "auto" uses files last */
  if (job->slurm.scratch != NULL) {
    job->offload.path = job->slurm.scratch;
    field_derive(job, FIELD_offload_path, "slurm.scratch");
    return;
  }
  const bool is_head = !job->set[FIELD_offload_optimizer];
  error_at(c, is_head ? job->offload.head_origin.span : job->origin[FIELD_offload_optimizer].span,
           "missing-key", "%s \"nvme\", and offload.path does not say in which directory",
           is_head ? "offload is" : "offload.optimizer is");
  fix_last(c, is_head ? "offload = { \"nvme\", path = \"/local/scratch\" }"
                      : "path = \"/local/scratch\"");
}

/* States that stream to the device come from host memory, to gradients and weights that are here.
 */
static void check_update(Compile *c, const Job *job) {
  const bool is_device = job->offload.update == CHOICE_UPDATES_DEVICE;
  const Span at = field_place(job, FIELD_offload_update);
  if (states_of(job) == CHOICE_OFFLOAD_NONE)
    refuse_useless(c, job, FIELD_offload_update, "states in host memory", "they do not leave");
  if (is_device && states_of(job) == CHOICE_OFFLOAD_NVME) {
    error_at(c, at, "not-built",
             "offload.update = \"device\" with states in files is not built yet: the host's "
             "processors update them where they pass");
    fix_last(c, "update = \"host\"");
  }
  const FieldId far[] = {FIELD_offload_weights, FIELD_offload_grads};
  for (size_t i = 0; i < sizeof far / sizeof *far && is_device; i++) {
    if (*(const int32_t *)field_at((Job *)job, far[i]) == CHOICE_OFFLOAD_NONE) continue;
    error_at(c, at, "not-built",
             "offload.update = \"device\" with %s in host memory is not built yet: they are where "
             "the host updates",
             i == 0 ? "weights" : "gradients");
    fix_last(c, "update = \"host\"");
  }
}

void offload_rules(Compile *c, Job *job) {
  const bool is_auto = states_of(job) == CHOICE_OFFLOAD_AUTO;
  if (job->offload.weights != CHOICE_OFFLOAD_NONE && states_of(job) != CHOICE_OFFLOAD_CPU &&
      states_of(job) != CHOICE_OFFLOAD_NVME) {
    error_at(c, job->origin[FIELD_offload_weights].span, "conflict",
             "offload.weights: an update needs weights and optimizer states in the same memory, "
             "and %s",
             is_auto ? "offload.optimizer = \"auto\" may leave the states on the device"
                     : "the states stay on the device");
    fix_last(c, "offload = { optimizer = \"cpu\", weights = \"cpu\" }");
  }
  if (job->offload.weights == CHOICE_OFFLOAD_NVME && states_of(job) == CHOICE_OFFLOAD_CPU) {
    error_at(
        c, job->origin[FIELD_offload_weights].span, "not-built",
        "offload.weights = \"nvme\" with states in host memory is not built yet: of weights in "
        "files states are there, too");
    fix_last(c, "offload = { optimizer = \"nvme\", weights = \"nvme\" }");
  }
  if (job->offload.grads != CHOICE_OFFLOAD_NONE && states_of(job) != CHOICE_OFFLOAD_CPU &&
      states_of(job) != CHOICE_OFFLOAD_NVME) {
    error_at(c, job->origin[FIELD_offload_grads].span, "conflict",
             "offload.grads: gradients accumulate where updates run, and %s",
             is_auto ? "auto may leave states on the device" : "states do not leave the device");
    fix_last(c, "offload = { optimizer = \"cpu\", grads = \"cpu\" }");
  }
  check_update(c, job);
  check_path(c, job);
  if (job->set[FIELD_offload_optimizer]) return;
  job->offload.optimizer = job->offload.head;
  field_derive(job, FIELD_offload_optimizer,
               arena_printf(c->arena, "offload = \"%s\"", job->offload.head_text));
}
