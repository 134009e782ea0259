/* check_choice.c -- values that are one of a field's words, some with a number or a part. */
#include <math.h>
#include <string.h>

#include "compiler/job/kinds.h"
#include "compiler/job/offload.h"
#include "compiler/job/units.h"

/* Words that come with a number: { "every", blocks = 4 }. */
typedef struct Numbered {
  int32_t field;
  const char *word, *key, *asks;
  double least;
  size_t offset; /* of the number, in Job */
} Numbered;
static const Numbered numbered_words[] = {
    {FIELD_memory_recompute, "every", "blocks", "how many blocks", 1,
     offsetof(Job, recompute_blocks)},
    {FIELD_parallel_pipeline, "interleaved", "chunks", "how many chunks of layers a stage has", 2,
     offsetof(Job, pipeline_chunks)},
};

static const Numbered *numbered_of(int32_t field) {
  for (size_t i = 0; i < sizeof numbered_words / sizeof *numbered_words; i++)
    if (numbered_words[i].field == field) return &numbered_words[i];
  return NULL;
}

const char *numbered_key(int32_t field) {
  const Numbered *n = numbered_of(field);
  return n ? n->key : NULL;
}

int64_t numbered_count(const Job *job, int32_t field) {
  const Numbered *n = numbered_of(field);
  int32_t word = n ? word_index(spec_fields[field].values, n->word) : -1;
  if (word < 0 || *(const int32_t *)field_at((Job *)job, field) != word) return 0;
  return *(const int64_t *)(const void *)((const char *)job + n->offset);
}

/* -D writes it as text. */
static bool read_whole(const Raw *raw, double *number) {
  *number = raw->number;
  bool is_number = raw->kind == RAW_NUMBER ||
                   (raw->kind == RAW_TEXT && raw->is_typed && units_count(raw->text, number));
  return is_number && *number == floor(*number);
}

static void fix_numbered(Compile *c, const Numbered *n) {
  fix_last(c, "%s = { \"%s\", %s = 2 }", spec_fields[n->field].key, n->word, n->key);
}

/* Refuses a word that has no number. The word may be from no file: -D can set the number alone. */
static bool refuse_numbered(Compile *c, const JobValue *value, const Numbered *n,
                            const char *word) {
  error_at(c, value->origin.span, "wrong-type", "%s: only \"%s\" says %s",
           field_name(c->arena, n->field), n->word, n->asks);
  if (strcmp(word, spec_fields[n->field].initial) == 0)
    fix_numbered(c, n);
  else
    fix_last(c, "%s = \"%s\"", spec_fields[n->field].key, word);
  return false;
}

static bool check_numbered(Compile *c, const JobValue *value, const Numbered *n, Job *job) {
  enum { MOST = 1000000 };
  const Raw *raw = value->raw;
  const char *name = field_name(c->arena, n->field);
  const char *word =
      raw->list.count == 1 && raw->list.at[0]->kind == RAW_TEXT ? raw->list.at[0]->text : "";
  const Raw *number = raw->named.count == 1 && strcmp(raw->named.at[0].key, n->key) == 0
                          ? raw->named.at[0].value
                          : NULL;
  double count = 0;
  bool is_good = strcmp(word, n->word) == 0 && number && read_whole(number, &count);
  if (strcmp(word, n->word) != 0 && word_index(spec_fields[n->field].values, word) >= 0)
    return refuse_numbered(c, value, n, word);
  if (!is_good)
    error_at(c, value->origin.span, "wrong-type", "%s: expected a word, or { \"%s\", %s = N }",
             name, n->word, n->key);
  else if (!(count >= n->least && count <= MOST))
    is_good = error_at(c, value->origin.span, "range", "%s: %s is %.0f to %d; got %.15g", name,
                       n->key, n->least, MOST, count);
  if (!is_good) {
    fix_numbered(c, n);
    return false;
  }
  *(int32_t *)field_at(job, n->field) = word_index(spec_fields[n->field].values, n->word);
  *(int64_t *)(void *)((char *)job + n->offset) = (int64_t)count;
  return true;
}

static bool refuse_choice(Compile *c, const JobValue *value, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  const char *name = field_name(c->arena, field), *word = value->raw->text;
  if (refuse_later_word(c, value->origin.span, (int32_t)info->section, word)) return false;
  const char *near = meant_word(c->arena, name, info->values, word);
  error_at(c, value->origin.span, "unknown-word", "%s: \"%s\" is not one of: %s", name,
           text_show(c->arena, word), info->values);
  if (!say_derived(c, value, field)) fix_choice(c, field, near);
  const char *why = word_reason(name, info->values, word);
  if (why) note_at(c, (Span){0}, "%s", why);
  return false;
}

/* { "fp8", scaling = "tensor" }: how many numbers share a scale. */
static bool check_linear(Compile *c, const JobValue *value, Job *job) {
  const Raw *raw = value->raw;
  const char *words = spec_fields[FIELD_precision_linear].values;
  const char *word =
      raw->list.count == 1 && raw->list.at[0]->kind == RAW_TEXT ? raw->list.at[0]->text : "";
  const Raw *scaling = raw->named.count == 1 && strcmp(raw->named.at[0].key, "scaling") == 0
                           ? raw->named.at[0].value
                           : NULL;
  const char *said = scaling != NULL && scaling->kind == RAW_TEXT ? scaling->text : "";
  const char *why = NULL;
  if (strcmp(said, "delayed") == 0)
    why = "a scale of earlier steps' maxima is state to save, and the first step has none; scales "
          "are of the tensor's own maximum";
  else if (strcmp(said, "mxfp8") == 0)
    why = "scales are numbers in fp32, not exponents of 32 numbers each";
  if (strcmp(word, "fp8") != 0 || raw->named.count > 1 || *said == '\0')
    error_at(c, value->origin.span, "wrong-type",
             "precision.linear: expected a word, or { \"fp8\", scaling = \"tensor\" }");
  else if (why != NULL)
    error_at(c, value->origin.span, "declined", "precision.linear: scaling = \"%s\": %s", said,
             why);
  else if (strcmp(said, "tensor") != 0 && strcmp(said, "block") != 0)
    error_at(c, value->origin.span, "unknown-word",
             "precision.linear: scaling: \"%s\" is not one of: tensor block",
             text_show(c->arena, said));
  else {
    job->precision.linear = word_index(words, word);
    job->is_fp8_by_block = strcmp(said, "block") == 0;
    return true;
  }
  fix_last(c, "linear = { \"fp8\", scaling = \"tensor\" }");
  return false;
}

bool check_choice(Compile *c, const JobValue *value, int32_t field, Job *job) {
  if (field == FIELD_precision_linear && value->raw->kind == RAW_TABLE)
    return check_linear(c, value, job);
  const Numbered *numbered = numbered_of(field);
  if (numbered && value->raw->kind == RAW_TABLE) return check_numbered(c, value, numbered, job);
  if (offload_part(job, field) != NULL && value->raw->kind == RAW_TABLE)
    return offload_check_part(c, value, field, job);
  const char *word = value->raw->kind == RAW_TEXT ? value->raw->text : NULL;
  int32_t index = word ? word_index(spec_fields[field].values, word) : -1;
  if (!word) return refuse_type(c, value, field);
  if (index < 0) return refuse_choice(c, value, field);
  if (numbered && strcmp(numbered->word, word) == 0) {
    error_at(c, value->origin.span, "wrong-type", "%s: \"%s\" says %s", field_name(c->arena, field),
             word, numbered->asks);
    fix_numbered(c, numbered);
    return false;
  }
  *(int32_t *)field_at(job, field) = index;
  return true;
}
