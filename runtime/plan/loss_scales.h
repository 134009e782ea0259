/* loss_scales.h -- the words of precision.loss_scale, and their numbers. kernels/math/loss_scale.h
 * says what the numbers do; a plan has them as settings, precision.loss_scale.KEY, and as attrs of
 * the kernel loss_scale. */
#ifndef LOCKSTEP_PLAN_LOSS_SCALES_H
#define LOCKSTEP_PLAN_LOSS_SCALES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/control.h"
#include "runtime/plan/plan.h"

/* KEY(ID, key, is_whole, doc). The kernel's attrs are those after `init` and before `most_skips`,
 * in this order. */
/* clang-format off */
#define LOSS_SCALE_KEYS(KEY) \
  KEY(INIT, init, false, "the scale of the first step") \
  KEY(WINDOW, window, true, "good steps in a row after which the scale grows") \
  KEY(GROWTH, growth, false, "factor by which it grows") \
  KEY(BACKOFF, backoff, false, "factor by which an overflow lowers it") \
  KEY(HYSTERESIS, hysteresis, true, "the overflow, counted since the last growth, that is the first to lower it") \
  KEY(MIN, min, false, "it is never lower") \
  KEY(LATE, late, true, "good steps that do not count, at first and after an overflow: 0 or 1") \
  KEY(REFILL, refill, true, "1: a good step restores hysteresis; 0: only a growth does") \
  KEY(MOST_SKIPS, most_skips, true, "so many skipped steps in a row end the run")

/* ROW(word, init, window, growth, backoff, hysteresis, min, late). `constant` is a number of the
 * job's own; it is the last row, and no word. */
#define LOSS_SCALES(ROW) \
  ROW(dynamic, 65536, 1000, 2, 0.5, 2, 1, 0) \
  ROW(torch, 65536, 2000, 2, 0.5, 1, 0, 0) \
  ROW(deepspeed, 65536, 1000, 2, 0.5, 2, 1, 1) \
  ROW(megatron, 4294967296., 1000, 2, 0.5, 2, 1, 0)
/* clang-format on */

#define LOSS_SCALE_WORD(word, ...) " " #word
#define LOSS_SCALE_WORDS           (LOSS_SCALES(LOSS_SCALE_WORD) + 1)

enum LossScaleKey {
#define LOSS_SCALE_KEY(ID, ...) LOSS_SCALE_OF_##ID,
  LOSS_SCALE_KEYS(LOSS_SCALE_KEY)
#undef LOSS_SCALE_KEY
      LOSS_SCALE_NUMBERS,
  LOSS_SCALE_MOST_SKIPS_DEFAULT = 50,
  LOSS_SCALE_CONSTANT = 4 /* of the rows: a number stays */
};

typedef struct LossScale {
  double number[LOSS_SCALE_NUMBERS];
} LossScale;

/* By word of the job; the last one is that of a number. */
static const LossScale loss_scale_rows[] = {
#define LOSS_SCALE_ROW(word, init, window, growth, backoff, hysteresis, min, late)                 \
  {{init, window, growth, backoff, hysteresis, min, late, 0, LOSS_SCALE_MOST_SKIPS_DEFAULT}},
    LOSS_SCALES(LOSS_SCALE_ROW){{1, 0, 1, 1, 1, 0, 0, 0, LOSS_SCALE_MOST_SKIPS_DEFAULT}},
#undef LOSS_SCALE_ROW
};
_Static_assert(sizeof loss_scale_rows / sizeof *loss_scale_rows == LOSS_SCALE_CONSTANT + 1,
               "the row of a number is the last one");

static const char *const loss_scale_keys[] = {
#define LOSS_SCALE_KEY(ID, key, ...) #key,
    LOSS_SCALE_KEYS(LOSS_SCALE_KEY)
#undef LOSS_SCALE_KEY
};

/* The setting of a key: "precision.loss_scale.init". */
enum { LOSS_SCALE_NAME_BYTES = 48 };
const char *loss_scale_setting(int32_t key, char name[LOSS_SCALE_NAME_BYTES]);

/* The numbers of a plan. False: it has no loss scale. */
bool plan_loss_scale(const Plan *plan, LossScale *scale);

/* Sets the slots of the scale as they are before the first step; without a loss scale nothing. */
void loss_scale_begin(const Plan *plan, Control *control);

/* Changes the slots of a checkpoint as the plan's numbers ask: a number, or another init than
 * `init_before`, begins anew; otherwise the scale continues, within the new bounds. */
void loss_scale_resume(const Plan *plan, double init_before, Control *lasting);

#endif
