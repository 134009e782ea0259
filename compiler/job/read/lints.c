/* lints.c -- valid jobs that will hardly do what was meant: rates, precision. */
#include "compiler/job/job_room.h"

/* ---- the learning rate */

/* An order of magnitude beyond what any model was trained with. */
static void lint_rate(Compile *c, const Job *job) {
  const OptimizerRow *row = &optimizer_rows[job->optimizer.head];
  double lr = job->optimizer.lr;
  Span at = field_place(job, FIELD_optimizer_lr);
  if (lr == 0)
    lint_at(c, at, "learning-rate", "optimizer.lr is 0: no parameter changes");
  else if (lr > row->most_lr)
    lint_at(c, at, "learning-rate", "optimizer.lr = %g: %s diverges far below; usual rates are %s",
            lr, row->name, row->usual_lrs);
  if (lr == 0 || lr > row->most_lr) fix_last(c, "lr = %s", row->usual_lr);
}

/* min_lr = 3e-5 of other tools, written as floor. */
static void lint_fraction(Compile *c, const Job *job, int32_t field, const char *what) {
  double floor = *(const double *)field_at((Job *)job, field), lr = job->optimizer.lr;
  if (!field_is_said(job, field) || !(floor > 0 && floor < 0.005 && floor <= lr)) return;
  lint_at(c, field_place(job, field), "learning-rate",
          "%s is a fraction of lr: %g of %g is %g, where %s", field_name(c->arena, field), floor,
          lr, floor * lr, what);
  fix_last(c, "%s = %.3g", spec_fields[field].key, floor / lr);
  note_at(c, (Span){0}, "that is %g as a rate", floor);
}

/* ---- precision */

/* Around 1, where the weights of norms are, neighbours in bf16 are 1/128 apart, in fp16 1/1024: an
 * update of lr is rounded away, every time. */
static void lint_master(Compile *c, const Job *job) {
  const int32_t parts = job->precision.param == CHOICE_BF16 ? 128 : 1024;
  bool is_lost = job->precision.param != CHOICE_FP32 &&
                 job->precision.master == CHOICE_MASTER_NONE &&
                 job->precision.update == CHOICE_UPDATE_NEAREST && job->optimizer.lr < 0.5 / parts;
  if (!is_lost || !field_is_said(job, FIELD_precision_master)) return;
  lint_at(c, field_place(job, FIELD_precision_master), "lost-updates",
          "%s weights near 1 are 1/%d apart: steps of lr %g round away, norms stay as they are",
          dtype_name(precision_dtype(job->precision.param)), parts, job->optimizer.lr);
  fix_last(c, "master = \"fp32\"");
}

/* ---- job.accept */

#define DIAGNOSTIC(name, explanation)
#define LINT(name, explanation) name " "
static const char lint_names[] =
#include "compiler/job/hints/diagnostics.def"
    ;
#undef LINT
#undef DIAGNOSTIC

static void accept_lints(Compile *c, const Job *job) {
  const TextList *accepted = &job->job.accept;
  for (int32_t i = 0; i < accepted->count; i++) {
    if (word_index(lint_names, accepted->at[i]) >= 0) continue;
    const char *near = nearest_of(c->arena, lint_names, accepted->at[i]);
    error_at(c, field_place(job, FIELD_job_accept), "unknown-word",
             "job.accept: no lint is called %s", text_show(c->arena, accepted->at[i]));
    if (near) fix_last(c, "accept = { \"%s\" }", near);
  }
  c->diags.accepted = accepted->at;
  c->diags.accepted_count = accepted->count;
}

void job_lints(Compile *c, const Job *job) {
  accept_lints(c, job);
  lint_rate(c, job);
  lint_fraction(c, job, FIELD_schedule_floor, "decay ends");
  lint_fraction(c, job, FIELD_schedule_warmup_floor, "warm-up starts");
  lint_master(c, job);
}
