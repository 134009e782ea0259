/* blame.c -- points at the line that set a wrong size: an error found in a file of the library is
 * moved to the line of the job that set the size, and the library's line becomes a note. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"

enum { SAID_MAX = 8 };

/* Sizes that the job sets, each once, in the order in which they were read. */
typedef struct Said {
  const Size *at[SAID_MAX];
  int32_t count;
} Said;

static bool is_said(const Size *size) {
  return size->overridden && size->is.origin.kind != ORIGIN_PRESET &&
         size->is.origin.span.file != NULL;
}

/* Replaces a computed size by the sizes that its function read. */
static void collect(const Model *model, const Size *size, Said *said, int32_t depth) {
  for (int32_t i = 0; i < said->count; i++)
    if (said->at[i] == size) return;
  if (is_said(size) && said->count < SAID_MAX) said->at[said->count++] = size;
  for (int32_t i = 0; i < size->from.count && depth < SAID_MAX && !size->overridden; i++)
    collect(model, &model->sizes.at[size->from.at[i]], said, depth + 1);
}

static bool is_count(const Size *size) {
  double n = size->is.number;
  return size->is.kind == SIZE_NUMBER && n >= 1 && n == floor(n);
}

/* The size whose line is shown: the first that cannot be a count, else the first. */
static const Size *first_of(const Said *said) {
  for (int32_t i = 0; i < said->count; i++)
    if (!is_count(said->at[i])) return said->at[i];
  return said->at[0];
}

static const Size *largest_of(const Said *said) {
  const Size *largest = said->at[0];
  for (int32_t i = 1; i < said->count; i++)
    if (said->at[i]->is.number > largest->is.number) largest = said->at[i];
  return largest;
}

static Diag *last_error(Compile *c) {
  for (int32_t i = c->diags.list.count - 1; i >= 0; i--)
    if (c->diags.list.at[i].severity == SEVERITY_ERROR) return &c->diags.list.at[i];
  return NULL;
}

static const char *said_text(Model *model, const Said *said, const Size *first) {
  Arena *arena = model->compile->arena;
  const char *text =
      arena_printf(arena, "model.%s = %s", first->name, sizes_text(model, &first->is));
  for (int32_t i = 0; i < said->count; i++)
    if (said->at[i] != first)
      text = arena_printf(arena, "%s, model.%s = %s", text, said->at[i]->name,
                          sizes_text(model, &said->at[i]->is));
  return text;
}

/* True if Lua itself raised the error, about its arithmetic, and no assert of the file. */
static bool is_raw(const Diag *error) {
  return strcmp(error->name, "lua-error") == 0 &&
         (strncmp(error->message, "attempt to ", 11) == 0 ||
          strncmp(error->message, "bad argument ", 13) == 0 ||
          strstr(error->message, "no integer representation") != NULL);
}

static void move(Model *model, const Said *said, const Size *first) {
  Diag *error = last_error(model->compile);
  if (error == NULL) return;
  if (is_raw(error) && is_count(first)) return; /* the mistake is in the model file */
  Span was = error->span;
  const Said alone = {{first}, 1};
  const char *what = error->message;
  if (is_raw(error)) what = "expected a whole number of 1 or more", said = &alone;
  error->message =
      arena_printf(model->compile->arena, "%s: %s", said_text(model, said, first), what);
  error->span = first->is.origin.span;
  if (strcmp(error->name, "lua-error") == 0) error->name = "wrong-size";
  if (was.line > 0) note_at(model->compile, was, "this is what '%s' makes of it", model->name);
}

void blame_sizes(Model *model, const int32_t *sizes, int32_t count, Blame kind) {
  Said said = {0};
  for (int32_t i = 0; i < count; i++)
    collect(model, &model->sizes.at[sizes[i]], &said, 0);
  if (said.count == 0) return;
  move(model, &said, kind == BLAME_LARGEST ? largest_of(&said) : first_of(&said));
}

void blame_rule(Model *model, const int32_t *sizes, int32_t count) {
  const Diag *error = last_error(model->compile);
  if (error != NULL && strcmp(error->name, "lua-error") == 0)
    blame_sizes(model, sizes, count, BLAME_FIRST);
}

void blame_number(Model *model, double number) {
  int32_t found = -1;
  for (int32_t i = 0; i < model->sizes.count; i++) {
    const Size *size = &model->sizes.at[i];
    if (!size->is_read || !is_said(size) || size->is.number != number) continue;
    if (found >= 0) return; /* two sizes have this number: either may be meant */
    found = i;
  }
  if (found >= 0) blame_sizes(model, &found, 1, BLAME_FIRST);
}

Span blame_place(const Model *model, const Size *size) {
  Said said = {0};
  collect(model, size, &said, 0);
  return said.count > 0 ? first_of(&said)->is.origin.span : (Span){0};
}
