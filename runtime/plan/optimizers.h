/* optimizers.h -- the optimizers, one row each. A new one needs its kernels (NAME, and with
 * each of truth_suffixes, in kernels.def, of role ROLE_UPDATE) and its row; the plan, the compiler
 * and the job's words follow from both. Append only: plans hold the number of a row.
 *
 * ROW(ARG, ID, name, moments, attrs, beta2, decay, most_lr, usual_lr, usual_lrs, doc)
 *   moments    how many fp32 moments it keeps of each gradient: the kernel's m, or m and v
 *   attrs      the keys of section `optimizer` that it takes, named as its kernel's attrs
 *   beta2      when the job does not say it; 0: as fields.def has it
 *   decay      weight_decay when the job does not say it
 *   most_lr    a rate above diverges in all models that were published; usual_lr and usual_lrs: one
 *              that does not, and where they lie
 *
 * Lion's decay and rate: "lr 3-10x smaller, decay 3-10x larger" than AdamW's (arXiv:2302.06675). */
#ifndef LOCKSTEP_OPTIMIZERS_H
#define LOCKSTEP_OPTIMIZERS_H

/* clang-format off */
#define OPTIMIZERS(ROW, ARG) \
  ROW(ARG, ADAMW, adamw, 2, "beta1 beta2 eps", 0, 0.1, 0.1, "6e-4", "1e-5 to 1e-2", \
      "AdamW: two moments of each gradient, weight decay apart from them (Loshchilov and Hutter 2017)") \
  ROW(ARG, SGD, sgd, 1, "momentum", 0, 0, 10, "0.1", "0.01 to 1", \
      "gradient descent with momentum, or without: momentum = 0") \
  ROW(ARG, LION, lion, 1, "beta1 beta2", 0.99, 0.3, 0.03, "1e-4", "1e-6 to 1e-3", \
      "Lion: steps of one size, by the sign of a moment and the gradient; weight decay apart (Chen et al. 2023)")
/* clang-format on */

/* How the truth of a parameter is kept, and the suffix of the kernels that do.
 *   plain    the parameter is the truth, and every update rounds to its dtype
 *   master   an f32 of which the parameter is the rounding
 *   split    the parameter is the upper half of an f32, and the lower half is here
 *   kahan    what the last rounding of the parameter added too much (kernels.def, Updates)
 *   stochastic  the parameter is the truth, and rounding goes up or down by chance */
typedef enum TruthStorage {
  TRUTH_PLAIN,
  TRUTH_MASTER,
  TRUTH_SPLIT,
  TRUTH_KAHAN,
  TRUTH_STOCHASTIC
} TruthStorage;
static const char *const truth_suffixes[] = {"", "_master", "_split", "_kahan", "_stochastic"};

#define OPTIMIZER_VALUE(V, ID, name, ...) V(OPTIMIZER_##ID, #name)
#define OPTIMIZER_WORD(_, ID, name, ...)  " " #name

typedef struct OptimizerRow {
  const char *name;
  int moments;
  const char *attrs;
  double beta2, decay, most_lr;
  const char *usual_lr, *usual_lrs;
} OptimizerRow;

/* By Optimizer of plan.h, or the job's optimizer.head. */
static const OptimizerRow optimizer_rows[] = {
#define OPTIMIZER_ROW(_, ID, name, moments, attrs, beta2, decay, most, usual, usuals, doc)         \
  {#name, moments, attrs, beta2, decay, most, usual, usuals},
    OPTIMIZERS(OPTIMIZER_ROW, _)
#undef OPTIMIZER_ROW
};

#endif
