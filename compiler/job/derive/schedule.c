/* schedule.c -- the learning rate over steps: the keys of each schedule, how absent ones are
 * derived, and the check against the length of the run. runtime/plan/schedule.c has the curves.
 */
#include <math.h>

#include "compiler/job/job_room.h"

/* The schedules that a key is for, as bits of ScheduleChoice. */
enum {
  BIT_WSD = 1 << CHOICE_WSD,
  BIT_POLYNOMIAL = 1 << CHOICE_POLYNOMIAL,
  BITS_DECAY = 1 << CHOICE_LINEAR | 1 << CHOICE_COSINE | BIT_WSD | BIT_POLYNOMIAL
};
static const struct {
  int32_t field;
  uint32_t schedules;
} owned[] = {
    {FIELD_schedule_floor, BITS_DECAY},     {FIELD_schedule_over, BITS_DECAY},
    {FIELD_schedule_decay, BIT_WSD},        {FIELD_schedule_shape, BIT_WSD},
    {FIELD_schedule_power, BIT_POLYNOMIAL},
};

static bool decays(const Job *job) {
  return (BITS_DECAY >> job->schedule.head & 1) != 0;
}

/* "linear, cosine and wsd" */
static const char *schedules_text(Arena *arena, uint32_t schedules) {
  const char *text = "";
  for (int32_t i = 0; schedules >> i != 0; i++) {
    if ((schedules >> i & 1) == 0) continue;
    const char *between = !*text ? "" : schedules >> (i + 1) != 0 ? ", " : " and ";
    text = arena_printf(arena, "%s%s%s", text, between,
                        word_at(arena, spec_sections[SECTION_schedule].head, i));
  }
  return text;
}

static void check_power(Compile *c, Job *job) {
  double *power = &job->schedule.power;
  if (job->schedule.head != CHOICE_POLYNOMIAL) return;
  if (!job->set[FIELD_schedule_power]) {
    *power = 1;
    field_derive(job, FIELD_schedule_power, "a straight line");
  }
  if (*power > 0 && *power <= 100) return;
  error_at(c, field_place(job, FIELD_schedule_power), "range",
           "schedule.power is above 0 to 100; got %g", *power);
  fix_last(c, "power = 1");
}

void schedule_rules(Compile *c, Job *job) {
  const char *state = arena_printf(c->arena, "schedule is \"%s\"", job->schedule.head_text);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
    if ((owned[i].schedules >> job->schedule.head & 1) == 0)
      refuse_useless(c, job, owned[i].field, schedules_text(c->arena, owned[i].schedules), state);
  check_power(c, job);
  if (job->schedule.head != CHOICE_WSD || job->set[FIELD_schedule_shape]) return;
  job->schedule.shape = 0;
  field_derive(job, FIELD_schedule_shape, "a straight line");
}

/* ---- keys of the schedule compared with the length of the run */

static void lint_length(Compile *c, const Job *job, int64_t steps) {
  int64_t whole = decays(job) ? job->schedule.over : steps,
          warmup = (int64_t)job->schedule.warmup.value;
  if (warmup > 0 && warmup == whole) {
    lint_at(c, field_place(job, FIELD_schedule_warmup), "schedule-length",
            "warm-up takes all of the schedule, %lld step%s: lr rises and never %s",
            (long long)whole, plural(whole),
            job->schedule.head == CHOICE_CONSTANT ? "stays" : "decays");
    fix_last(c, "warmup = %lld", (long long)(whole / 10));
  }
  if (decays(job) && job->schedule.over < steps && job->schedule.floor == 0) {
    lint_at(c, field_place(job, FIELD_schedule_over), "schedule-length",
            "lr is 0 from step %lld on: the last %lld of %lld steps train nothing",
            (long long)job->schedule.over + 1, (long long)(steps - job->schedule.over),
            (long long)steps);
    fix_last(c, "over = %lld", (long long)steps);
    note_at(c, (Span){0}, "or train on at a part of lr: floor = 0.1");
  }
}

/* A run of the stable phase alone sets train.steps, and over where the whole schedule ends. */
static void lint_decay(Compile *c, const Job *job, int64_t steps) {
  int64_t stable = job->schedule.over - (int64_t)job->schedule.decay.value;
  if (job->schedule.head != CHOICE_WSD || stable < steps) return;
  lint_at(c, field_place(job, FIELD_schedule_over), "schedule-length",
          "wsd decays from step %lld on, and the run has %lld step%s: lr never falls",
          (long long)stable + 1, (long long)steps, plural(steps));
  fix_last(c, "over = %lld", (long long)steps);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* The schedule wsd has three phases: warm-up, steps at lr (possibly none), decay. Warm-up and decay
 * must fit into schedule.over. */
static bool derive_decay(Compile *c, Job *job, const char *whole) {
  int64_t over = job->schedule.over, warmup = (int64_t)job->schedule.warmup.value;
  int64_t tenth = over >= 10 ? over / 10 : 1, room = over - warmup;
  if (job->schedule.head != CHOICE_WSD) return true;
  if (!field_is_said(job, FIELD_schedule_decay)) {
    job->schedule.decay = (Amount){(double)least(tenth, room), UNIT_NONE};
    field_derive(job, FIELD_schedule_decay,
                 tenth <= room ? "a tenth of schedule.over" : "what warmup leaves");
  }
  const int64_t decay = (int64_t)job->schedule.decay.value;
  if (decay <= room) return true;
  if (decay > over)
    error_at(c, field_place(job, FIELD_schedule_decay), "conflict",
             "decay of %lld step%s is longer than %s, %lld step%s", (long long)decay, plural(decay),
             whole, (long long)over, plural(over));
  else
    error_at(c, field_place(job, FIELD_schedule_decay), "conflict",
             "warmup and decay, %lld + %lld steps, are longer than %s, %lld step%s",
             (long long)warmup, (long long)decay, whole, (long long)over, plural(over));
  if (room > 0)
    fix_last(c, "decay = %lld", (long long)least(tenth, room));
  else
    fix_last(c, "warmup = %lld", (long long)(over - decay));
  return false;
}

/* A share of the schedule becomes its steps, rounded up. */
static void derive_steps(Amount *length, int64_t whole) {
  if (length->unit != UNIT_PERCENT) return;
  *length = (Amount){fmax(ceil(length->value * (double)whole / 100 - 1e-9), 0), UNIT_NONE};
}

bool derive_schedule(Compile *c, Job *job, int64_t steps) {
  bool is_said = field_is_said(job, FIELD_schedule_over);
  if (!is_said) {
    job->schedule.over = steps;
    field_derive(job, FIELD_schedule_over, "train.steps");
  }
  int64_t whole = decays(job) ? job->schedule.over : steps;
  const char *name = decays(job) && is_said ? "schedule.over" : "the run";
  Span at = field_place(job, FIELD_schedule_warmup);
  derive_steps(&job->schedule.warmup, whole);
  derive_steps(&job->schedule.decay, whole);
  const int64_t warmup = (int64_t)job->schedule.warmup.value;
  int64_t tenth = whole >= 10 ? whole / 10 : 1;
  if (warmup > whole) {
    error_at(c, at, "conflict", "warmup of %lld steps is longer than %s, %lld step%s",
             (long long)warmup, name, (long long)whole, plural(whole));
    fix_last(c, "warmup = %lld", (long long)(whole / 10));
    return false;
  }
  if (job->schedule.head == CHOICE_INVERSE_SQRT && warmup == 0) {
    if (!field_is_said(job, FIELD_schedule_warmup)) at = job->schedule.head_origin.span;
    error_at(c, at, "conflict",
             "inverse_sqrt is lr sqrt(warmup / step): without warmup, lr is halved by step 4");
    fix_last(c, "warmup = %lld", (long long)tenth);
    return false;
  }
  lint_length(c, job, steps);
  if (!derive_decay(c, job, name)) return false;
  lint_decay(c, job, steps);
  return true;
}
