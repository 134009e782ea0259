/* sources.c -- the tensors of a model's parameters in files of Hugging Face: their names, and
 * whether the files of a folder have them, in the model's shapes, and nothing else. */
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/model/huggingface.h"

enum { TOLD_MAX = 24, SHAPE_BYTES = 160 };

typedef struct TensorSearch {
  Trace *t;
  const HuggingFace *family;
  const SafeSet *set; /* NULL: names only */
  bool has_prefix;
  bool *used; /* by place of the set */
  int32_t told;
  bool good;
} TensorSearch;

static void refuse(TensorSearch *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void refuse(TensorSearch *s, const char *format, ...) {
  char text[1024];
  va_list arguments;
  s->good = false;
  if (s->told++ >= TOLD_MAX) return;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  error_at(s->t->g->compile, (Span){.file = s->t->model->weights}, "weights-tensor", "%s", text);
}

/* ---- names */

/* -1: the set has none of that name. */
static int32_t place_of(const SafeSet *set, const char *name) {
  int32_t low = 0, high = set->place_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2, order = strcmp(set->place[middle].tensor->name, name);
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    if (order > 0) high = middle;
  }
  return -1;
}

static bool any_has_prefix(const SafeSet *set, const char *prefix) {
  for (int32_t i = 0; i < set->place_count; i++)
    if (strncmp(set->place[i].tensor->name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

/* "h.*.attn.c_attn.weight": the layer is c_attn. */
static bool is_transposed(const HuggingFace *family, const char *name) {
  const char *end = strrchr(name, '.'), *begin = end;
  if (end == NULL || strcmp(end, ".weight") != 0) return false;
  while (begin > name && begin[-1] != '.')
    begin--;
  for (int32_t i = 0; i < family->transposed.count; i++) {
    const char *layer = family->transposed.at[i];
    if (strlen(layer) == (size_t)(end - begin) && memcmp(layer, begin, strlen(layer)) == 0)
      return true;
  }
  return false;
}

/* A file may have names with or without the family's prefix. */
static const char *source_of(const TensorSearch *s, const char *name) {
  const char *prefix = s->family->prefix;
  if (prefix == NULL || !s->has_prefix) return name;
  return arena_printf(s->t->g->compile->arena, "%s%s", prefix, name);
}

/* ---- shapes */

static const char *shape_text(char text[SHAPE_BYTES], const int64_t *shape, int32_t rank) {
  int length = snprintf(text, SHAPE_BYTES, "[");
  for (int32_t i = 0; i < rank; i++)
    length += snprintf(text + length, (size_t)(SHAPE_BYTES - length), "%s%lld", i > 0 ? ", " : "",
                       (long long)shape[i]);
  (void)snprintf(text + length, (size_t)(SHAPE_BYTES - length), "]");
  return text;
}

static int64_t dim_size(const TensorSearch *s, const Param *param, int32_t i) {
  const Dim *dim = &s->t->g->dims.at[param->dims[i]];
  return dim->real_size > 0 ? dim->real_size : dim->size;
}

/* The file's dims are products of neighbouring dims: q_proj's [heads, head, width] is [4096, 4096].
 */
static bool is_grouped(const TensorSearch *s, const Param *param, const SafeTensor *tensor) {
  int32_t at = 0;
  for (int32_t i = 0; i < tensor->rank; i++) {
    int64_t product = 1;
    while (at < param->dim_count && (product < tensor->shape[i] || product == 0))
      product *= dim_size(s, param, at++);
    if (product != tensor->shape[i]) return false;
  }
  while (at < param->dim_count)
    if (dim_size(s, param, at++) != 1) return false;
  return true;
}

/* [in, out] for our [out dims, in dims]. */
static bool is_turned(const TensorSearch *s, const Param *param, const SafeTensor *tensor) {
  int64_t out = 1, in;
  if (tensor->rank != 2) return false;
  for (int32_t k = 0; k < param->dim_count; k++) {
    out *= dim_size(s, param, k);
    in = 1;
    for (int32_t i = k + 1; i < param->dim_count; i++)
      in *= dim_size(s, param, i);
    if (in == tensor->shape[0] && out == tensor->shape[1]) return true;
  }
  return false;
}

static void check_tensor(TensorSearch *s, const Param *param, const SafeTensor *tensor) {
  char has[SHAPE_BYTES], wants[SHAPE_BYTES];
  int64_t shape[DIMS_MAX];
  for (int32_t i = 0; i < param->dim_count; i++)
    shape[i] = dim_size(s, param, i);
  if (!(param->transposed ? is_turned(s, param, tensor) : is_grouped(s, param, tensor)))
    refuse(s, "tensor %s is %s, the model's parameter is %s%s", tensor->name,
           shape_text(has, tensor->shape, tensor->rank), shape_text(wants, shape, param->dim_count),
           param->transposed ? ", transposed" : "");
  bool is_float =
      tensor->dtype == SAFE_F32 || tensor->dtype == SAFE_BF16 || tensor->dtype == SAFE_F16;
  if (!is_float)
    refuse(s, "tensor %s is %s: F32, BF16 and F16 are read", tensor->name,
           safe_dtype_name(tensor->dtype));
}

/* ---- the parameters */

static void find_layers(TensorSearch *s, const Param *param) {
  const Region *region = &s->t->g->regions.at[param->region];
  int64_t missing = 0;
  char name[WEIGHTS_NAME_BYTES], first[WEIGHTS_NAME_BYTES] = "";
  for (int64_t layer = 0; layer < region->repeat; layer++) {
    if (!weights_name(name, param->source, region->is_stack ? (int32_t)layer : -1)) continue;
    int32_t place = place_of(s->set, name);
    if (place >= 0) {
      s->used[place] = true;
      check_tensor(s, param, s->set->place[place].tensor);
    } else if (missing++ == 0) {
      memcpy(first, name, sizeof first);
    }
  }
  if (missing > 1)
    refuse(s, "tensor %s is missing, and %lld more of %s", first, (long long)missing - 1,
           param->source);
  else if (missing > 0)
    refuse(s, "tensor %s is missing", first);
}

/* Tensors that must equal a parameter bit for bit, which a run compares. */
static void find_tied(TensorSearch *s) {
  Graph *g = s->t->g;
  for (int32_t i = 0; i < s->family->tied.count; i++) {
    const TiedTensor *tied = &s->family->tied.at[i];
    const char *source = source_of(s, tied->parameter);
    int32_t place = place_of(s->set, tied->tensor), like = place_of(s->set, source);
    if (place < 0 || s->used[place] || like < 0 || !s->used[like]) continue;
    const SafeTensor *a = s->set->place[place].tensor, *b = s->set->place[like].tensor;
    s->used[place] = true;
    if (a->dtype != b->dtype || a->rank != b->rank ||
        memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0)
      refuse(s, "tensor %s must equal %s, which has another shape or dtype", a->name, b->name);
    const char *before = g->tied_tensors != NULL ? g->tied_tensors : "";
    g->tied_tensors =
        arena_printf(g->compile->arena, "%s%s%s=%s", before, *before ? " " : "", a->name, b->name);
  }
}

/* The name with * for each number, so that the layers of one tensor are one entry of the message.
 */
static const char *pattern_of(TensorSearch *s, const char *name) {
  char *text = arena_copy(s->t->g->compile->arena, name), *out = text;
  for (const char *at = name; *at != '\0';) {
    size_t digits = strspn(at, "0123456789");
    bool is_part =
        digits > 0 && (at == name || at[-1] == '.') && (at[digits] == '.' || !at[digits]);
    if (is_part) {
      *out++ = '*';
      at += digits;
    } else {
      *out++ = *at++;
    }
  }
  *out = '\0';
  return text;
}

/* Tensors that no parameter takes, of one pattern. */
typedef struct Unused {
  const char *pattern;
  int32_t first, count;
} Unused;

static int by_pattern(const void *a, const void *b) {
  const Unused *x = a, *y = b;
  const int names = strcmp(x->pattern, y->pattern);
  return names != 0 ? names : (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b) {
  const Unused *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

static bool is_unused(const TensorSearch *s, int32_t place) {
  const char *name = s->set->place[place].tensor->name, *plain = name;
  const size_t prefix = s->family->prefix ? strlen(s->family->prefix) : 0;
  if (prefix > 0 && strncmp(name, s->family->prefix, prefix) == 0) plain = name + prefix;
  return !s->used[place] && !matches_any(&s->family->drop, plain) &&
         !matches_any(&s->t->model->job->model.ignore, name);
}

/* In the order of the first tensor of each pattern. */
static void refuse_unused(TensorSearch *s) {
  Arena *arena = s->t->g->compile->arena;
  VEC(Unused) list = {0};
  int32_t count = 0;
  for (int32_t i = 0; i < s->set->place_count; i++)
    if (is_unused(s, i))
      VEC_PUSH(arena, &list, (Unused){pattern_of(s, s->set->place[i].tensor->name), i, 1});
  if (list.count == 0) return;
  qsort(list.at, (size_t)list.count, sizeof *list.at, by_pattern);
  for (int32_t i = 0; i < list.count; i++) {
    if (count > 0 && strcmp(list.at[count - 1].pattern, list.at[i].pattern) == 0)
      list.at[count - 1].count++;
    else
      list.at[count++] = list.at[i];
  }
  qsort(list.at, (size_t)count, sizeof *list.at, by_first);
  for (int32_t i = 0; i < count; i++) {
    const char *pattern = text_plain(arena, list.at[i].pattern);
    refuse(s, "tensor %s%s is no parameter of the model", pattern,
           list.at[i].count > 1 ? ", of each layer," : "");
    note_at(s->t->g->compile, (Span){0}, "model.ignore = { \"%s\" } leaves it out on purpose",
            pattern);
  }
}

bool sources_find(Trace *t) {
  Model *model = t->model;
  Graph *g = t->g;
  g->config_json = g->model_folder = "";
  if (model->saved != NULL && !saved_check(t)) return false;
  if (model->huggingface == NULL) return true;
  if (g->training) g->config_json = config_write(model);
  if (model->config_path != NULL)
    g->model_folder = model->folder != NULL ? model->folder : model->weights;
  TensorSearch s = {.t = t,
                    .family = model->huggingface,
                    .set = model->has_set ? &model->set : NULL,
                    .has_prefix = true,
                    .good = true};
  if (s.set != NULL && s.family->prefix != NULL)
    s.has_prefix = any_has_prefix(s.set, s.family->prefix);
  for (int32_t i = 0; i < g->params.count; i++) {
    Param *param = &g->params.at[i];
    param->source = source_of(&s, param->name);
    param->transposed = is_transposed(s.family, param->name);
  }
  if (s.set == NULL) return true;
  g->weights_sum = model->weights_sum;
  g->has_weights = true;
  s.used = ARENA_ARRAY(g->compile->arena, bool, s.set->place_count + 1);
  for (int32_t i = 0; i < g->params.count; i++)
    find_layers(&s, &g->params.at[i]);
  find_tied(&s);
  refuse_unused(&s);
  if (s.told > TOLD_MAX) note_at(g->compile, (Span){0}, "and %d more", (int)(s.told - TOLD_MAX));
  return s.good;
}
