/* export_write.c -- entries as JSON, YAML, TOML or the words of a script. */
#include <stdlib.h>
#include <string.h>

#include "compiler/job/import/export.h"

/* The tables that two keys have in common: "a.b.x" and "a.b.y" 2. */
static int32_t shared_tables(const char *a, const char *b) {
  int32_t count = 0;
  for (const char *dot; (dot = strchr(a, '.')) != NULL; a = dot + 1) {
    size_t length = (size_t)(dot - a) + 1;
    if (strncmp(a, b, length) != 0) break;
    b += length;
    count++;
  }
  return count;
}

static int32_t depth_of(const char *key) {
  int32_t count = 0;
  for (; (key = strchr(key, '.')) != NULL; key++)
    count++;
  return count;
}

static const char *part_of(const char *key, int32_t index, int *length) {
  for (; index > 0; index--)
    key = strchr(key, '.') + 1;
  *length = (int)strcspn(key, ".");
  return key;
}

static void write_json(const Config *x, FILE *out) {
  const char *before = "";
  int32_t open = 0;
  fputs("{", out);
  for (int32_t i = 0; i < x->entries.count; i++) {
    const char *key = x->entries.at[i].key;
    int32_t shared = shared_tables(key, before), depth = depth_of(key);
    int length;
    for (; open > shared; open--)
      fprintf(out, "\n%*s}", (int)open * 2, "");
    fputs(i ? ",\n" : "\n", out);
    for (; open < depth; open++) {
      const char *part = part_of(key, open, &length);
      fprintf(out, "%*s\"%.*s\": {\n", (int)open * 2 + 2, "", length, part);
    }
    const char *part = part_of(key, depth, &length);
    fprintf(out, "%*s\"%.*s\": %s", (int)depth * 2 + 2, "", length, part, x->entries.at[i].value);
    before = key;
  }
  for (; open > 0; open--)
    fprintf(out, "\n%*s}", (int)open * 2, "");
  fputs("\n}\n", out);
}

/* YAML 1.1 takes 1e-3 for a word, and 1.0e-3 for a number. */
static const char *yaml_value(Arena *arena, const char *value) {
  const char *e = strchr(value, 'e');
  if (*value == '"' || !e || strchr(value, '.') || !strpbrk(value, "0123456789")) return value;
  return arena_printf(arena, "%.*s.0%s", (int)(e - value), value, e);
}

static void write_yaml(const Config *x, FILE *out) {
  const char *before = "";
  for (int32_t i = 0; i < x->entries.count; i++) {
    const char *key = x->entries.at[i].key, *dot = strchr(key, '.');
    if (dot && shared_tables(key, before) == 0) fprintf(out, "%.*s:\n", (int)(dot - key), key);
    fprintf(out, "%s%s: %s\n", dot ? "  " : "", dot ? dot + 1 : key,
            yaml_value(x->arena, x->entries.at[i].value));
    before = key;
  }
}

static void write_toml(const Config *x, FILE *out) {
  const char *before = "";
  for (int32_t i = 0; i < x->entries.count; i++) {
    const char *key = x->entries.at[i].key, *dot = strchr(key, '.');
    if (shared_tables(key, before) == 0)
      fprintf(out, "%s[%.*s]\n", i ? "\n" : "", (int)(dot - key), key);
    fprintf(out, "%s = %s\n", dot + 1, x->entries.at[i].value);
    before = key;
  }
}

/* A value "" is an option that takes none. */
static void write_script(const Config *x, FILE *out) {
  fprintf(out, "#!/bin/bash\n%s", x->launch);
  for (int32_t i = 0; i < x->entries.count; i++) {
    const ConfigEntry *entry = &x->entries.at[i];
    fputs(" \\\n  --", out);
    for (const char *p = entry->key; *p; p++)
      fputc(*p == '_' ? '-' : *p, out);
    if (!*entry->value) continue;
    size_t length = strlen(entry->value);
    bool is_text = *entry->value == '"';
    fprintf(out, " %.*s", (int)(is_text ? length - 2 : length), entry->value + is_text);
  }
  fputs("\n", out);
}

const char *export_text(Config *x) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return "";
  if (strcmp(x->tool, "accelerate") == 0)
    write_yaml(x, out);
  else if (strcmp(x->tool, "torchtitan") == 0)
    write_toml(x, out);
  else if (strcmp(x->tool, "megatron") == 0)
    write_script(x, out);
  else
    write_json(x, out);
  fclose(out);
  const char *copy = arena_copy(x->arena, text);
  free(text);
  return copy;
}
