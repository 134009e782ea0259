/* help.c -- words of the job language, explained in a terminal. */
#include "compiler/job/hints/help.h"

#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

typedef struct Explained {
  const char *name, *text;
} Explained;

#define DIAGNOSTIC(name, explanation) {name, explanation},
#define LINT                          DIAGNOSTIC
static const Explained diagnostics[] = {
#include "compiler/job/hints/diagnostics.def"
};
#undef LINT
#undef DIAGNOSTIC

const char *diagnostic_help(const char *name) {
  for (size_t i = 0; i < sizeof diagnostics / sizeof *diagnostics; i++)
    if (strcmp(diagnostics[i].name, name) == 0) return diagnostics[i].text;
  return NULL;
}

enum { COLUMNS = 80 };

/* `text` from column `indent` on. */
static void print_indented(FILE *out, const char *text, int32_t indent) {
  fprintf(out, "%*s", indent, "");
  print_wrapped(out, text, indent, indent, COLUMNS);
}

static const char *initial_text(const char *initial) {
  if (strcmp(initial, "!") == 0) return "required";
  if (strcmp(initial, "=") == 0) return "derived";
  return initial;
}

void help_sections(FILE *out) {
  fputs("job.lua: return job { ... } of these sections; lockstep help SECTION has keys\n\n", out);
  for (int32_t i = 0; i < SECTION_COUNT; i++)
    if (i != SECTION_job)
      fprintf(out, "  %-12s %.*s\n", spec_sections[i].name, (int)strcspn(spec_sections[i].doc, ";"),
              spec_sections[i].doc);
}

static void help_field(Compile *c, int32_t field, FILE *out) {
  const FieldInfo *info = &spec_fields[field];
  fprintf(out, "%s\n", field_name(c->arena, field));
  print_indented(out, info->doc, 4);
  bool has_unit = info->kind == KIND_COUNT && *info->values;
  const char *takes = arena_printf(c->arena, "    takes    %s%s%s", kind_example(info, c->arena),
                                   has_unit ? ", in " : "", has_unit ? info->values : "");
  print_wrapped(out, takes, 0, 13, COLUMNS);
  print_wrapped(out, arena_printf(c->arena, "    default  %s", initial_text(info->initial)), 0, 13,
                COLUMNS);
}

static void help_section(Compile *c, int32_t section, FILE *out) {
  enum { DEFAULT = 18, DOC = 32 };
  const SectionInfo *info = &spec_sections[section];
  print_wrapped(out, arena_printf(c->arena, "%s: %s", info->name, info->doc), 0, 4, COLUMNS);
  if (strcmp(info->head, "none") != 0)
    print_indented(out,
                   arena_printf(c->arena,
                                "%s = \"WORD\" or { \"WORD\", ... }   WORD: %s   default: %s",
                                info->name, info->head, initial_text(info->initial)),
                   4);
  fputc('\n', out);
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    if ((int32_t)spec_fields[i].section != section) continue;
    int32_t column = fprintf(out, "  %-*s %-*s ", DEFAULT - 3, spec_fields[i].key,
                             DOC - DEFAULT - 1, initial_text(spec_fields[i].initial));
    print_wrapped(out, spec_fields[i].doc, column, DOC, COLUMNS);
  }
}

/* A number of the table that precision.loss_scale takes, by itself or after the key. */
static bool help_scale_key(const char *word, FILE *out) {
  static const char *const docs[] = {
#define LOSS_SCALE_KEY(ID, key, is_whole, doc) doc,
      LOSS_SCALE_KEYS(LOSS_SCALE_KEY)
#undef LOSS_SCALE_KEY
  };
  const char *const section = "precision.", *const field = "loss_scale.", *key = word;
  if (strncmp(key, section, strlen(section)) == 0) key += strlen(section);
  if (strncmp(key, field, strlen(field)) == 0) key += strlen(field);
  for (int32_t i = 0; i < LOSS_SCALE_NUMBERS; i++) {
    if (strcmp(key, loss_scale_keys[i]) != 0) continue;
    fprintf(out, "precision.loss_scale.%s\n", key);
    print_indented(out, docs[i], 4);
    fprintf(out, "    precision = { \"fp16\", loss_scale = { \"dynamic\", %s = %.15g } }\n", key,
            loss_scale_rows[0].number[i]);
    return true;
  }
  return false;
}

bool help_word(Compile *c, const char *word, FILE *out) {
  bool is_found = help_scale_key(word, out);
  int32_t section = strcmp(word, "job") == 0 ? SECTION_job : section_find(word);
  if (section >= 0) {
    help_section(c, section, out);
    return true;
  }
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const char *full = field_name(c->arena, i);
    if (strcmp(full, word) != 0 && strcmp(spec_fields[i].key, word) != 0) continue;
    help_field(c, i, out);
    is_found = true;
  }
  const char *text = diagnostic_help(word);
  if (text) {
    fprintf(out, "%s\n", word);
    print_indented(out, text, 4);
    is_found = true;
  }
  is_found |= help_name(c, word, out);
  return is_found;
}

/* ---- values with their origins */

static const char *list_text(Arena *arena, const TextList *list) {
  const char *text = "";
  for (int32_t i = 0; i < list->count && i < 3; i++)
    text = arena_printf(arena, "%s%s%s", text, i ? " " : "", list->at[i]);
  if (list->count > 3) text = arena_printf(arena, "%s ... (%d)", text, list->count);
  return text;
}

static const char *columns_text(Arena *arena, const ColumnList *inputs) {
  const char *text = "";
  for (int32_t i = 0; i < inputs->count; i++)
    text = arena_printf(arena, "%s%s%s: %s", text, i ? "; " : "", inputs->at[i].input,
                        list_text(arena, &inputs->at[i].names));
  return text;
}

static const char *pairs_text(Arena *arena, const PairList *list) {
  const char *text = "";
  for (int32_t i = 0; i < list->count; i++) {
    const Pair *pair = &list->at[i];
    const char *value = pair->is_off ? "false" : pair->text ? pair->text : "true";
    text = arena_printf(arena, "%s%s%s=%s", text, i ? " " : "", pair->name, value);
  }
  return text;
}

static const char *counts_joined(Arena *arena, const CountList *list) {
  const char *text = "";
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(arena, "%s%s%lld", text, i ? " " : "", (long long)list->at[i]);
  return text;
}

static const char *value_text(Arena *arena, const Job *job, int32_t field) {
  const void *at = field_at((Job *)job, field);
  if (!job->set[field]) return spec_fields[field].kind == KIND_CHOICE ? "-" : "none";
  int64_t number;
  switch (spec_fields[field].kind) {
  case KIND_TEXT:
  case KIND_PATH: return *(const char *const *)at ? *(const char *const *)at : "none";
  case KIND_COUNT: return format_count(arena, *(const int64_t *)at);
  case KIND_COUNT_OR:
    number = *(const int64_t *)at;
    return number < 0 ? word_at(arena, spec_fields[field].values, (int32_t)(-1 - number))
                      : format_count(arena, number);
  case KIND_COUNTS: return counts_joined(arena, at);
  case KIND_NUMBER: return arena_printf(arena, "%.15g", *(const double *)at);
  case KIND_FLAG: return *(const bool *)at ? "true" : "false";
  case KIND_CHOICE: {
    const char *word = word_at(arena, spec_fields[field].values, *(const int32_t *)at);
    number = numbered_count(job, field);
    if (number == 0) return word;
    return arena_printf(arena, "%s, %s = %lld", word, numbered_key(field), (long long)number);
  }
  case KIND_SCALE: return loss_scale_text(arena, job);
  case KIND_AMOUNT: {
    const Amount *amount = at;
    const char *unit = units_word(amount->unit);
    if (amount->unit == UNIT_NEVER || amount->unit == UNIT_AUTO) return unit;
    return arena_printf(arena, "%.15g%s%s", amount->value,
                        strlen(unit) > 1 && amount->unit != UNIT_BYTES ? " " : "",
                        amount->unit == UNIT_BYTES ? "B" : unit);
  }
  case KIND_BYTES: return format_bytes(arena, *(const int64_t *)at);
  case KIND_BYTES_OR:
    number = *(const int64_t *)at;
    return number < 0 ? spec_fields[field].values : format_bytes(arena, number);
  case KIND_RATE: return arena_printf(arena, "%.4g GB/s", *(const double *)at / 1e9);
  case KIND_LIST:
  case KIND_WORDS: return list_text(arena, at);
  case KIND_PAIRS: return pairs_text(arena, at);
  case KIND_COLUMNS: return columns_text(arena, at);
  }
  return "";
}

const char *origin_text(Arena *arena, const Origin *origin) {
  static const char *const kinds[] = {"default", "derived", "preset", "base", "job", "-D"};
  if (origin->kind == ORIGIN_OVERRIDE) return origin->span.file;
  if (origin->kind == ORIGIN_DERIVED && origin->rule)
    return arena_printf(arena, "derived: %s", origin->rule);
  if (!origin->span.file) return kinds[origin->kind];
  return arena_printf(arena, "%s: %s:%d:%d", kinds[origin->kind], origin->span.file,
                      origin->span.line, origin->span.column);
}

static void print_value(FILE *out, const char *name, const char *value, const char *origin) {
  enum { ORIGIN = 47, NEXT_LINE = 24 };
  bool is_long = (int32_t)strcspn(origin, " ") > COLUMNS - ORIGIN; /* a path */
  int32_t column = fprintf(out, "%-22s %-23s", name, value), indent = is_long ? NEXT_LINE : ORIGIN;
  if (is_long) column = fprintf(out, "\n%*s", NEXT_LINE - 1, "") - 1;
  fputc(' ', out);
  print_wrapped(out, origin, column + 1, indent, COLUMNS);
}

/* Its numbers, as -D has them. */
static void print_scale(Compile *c, const Job *job, FILE *out) {
  const int32_t field = FIELD_precision_loss_scale;
  const bool moves = job->precision.loss_scale != LOSS_SCALE_CONSTANT;
  for (int32_t i = 0; job->set[field] && i < LOSS_SCALE_NUMBERS; i++)
    if (moves || i == LOSS_SCALE_OF_MOST_SKIPS)
      print_value(out, arena_printf(c->arena, "  %s", loss_scale_keys[i]),
                  arena_printf(c->arena, "%.15g", job->loss_scale.number[i]),
                  origin_text(c->arena, &job->origin[field]));
}

bool help_values(Compile *c, const Job *job, const char *key, FILE *out) {
  bool is_found = false;
  for (int32_t section = 0; section < SECTION_COUNT; section++) {
    const SectionInfo *info = &spec_sections[section];
    bool is_section = key && strcmp(info->name, key) == 0;
    bool has_head = strcmp(info->head, "none") != 0 && section != SECTION_job;
    const char *base = (const char *)job;
    if (has_head && (!key || is_section)) {
      print_value(
          out, info->name, *(const char *const *)(const void *)(base + info->text_offset),
          origin_text(c->arena, (const Origin *)(const void *)(base + info->origin_offset)));
      is_found = true;
    }
    for (int32_t i = 0; i < FIELD_COUNT; i++) {
      const char *full = field_name(c->arena, i);
      bool is_asked = !key || is_section || strcmp(full, key) == 0;
      if ((int32_t)spec_fields[i].section != section || !is_asked) continue;
      print_value(out, full, value_text(c->arena, job, i), origin_text(c->arena, &job->origin[i]));
      if (i == FIELD_precision_loss_scale) print_scale(c, job, out);
      is_found = true;
    }
    for (int32_t i = 0; section == SECTION_model && i < job->sizes.count; i++) {
      const ModelSize *size = &job->sizes.at[i];
      const char *full = arena_printf(c->arena, "model.%s", size->name);
      if (key && !is_section && strcmp(full, key) != 0) continue;
      const char *value = size->kind == SIZE_TEXT   ? size->text
                          : size->kind == SIZE_FLAG ? (size->number != 0 ? "true" : "false")
                                                    : arena_printf(c->arena, "%.15g", size->number);
      print_value(out, full, value, origin_text(c->arena, &size->origin));
      is_found = true;
    }
  }
  return is_found;
}
