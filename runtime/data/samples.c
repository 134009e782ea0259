/* samples.c -- windows over concatenated token files, rows of tables, and synthetic samples. */
#include "runtime/data/samples.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "kernels/math/floats.h"
#include "kernels/math/philox.h"
#include "runtime/data/apart.h"
#include "runtime/data/permute.h"
#include "runtime/plan/limits.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_inputs.h"
#include "runtime/plan/plan_job.h"

enum {
  INPUT_ALIGN_BYTES = 64,
  ENTROPY_VOCAB_MAX = 65536,
  ENTROPY_TOKENS_MAX = 16 << 20,
  ENTROPY_PART_TOKENS = 1 << 16
};

/* Keys of the random streams for data, different from those of model tensors. */
static const uint64_t epoch_key = 0x65706f6368, synthetic_key = 0x73796e7468;

/* The last window of validation may be short: only in the cross-entropy can targets beyond the end
 * have weight 0. */
static bool has_short(const Samples *samples) {
  const Plan *plan = samples->plan;
  const KernelContract *loss = contract_find(job_loss(plan));
  return samples->valid && loss != NULL && loss->id == KERNEL_cross_entropy;
}

/* A failing disk or network is not a mistake of the job: a retry may help. */
static int32_t code_of(int failure) {
  bool is_world = failure == EIO || failure == ESTALE || failure == ETIMEDOUT ||
                  failure == ENOMEM || failure == EMFILE || failure == ENFILE;
  return is_world ? STATUS_WORLD : STATUS_USER;
}

static bool refuse_id(const SampleFile *file, int64_t at, uint32_t vocab, Status *status) {
  return status_fail(status, STATUS_USER, "%s: token %u at position %" PRId64 ", vocab = %u",
                     file->path, tokens_id(&file->tokens, at), at, vocab);
}

/* A part of the ids, so that most wrong files are refused before the first step. */
static bool check_ids(const SampleFile *file, uint32_t vocab, Status *status) {
  if (vocab == 0) return true; /* the model reads no ids */
  if (!tokens_has_room(file->tokens.id_bytes, vocab))
    return status_fail(status, STATUS_USER,
                       "%s: its ids have 16 bits and end at 65,535, but vocab = %u", file->path,
                       vocab);
  int64_t bad = tokens_look(&file->tokens, vocab).bad;
  return bad < 0 || refuse_id(file, bad, vocab, status);
}

static bool is_set(const Plan *plan, const char *key, const char *word) {
  const PlanSetting *setting = plan_setting(plan, key);
  return setting && strcmp(plan_string(plan, setting->text), word) == 0;
}

/* ---- groups of files */

/* Reads "WEIGHT:FILES ..." of the plan. Returns how many sources there are. */
static int32_t read_mix(const char *text, double *weight, int32_t *files) {
  int32_t count = 0;
  for (char *end; *text != '\0' && count < PLAN_SOURCES_MAX; text = end + (*end == ' ')) {
    weight[count] = strtod(text, &end);
    if (end == text || *end != ':' || !(weight[count] > 0) || isinf(weight[count])) return 0;
    text = end + 1;
    files[count++] = (int32_t)strtol(text, &end, 10);
    if (end == text) return 0;
  }
  return count;
}

/* Training without a mix and validation have one group. */
static bool make_groups(Samples *samples, Status *status) {
  const PlanSetting *mix = samples->valid ? NULL : plan_setting(samples->plan, PLAN_MIX_KEY);
  double weight[PLAN_SOURCES_MAX];
  int32_t files[PLAN_SOURCES_MAX] = {samples->file_count}, at = 0;
  samples->group_count = mix ? read_mix(plan_string(samples->plan, mix->text), weight, files) : 1;
  samples->group = calloc((size_t)samples->group_count + 1, sizeof *samples->group);
  if (!samples->group || (mix && !mix_make(&samples->mix, weight, samples->group_count)))
    return status_fail(status, STATUS_WORLD, "not enough memory to open data");
  for (int32_t i = 0; i < samples->group_count; i++)
    for (int32_t k = 0; k < files[i] && at < samples->file_count; k++, at++) {
      const SampleFile *file = &samples->file[at];
      if (k == 0) samples->group[i].first_token = file->first;
      samples->group[i].tokens += file->tokens.count;
    }
  return at == samples->file_count ||
         status_fail(status, STATUS_OURS, "plan: its sources have other files than data.train");
}

static bool pack(Samples *samples, SampleGroup *group, int64_t context, Status *status) {
  const TokenFile **files = calloc((size_t)samples->file_count + 1, sizeof *files);
  int32_t count = 0;
  for (int32_t i = 0; files && i < samples->file_count; i++) {
    const SampleFile *file = &samples->file[i];
    if (file->first >= group->first_token && file->first < group->first_token + group->tokens)
      files[count++] = &file->tokens;
  }
  bool is_good = files && tokens_pack(files, count, context, &group->packing);
  free(files);
  group->count = group->packing.windows;
  return is_good || status_fail(status, STATUS_WORLD, "not enough memory to pack documents");
}

/* Counts the samples of each group, one after another. */
static bool cut_groups(Samples *samples, Status *status) {
  const bool is_packed = is_set(samples->plan, "data.fill", "pack");
  const int64_t context = job_sample_tokens(samples->plan);
  for (int32_t i = 0; i < samples->group_count; i++) {
    SampleGroup *group = &samples->group[i];
    const int64_t targets = group->tokens - 1;
    group->first_sample = samples->count;
    if (is_packed && !pack(samples, group, context, status)) return false;
    if (!is_packed && group->tokens > 0)
      group->count = has_short(samples) ? (targets + context - 1) / context : targets / context;
    if (group->count == 0 && (group->tokens > 0 || samples->mix.count > 0))
      return status_fail(status, STATUS_USER,
                         "%s: %" PRId64 " tokens are too few for a context of %" PRId64 " and one",
                         group->tokens > 0 ? samples_file(samples, group->first_token)->path
                                           : "a source of data.train",
                         group->tokens, context);
    samples->count += group->count;
  }
  return true;
}

static bool open_file(Samples *samples, const PlanFile *from, Status *status) {
  enum { FILES_LOOKED_AT = 64 };
  const Plan *plan = samples->plan;
  const bool is_packed = is_set(plan, "data.fill", "pack");
  char why[TOKENS_WHY_BYTES];
  SampleFile *file = &samples->file[samples->file_count];
  file->path = plan_string(plan, from->path);
  file->first = samples->tokens;
  errno = 0;
  if (!tokens_open(&file->tokens, file->path, (DataFormat)from->format, why))
    return status_fail(status, code_of(errno), "%s", why);
  samples->file_count++;
  if (!samples->valid && !from->may_lack_targets && file->tokens.mask != NULL)
    return status_fail(status, STATUS_USER,
                       "%s: has a mask of targets, and had none when the plan was compiled: "
                       "compile the job again",
                       file->path);
  if ((samples->is_apart || is_packed) && file->tokens.document_count == 0)
    return status_fail(status, STATUS_USER,
                       "%s: does not say where documents begin, which data.documents = \"apart\" "
                       "and data.fill = \"pack\" need",
                       file->path);
  samples->tokens += file->tokens.count;
  return samples->file_count > FILES_LOOKED_AT || check_ids(file, job_vocab(plan), status);
}

static bool open_tokens(Samples *samples, const Plan *plan, Status *status) {
  samples->file = calloc(plan->files_count + 1, sizeof *samples->file);
  if (!samples->file) return status_fail(status, STATUS_WORLD, "not enough memory to open data");
  for (uint32_t i = 0; i < plan->files_count; i++)
    if ((plan->files[i].valid != 0) == samples->valid &&
        !open_file(samples, &plan->files[i], status))
      return false;
  return make_groups(samples, status) && cut_groups(samples, status);
}

static bool holds_numbers(const PlanInput *input) {
  return dtype_is_float((DType)input->dtype) && input->dtype != DTYPE_F64;
}

/* Ids are i32, numbers f32, bf16 or fp16; token files hold only ids. */
static bool check_inputs(const Plan *plan, Status *status) {
  uint32_t data = job_data(plan);
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    bool known = input->dtype == DTYPE_I32 || (holds_numbers(input) && data != DATA_TOKENS);
    if (!known)
      return status_fail(status, STATUS_OURS, "plan: input '%s' cannot be read as %s",
                         plan_string(plan, input->name), dtype_name((DType)input->dtype));
  }
  if (data == DATA_TOKENS && job_vocab(plan) == 0)
    for (uint32_t i = 0; i < plan->inputs_count; i++)
      if (plan->inputs[i].dtype == DTYPE_I32)
        return status_fail(status, STATUS_OURS, "plan: token ids without a vocabulary");
  return job_sample_tokens(plan) > 0 ||
         status_fail(status, STATUS_OURS, "plan: a sample has no tokens");
}

bool samples_open(Samples *samples, const Plan *plan, bool valid, Status *status) {
  *samples = (Samples){
      .plan = plan, .valid = valid, .may_lack_targets = plan_slot(plan, CONTROL_targets) != NULL};
  samples->losses = plan_losses(plan);
  samples->is_apart = is_set(plan, "data.documents", "apart");
  if (!check_inputs(plan, status)) return false;
  bool good = true;
  if (job_data(plan) == DATA_TOKENS)
    good = open_tokens(samples, plan, status);
  else if (job_data(plan) == DATA_TABLE) {
    good = table_open(&samples->table, plan, valid, status);
    samples->count = samples->table.rows;
  } else
    samples->count = INT64_MAX;
  if (good && !valid && samples->count == 0)
    good = status_fail(status, STATUS_USER, "the plan names no training data");
  if (valid && samples->count > job_validate_samples(plan))
    samples->count = job_validate_samples(plan);
  if (!good) samples_close(samples);
  return good;
}

void samples_close(Samples *samples) {
  for (int32_t i = 0; i < samples->file_count; i++)
    tokens_close(&samples->file[i].tokens);
  for (int32_t i = 0; i < samples->group_count; i++)
    tokens_free_packing(&samples->group[i].packing);
  free(samples->file), free(samples->group);
  mix_free(&samples->mix);
  table_close(&samples->table);
  *samples = (Samples){0};
}

int64_t samples_at(const Samples *samples, int64_t position) {
  if (samples->valid || job_data(samples->plan) == DATA_SYNTHETIC) return position;
  int64_t first = 0, count = samples->count;
  uint64_t key = philox_mix(job_seed(samples->plan), epoch_key);
  if (samples->mix.count > 0) {
    const int32_t source = mix_at(&samples->mix, position, &position);
    first = samples->group[source].first_sample;
    count = samples->group[source].count;
    key = philox_mix(key, (uint64_t)source + 1);
  }
  int64_t epoch = position / count, place = position % count;
  return first + (job_shuffle(samples->plan)
                      ? permute(philox_mix(key, (uint64_t)epoch), count, place)
                      : place);
}

const SampleGroup *samples_group(const Samples *samples, int64_t number) {
  int32_t at = 0;
  while (at + 1 < samples->group_count && samples->group[at + 1].first_sample <= number)
    at++;
  return &samples->group[at];
}

uint64_t samples_input_offset(const Plan *plan, uint32_t input) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < input; i++) {
    uint64_t bytes = (uint64_t)job_microbatch_samples(plan) *
                     (uint64_t)plan->inputs[i].sample_elements *
                     (uint64_t)dtype_bytes((DType)plan->inputs[i].dtype);
    offset += (bytes + INPUT_ALIGN_BYTES - 1) / INPUT_ALIGN_BYTES * INPUT_ALIGN_BYTES;
  }
  return offset;
}

const SampleFile *samples_file(const Samples *samples, int64_t token) {
  int32_t low = 0, high = samples->file_count - 1;
  while (low < high) {
    int32_t middle = (low + high + 1) / 2;
    if (samples->file[middle].first <= token)
      low = middle;
    else
      high = middle - 1;
  }
  return &samples->file[low];
}

bool samples_read(const Samples *samples, int64_t first, int64_t count, bool targets, int32_t *out,
                  Status *status) {
  uint32_t vocab = job_vocab(samples->plan);
  int64_t done = 0;
  while (done < count && first + done < samples->tokens) {
    const SampleFile *file = samples_file(samples, first + done);
    int64_t at = first + done - file->first;
    int64_t take = file->tokens.count - at < count - done ? file->tokens.count - at : count - done;
    for (int64_t i = 0; i < take; i++) {
      uint32_t id = tokens_id(&file->tokens, at + i);
      if (id >= vocab) return refuse_id(file, at + i, vocab, status);
      out[done + i] = !targets || tokens_is_target(&file->tokens, at + i) ? (int32_t)id : -1;
    }
    done += take;
  }
  for (; done < count; done++)
    out[done] = -1;
  return true;
}

static bool fill_tokens(const Samples *samples, const PlanInput *input, int64_t number,
                        int32_t *out, Status *status) {
  int64_t context = job_sample_tokens(samples->plan);
  int64_t shift = input->role == INPUT_TARGETS ? 1 : 0;
  const SampleGroup *group = samples_group(samples, number);
  if (group->packing.windows > 0) return packed_fill(samples, input, number, out, status);
  const int64_t first = group->first_token + (number - group->first_sample) * context;
  if (input_is_of_documents(input->role)) {
    documents_fill(samples, input, first, out);
    return true;
  }
  if (!samples_read(samples, first + shift, input->sample_elements, shift > 0, out, status))
    return false;
  if (shift > 0 && samples->is_apart)
    documents_leave_out(samples, first + 1, input->sample_elements, out);
  for (int64_t i = 0; shift == 0 && i < input->sample_elements; i++)
    if (out[i] < 0) out[i] = 0;
  return true;
}

/* Element i of an input, rounded to its type. */
static void put_number(const PlanInput *input, uint8_t *out, int64_t i, double value) {
  if (input->dtype == DTYPE_I32)
    ((int32_t *)(void *)out)[i] = (int32_t)value; /* table.c has checked it */
  else
    float_put(out, i, (DType)input->dtype, (float)value);
}

static void fill_table(const Samples *samples, uint32_t input, int64_t number, uint8_t *out) {
  int64_t column = 0;
  for (uint32_t i = 0; i < input; i++)
    column += samples->plan->inputs[i].sample_elements;
  const Table *table = &samples->table;
  const float *row = table->values + number * table->columns + column;
  const PlanInput *what = &samples->plan->inputs[input];
  for (int64_t i = 0; i < what->sample_elements; i++)
    put_number(what, out, i, (double)row[i]);
}

/* Tokens and targets of a sample overlap, as in text; columns are normally distributed. */
static void fill_synthetic(const Samples *samples, uint32_t input, int64_t number, uint8_t *out) {
  const PlanInput *what = &samples->plan->inputs[input];
  bool columns = holds_numbers(what);
  uint64_t key = philox_mix(job_seed(samples->plan), synthetic_key + samples->valid);
  if (input_is_columns(what->role)) key = philox_mix(key, input + 1);
  uint32_t vocab = what->vocab > 0                ? what->vocab
                   : job_vocab(samples->plan) > 0 ? job_vocab(samples->plan)
                                                  : 1;
  int64_t shift = what->role == INPUT_TARGETS ? 1 : 0;
  for (int64_t i = 0; i < what->sample_elements; i++) {
    uint32_t word[4];
    double normal[4];
    philox4(key, (uint64_t)number, (uint64_t)(i + shift), word);
    if (columns) philox_normal4(word, normal);
    if (columns)
      put_number(what, out, i, normal[0]);
    else
      ((int32_t *)(void *)out)[i] = (int32_t)(word[0] % vocab);
  }
}

/* Padding of targets is -1, which a loss ignores; so is that of a column of ids, which may be
 * classes. Where such a column is looked up, -1 gives a row of zeros. */
static void fill_padding(const PlanInput *input, uint8_t *out) {
  bool classes = input_is_columns(input->role) && input->dtype == DTYPE_I32;
  memset(out, 0, (size_t)(input->sample_elements * dtype_bytes((DType)input->dtype)));
  for (int64_t i = 0; (input->role == INPUT_TARGETS || classes) && i < input->sample_elements; i++)
    ((int32_t *)(void *)out)[i] = -1;
}

bool samples_fill(const Samples *samples, int64_t number, int64_t row, uint8_t *slot,
                  Status *status) {
  const Plan *plan = samples->plan;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    int64_t row_bytes = input->sample_elements * dtype_bytes((DType)input->dtype);
    uint8_t *out = slot + samples_input_offset(plan, i) + row * row_bytes;
    if (number >= samples->count)
      fill_padding(input, out);
    else if (job_data(plan) == DATA_SYNTHETIC)
      fill_synthetic(samples, i, number, out);
    else if (job_data(plan) == DATA_TABLE)
      fill_table(samples, i, number, out);
    else if (!fill_tokens(samples, input, number, (int32_t *)(void *)out, status))
      return false;
  }
  return true;
}

/* Counts the targets of the loss in the row; a plan that states no model has one loss. */
static int64_t targets_of(const Samples *samples, const PlanLoss *loss, const uint8_t *slot,
                          int64_t row) {
  const Plan *plan = samples->plan;
  int64_t count = 0;
  bool is_of_ids = false;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    if ((input->role != INPUT_CLASSES && input->role != INPUT_TARGETS) ||
        (loss->node != PLAN_NONE && loss->input != i))
      continue;
    is_of_ids = true;
    const void *at = slot + samples_input_offset(plan, i);
    const int32_t *target = (const int32_t *)at + row * input->sample_elements;
    for (int64_t k = 0; k < input->sample_elements; k++)
      count += target[k] >= 0;
  }
  return is_of_ids ? count : 1;
}

void samples_targets(const Samples *samples, const uint8_t *slot, int64_t row,
                     int64_t targets[LOSSES_MAX]) {
  for (int32_t i = 0; samples->may_lack_targets && i < samples->losses.count; i++)
    targets[i] += targets_of(samples, &samples->losses.at[i], slot, row);
}

int64_t samples_passes(const Samples *samples, int32_t replicas) {
  int64_t pass = replicas * job_microbatch_samples(samples->plan);
  return samples->count / pass + (samples->count % pass != 0);
}

int64_t samples_padded(const Samples *samples, int32_t replicas, int32_t replica, int64_t pass) {
  int64_t rows = job_microbatch_samples(samples->plan);
  int64_t left = samples->count - (pass * replicas + replica) * rows;
  if (left < 0) return rows;
  return left < rows ? rows - left : 0;
}

double samples_unigram_entropy(const Samples *samples) {
  uint32_t vocab = job_vocab(samples->plan);
  if (samples->tokens == 0 || vocab > ENTROPY_VOCAB_MAX) return 0.0;
  int64_t *seen = calloc(vocab, sizeof *seen), total = 0;
  if (!seen) return 0.0;
  int64_t parts = ENTROPY_TOKENS_MAX / ENTROPY_PART_TOKENS;
  int64_t stride =
      samples->tokens / parts > ENTROPY_PART_TOKENS ? samples->tokens / parts : ENTROPY_PART_TOKENS;
  for (int64_t first = 0; first < samples->tokens; first += stride)
    for (int64_t i = first; i < first + ENTROPY_PART_TOKENS && i < samples->tokens; i++) {
      const SampleFile *file = samples_file(samples, i);
      uint32_t id = tokens_id(&file->tokens, i - file->first);
      if (id >= vocab) continue; /* an id beyond the vocabulary is reported when it is staged */
      seen[id]++;
      total++;
    }
  double entropy = 0.0;
  for (uint32_t id = 0; id < vocab; id++) {
    double share = (double)seen[id] / (double)(total ? total : 1);
    if (seen[id] > 0) entropy -= share * log(share);
  }
  free(seen);
  return entropy;
}
