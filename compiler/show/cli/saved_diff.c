/* saved_diff.c -- lockstep checkpoint diff: two checkpoints element by element, whatever their
 * degrees. */
#include <stdlib.h>
#include <string.h>

#include "compiler/show/cli/saved.h"
#include "compiler/show/cli/saved_numbers.h"

enum { CHUNK_ELEMENTS = 1 << 20, ELEMENT_BYTES_MAX = 8 };

/* The differences between the elements of two tensors. */
typedef struct Difference {
  int64_t elements;
  int64_t differ;  /* not bitwise equal */
  double max_abs;  /* NAN: one of a pair is no finite number */
  int64_t max_ulp; /* -1: the dtypes have none, or are not the same */
} Difference;

/* Two checkpoints while they are compared. */
typedef struct Comparing {
  Compile *c;
  const Options *options;
  SavedOpen saved[2];
  SavedReader *reader[2];
  uint8_t *chunk[2];
  int32_t tensors; /* compared so far */
  bool is_different;
  TextList only;
} Comparing;

static bool has_ulp(DType dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

/* Floats as whole numbers in their order: neighbours are one apart, and both zeros are 0. */
static int64_t rank_of(const void *elements, DType dtype, int64_t i) {
  bool is_wide = dtype == DTYPE_F32;
  int64_t bits = is_wide ? ((const int32_t *)elements)[i] : ((const int16_t *)elements)[i];
  int64_t magnitude = bits & (is_wide ? 0x7fffffff : 0x7fff);
  return bits < 0 ? -magnitude : magnitude;
}

static void compare_chunk(const Comparing *cmp, const DType dtype[2], int64_t count,
                          Difference *difference) {
  const uint8_t *a = cmp->chunk[0], *b = cmp->chunk[1];
  int64_t width = dtype_bytes(dtype[0]);
  bool is_same_dtype = dtype[0] == dtype[1];
  if (is_same_dtype && memcmp(a, b, (size_t)(count * width)) == 0) return;
  for (int64_t i = 0; i < count; i++) {
    double x = number_at(a, dtype[0], i), y = number_at(b, dtype[1], i), apart = fabs(x - y);
    bool is_same =
        is_same_dtype ? memcmp(a + i * width, b + i * width, (size_t)width) == 0 : x == y;
    if (is_same) continue;
    difference->differ++;
    if (!isfinite(apart))
      difference->max_abs = NAN;
    else if (apart > difference->max_abs)
      difference->max_abs = apart;
    if (!is_same_dtype || !has_ulp(dtype[0])) continue;
    int64_t ulp = llabs(rank_of(a, dtype[0], i) - rank_of(b, dtype[0], i));
    if (ulp > difference->max_ulp) difference->max_ulp = ulp;
  }
}

static void print_difference(Comparing *cmp, const StateItem *item, const Difference *d) {
  const State *state = &cmp->saved[0].checkpoint.manifest.state;
  Arena *arena = cmp->c->arena;
  cmp->is_different |= d->differ > 0;
  if (cmp->options->json) {
    fputs(cmp->tensors > 0 ? ",\n {\"name\": " : "\n {\"name\": ", stdout);
    print_json_text(item->name, stdout);
    printf(", \"kind\": \"%s\", \"elements\": %lld, \"differ\": %lld, \"max_abs\": ",
           saved_kind(state, item), (long long)d->elements, (long long)d->differ);
    printf(isfinite(d->max_abs) ? "%.9g" : "null", d->max_abs);
    printf(d->max_ulp >= 0 ? ", \"max_ulp\": %lld}" : ", \"max_ulp\": null}",
           (long long)d->max_ulp);
  } else if (d->differ > 0) {
    printf("%-52s %s of %s differ, by at most %.3g", saved_key(arena, state, item),
           format_count(arena, d->differ), format_count(arena, d->elements), d->max_abs);
    if (d->max_ulp >= 0) printf(", %lld ulp", (long long)d->max_ulp);
    putchar('\n');
  }
  cmp->tensors++;
}

static bool same_shape(const State *a, uint32_t i, const State *b, uint32_t j) {
  int64_t shape[2][STATE_DIMS_MAX];
  int32_t dims = saved_shape(a, i, shape[0]);
  if (dims != saved_shape(b, j, shape[1])) return false;
  return memcmp(shape[0], shape[1], sizeof **shape * (size_t)dims) == 0;
}

static bool compare_item(Comparing *cmp, uint32_t i, uint32_t j, ExitCode *code) {
  const State *a = &cmp->saved[0].checkpoint.manifest.state,
              *b = &cmp->saved[1].checkpoint.manifest.state;
  const StateItem *item[2] = {&a->item[i], &b->item[j]};
  const DType dtype[2] = {state_saved_dtype(state_tensor(a, item[0])),
                          state_saved_dtype(state_tensor(b, item[1]))};
  Difference d = {.elements = saved_elements(a, i),
                  .max_ulp = dtype[0] == dtype[1] && has_ulp(dtype[0]) ? 0 : -1};
  for (int64_t first = 0; first < d.elements; first += CHUNK_ELEMENTS) {
    int64_t left = d.elements - first, count = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
    if (!saved_read(cmp->reader[0], i, first, count, cmp->chunk[0], code) ||
        !saved_read(cmp->reader[1], j, first, count, cmp->chunk[1], code))
      return false;
    compare_chunk(cmp, dtype, count, &d);
  }
  print_difference(cmp, item[0], &d);
  return true;
}

static void note_only(Comparing *cmp, int32_t which, const StateItem *item, const char *why) {
  const char *key = saved_key(cmp->c->arena, &cmp->saved[which].checkpoint.manifest.state, item);
  const char *text = arena_printf(cmp->c->arena, "%s: %s%s", which == 0 ? "A" : "B", key, why);
  VEC_PUSH(cmp->c->arena, &cmp->only, text);
  cmp->is_different = true;
}

static bool compare_states(Comparing *cmp, ExitCode *code) {
  const State *a = &cmp->saved[0].checkpoint.manifest.state,
              *b = &cmp->saved[1].checkpoint.manifest.state;
  for (uint32_t s = 0; s < a->item_count; s++) {
    uint32_t i = a->sorted[s],
             j = state_find(b, a->item[i].name, state_tensor(a, &a->item[i])->kind);
    if (j == b->item_count)
      note_only(cmp, 0, &a->item[i], "");
    else if (!checkpoint_same_blocks(b, a->item[i].name, a->plan, state_tensor(a, &a->item[i])))
      note_only(cmp, 0, &a->item[i], ", in codes of other blocks in B: not compared");
    else if (!same_shape(a, i, b, j))
      note_only(cmp, 0, &a->item[i], ", of another shape in B");
    else if (!compare_item(cmp, i, j, code))
      return false;
  }
  for (uint32_t s = 0; s < b->item_count; s++) {
    const StateItem *item = &b->item[b->sorted[s]];
    if (state_find(a, item->name, state_tensor(b, item)->kind) == a->item_count)
      note_only(cmp, 1, item, "");
  }
  return true;
}

/* ---- settings */

/* "optimizer.lr 0.001 -> 0.002", with "none" where a job does not have the key. */
static void compare_settings(const Comparing *cmp, TextList *list) {
  const Plan *a = &cmp->saved[0].checkpoint.manifest.plan,
             *b = &cmp->saved[1].checkpoint.manifest.plan;
  Arena *arena = cmp->c->arena;
  for (uint32_t i = 0; i < a->settings_count; i++) {
    const char *key = plan_string(a, a->settings[i].key), *other = saved_setting(b, key);
    const char *value = plan_string(a, a->settings[i].text);
    if (!other || strcmp(value, other) != 0)
      VEC_PUSH(arena, list, arena_printf(arena, "%s %s -> %s", key, value, other ? other : "none"));
  }
  for (uint32_t i = 0; i < b->settings_count; i++) {
    const char *key = plan_string(b, b->settings[i].key);
    if (!saved_setting(a, key))
      VEC_PUSH(arena, list,
               arena_printf(arena, "%s none -> %s", key, plan_string(b, b->settings[i].text)));
  }
}

static void print_list(const Comparing *cmp, const char *name, const TextList *list) {
  if (cmp->options->json) printf(", \"%s\": [", name);
  for (int32_t i = 0; i < list->count; i++) {
    if (cmp->options->json) {
      fputs(i > 0 ? ", " : "", stdout);
      print_json_text(list->at[i], stdout);
    } else {
      printf("%-8s %s\n", name, text_plain(cmp->c->arena, list->at[i]));
    }
  }
  if (cmp->options->json) putchar(']');
}

static ExitCode compare_all(Comparing *cmp) {
  ExitCode code = EXIT_DONE;
  TextList settings = {0};
  if (cmp->options->json) fputs("{\"version\": 1, \"tensors\": [", stdout);
  bool is_read = compare_states(cmp, &code);
  compare_settings(cmp, &settings);
  if (cmp->options->json) putchar(']');
  print_list(cmp, "only", &cmp->only);
  print_list(cmp, "settings", &settings);
  if (cmp->options->json)
    puts(is_read ? "}" : ", \"read\": false}");
  else if (is_read)
    printf("%d tensor%s: %s\n", cmp->tensors, plural((uint64_t)cmp->tensors),
           cmp->is_different ? "different" : "the same");
  if (!is_read) return EXIT_WORLD; /* 1 is for "different" */
  return cmp->is_different ? EXIT_USER : EXIT_DONE;
}

ExitCode saved_verb_diff(Compile *c, const Options *options) {
  Comparing *cmp = ARENA_NEW(c->arena, Comparing);
  ExitCode code = EXIT_DONE;
  *cmp = (Comparing){.c = c, .options = options};
  for (int32_t i = 0; i < 2 && code == EXIT_DONE; i++) {
    code = saved_open_word(c, options, options->words.at[1 + i], &cmp->saved[i]);
    cmp->reader[i] = code == EXIT_DONE ? saved_reader(&cmp->saved[i]) : NULL;
    cmp->chunk[i] = arena_alloc(c->arena, (size_t)CHUNK_ELEMENTS * ELEMENT_BYTES_MAX);
    if (code == EXIT_DONE && !cmp->reader[i]) code = complain(EXIT_WORLD, "not enough memory");
  }
  if (code == EXIT_DONE) code = compare_all(cmp);
  for (int32_t i = 0; i < 2; i++) {
    saved_reader_free(cmp->reader[i]);
    saved_close(&cmp->saved[i]);
  }
  return code;
}
