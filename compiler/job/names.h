/* names.h -- pages of other programs' names, specs/names/NAME.lua: which tensor of a folder of
 * torch.distributed.checkpoint has the elements of which parameter, and in which order.
 *
 *   return {
 *     state = { param = "%s", m = "optimizer.state.%s.exp_avg", ... },   %s: the tensor's name
 *     ignore = { "lr_scheduler.*" },                                    tensors that are no state
 *     tensor = function(p, shapes) ... end,
 *   }
 *
 * `tensor` is called for each parameter: p.name has "*" in place of the layer, p.layer is that or
 * nil, p.shape the sizes of its dims; `shapes` has those of all parameters by name, and their
 * number of layers as `layers`; theirs("NAME") has the sizes of a tensor. It returns nil, which
 * refuses the parameter, a name, or
 *
 *   { "NAME", view = { 4, 3, 8, 32 },    the tensor's elements as if they had these dims
 *     take = { { 2, 0, 1 }, ... },       of dim 2 (from 1) one from the first (0) on; else all
 *     order = { 2, 1, 3, 4 },            the parameter's dims are those of the view in this order
 *     rest = "padding" }                 what nobody takes of the tensor is none
 *
 * Moments and masters lie as the parameter does. */
#ifndef LOCKSTEP_JOB_NAMES_H
#define LOCKSTEP_JOB_NAMES_H

#include "compiler/base/base.h"

enum { NAMES_DIMS_MAX = 8 };

typedef struct NamesParameter {
  const char *name;
  int32_t layer; /* -1: not of a stack */
  int32_t dims;
  int64_t shape[NAMES_DIMS_MAX];
} NamesParameter;

/* The elements of a tensor that a parameter is. */
typedef struct NamesPlace {
  const char *tensor;
  int32_t dims;                 /* of the view; 0: the tensor as it is */
  int64_t size[NAMES_DIMS_MAX]; /* of the tensor in the view */
  int64_t first[NAMES_DIMS_MAX], count[NAMES_DIMS_MAX];
  int32_t order[NAMES_DIMS_MAX]; /* of the view's dims, from 0 */
  bool is_padded;
} NamesPlace;

typedef struct NamesPage NamesPage;

/* The dims of a tensor of the folder; -1: there is none of that name. */
typedef int32_t NamesSizes(void *user, const char *tensor, int64_t size[NAMES_DIMS_MAX]);

/* The facts that a page reads. */
typedef struct NamesFacts {
  const NamesParameter *all; /* one row of each name */
  int32_t count, layers;
  NamesSizes *sizes;
  void *user;
} NamesFacts;

/* NULL: reported. `name`: a file's path, or a name of the library. The facts must stay. */
NamesPage *names_open(Compile *c, const char *name, const NamesFacts *facts);
void names_close(NamesPage *page);
/* False: reported. */
bool names_place(NamesPage *page, const NamesParameter *parameter, NamesPlace *place);
/* The name of a kind of state ("master") of a tensor; NULL: the page has none. */
const char *names_state(NamesPage *page, const char *kind, const char *tensor);
bool names_ignores(NamesPage *page, const char *tensor);

#endif
