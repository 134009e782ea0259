/* software.c -- files of specs/software: how a program runs a step, for predictions. */
#include <string.h>

#include "compiler/job/derive/cluster_file.h"

static const char *const words[] = {"attention", "overlap", "gates", "gathers",
                                    "traffic",   "product", "slack"};
enum {
  WORD_ATTENTION,
  WORD_OVERLAP,
  WORD_GATES,
  WORD_GATHERS,
  WORDS_FIRST_NUMBER,
  WORD_COUNT = sizeof words / sizeof *words
};

static void refuse(Compile *c, const SpecFile *file, const RawEntry *entry, const char *expected,
                   const char *example) {
  error_at(c, span_of_value(file->spans, entry->key), "wrong-type", "%s: expected %s; got %s",
           entry->key, expected, raw_show(c->arena, entry->value));
  fix_last(c, "%s = %s", entry->key, example);
}

static void read_attention(Compile *c, const SpecFile *file, const RawEntry *entry, Software *out) {
  const char *text = entry->value->kind == RAW_TEXT ? entry->value->text : "";
  out->has_flash = strcmp(text, "flash") == 0;
  out->remakes_scores = strcmp(text, "selective") == 0;
  if (!out->has_flash && !out->remakes_scores && strcmp(text, "unfused") != 0)
    refuse(c, file, entry, "\"flash\", \"unfused\" or \"selective\"", "\"flash\"");
}

/* One of two words: true for the first. */
static bool read_choice(Compile *c, const SpecFile *file, const RawEntry *entry, const char *first,
                        const char *second) {
  const char *text = entry->value->kind == RAW_TEXT ? entry->value->text : "";
  if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
    refuse(c, file, entry, arena_printf(c->arena, "\"%s\" or \"%s\"", first, second),
           arena_printf(c->arena, "\"%s\"", first));
  return strcmp(text, first) == 0;
}

static void read_entry(Compile *c, const SpecFile *file, const RawEntry *entry, Software *out) {
  double *const numbers[] = {&out->traffic, &out->product, &out->slack};
  int32_t word = 0;
  while (word < WORD_COUNT && strcmp(words[word], entry->key) != 0)
    word++;
  if (word == WORD_COUNT) {
    error_at(c, span_of_key(file->spans, entry->key), "unknown-key", "%s: no such key of this file",
             text_show(c->arena, entry->key));
    const char *near = nearest_word(entry->key, words, WORD_COUNT);
    if (near) fix_last(c, "%s", near);
  } else if (word == WORD_ATTENTION) {
    read_attention(c, file, entry, out);
  } else if (word == WORD_GATES) {
    out->joins_gates = read_choice(c, file, entry, "joined", "apart");
  } else if (word == WORD_GATHERS) {
    out->has_trees = read_choice(c, file, entry, "trees", "nccl");
  } else if (word == WORD_OVERLAP) {
    out->overlaps = entry->value->number != 0;
    if (entry->value->kind != RAW_FLAG) refuse(c, file, entry, "true or false", "true");
  } else {
    const double number = entry->value->number;
    *numbers[word - WORDS_FIRST_NUMBER] = number;
    if (entry->value->kind != RAW_NUMBER || !(number >= 0.1 && number <= 100))
      refuse(c, file, entry, "a number from 0.1 to 100", "1.2");
  }
}

bool software_read(Compile *c, lua_State *L, const Job *job, Cluster *cluster) {
  const char *name = job->cluster.software;
  const int32_t errors = c->diags.error_count;
  const Origin *origin = &job->origin[FIELD_cluster_software];
  Span at = origin->span.file ? origin->span : (Span){.file = job->path};
  Software *software = &cluster->software;
  *software = (Software){.name = name,
                         .has_flash = true,
                         .joins_gates = true,
                         .overlaps = true,
                         .traffic = 1,
                         .product = 1,
                         .slack = 1};
  if (cluster->target == TARGET_CPU && !field_is_said(job, FIELD_cluster_software)) return true;
  const char *path = sandbox_find(c, "software", name, job->directory, at);
  if (path == NULL) return false;
  SpecFile file = spec_file_read(c, L, path, "return", at);
  if (file.spans && file.raw && file.raw->kind == RAW_TABLE)
    for (int32_t i = 0; i < file.raw->named.count; i++)
      read_entry(c, &file, &file.raw->named.at[i], software);
  else if (c->diags.error_count == errors) {
    error_at(c, (Span){.file = path}, "wrong-type", "a software file ends with a table");
    fix_last(c, "return { attention = \"flash\" }");
  }
  return c->diags.error_count == errors;
}
