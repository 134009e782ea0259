/* rank_sample.c -- tokens drawn one after another: each is the draw of one run of the plan's
 * program over the sequence so far, whose other places hold no target. */
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
#include "runtime/rank/rank_use.h"

enum { PROMPTS_BYTES_MAX = 256 << 20, NAME_BYTES = 4200 };

typedef struct Sampling {
  Rank *rank;
  json_t *asked, *drawn; /* drawn: a sequence each */
  int64_t tokens;        /* at most, of each sequence */
  int64_t context;
  int32_t *ids, *targets; /* of the staged micro-batch */
  int64_t first_ns, next_ns, first_count, next_count;
} Sampling;

static bool find_inputs(Sampling *s, Status *status) {
  const Plan *plan = s->rank->plan;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanInput *input = &plan->inputs[i];
    int32_t *at = (int32_t *)(void *)(s->rank->staging_setup.ring + samples_input_offset(plan, i));
    if (input->role == INPUT_TOKENS) s->ids = at;
    if (input->role == INPUT_TARGETS) s->targets = at;
    if ((input->role != INPUT_TOKENS && input->role != INPUT_TARGETS) ||
        input->sample_elements != s->context)
      return status_fail(status, STATUS_USER,
                         "the model has an input %s, which prompts do not have",
                         plan_string(plan, input->name));
  }
  return (s->ids != NULL && s->targets != NULL) ||
         status_fail(status, STATUS_USER, "the model does not read tokens and targets");
}

/* Draws the token that follows `count` tokens. */
static bool draw(Sampling *s, int64_t sequence, int64_t count, int64_t *id, double *logprob,
                 Status *status) {
  Rank *rank = s->rank;
  const double copies = rank_copies(rank->plan);
  Control in = rank_control_in(rank, 1);
  ReplayLeft left;
  in.step = sequence + 1;
  in.stop = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
  s->targets[count - 1] = 0;
  if (!replay_run(&rank->replay, rank->eval, &in, rank->staging_setup.ring, &left, status))
    return false;
  s->targets[count - 1] = -1;
  *id = (int64_t)(left.control.loss / copies + 0.5);
  *logprob = left.control.count / copies;
  rank->stopped = left.control.stop > 0;
  return rank->stopped || isfinite(*logprob) ||
         status_fail(status, STATUS_USER,
                     "prompt %lld: a logit after %lld token%s is not finite: the weights have "
                     "diverged, or precision.compute is too narrow for them",
                     (long long)sequence + 1, (long long)count, count == 1 ? "" : "s");
}

static bool is_end(const Sampling *s, int64_t id) {
  const json_t *ends = json_object_get(s->asked, "ends"), *item;
  size_t i;
  json_array_foreach((json_t *)ends, i, item) if (json_integer_value(item) == id) return true;
  return false;
}

/* False: `prompt` is no list of ids that leaves room. */
static bool take_prompt(Sampling *s, const json_t *prompt, int64_t *count) {
  *count = (int64_t)json_array_size(prompt);
  assert(s->ids != NULL && s->targets != NULL); /* by find_inputs */
  if (*count < 1 || *count + s->tokens > s->context + 1) return false;
  for (int64_t i = 0; i < s->context; i++) {
    const json_t *item = i < *count ? json_array_get(prompt, (size_t)i) : NULL;
    const json_int_t id = item != NULL ? json_integer_value(item) : 0;
    if (id < 0 || id >= (json_int_t)job_vocab(s->rank->plan)) return false;
    s->ids[i] = (int32_t)id;
    s->targets[i] = -1;
  }
  return true;
}

static bool go_on(Sampling *s, int64_t number, const json_t *prompt, Status *status) {
  int64_t count, id;
  double logprob;
  json_t *ids = json_array(), *logprobs = json_array();
  json_t *sequence = json_pack("{s:o, s:o}", "ids", ids, "logprobs", logprobs);
  if (json_array_append_new(s->drawn, sequence) != 0)
    return status_fail(status, STATUS_WORLD, "not enough memory to sample");
  if (!take_prompt(s, prompt, &count))
    return status_fail(status, STATUS_USER, "prompt %lld: its ids are not below %u, or too many",
                       (long long)number + 1, job_vocab(s->rank->plan));
  for (int64_t i = 0; i < s->tokens && !s->rank->stopped; i++, count++) {
    const int64_t begun_ns = rank_now_ns();
    if (!draw(s, number, count, &id, &logprob, status)) return false;
    *(i == 0 ? &s->first_ns : &s->next_ns) += rank_now_ns() - begun_ns;
    *(i == 0 ? &s->first_count : &s->next_count) += i == 0 ? count : 1;
    (void)json_array_append_new(ids, json_integer(id));
    (void)json_array_append_new(logprobs, json_real(logprob));
    if (is_end(s, id)) break;
    if (count < s->context) s->ids[count] = (int32_t)id;
  }
  return true;
}

static bool write_drawn(const Sampling *s, Status *status) {
  char path[NAME_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/drawn.json", job_run_dir(s->rank->plan));
  json_t *all =
      json_pack("{s:O, s:f, s:f, s:I, s:I}", "sequences", s->drawn, "first_s",
                (double)s->first_ns / 1e9, "next_s", (double)s->next_ns / 1e9, "first_tokens",
                (json_int_t)s->first_count, "next_tokens", (json_int_t)s->next_count);
  bool written = all != NULL && json_dump_file(all, path, JSON_COMPACT) == 0;
  json_decref(all);
  return written ||
         status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
}

static bool sample_all(Sampling *s, Status *status) {
  const json_t *prompts = json_object_get(s->asked, "sequences"), *prompt;
  size_t i;
  s->tokens = (int64_t)json_integer_value(json_object_get(s->asked, "tokens"));
  if (!find_inputs(s, status)) return false;
  json_array_foreach((json_t *)prompts, i,
                     prompt) if (!s->rank->stopped &&
                                 !go_on(s, (int64_t)i, prompt, status)) return false;
  return rank_meet(s->rank, status) && (s->rank->number != 0 || write_drawn(s, status));
}

bool rank_sample(Rank *rank, Status *status) {
  char path[NAME_BYTES];
  int failure = 0;
  JsonFault fault;
  Sampling s = {.rank = rank, .context = job_sample_tokens(rank->plan), .drawn = json_array()};
  rank_note_phase(rank, FLIGHT_VALIDATING, 1);
  (void)snprintf(path, sizeof path, "%.4000s/prompts.json", job_run_dir(rank->plan));
  s.asked = json_read_file(path, PROMPTS_BYTES_MAX, &failure, &fault);
  bool done = s.asked != NULL && s.drawn != NULL
                  ? sample_all(&s, status)
                  : status_fail(status, STATUS_WORLD, "%s: cannot be read", path);
  json_decref(s.asked);
  json_decref(s.drawn);
  return done;
}
