/* fields.c -- the table of keys that fields.def makes, and finding names in it. */
#include <ctype.h>
#include <string.h>

#include "compiler/job/job_room.h"

#define SECTION(section, head, default_head, doc)
#define END(section)
#define FIELD(section_, key_, KIND, values_, initial_, doc_)                                       \
  [FIELD_##section_##_##                                                                           \
      key_] = {SECTION_##section_,          #key_, KIND_##KIND, values_, initial_, doc_,           \
               offsetof(Job, section_.key_)},
const FieldInfo spec_fields[FIELD_COUNT] = {
#include "compiler/job/fields.def"
};
#undef SECTION
#undef FIELD

#define SECTION(section, head_, default_head, doc_)                                                \
  [SECTION_##section] = {#section,                                                                 \
                         head_,                                                                    \
                         default_head,                                                             \
                         doc_,                                                                     \
                         offsetof(Job, section.head),                                              \
                         offsetof(Job, section.head_text),                                         \
                         offsetof(Job, section.head_origin)},
#define FIELD(section, key, KIND, values, initial, doc)
const SectionInfo spec_sections[SECTION_COUNT] = {
#include "compiler/job/fields.def"
};
#undef SECTION
#undef FIELD
#undef END

int32_t field_find(SectionId section, const char *key) {
  for (int32_t i = 0; i < FIELD_COUNT; i++)
    if (spec_fields[i].section == section && strcmp(spec_fields[i].key, key) == 0) return i;
  return -1;
}

int32_t section_find(const char *name) {
  for (int32_t i = 0; i < SECTION_COUNT; i++)
    if (i != SECTION_job && strcmp(spec_sections[i].name, name) == 0) return i;
  return -1;
}

const char *field_name(Arena *arena, int32_t field) {
  const FieldInfo *f = &spec_fields[field];
  if (f->section == SECTION_job) return f->key;
  return arena_printf(arena, "%s.%s", spec_sections[f->section].name, f->key);
}

static const char *words_between(Arena *arena, const char *words, const char *between) {
  const char *text = "";
  while (*words) {
    size_t width = strcspn(words, " ");
    text = arena_printf(arena, "%s%s\"%.*s\"", text, *text ? between : "", (int)width, words);
    words += width;
    words += strspn(words, " ");
  }
  return text;
}

static const char *amount_example(const FieldInfo *field) {
  if (strcmp(field->values, "bytes|%") == 0) return "\"80GiB\", \"80GB\" or \"90%\"";
  if (strcmp(field->values, "|%") == 0)
    return "1000, a number of steps, or \"10%\", a share of them";
  if (strcmp(field->values, "steps") == 0) return "\"10000 steps\"";
  if (strcmp(field->values, "s|steps|auto|never") == 0)
    return "\"30m\", \"500 steps\", \"auto\" or \"never\"";
  if (strcmp(field->values, "|tokens|epochs") == 0) return "1000, \"10Gi tokens\" or \"3 epochs\"";
  if (strcmp(field->values, "s") == 0) return "a duration such as \"30m\" or \"1d12h\"";
  if (strcmp(field->values, "ns") == 0) return "a latency such as \"5us\" or \"800ns\"";
  if (strcmp(field->values, "$/h") == 0) return "a price such as \"$32.77/h\"";
  return "\"512Ki tokens\", \"512 sequences\" or \"64 samples\"";
}

const char *kind_example(const FieldInfo *field, Arena *arena) {
  switch (field->kind) {
  case KIND_TEXT: return "a text";
  case KIND_PATH: return "a path";
  case KIND_COUNT: return "a whole number such as 8, 2^19 or \"16Mi\"";
  case KIND_COUNT_OR:
    return arena_printf(arena, "a whole number such as 8, or %s",
                        words_between(arena, field->values, " or "));
  case KIND_COUNTS: return "a list of whole numbers: { 9, 8, 8, 7 }";
  case KIND_NUMBER:
    return *field->values ? arena_printf(arena, "a %s such as 0.1", field->values)
                          : "a number such as 6e-4";
  case KIND_FLAG: return "true or false";
  case KIND_CHOICE: return words_between(arena, field->values, " or ");
  case KIND_SCALE:
    return arena_printf(arena, "%s, a number, or a table such as { \"dynamic\", init = 65536 }",
                        words_between(arena, field->values, ", "));
  case KIND_AMOUNT: return amount_example(field);
  case KIND_BYTES: return "bytes such as \"80GiB\" (2^30) or \"80GB\" (1e9)";
  case KIND_BYTES_OR: return arena_printf(arena, "%s or bytes such as \"100MiB\"", field->values);
  case KIND_RATE: return "a rate such as \"50GB/s\" (bytes) or \"400Gb/s\" (bits)";
  case KIND_LIST: return "a text or a list of texts: { \"a.bin\", \"b.bin\" }";
  case KIND_COLUMNS: return "columns by input: { x = { \"area\" }, y = { \"price\" } }";
  case KIND_WORDS: return "a text or a list of texts: { \"gcc/12\", \"cuda/12.4\" }";
  case KIND_PAIRS: return "names with values: { NCCL_DEBUG = \"WARN\", NCCL_IB_TIMEOUT = 22 }";
  }
  return "";
}

int32_t word_index(const char *words, const char *word) {
  size_t length = strlen(word);
  for (int32_t index = 0; *words; index++) {
    size_t width = strcspn(words, " ");
    if (width == length && memcmp(words, word, width) == 0) return index;
    words += width;
    words += strspn(words, " ");
  }
  return -1;
}

const char *word_at(Arena *arena, const char *words, int32_t index) {
  for (; index > 0 && *words; index--) {
    words += strcspn(words, " ");
    words += strspn(words, " ");
  }
  return arena_copy_n(arena, words, strcspn(words, " "));
}

const char *nearest_of(Arena *arena, const char *words, const char *word) {
  VEC(const char *) list = {0};
  while (*words) {
    size_t width = strcspn(words, " ");
    VEC_PUSH(arena, &list, arena_copy_n(arena, words, width));
    words += width;
    words += strspn(words, " ");
  }
  return nearest_word(word, list.at, list.count);
}

/* ---- origins */

bool field_is_said(const Job *job, int32_t field) {
  return job->set[field] && job->origin[field].kind >= ORIGIN_BASE;
}

Span field_place(const Job *job, int32_t field) {
  Span at = job->origin[field].span;
  return at.file ? at : (Span){.file = job->path};
}

void field_derive(Job *job, int32_t field, const char *rule) {
  job->set[field] = true;
  job->origin[field] = (Origin){ORIGIN_DERIVED, {0}, rule};
}

void refuse_useless(Compile *c, const Job *job, int32_t field, const char *owner,
                    const char *state) {
  if (!field_is_said(job, field)) return;
  error_at(c, job->origin[field].span, "conflict", "%s is for %s; %s", field_name(c->arena, field),
           owner, state);
  fix_last(c, "remove %s", spec_fields[field].key);
}
