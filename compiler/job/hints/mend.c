/* mend.c -- corrects values whose form is wrong but whose meaning is clear, for the `fix:` of a
 * diagnostic. Every text it returns is a value that the key takes. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

/* ---- amounts: "8 seqs", "512K tokens", "30 minutes", "16 GB" */

typedef struct Spelling {
  const char *theirs, *ours; /* theirs in small letters */
} Spelling;

static const Spelling unit_words[] = {{"seq", " sequences"},
                                      {"seqs", " sequences"},
                                      {"sequence", " sequences"},
                                      {"sequences", " sequences"},
                                      {"sentences", " sequences"},
                                      {"tok", " tokens"},
                                      {"toks", " tokens"},
                                      {"token", " tokens"},
                                      {"tokens", " tokens"},
                                      {"sample", " samples"},
                                      {"samples", " samples"},
                                      {"rows", " samples"},
                                      {"step", " steps"},
                                      {"steps", " steps"},
                                      {"iters", " steps"},
                                      {"iterations", " steps"},
                                      {"epoch", " epochs"},
                                      {"epochs", " epochs"},
                                      {"s", "s"},
                                      {"sec", "s"},
                                      {"secs", "s"},
                                      {"second", "s"},
                                      {"seconds", "s"},
                                      {"m", "m"},
                                      {"min", "m"},
                                      {"mins", "m"},
                                      {"minute", "m"},
                                      {"minutes", "m"},
                                      {"h", "h"},
                                      {"hr", "h"},
                                      {"hrs", "h"},
                                      {"hour", "h"},
                                      {"hours", "h"},
                                      {"d", "d"},
                                      {"day", "d"},
                                      {"days", "d"},
                                      {"b", "B"},
                                      {"byte", "B"},
                                      {"bytes", "B"},
                                      {"kb", "kB"},
                                      {"mb", "MB"},
                                      {"gb", "GB"},
                                      {"tb", "TB"},
                                      {"kib", "KiB"},
                                      {"mib", "MiB"},
                                      {"gib", "GiB"},
                                      {"tib", "TiB"},
                                      {"%", "%"},
                                      {"percent", "%"}};
static const Spelling scale_words[] = {
    {"k", "k"},   {"m", "M"},   {"g", "G"},   {"b", "G"},   {"t", "T"},       {"ki", "Ki"},
    {"mi", "Mi"}, {"gi", "Gi"}, {"kb", "kB"}, {"mb", "MB"}, {"million", "M"}, {"billion", "G"}};

static const char *spelled(const Spelling *words, size_t count, const char *word) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(words[i].theirs, word) == 0) return words[i].ours;
  return NULL;
}
#define SPELLED(words, word) spelled(words, sizeof(words) / sizeof *(words), word)

/* The next word in small letters; *text moves past it. */
static const char *next_word(Arena *arena, const char **text) {
  *text += strspn(*text, " \t_-");
  size_t length = strcspn(*text, " \t");
  char *word = arena_copy_n(arena, *text, length);
  for (char *p = word; *p; p++)
    *p = (char)tolower((unsigned char)*p);
  *text += length;
  return word;
}

/* Digits without the commas and underscores that group them; *text moves past them. */
static const char *plain_number(Arena *arena, const char **text) {
  char *number = arena_copy(arena, *text), *out = number;
  const char *p = *text + strspn(*text, " \t");
  for (; isdigit((unsigned char)*p) || *p == '.' || *p == ',' || *p == '_'; p++)
    if (*p != ',' && *p != '_') *out++ = *p;
  *out = 0;
  *text = p;
  return number;
}

static const char *mended_amount(Arena *arena, const char *units, const char *text) {
  static const char *const endings[] = {"", "B", " steps", " tokens", " sequences"};
  if (strlen(text) > 60) return NULL;
  const char *number = plain_number(arena, &text);
  const char *first = next_word(arena, &text), *second = next_word(arena, &text);
  if (!*number || text[strspn(text, " \t")]) return NULL;
  const char *scale = *second || !SPELLED(unit_words, first) ? SPELLED(scale_words, first) : NULL;
  const char *unit = SPELLED(unit_words, *second ? second : first);
  Amount amount;
  if (*second && (!scale || !unit)) return NULL;
  if (unit) {
    const char *mended = arena_printf(arena, "%s%s%s", number, scale ? scale : "", unit);
    if (units_amount(mended, units, &amount)) return mended;
    scale = SPELLED(scale_words, first); /* "m" may be minutes or millions */
  }
  if (*first && !scale) return NULL;
  for (size_t i = 0; !*second && i < sizeof endings / sizeof *endings; i++) {
    const char *mended = arena_printf(arena, "%s%s%s", number, scale ? scale : "", endings[i]);
    if (units_amount(mended, units, &amount)) return mended;
  }
  return NULL;
}

static const char *bytes_text(Arena *arena, double size_bytes) {
  static const struct {
    double factor;
    const char *unit;
  } scales[] = {{1073741824.0, "GiB"}, {1e9, "GB"},   {1048576.0, "MiB"},
                {1e6, "MB"},           {1024, "KiB"}, {1e3, "kB"}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    double scaled = size_bytes / scales[i].factor;
    if (scaled >= 1 && scaled == floor(scaled))
      return arena_printf(arena, "%.0f%s", scaled, scales[i].unit);
  }
  return arena_printf(arena, "%.15gB", size_bytes);
}

/* A number without the unit that it needs. */
static const char *amount_of(Arena *arena, int32_t field, double number) {
  const FieldInfo *info = &spec_fields[field];
  bool is_usable = number > 0 && number < 1e15 && number == floor(number);
  if (!is_usable) return NULL;
  bool is_bytes = info->kind != KIND_AMOUNT || units_allow(info->values, "bytes");
  bool is_buffer = field == FIELD_parallel_bucket || field == FIELD_parallel_zero_keep ||
                   field == FIELD_parallel_zero_unit;
  if (is_bytes && number < 4096) /* too small for bytes: other tools count megabytes or gigabytes */
    return arena_printf(arena, "%.0f%s", number, is_buffer ? "MiB" : "GiB");
  if (is_bytes) return bytes_text(arena, number);
  if (field == FIELD_train_batch && number >= 8192)
    return arena_printf(arena, "%s tokens", units_print_count(arena, number));
  if (field == FIELD_train_batch) return arena_printf(arena, "%.0f sequences", number);
  return units_allow(info->values, "steps") ? arena_printf(arena, "%.0f steps", number) : NULL;
}

/* ---- the other kinds */

static const char *mended_number(Arena *arena, const Raw *raw) {
  if (raw->kind != RAW_TEXT) return NULL;
  char *end;
  double number = strtod(raw->text, &end);
  if (end == raw->text || !isfinite(number)) return NULL;
  end += strspn(end, " ");
  if (*end && strcmp(end, "%") != 0) return NULL;
  return arena_printf(arena, "%.15g", *end ? number / 100 : number);
}

/* "1,000,000", "100 steps", 1e6 written in another way. */
static const char *mended_count(Arena *arena, const Raw *raw) {
  if (raw->kind != RAW_TEXT || strlen(raw->text) > 40) return NULL;
  const char *text = raw->text;
  const char *number = plain_number(arena, &text);
  const char *word = next_word(arena, &text);
  const char *unit = SPELLED(unit_words, word), *scale = SPELLED(scale_words, word);
  double value;
  if (!*number || text[strspn(text, " \t")] || !units_count(number, &value)) return NULL;
  if (value != floor(value) || value > COUNT_MOST) return NULL;
  if (!*word || (unit && *unit == ' ')) return number;
  return scale ? arena_printf(arena, "\"%s%s\"", number, scale) : NULL;
}

static const char *mended_flag(Arena *arena, const Raw *raw) {
  static const Spelling words[] = {{"true", "true"}, {"yes", "true"},    {"on", "true"},
                                   {"1", "true"},    {"false", "false"}, {"no", "false"},
                                   {"off", "false"}, {"0", "false"},     {"none", "false"}};
  if (raw->kind == RAW_NUMBER && (raw->number == 0 || raw->number == 1))
    return raw->number != 0 ? "true" : "false";
  const char *text = raw->kind == RAW_TEXT ? raw->text : "";
  return SPELLED(words, next_word(arena, &text));
}

/* "My run" -> "my-run" */
static const char *mended_name(Arena *arena, const char *text) {
  char *name = arena_copy(arena, text);
  if (!isalnum((unsigned char)*text) || strlen(text) > 100) return NULL;
  for (char *p = name; *p; p++) {
    *p = (char)tolower((unsigned char)*p);
    if (!isalnum((unsigned char)*p) && !strchr("._-", *p)) *p = '-';
  }
  return arena_printf(arena, "\"%s\"", name);
}

static const char *quoted(Arena *arena, const char *text) {
  return text ? arena_printf(arena, "\"%s\"", text) : NULL;
}

/* "1-12:00:00", as Slurm writes it. A number alone could be anything. */
static const char *mended_duration(Arena *arena, const Raw *raw) {
  long long part[4] = {0};
  int32_t count = 0;
  const char *p = raw->kind == RAW_TEXT ? raw->text : "";
  const char *dash = strchr(p, '-');
  while (count < 4 && *p >= '0' && *p <= '9') {
    char *end;
    part[count++] = strtoll(p, &end, 10);
    if (*end != ':' && *end != '-') break;
    p = end + 1;
  }
  if (count < 3 || count != (dash ? 4 : 3)) return NULL;
  const long long *clock = dash ? part + 1 : part;
  long long minutes = (dash ? part[0] * 1440 : 0) + clock[0] * 60 + clock[1] + (clock[2] > 0);
  return minutes % 60 ? arena_printf(arena, "\"%lldm\"", minutes)
                      : arena_printf(arena, "\"%lldh\"", minutes / 60);
}

/* A value of -D is text, also where the file would have a number. */
static bool is_bare_number(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return isdigit((unsigned char)*text) && *end == '\0' && isfinite(*number);
}

bool is_off(int32_t field, const Raw *raw) {
  static const char *const words[] = {"none", "off", "no", "false", "disabled", "0", "never"};
  const FieldInfo *info = &spec_fields[field];
  Amount amount;
  if (info->kind != KIND_AMOUNT || !units_allow(info->values, "never")) return false;
  if (raw->kind == RAW_NUMBER || raw->kind == RAW_FLAG) return raw->number <= 0;
  if (raw->kind != RAW_TEXT) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(raw->text, words[i]) == 0) return true;
  return units_amount(raw->text, info->values, &amount) && amount.value <= 0;
}

/* The word that was probably meant. A table, where the key takes none, is judged by its first text.
 */
static const char *mended_word(Arena *arena, int32_t field, const Raw *raw) {
  const bool is_number = raw->kind == RAW_NUMBER && isfinite(raw->number);
  const bool is_listed =
      raw->kind == RAW_TABLE && raw->list.count > 0 && raw->list.at[0]->kind == RAW_TEXT;
  const char *word = is_number               ? arena_printf(arena, "%.15g", raw->number)
                     : raw->kind == RAW_FLAG ? (raw->number != 0 ? "true" : "false")
                     : is_listed             ? raw->list.at[0]->text
                                             : "";
  return meant_word(arena, field_name(arena, field), spec_fields[field].values, word);
}

const char *mended_value(Arena *arena, int32_t field, const Raw *raw) {
  const FieldInfo *info = &spec_fields[field];
  bool is_number = raw->kind == RAW_NUMBER && isfinite(raw->number);
  bool is_bytes = info->kind == KIND_BYTES || info->kind == KIND_BYTES_OR;
  double bare;
  switch (info->kind) {
  case KIND_NUMBER: return mended_number(arena, raw);
  case KIND_COUNT:
  case KIND_COUNT_OR: return mended_count(arena, raw);
  case KIND_FLAG: return mended_flag(arena, raw);
  case KIND_COUNTS: return is_number ? arena_printf(arena, "{ %.15g }", raw->number) : NULL;
  case KIND_TEXT:
    if (field == FIELD_job_name && raw->kind == RAW_TEXT) return mended_name(arena, raw->text);
    if (field == FIELD_checkpoint_resume && raw->kind == RAW_FLAG)
      return raw->number != 0 ? "\"auto\"" : "\"never\"";
    return is_number ? arena_printf(arena, "\"%.15g\"", raw->number) : NULL;
  case KIND_CHOICE: return quoted(arena, mended_word(arena, field, raw));
  case KIND_AMOUNT:
    if (is_off(field, raw)) return "\"never\"";
    if (strcmp(info->values, "s") == 0) return mended_duration(arena, raw);
    /* fall through */
  case KIND_BYTES:
  case KIND_BYTES_OR:
    if (is_number) return quoted(arena, amount_of(arena, field, raw->number));
    if (raw->kind != RAW_TEXT) return NULL;
    if (is_bare_number(raw->text, &bare)) return quoted(arena, amount_of(arena, field, bare));
    if (info->kind == KIND_AMOUNT && units_allow(info->values, "") && mended_count(arena, raw) &&
        strstr(raw->text, "step"))
      return mended_count(arena, raw); /* steps = "10 steps" */
    return quoted(arena, mended_amount(arena, is_bytes ? "bytes" : info->values, raw->text));
  default: return NULL;
  }
}
