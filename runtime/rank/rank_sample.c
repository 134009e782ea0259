/* rank_sample.c -- texts grow: prefill takes a chunk of each prompt, decode one token of each text.
 *
 * The plan has `batch` rows. Each row holds one text, and takes the next one when that has ended. A
 * row's tokens, their positions and the number of its text are staged with every pass; a token
 * without a position is none. A text's numbers do not depend on the other rows. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/json/json.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_stop.h"
#include "runtime/rank/rank_use.h"

enum { PROMPTS_BYTES_MAX = 256 << 20, NAME_BYTES = 4200 };

typedef struct SampleRow {
  int64_t number;         /* of the text; -1: the row has none */
  const json_t *prompt;   /* ids */
  json_t *text;           /* of the list of all texts, with */
  json_t *ids, *logprobs; /* what was drawn */
  int64_t prompt_tokens;
  int64_t filled;   /* positions in the cache */
  int64_t given;    /* tokens of the pass that runs */
  uint32_t matched; /* of the stop text */
} SampleRow;

typedef struct Sampling {
  Rank *rank;
  json_t *asked, *drawn; /* drawn: a text each */
  int64_t tokens;        /* at most, of each text */
  int64_t context, chunk, batch;
  int32_t *ids, *targets, *places; /* of the staged micro-batch */
  SampleRow *rows;
  StopText stop;
  int64_t next; /* text that no row has had */
  int64_t passes;
  int64_t prefill_ns, decode_ns, prefill_tokens, decode_tokens;
} Sampling;

/* The positions that the cache of a text has. */
static int64_t context_of(const Plan *plan) {
  const PlanSetting *setting = plan_setting(plan, "sample.context");
  return setting != NULL && setting->kind == SETTING_COUNT ? setting->count : 0;
}

static bool find_inputs(Sampling *s, Status *status) {
  const Plan *plan = s->rank->plan;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    int32_t *at = (int32_t *)(void *)(s->rank->staging_setup.ring + samples_input_offset(plan, i));
    if (input->role == INPUT_TOKENS) s->ids = at;
    if (input->role == INPUT_TARGETS) s->targets = at;
    if (input->role == INPUT_PLACES) s->places = at;
    if ((input->role != INPUT_TOKENS && input->role != INPUT_TARGETS &&
         input->role != INPUT_PLACES) ||
        input->sample_elements != s->chunk)
      return status_fail(status, STATUS_USER,
                         "the model has an input %s, which prompts do not have",
                         plan_string(plan, input->name));
  }
  return (s->ids != NULL && s->targets != NULL && s->places != NULL) ||
         status_fail(status, STATUS_USER, "the model does not read tokens and targets");
}

/* ---- rows */

static bool is_prompt(const Sampling *s, const json_t *prompt) {
  const int64_t count = (int64_t)json_array_size(prompt);
  if (count < 1 || count + s->tokens > s->context + 1) return false;
  for (int64_t i = 0; i < count; i++) {
    const json_int_t id = json_integer_value(json_array_get(prompt, (size_t)i));
    if (id < 0 || id >= (json_int_t)job_vocab(s->rank->plan)) return false;
  }
  return true;
}

/* The row takes the next text, if there is one. */
static bool take_next(Sampling *s, SampleRow *row, Status *status) {
  const json_t *prompt = json_array_get(json_object_get(s->asked, "sequences"), (size_t)s->next);
  *row = (SampleRow){.number = -1};
  if (prompt == NULL) return true;
  if (!is_prompt(s, prompt))
    return status_fail(status, STATUS_USER, "prompt %lld: its ids are not below %u, or too many",
                       (long long)s->next + 1, job_vocab(s->rank->plan));
  *row = (SampleRow){.number = s->next++,
                     .prompt = prompt,
                     .prompt_tokens = (int64_t)json_array_size(prompt),
                     .ids = json_array(),
                     .logprobs = json_array()};
  row->text = json_pack("{s:o, s:o}", "ids", row->ids, "logprobs", row->logprobs);
  return json_array_append_new(s->drawn, row->text) == 0 ||
         status_fail(status, STATUS_WORLD, "not enough memory to sample");
}

static bool is_end(const Sampling *s, int64_t id) {
  const json_t *ends = json_object_get(s->asked, "ends"), *item;
  size_t i;
  json_array_foreach((json_t *)ends, i, item) if (json_integer_value(item) == id) return true;
  return false;
}

/* A text whose prompt has been read grows by decode. */
static bool grows(const SampleRow *row) {
  return row->number >= 0 && row->filled >= row->prompt_tokens;
}

static int64_t token_at(const SampleRow *row, int64_t position) {
  const int64_t drawn = position - row->prompt_tokens;
  return json_integer_value(drawn < 0 ? json_array_get(row->prompt, (size_t)position)
                                      : json_array_get(row->ids, (size_t)drawn));
}

/* Stages the row's part of a pass over `width` tokens of each row. */
static void stage(const Sampling *s, int64_t number, int64_t width, bool decodes) {
  SampleRow *row = &s->rows[number];
  const int64_t known = decodes ? row->filled + 1 : row->prompt_tokens;
  const bool takes_part = row->number >= 0 && grows(row) == decodes;
  assert(s->ids != NULL && s->targets != NULL && s->places != NULL); /* by find_inputs */
  row->given = 0;
  for (int64_t i = 0; i < width; i++) {
    const int64_t at = number * width + i, position = row->filled + i;
    const bool is_token = takes_part && position < known;
    s->ids[at] = is_token ? (int32_t)token_at(row, position) : 0;
    s->places[at] = is_token ? (int32_t)position : -1;
    s->targets[at] = is_token && position + 1 >= row->prompt_tokens ? (int32_t)row->number : -1;
    row->given += is_token;
  }
}

/* ---- passes */

static bool keep_drawn(Sampling *s, SampleRow *row, const double *drawn, double copies,
                       bool *has_ended, Status *status) {
  const int64_t id = (int64_t)(drawn[0] / copies + 0.5);
  const double logprob = drawn[1] / copies;
  if (!isfinite(logprob))
    return status_fail(status, STATUS_USER,
                       "prompt %lld: a logit after %lld token%s is not finite: the weights have "
                       "diverged, or precision.compute is too narrow for them",
                       (long long)row->number + 1, (long long)row->filled,
                       row->filled == 1 ? "" : "s");
  (void)json_array_append_new(row->ids, json_integer(id));
  (void)json_array_append_new(row->logprobs, json_real(logprob));
  const bool is_first = json_array_size(row->ids) == 1;
  *has_ended = is_end(s, id) || (int64_t)json_array_size(row->ids) >= s->tokens ||
               stop_takes(&s->stop, &row->matched, id, is_first);
  if (*has_ended) (void)json_object_set_new(row->text, "has_ended", json_true());
  return true;
}

/* Runs a pass, and keeps what was drawn of the texts whose last known token was in it. */
static bool run_pass(Sampling *s, bool decodes, Status *status) {
  Rank *rank = s->rank;
  const double copies = rank_copies(rank->plan);
  const int64_t width = decodes ? 1 : s->chunk, begun_ns = rank_now_ns();
  Control in = rank_control_in(rank, 1);
  ReplayLeft left;
  int64_t tokens = 0;
  for (int64_t i = 0; i < s->batch; i++) {
    stage(s, i, width, decodes);
    tokens += s->rows[i].given;
  }
  in.step = ++s->passes;
  in.stop = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
  if (!replay_run(&rank->replay, decodes ? rank->decode : rank->eval, &in, rank->staging_setup.ring,
                  &left, status))
    return false;
  const char *why = rank_graph_fault(rank, decodes ? PROGRAM_DECODE : PROGRAM_PREFILL);
  if (why != NULL)
    text_warn(
        "note: passes are issued record by record, for they cannot be captured as a graph: %s",
        why);
  *(decodes ? &s->decode_ns : &s->prefill_ns) += rank_now_ns() - begun_ns;
  *(decodes ? &s->decode_tokens : &s->prefill_tokens) += tokens;
  rank->stopped = left.control.stop > 0;
  const PlanSlot *loss = plan_slot(rank->plan, CONTROL_loss);
  const double *drawn =
      (const double *)(const void *)(replay_left_block(&rank->replay) + loss->offset);
  for (int64_t i = 0; i < s->batch; i++) {
    SampleRow *row = &s->rows[i];
    bool has_ended = false;
    row->filled += row->given;
    if (row->given == 0 || !grows(row)) continue;
    if (!keep_drawn(s, row, drawn + 2 * i, copies, &has_ended, status) ||
        (has_ended && !rank->stopped && !take_next(s, row, status)))
      return false;
  }
  return true;
}

static int64_t count_rows(const Sampling *s, bool that_grow) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->batch; i++)
    count += s->rows[i].number >= 0 && grows(&s->rows[i]) == that_grow;
  return count;
}

/* Prompts come first: then all rows grow together. */
static bool run_passes(Sampling *s, Status *status) {
  for (int64_t i = 0; i < s->batch; i++)
    if (!take_next(s, &s->rows[i], status)) return false;
  while (!s->rank->stopped) {
    const bool decodes = count_rows(s, false) == 0;
    if (decodes && count_rows(s, true) == 0) return true;
    if (!run_pass(s, decodes, status)) return false;
  }
  return true;
}

static bool write_drawn(const Sampling *s, Status *status) {
  char path[NAME_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/drawn.json", job_run_dir(s->rank->plan));
  json_t *all = json_pack("{s:O, s:f, s:f, s:I, s:I}", "sequences", s->drawn, "prefill_s",
                          (double)s->prefill_ns / 1e9, "decode_s", (double)s->decode_ns / 1e9,
                          "prefill_tokens", (json_int_t)s->prefill_tokens, "decode_tokens",
                          (json_int_t)s->decode_tokens);
  bool written = all != NULL && json_dump_file(all, path, JSON_COMPACT) == 0;
  json_decref(all);
  return written ||
         status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
}

static bool sample_all(Sampling *s, Status *status) {
  s->tokens = (int64_t)json_integer_value(json_object_get(s->asked, "tokens"));
  return find_inputs(s, status) && run_passes(s, status) && rank_meet(s->rank, status) &&
         (s->rank->number != 0 || write_drawn(s, status));
}

bool rank_sample(Rank *rank, Status *status) {
  char path[NAME_BYTES];
  int failure = 0;
  JsonFault fault;
  const int64_t batch = job_microbatch_samples(rank->plan);
  Sampling s = {.rank = rank,
                .context = context_of(rank->plan),
                .chunk = job_sample_tokens(rank->plan),
                .batch = batch,
                .rows = calloc((size_t)batch, sizeof *s.rows),
                .drawn = json_array()};
  rank_note_phase(rank, FLIGHT_VALIDATING, 1);
  (void)snprintf(path, sizeof path, "%.4000s/prompts.json", job_run_dir(rank->plan));
  s.asked = json_read_file(path, PROMPTS_BYTES_MAX, &failure, &fault);
  (void)snprintf(path, sizeof path, "%.4000s/stop", job_run_dir(rank->plan));
  bool done = s.asked != NULL && s.drawn != NULL && s.rows != NULL
                  ? stop_open(&s.stop, path, status) && sample_all(&s, status)
                  : status_fail(status, STATUS_WORLD, "%.4000s/prompts.json: cannot be read",
                                job_run_dir(rank->plan));
  stop_close(&s.stop);
  json_decref(s.asked);
  json_decref(s.drawn);
  free(s.rows);
  return done;
}
