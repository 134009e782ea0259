#include "kernels/cuda/choices.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 640 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LtChoice *all;
static int32_t count, room, added_count;
static atomic_bool holds;

static bool same_shape(const ChoiceKey *a, const ChoiceKey *b) {
  return strcmp(a->gpu, b->gpu) == 0 && a->version == b->version && a->m == b->m && a->n == b->n &&
         a->k == b->k && a->transpose_a == b->transpose_a && a->transpose_b == b->transpose_b &&
         a->factors == b->factors && a->result == b->result && a->epilogue == b->epilogue &&
         a->align_bytes == b->align_bytes && a->workspace_most == b->workspace_most &&
         strcmp(a->attention, b->attention) == 0;
}

static LtChoice *find(const ChoiceKey *shape) {
  for (int32_t i = 0; i < count; i++)
    if (same_shape(&all[i].shape, shape)) return &all[i];
  return NULL;
}

bool choice_is_apart(const LtChoice *choice) {
  enum { NOISE_PERCENT = 98 };
  return choice->apart_ns > 0 && choice->apart_ns <= choice->took_ns / 100 * NOISE_PERCENT;
}

bool choices_find(const ChoiceKey *shape, LtChoice *choice) {
  pthread_mutex_lock(&lock);
  const LtChoice *found = find(shape);
  if (found != NULL) *choice = *found;
  pthread_mutex_unlock(&lock);
  return found != NULL;
}

static bool add(const LtChoice *choice) {
  LtChoice *at = find(&choice->shape);
  if (at == NULL && (all == NULL || count == room)) {
    int32_t larger = room > 0 ? 2 * room : 16;
    LtChoice *more = realloc(all, (size_t)larger * sizeof *more);
    if (more == NULL) return false;
    all = more, room = larger;
  }
  const bool is_new = at == NULL ||
                      memcmp(&at->algorithm, &choice->algorithm, sizeof at->algorithm) != 0 ||
                      choice_is_apart(at) != choice_is_apart(choice);
  if (at == NULL) at = &all[count++];
  *at = *choice;
  added_count += is_new;
  return true;
}

bool choices_add(const LtChoice *choice) {
  pthread_mutex_lock(&lock);
  bool done = add(choice);
  pthread_mutex_unlock(&lock);
  return done;
}

bool choices_at(int32_t number, LtChoice *choice) {
  pthread_mutex_lock(&lock);
  const bool found = number < count;
  if (found) *choice = all[number];
  pthread_mutex_unlock(&lock);
  return found;
}

int32_t choices_count(int32_t *added) {
  pthread_mutex_lock(&lock);
  int32_t now = count;
  *added = added_count;
  pthread_mutex_unlock(&lock);
  return now;
}

void choices_clear(void) {
  pthread_mutex_lock(&lock);
  free(all);
  all = NULL, count = 0, room = 0, added_count = 0;
  pthread_mutex_unlock(&lock);
}

void choices_hold(bool always) {
  atomic_store(&holds, always);
}

bool choices_are_held(void) {
  return atomic_load(&holds);
}

/* ---- the file */

static const char *type_name(int32_t type) {
  static const char *const codes[] = {"e4e4", "e4e5", "e5e4", "s4v4", "v4v4"};
  if (type <= LT_E4M3_E4M3) return codes[LT_E4M3_E4M3 - type];
  return type == LT_BF16 ? "bf16" : type == LT_F16 ? "f16" : type == LT_TF32 ? "tf32" : "f32";
}

/* Files of earlier versions name these too; their lines are read and kept, and no product asks for
 * them: sum_columns makes the gradients of biases. */
enum { PAST_BGRAD_A = 256, PAST_BGRAD_B = 512 };

static const struct {
  int32_t epilogue;
  const char *name;
} epilogues[] = {
    {LT_EPILOGUE_NONE, "plain"},
    {LT_EPILOGUE_BIAS, "bias"},
    {LT_EPILOGUE_GELU, "gelu"},
    {LT_EPILOGUE_GELU_BIAS, "gelu_bias"},
    {LT_EPILOGUE_GELU_AUX, "gelu_aux"},
    {LT_EPILOGUE_GELU_AUX_BIAS, "gelu_aux_bias"},
    {LT_EPILOGUE_DGELU, "dgelu"},
    {LT_EPILOGUE_NONE | LT_EPILOGUE_ADDS, "add"},
    {LT_EPILOGUE_BIAS | LT_EPILOGUE_ADDS, "bias_add"},
    {PAST_BGRAD_A, "bgrad_a"},
    {PAST_BGRAD_B, "bgrad_b"},
};
enum { EPILOGUES = sizeof epilogues / sizeof *epilogues };

static const char *epilogue_name(int32_t epilogue) {
  int32_t i = 0;
  while (i < EPILOGUES - 1 && epilogues[i].epilogue != epilogue)
    i++;
  return epilogues[i].name;
}

static bool read_epilogue(const char *word, int32_t *epilogue) {
  for (int32_t i = 0; i < EPILOGUES; i++)
    if (strcmp(word, epilogues[i].name) == 0) {
      *epilogue = epilogues[i].epilogue;
      return true;
    }
  return false;
}

static void write_times(FILE *file, const LtChoice *choice) {
  if (choice->took_ns > 0)
    fprintf(file, " ns %" PRId64 " first %" PRId64 " driver %" PRId32, choice->took_ns,
            choice->first_ns, choice->driver);
  if (choice->apart_ns > 0) fprintf(file, " apart %" PRId64, choice->apart_ns);
}

static void write_attention(FILE *file, const LtChoice *choice) {
  const ChoiceKey *s = &choice->shape;
  fprintf(file, "attention %s most %" PRIu64 ": plan %" PRIu64 " engine %" PRId32, s->attention,
          s->workspace_most, choice->algorithm.data[0], choice->id);
  write_times(file, choice);
  fprintf(file, " cuDNN %" PRIu64 " on %s\n", s->version, s->gpu);
}

static void write_line(FILE *file, const LtChoice *choice) {
  const ChoiceKey *s = &choice->shape;
  const uint64_t *data = choice->algorithm.data;
  if (s->attention[0] != '\0') {
    write_attention(file, choice);
    return;
  }
  fprintf(file,
          "m %" PRId64 " n %" PRId64 " k %" PRId64 " %c%c %s to %s %s align %" PRIu32
          " most %" PRIu64 ": algorithm %" PRId32 " tile %" PRId32 " stages %" PRId32
          " split %" PRId32 " workspace %" PRIu64 " =",
          s->m, s->n, s->k, s->transpose_a ? 'T' : 'N', s->transpose_b ? 'T' : 'N',
          type_name(s->factors), type_name(s->result), epilogue_name(s->epilogue), s->align_bytes,
          s->workspace_most, choice->id, choice->tile, choice->stages, choice->split_k,
          choice->workspace_bytes);
  for (int i = 0; i < 8; i++)
    fprintf(file, " %016" PRIx64, data[i]);
  write_times(file, choice);
  fprintf(file, " cublasLt %" PRIu64 " on %s\n", s->version, s->gpu);
}

static bool read_type(const char *word, int32_t *type) {
  static const int32_t types[] = {LT_F32,
                                  LT_BF16,
                                  LT_F16,
                                  LT_TF32,
                                  LT_E4M3_E4M3,
                                  LT_E4M3_E5M2,
                                  LT_E5M2_E4M3,
                                  LT_SQUARES_VECTORS,
                                  LT_VECTORS_VECTORS};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(type_name(types[i]), word) == 0) {
      *type = types[i];
      return true;
    }
  return false;
}

/* The text after the times, if there are any. */
static const char *read_times(const char *text, LtChoice *choice) {
  int used = 0;
  const bool has_times = sscanf(text, /* NOLINT(cert-err34-c) */
                                " ns %" SCNd64 " first %" SCNd64 " driver %" SCNd32 "%n",
                                &choice->took_ns, &choice->first_ns, &choice->driver, &used) == 3;
  if (!has_times) return text;
  int more = 0;
  const bool has_apart = /* NOLINTNEXTLINE(cert-err34-c) */
      sscanf(text + used, " apart %" SCNd64 "%n", &choice->apart_ns, &more) == 1;
  return text + used + (has_apart ? more : 0);
}

static bool read_attention(const char *line, LtChoice *choice) {
  ChoiceKey *s = &choice->shape;
  const char *most = strstr(line, " most ");
  const size_t length = most != NULL ? (size_t)(most - line) : 0;
  int used = 0;
  if (length == 0 || length >= sizeof s->attention ||
      sscanf(most, /* NOLINT(cert-err34-c) */
             " most %" SCNu64 ": plan %" SCNu64 " engine %" SCNd32 "%n", &s->workspace_most,
             &choice->algorithm.data[0], &choice->id, &used) != 3)
    return false;
  memcpy(s->attention, line, length);
  const char *rest = read_times(most + used, choice);
  return sscanf(rest, " cuDNN %" SCNu64 " on %95[^\n]", /* NOLINT(cert-err34-c) */
                &s->version, s->gpu) == 2 &&
         strchr(line, '\n') != NULL;
}

/* As write_line writes it. */
static bool read_line(const char *line, LtChoice *choice) {
  static const char attention[] = "attention ";
  *choice = (LtChoice){0};
  if (strncmp(line, attention, sizeof attention - 1) == 0)
    return read_attention(line + sizeof attention - 1, choice);
  ChoiceKey *s = &choice->shape;
  uint64_t *data = choice->algorithm.data;
  char a, b, factors[8], result[8], epilogue[16];
  int used = 0;
  if (sscanf(line, /* NOLINT(cert-err34-c): the numbers are our own, and checked by the library */
             "m %" SCNd64 " n %" SCNd64 " k %" SCNd64 " %c%c %7s to %7s %15s align %" SCNu32
             " most %" SCNu64 ": algorithm %" SCNd32 " tile %" SCNd32 " stages %" SCNd32
             " split %" SCNd32 " workspace %" SCNu64 " =%n",
             &s->m, &s->n, &s->k, &a, &b, factors, result, epilogue, &s->align_bytes,
             &s->workspace_most, &choice->id, &choice->tile, &choice->stages, &choice->split_k,
             &choice->workspace_bytes, &used) != 15 ||
      used == 0)
    return false;
  const char *rest = line + used;
  used = 0;
  if (sscanf(rest, /* NOLINT(cert-err34-c) */
             " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
             " %" SCNx64 "%n",
             &data[0], &data[1], &data[2], &data[3], &data[4], &data[5], &data[6], &data[7],
             &used) != 8)
    return false;
  rest = read_times(rest + used, choice);
  if (sscanf(rest, " cublasLt %" SCNu64 " on %95[^\n]", /* NOLINT(cert-err34-c) */
             &s->version, s->gpu) != 2)
    return false;
  s->transpose_a = a == 'T', s->transpose_b = b == 'T';
  return read_epilogue(epilogue, &s->epilogue) && read_type(factors, &s->factors) &&
         read_type(result, &s->result) && strchr(line, '\n') != NULL;
}

bool choices_read(const char *path, char why[CHOICES_WHY_BYTES]) {
  FILE *file = fopen(path, "r");
  if (file == NULL && errno == ENOENT) return true;
  bool good = file != NULL;
  if (!good) (void)snprintf(why, CHOICES_WHY_BYTES, "%s cannot be read: %s", path, strerror(errno));
  char line[LINE_BYTES];
  for (int number = 1; good && fgets(line, sizeof line, file) != NULL; number++) {
    LtChoice choice;
    good = read_line(line, &choice) && choices_add(&choice);
    if (!good)
      (void)snprintf(why, CHOICES_WHY_BYTES,
                     "%s:%d does not say how a product is made: delete the file, and algorithms "
                     "are chosen anew",
                     path, number);
  }
  if (file != NULL) (void)fclose(file);
  pthread_mutex_lock(&lock);
  added_count = 0;
  pthread_mutex_unlock(&lock);
  return good;
}

bool choices_write(const char *path, char why[CHOICES_WHY_BYTES]) {
  char beside[4200];
  (void)snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
  FILE *file = fopen(beside, "w");
  pthread_mutex_lock(&lock);
  for (int32_t i = 0; file != NULL && i < count; i++)
    write_line(file, &all[i]);
  added_count = 0;
  pthread_mutex_unlock(&lock);
  bool done = file != NULL;
  if (file != NULL) done = !ferror(file);
  if (file != NULL) done &= fclose(file) == 0;
  if (done && rename(beside, path) == 0) return true;
  (void)snprintf(why, CHOICES_WHY_BYTES, "%s cannot be written: %s", path, strerror(errno));
  (void)unlink(beside);
  return false;
}
